// TOML and YAML become values with places; hostile texts are refused with a place and cost nothing.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/strings.h"
#include "text/formats.h"

namespace patchbay {
namespace {

using testing::HasSubstr;

using Read = std::expected<ConfigDocument, ConfigProblem> (*)(std::string_view, const std::string&);

std::string read_as_json(Read read, std::string_view text) {
  auto document = read(text, "f");
  return document ? to_text(document->root) : document.error().text();
}

// "key line:column" of every member, in the order of the value.
void add_places(std::string_view text, const Json& value, const Place& place, std::string& out) {
  std::size_t i = 0;
  if (const auto* members = value.if_object()) {
    for (const auto& [key, member] : *members) {
      const auto& below = place.children.at(i++);
      const auto key_at = position_of(text, below.key);
      const auto value_at = position_of(text, below.value);
      out += fmt::format("{} {}:{} {}:{}\n", key, key_at.line, key_at.column, value_at.line, value_at.column);
      add_places(text, member, below, out);
    }
  } else if (const auto* items = value.if_array()) {
    for (const auto& item : *items) add_places(text, item, place.children.at(i++), out);
  }
}

std::string places(Read read, std::string_view text) {
  auto document = read(text, "f");
  if (!document) return document.error().text();
  std::string out;
  add_places(text, document->root, document->place, out);
  return out;
}

TEST(ImportSource, Toml_IsReadInTheOrderOfTheFile) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"", "{}"},
      {"\xEF\xBB\xBF# only a comment", "{}"},
      {"b = 1\r\na = 2\r\n", R"({"b":1,"a":2})"},
      {"[z]\nx = 1\n[a]\ny = 'q'\n", R"({"z":{"x":1},"a":{"y":"q"}})"},
      {"a.b.c = true\na.\"d e\" . 'f' = false\n", R"({"a":{"b":{"c":true},"d e":{"f":false}}})"},
      {"a = [1, 2.5, \"x\", # comment\n  [true], {b = 1},\n]\n", R"({"a":[1,2.5,"x",[true],{"b":1}]})"},
      {"[[t]]\nx = 1\n[t.sub]\ny = 1\n[[t]]\nx = 2\n[[t.in]]\n[[t.in]]\n",
       R"({"t":[{"x":1,"sub":{"y":1}},{"x":2,"in":[{},{}]}]})"},
      {"[a.b.c]\nx = 1\n[a]\ny = 2\n[a.b]\nz = 3\n", R"({"a":{"b":{"c":{"x":1},"z":3},"y":2}})"},
      {"[a]\nb.c = 1\nb.d = 2\n[a.b.e]\nf = 3\n", R"({"a":{"b":{"c":1,"d":2,"e":{"f":3}}}})"},
      {"a = {b.c = 1, b.d = {}}\ne.f = {g = 1}\ne.h = 2\n", R"({"a":{"b":{"c":1,"d":{}}},"e":{"f":{"g":1},"h":2}})"},
      {"d = 2024-01-31T10:00:00Z\ne = 2024-01-31 10:00:00.5+01:00\nf = 2024-01-31\ng = 10:00:00\n",
       R"({"d":"2024-01-31T10:00:00Z","e":"2024-01-31 10:00:00.5+01:00","f":"2024-01-31","g":"10:00:00"})"},
      {"s = \"\"\"\na.a.a\n\"\"\"\n", R"({"s":"a.a.a\n"})"},
      {"s = \"\"\"a \\  \n \n  b\"\"\"\nt = '''\n'x'\\n'''''\n", R"({"s":"a b","t":"'x'\\n''"})"},
      {"s = \"\\b\\t\\n\\f\\r\\\"\\\\\\u00e4\\U0001F600\"\n", "{\"s\":\"\\b\\t\\n\\f\\r\\\"\\\\ä😀\"}"},
      {"s = 'C:\\no\\escape'\n", R"({"s":"C:\\no\\escape"})"},
      {"n = -9223372036854775808\nx = 0xFf\no = 0o17\nb = 0b1_0\nu = 1_000\nf = +1_0.5e-1_0\nz = -0.0\n",
       R"({"n":-9223372036854775808,"x":255,"o":15,"b":2,"u":1000,"f":1.05e-09,"z":-0})"},
      {"i = [inf, -inf, nan]\n", R"({"i":[null,null,null]})"},
      {"3.14 = 1\n- = 2\ntrue = 3\n\"\" = 4\n", R"({"3":{"14":1},"-":2,"true":3,"":4})"},
  };
  for (const auto& [text, json] : cases) EXPECT_EQ(read_as_json(read_toml, text), json) << text;
}

TEST(ImportSource, TomlThatSaysSomethingTwiceOrWrong_IsRefused) {
  const std::string_view cases[] = {
      "a = 1\na = 2\n",
      "[a]\n[a]\n",
      "[a]\nb = 1\n[a.b]\n",
      "[a.b]\n[a]\nb.c = 1\n",
      "[a]\nb.c = 1\n[a.b]\n",
      "a.b = 1\n[a]\n",
      "a = {}\n[a.b]\n",
      "a = {}\na.b = 1\n",
      "a = []\n[[a]]\n",
      "[a]\n[[a]]\n",
      "[[a]]\n[a]\n",
      "a = {b = 1, b = 2}\n",
      "a = {b = 1,}\n",
      "a = {b = 1\n}\n",
      "a = 1 b = 2\n",
      "a\n",
      "a =\n",
      "= 1\n",
      "a. = 1\n",
      "[a\n",
      "[[a]\n",
      "[]\n",
      "[=]\n",
      "[a] b = 1\n",
      "a = [1 2]\n",
      "a = [,]\n",
      "a = yes\n",
      "a = 01\n",
      "a = 1__0\n",
      "a = _1\n",
      "a = 1_\n",
      "a = 1.\n",
      "a = .5\n",
      "a = 0x\n",
      "a = 0x8000000000000000\n",
      "a = 2024-1-1\n",
      "a = 10:00\n",
      "a = \"x\n",
      "a = 'x\n",
      "a = \"\"\"x\n",
      "a = \"\\q\"\n",
      "a = \"\\ud800\"\n",
      "a = \"\\u12\"\n",
      "a = \"\x01\"\n",
      "a = '\x7F'\n",
      "# \x01\n",
      "\"\"\"a\"\"\" = 1\n",
      "ä = 1\n",
      "a = 1\r",
  };
  for (auto text : cases) {
    const auto document = read_toml(text, "f");
    ASSERT_FALSE(document) << text << to_text(document->root);
    EXPECT_GE(document.error().line, 1u);
  }
}

TEST(ImportSource, Yaml_IsReadByTheCoreSchema) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"a: 1\nb: -2.5\nc: 1e3\n", R"({"a":1,"b":-2.5,"c":1000})"},
      {"a: true\nb: False\nc: yes\nd: on\n", R"({"a":true,"b":false,"c":"yes","d":"on"})"},
      {"a: null\nb: ~\nc:\nd: ''\n", R"({"a":null,"b":null,"c":null,"d":""})"},
      {"a: '1'\nb: \"true\"\nc: !!str 5\nd: 007\ne: 0x1F\nf: 1.2.3\ng: '-'\n",
       R"({"a":"1","b":"true","c":"5","d":"007","e":"0x1F","f":"1.2.3","g":"-"})"},
      {"- a\n- [b, {c: d}]\n", R"(["a",["b",{"c":"d"}]])"},
      {"a: |\n  x\n  y\nb: >\n  x\n  y\n", R"({"a":"x\ny\n","b":"x y\n"})"},
      {"a: &x {k: v}\nb: *x\nc: [*x, *x]\n", R"({"a":{"k":"v"},"b":{"k":"v"},"c":[{"k":"v"},{"k":"v"}]})"},
      {"a: &x 1\nb: &x 2\nc: *x\n", R"({"a":1,"b":2,"c":2})"},
      {"\xEF\xBB\xBF"
       "a: 1\n",
       R"({"a":1})"},
      {"---\na: 1\n...\n", R"({"a":1})"},
      {"1: x\ntrue: y\n", R"({"1":"x","true":"y"})"},
  };
  for (const auto& [text, json] : cases) EXPECT_EQ(read_as_json(read_yaml, text), json) << text;
}

TEST(ImportSource, Places_ArePointedAtInCharacters) {
  EXPECT_EQ(places(read_toml, "\"ä\" = \"ö\" # ü\n[\"schön\".b]\nc = { d = 1 }\n"),
            "ä 1:1 1:7\nschön 2:2 2:2\nb 2:10 2:1\nc 3:1 3:5\nd 3:7 3:11\n");
  EXPECT_EQ(places(read_yaml, "ä: ö\nb:\n  - c: 1\n  - {d: ü, e: 2}\n"),
            "ä 1:1 1:4\nb 2:1 3:3\nc 3:5 3:8\nd 4:6 4:9\ne 4:12 4:15\n");
  // What an alias stands for is pointed at where it was written.
  EXPECT_EQ(places(read_yaml, "a: &x {k: v}\nb: *x\n"), "a 1:1 1:4\nk 1:8 1:11\nb 2:1 1:4\nk 1:8 1:11\n");
}

TEST(ImportSource, Faults_HaveAPlaceAndAReason) {
  struct Case {
    Read read;
    std::string text;
    std::string fault;
  };
  std::string dotted = "a";
  for (int i = 0; i < 100'000; ++i) dotted += ".a";
  const Case cases[] = {
      {read_toml, "x = 1\n" + dotted + " = 1\n", "f:2:63: a key has more than 32 parts"},
      {read_toml, "[" + dotted + "]\n", "a key has more than 32 parts"},
      {read_toml, "a = {" + dotted + " = 1}\n", "a key has more than 32 parts"},
      {read_toml, "a = " + std::string(100'000, '[') + "\n", "f:1:"},
      {read_toml, "a = 'x\n", "f:1:"},
      {read_toml, "[=]\n", "f:1:2: expected a key"},
      {read_toml, "a = 1\n[t]\nb = 'ö' x\nc = 3\n", "f:3:9: expected the end of the line"},
      {read_toml, "a = [\n1,\n\"ä\",\nx]\n", "f:4:1: expected a value; a text must be in quotes"},
      {read_toml, "[a]\nb = 1\n[a]\n", "f:3:2: the key \"a\" occurs twice"},
      {read_toml, std::string((1u << 20) + 1, '#'), "f:1:1: the file is larger than 1024 KiB"},
      {read_yaml, std::string((1u << 20) + 1, '#'), "f:1:1: the file is larger than 1024 KiB"},
      {read_yaml, std::string(100'000, '['), "f:1:65: values are nested deeper than 64 levels here"},
      {read_yaml, "a:\n\t- b\n", "f:2:"},
      {read_yaml, "a: *x\n", "f:1:4: the alias *x has no anchor &x before it"},
      {read_yaml, "a: &x [*x]\n", "f:1:8: the alias *x has no anchor &x before it"},
      {read_yaml, "? [a]\n: b\n", "f:1:3: the key of a mapping must be a text"},
      {read_yaml, "a: &x b\n*x : c\n", "f:2:1: the key of a mapping must be a text, found an alias"},
      {read_yaml, "a: 1\n---\nb: 2\n", "f:2:1: a second document begins here"},
      {read_yaml, "a: \"\\q\"\n", "f:1:"},
      {read_yaml, "a: \x01\n", "f:1:"},
      {read_yaml, "%YAML 3.0\n---\na: 1\n", "f:1:"},
  };
  for (const auto& c : cases) {
    auto document = c.read(c.text, "f");
    ASSERT_FALSE(document) << c.text.substr(0, 40);
    EXPECT_THAT(document.error().text(), HasSubstr(c.fault)) << c.text.substr(0, 40);
    EXPECT_GE(document.error().line, 1u);
    EXPECT_GE(document.error().column, 1u);
  }
}

TEST(ImportSource, DotsInTextsAndNumbers_AreNotLongKeys) {
  std::string dots;
  for (int i = 0; i < 100; ++i) dots += "a.";
  std::string floats = "f = [";
  for (int i = 0; i < 100; ++i) floats += "1.5, ";
  for (const auto& text : {"a = \"" + dots + "\"\n", "# " + dots + "\n", "a = '''\n" + dots + "\n'''\n",
                           "a = \"\"\"\n" + dots + "\\\"\"\"\"\n", floats + "]\n"}) {
    EXPECT_TRUE(read_toml(text, "f")) << text;
  }
}

// Nine levels of nine aliases each would be 387 million values.
TEST(ImportSource, AliasBombs_AreRefusedAtTheAlias) {
  std::string text = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 9; ++i) {
    text += fmt::format("a{0}: &a{0} [", i);
    for (int j = 0; j < 9; ++j) text += fmt::format("{}*a{}", j == 0 ? "" : ", ", i - 1);
    text += "]\n";
  }
  auto document = read_yaml(text, "f");
  ASSERT_FALSE(document);
  EXPECT_THAT(document.error().message, HasSubstr("more than 100000 values"));
  EXPECT_GT(document.error().line, 3u);

  // Depth grows by aliases as well.
  std::string deep = "a0: &a0 []\n";
  for (int i = 1; i < 200; ++i) deep += fmt::format("a{0}: &a{0} [*a{1}]\n", i, i - 1);
  document = read_yaml(deep, "f");
  ASSERT_FALSE(document);
  EXPECT_THAT(document.error().text(), HasSubstr("f:64:"));
  EXPECT_THAT(document.error().message, HasSubstr("nested deeper than 64 levels"));
}

TEST(ImportSource, CharacterOffsets_AnswerInAnyOrder) {
  std::string text;
  for (int i = 0; i < 200; ++i) text += "aä€𝄞\n";  // 1, 2, 3 and 4 bytes
  const CharacterOffsets offsets(text);
  for (std::size_t line = 200; line-- > 0;) {
    EXPECT_EQ(offsets.at_character(line * 5), line * 11);
    EXPECT_EQ(offsets.at_character(line * 5 + 1), line * 11 + 1);
    EXPECT_EQ(offsets.at_character(line * 5 + 2), line * 11 + 3);
    EXPECT_EQ(offsets.at_character(line * 5 + 3), line * 11 + 6);
    EXPECT_EQ(offsets.at_character(line * 5 + 4), line * 11 + 10);
  }
  EXPECT_EQ(offsets.at_character(1'000'000), text.size());
}

}  // namespace
}  // namespace patchbay
