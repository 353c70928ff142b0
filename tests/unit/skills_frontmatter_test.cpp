// R4: the header of a SKILL.md is read as every YAML program reads it, or not at all.
#include "protocol/skills_frontmatter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/fails_with.h"

namespace patchbay {
namespace {

using test::FailsWith;
using testing::HasSubstr;

std::string file_with(std::string_view header) { return "---\n" + std::string(header) + "\n---\n\n# Body\n"; }

TEST(Frontmatter, HeadersAreReadAsJson) {
  struct Row {
    std::string name;
    std::string header;
    std::string expected;
  };
  for (
      const auto& row : std::vector<Row>{
          {"texts", "name: a\ndescription: what it does, and when",
           R"({"name":"a","description":"what it does, and when"})"},
          {"the core schema",
           "a: 1\nb: -2\nc: 1.50\nd: true\ne: False\nf: null\ng: ~\nh:\ni: 0x1F\nj: 0o17\nk: .5\nl: 1e3\nm: +7\nn: 007",
           R"({"a":1,"b":-2,"c":1.5,"d":true,"e":false,"f":null,"g":null,"h":null,"i":31,"j":15,"k":0.5,"l":1000,"m":7,"n":7})"},
          {"texts that look like values",
           "a: 1.2.3\nb: yes\nc: 2024-01-01\nd: 1_000\ne: tRue\nf: \"1\"\ng: 'true'\nh: 0x\ni: 1e\nj: -x",
           R"({"a":"1.2.3","b":"yes","c":"2024-01-01","d":"1_000","e":"tRue","f":"1","g":"true","h":"0x","i":"1e","j":"-x"})"},
          {"numbers of any length", "a: 123456789012345678901234567890", R"({"a":123456789012345678901234567890})"},
          {"colons and hashes inside a text", "a: http://x/y#z\nb: a:b\nc: x # comment\nd: x#y",
           R"({"a":"http://x/y#z","b":"a:b","c":"x","d":"x#y"})"},
          {"quotes", "a: \"x: y\"\nb: 'it''s'\nc: \"\\\"q\\\" \\\\ \\t \\u00e9 \\U0001F600 \\x41 \\/\"\nd: ''",
           "{\"a\":\"x: y\",\"b\":\"it's\",\"c\":\"\\\"q\\\" \\\\ \\t \xc3\xa9 \xf0\x9f\x98\x80 A "
           "/\",\"d\":\"\"}"},
          {"quotes over several lines", "a: \"one\n  two \\\n  three\n\n  four\"\nb: 'one\n  two'",
           R"({"a":"one two three\nfour","b":"one two"})"},
          {"plain texts over several lines", "a: one\n  two\n   three\n\n  four\nb: x",
           R"({"a":"one two three\nfour","b":"x"})"},
          {"a text below its key", "a:\n  one\n  two\nb:\n  \"q\"", R"({"a":"one two","b":"q"})"},
          {"literal blocks", "a: |\n  one\n   two\n\n  three\nb: |-\n  one\nc: |+\n  one\n\nd: |2\n   one\ne: |",
           R"({"a":"one\n two\n\nthree\n","b":"one","c":"one\n\n","d":" one\n","e":""})"},
          {"folded blocks", "a: >\n  one\n  two\n\n  three\n   four\n  five\nb: >-\n  one\n  two # not a comment",
           R"({"a":"one two\nthree\n four\nfive\n","b":"one two # not a comment"})"},
          {"mappings inside", "metadata:\n  version: \"1.0\"\n  author:\n    name: x\nb: 1",
           R"({"metadata":{"version":"1.0","author":{"name":"x"}},"b":1})"},
          {"lists", "a:\n  - 1\n  - x\nb:\n- y\n- - z\n  - k: v\n    l: w\n-\nc: 1",
           R"({"a":[1,"x"],"b":["y",["z",{"k":"v","l":"w"}],null],"c":1})"},
          {"brackets",
           "a: [1, x y, \"q, r\", [z], {k: v}]\nb: {c: 1, \"d\":2, e, f: , g:h}\nc: []\nd: {}\ne: [a,\n   b, # why\n  "
           "]",
           R"({"a":[1,"x y","q, r",["z"],{"k":"v"}],"b":{"c":1,"d":2,"e":null,"f":null,"g:h":null},"c":[],"d":{},"e":["a","b"]})"},
          {"all of it in brackets", "{name: a, description: b}", R"({"name":"a","description":"b"})"},
          {"keys", "\"a b\": 1\n'c': 2\nd e: 3\nf : 4\nallowed-tools: x",
           R"({"a b":1,"c":2,"d e":3,"f":4,"allowed-tools":"x"})"},
          {"comments and empty lines", "# first\n\na: 1 # why\n  # indented\n\nb: 2\n#", R"({"a":1,"b":2})"},
          {"line ends of Windows", "a: 1\r\nb: >\r\n  x\r\n  y\r", "{\"a\":1,\"b\":\"x y\\n\"}"},
          {"indented as a whole", "  a: 1\n  b: 2", R"({"a":1,"b":2})"},
      }) {
    SCOPED_TRACE(row.name);
    const auto read = read_frontmatter(file_with(row.header));
    ASSERT_TRUE(read) << read.error().message();
    EXPECT_EQ(to_text(*read), row.expected);
  }
}

TEST(Frontmatter, WhatCouldBeReadInTwoWaysIsRefused) {
  struct Row {
    std::string header;
    std::string reason;
  };
  for (const auto& row : std::vector<Row>{
           {"", "the header between the two lines --- is empty"},
           {"# only this", "the header between the two lines --- is empty"},
           {"just text", "line 2: expected `key: value`"},
           {"- a", "line 2: expected `key: value`"},
           {"a: 1\na: 2", "line 3: the key \"a\" occurs twice"},
           {"m: {a: 1, a: 2}", "line 2: the key \"a\" occurs twice"},
           {"a: use it when: always", "line 2: a text with `: ` in it must be quoted"},
           {"a: x\n  b: c", "line 3: a text with `: ` in it must be quoted"},
           {"a: &x 1",
            "line 2: anchors (&name) and aliases (*name) are not allowed here; put a text that begins with & or * in "
            "quotes"},
           {"a: *x",
            "line 2: anchors (&name) and aliases (*name) are not allowed here; put a text that begins with & or * in "
            "quotes"},
           {"a: !!str 1", "line 2: tags (!name) are not allowed here; put a text that begins with ! in quotes"},
           {"<<: {a: 1}", "line 2: merge keys (<<) are not allowed here"},
           {"? a\n: b", "line 2: a key must be a text; put it in quotes"},
           {"1: a", "line 2: a key must be a text; put it in quotes"},
           {"true: a", "line 2: a key must be a text; put it in quotes"},
           {"~: a", "line 2: a key must be a text; put it in quotes"},
           {"a: {[b]: c}", "line 2: the key of a mapping must be a text"},
           {": a", "line 2: expected `key: value`, indented like the keys above it"},
           {"\ta: 1", "line 2: a tab cannot indent (use spaces), and a text that begins with %, @ or ` must be quoted"},
           {"a:\n\t- b",
            "line 3: a tab cannot indent (use spaces), and a text that begins with %, @ or ` must be quoted"},
           {"a: 1\n b: 2", "line 3: a text with `: ` in it must be quoted"},
           {"a: \"x\"\n b: 2", "line 3: expected `key: value`, indented like the keys above it"},
           {"  a: 1\nb: 2", "line 3: did not find expected <document start>"},
           {"a: \"x\" y", "line 2: expected `key: value`, indented like the keys above it"},
           {"a: [1] 2", "line 2: expected `key: value`, indented like the keys above it"},
           {"a: \"x", "line 3: a quoted text does not end"},
           {"a: \"x\nb\"", "line 3: the further lines of a value must be indented"},
           {"a: 'x", "line 3: a quoted text does not end"},
           {"a: \"\\q\"", "line 2: found unknown escape character"},
           {"a: \"\\u12\"", "line 2: did not find expected hexdecimal number"},
           {"a: \"\\ud800\"", "line 2: found invalid Unicode character escape code"},
           {"a: \"\\U00110000\"", "line 2: found invalid Unicode character escape code"},
           {"a: [1, 2", "line 3: did not find expected ',' or ']'"},
           {"a: [1,\n2]", "line 3: the further lines of a value must be indented"},
           {"a: [1 2, k: v]", "line 2: a key inside a list is not read"},
           {"a: [, 1]", "line 2: did not find expected node content"},
           {"a: [1}", "line 2: did not find expected ',' or ']'"},
           {"a: @b", "line 2: a tab cannot indent (use spaces), and a text that begins with %, @ or ` must be quoted"},
           {"a: %b", "line 2: a tab cannot indent (use spaces), and a text that begins with %, @ or ` must be quoted"},
           {"a: - b", "line 2: block sequence entries are not allowed in this context"},
           {"a: .inf", "line 2: infinity and not-a-number (NaN) are not supported"},
           {"a: |x\n  b", "line 2: did not find expected comment or line break"},
           {"a: |\n    \n  b", "line 4: expected `key: value`, indented like the keys above it"},
           {"a: b\n--- c", "line 3: a second document begins here; keep only one"},
           {"a: b\n...", "line 3: a second document or a directive is not supported"},
           {"%YAML 1.2", "line 3: did not find expected <document start>"},
           {"a: \x01", "line 2: a control character"},
           {"a: b\nc: \xff", "line 3: not UTF-8"},
           // Some programs take these apart and others do not.
           {"a: \"\\ud83d\\ude00\"", "line 2: found invalid Unicode character escape code"},
           {"a: \"x\"#y", "line 2: there is more text after a value on the same line"},
           {"-: a", "line 2: '-' is not expected here"},
           {"a:\n|\n  b", "line 3: the further lines of a value must be indented"},
           {"a: >-1#x", "line 2: what follows | or > is not understood"},
           {"a: |\n  b\n    ", "line 2: a block of text must not end with blanks or empty lines"},
           {"a: |+\n  b\n", "line 2: a block of text must not end with blanks or empty lines"},
           {"a: x\xe2\x80\xa8y", "line 2: a line separator or byte order mark"},
           {"----: a", "line 2: a second document or a directive is not supported"},
       }) {
    SCOPED_TRACE(row.header);
    const auto read = read_frontmatter(file_with(row.header));
    ASSERT_FALSE(read) << to_text(*read);
    EXPECT_EQ(read.error().message(), row.reason);
    EXPECT_EQ(read.error().code(), Errc::protocol);
  }
}

TEST(Frontmatter, TheTwoLinesAroundItAreNeeded) {
  EXPECT_EQ(to_text(*read_frontmatter("---\na: 1\n---")), R"({"a":1})");
  EXPECT_EQ(to_text(*read_frontmatter("--- \na: 1\n---\t\nb: 2\n---\n")), R"({"a":1})");
  EXPECT_EQ(to_text(*read_frontmatter("\xef\xbb\xbf---\r\na: 1\r\n---\r\n")), R"({"a":1})");
  for (std::string_view text : {"", "a: 1", "# title\n---\na: 1\n---\n", "----\na: 1\n---\n", "\n---\na: 1\n---\n"}) {
    SCOPED_TRACE(text);
    const auto read = read_frontmatter(text);
    ASSERT_FALSE(read);
    EXPECT_THAT(read.error().message(), HasSubstr("does not begin with a header"));
  }
  for (std::string_view text : {"---", "---\na: 1", "---\na: 1\n --- \n", "---\na: 1\n----\n"}) {
    SCOPED_TRACE(text);
    const auto read = read_frontmatter(text);
    ASSERT_FALSE(read);
    EXPECT_THAT(read.error().message(), HasSubstr("does not end with a line ---"));
  }
}

TEST(Frontmatter, SizeAndDepthAreBounded) {
  const std::string long_text(1000, 'x');
  EXPECT_TRUE(read_frontmatter(file_with("a: " + long_text), {.bytes = 1012}));
  const auto longer = read_frontmatter(file_with("a: " + long_text), {.bytes = 1011});
  ASSERT_FALSE(longer);
  EXPECT_EQ(longer.error(), Error(Errc::limit, "the header is longer than 1011 bytes"));
  // The body does not count.
  EXPECT_TRUE(read_frontmatter("---\na: 1\n---\n" + long_text, {.bytes = 100}));

  for (const auto& [open, close] :
       {std::pair(std::string("["), std::string("]")), std::pair(std::string("{a: "), std::string("}")),
        std::pair(std::string("- "), std::string())}) {
    SCOPED_TRACE(open);
    auto nested = [&](int depth) {
      std::string header = open == "- " ? "a:\n  " : "a: ";
      for (int i = 0; i < depth; ++i) header += open;
      header += "1";
      for (int i = 0; i < depth; ++i) header += close;
      return read_frontmatter(file_with(header));
    };
    EXPECT_TRUE(nested(31));
    const auto deeper = nested(5000);
    ASSERT_FALSE(deeper);
    EXPECT_EQ(deeper.error(), Error(Errc::limit, "the header is nested deeper than 32 levels"));
  }
  std::string stairs;
  for (int i = 0; i < 200; ++i) stairs += std::string(static_cast<std::size_t>(i), ' ') + "a:\n";
  EXPECT_THAT(read_frontmatter(file_with(stairs)), FailsWith(Errc::limit));
}

}  // namespace
}  // namespace patchbay
