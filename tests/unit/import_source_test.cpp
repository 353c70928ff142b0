// TOML and YAML become values with places; hostile texts are refused with a place and cost nothing.
#include "config/import_source.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/strings.h"

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
      {"b = 1\na = 2\n", R"({"b":1,"a":2})"},
      {"[z]\nx = 1\n[a]\ny = 'q'\n", R"({"z":{"x":1},"a":{"y":"q"}})"},
      {"a.b.c = true\n", R"({"a":{"b":{"c":true}}})"},
      {"a = [1, 2.5, \"x\"]\n", R"({"a":[1,2.5,"x"]})"},
      {"[[t]]\nx = 1\n[[t]]\nx = 2\n", R"({"t":[{"x":1},{"x":2}]})"},
      {"d = 2024-01-31T10:00:00Z\n", R"({"d":"2024-01-31T10:00:00Z"})"},
      {"s = \"\"\"\na.a.a\n\"\"\"\n", R"({"s":"a.a.a\n"})"},
      {"n = -9223372036854775808\n", R"({"n":-9223372036854775808})"},
  };
  for (const auto& [text, json] : cases) EXPECT_EQ(read_as_json(read_toml, text), json) << text;
}

TEST(ImportSource, Yaml_IsReadByTheCoreSchema) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"a: 1\nb: -2.5\nc: 1e3\n", R"({"a":1,"b":-2.5,"c":1000.0})"},
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
  EXPECT_EQ(places(read_toml, "ä = \"ö\" # ü\n[\"schön\".b]\nc = { d = 1 }\n"),
            "ä 1:1 1:5\nschön 2:2 2:1\nb 2:10 2:1\nc 3:1 3:5\nd 3:7 3:11\n");
  EXPECT_EQ(places(read_yaml, "ä: ö\nb:\n  - c: 1\n  - {d: ü, e: 2}\n"),
            "ä 1:1 1:4\nb 2:1 3:3\nc 3:5 3:8\nd 4:6 4:9\ne 4:12 4:15\n");
  // What an alias stands for is pointed at where it was written.
  EXPECT_EQ(places(read_yaml, "a: &x {k: v}\nb: *x\n"), "a 1:1 1:4\nk 1:8 1:11\nb 2:1 1:4\nk 1:8 1:11\n");
}

TEST(ImportSource, Faults_HaveAPlaceAndAWord) {
  struct Case {
    Read read;
    std::string text;
    std::string fault;
  };
  std::string dotted = "a";
  for (int i = 0; i < 100'000; ++i) dotted += ".a";
  const Case cases[] = {
      {read_toml, "x = 1\n" + dotted + " = 1\n", "f:2:64: a key has more than 32 parts"},
      {read_toml, "[" + dotted + "]\n", "a key has more than 32 parts"},
      {read_toml, "a = {" + dotted + " = 1}\n", "a key has more than 32 parts"},
      {read_toml, "a = " + std::string(100'000, '[') + "\n", "f:1:"},
      {read_toml, "a = 'x\n", "f:1:"},
      {read_toml, std::string((1u << 20) + 1, '#'), "f:1:1: the file is larger than 1024 KiB"},
      {read_yaml, std::string((1u << 20) + 1, '#'), "f:1:1: the file is larger than 1024 KiB"},
      {read_yaml, std::string(100'000, '['), "f:1:65: values are nested too deeply here"},
      {read_yaml, std::string(5000, '-') + "\n- [", "f:2:"},
      {read_yaml, "a: *x\n", "f:1:4: *x stands for nothing that was read before it"},
      {read_yaml, "a: &x [*x]\n", "f:1:8: *x stands for nothing that was read before it"},
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

TEST(ImportSource, DotsInTextsAndNumbers_AreNoLongKeys) {
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
  EXPECT_THAT(document.error().message, HasSubstr("too many values"));
  EXPECT_GT(document.error().line, 3u);

  // Depth grows by aliases as well.
  std::string deep = "a0: &a0 []\n";
  for (int i = 1; i < 200; ++i) deep += fmt::format("a{0}: &a{0} [*a{1}]\n", i, i - 1);
  document = read_yaml(deep, "f");
  ASSERT_FALSE(document);
  EXPECT_THAT(document.error().text(), HasSubstr("f:64:"));
  EXPECT_THAT(document.error().message, HasSubstr("nested too deeply"));
}

TEST(ImportSource, CharacterOffsets_AnswerInAnyOrder) {
  std::string text;
  for (int i = 0; i < 200; ++i) text += "aä€𝄞\n";  // 1, 2, 3 and 4 bytes
  const CharacterOffsets offsets(text);
  for (std::size_t line = 200; line >= 1; --line) {
    const auto start = (line - 1) * 11;
    EXPECT_EQ(offsets.at(line, 1), start);
    EXPECT_EQ(offsets.at(line, 2), start + 1);
    EXPECT_EQ(offsets.at(line, 3), start + 3);
    EXPECT_EQ(offsets.at(line, 4), start + 6);
    EXPECT_EQ(offsets.at(line, 5), start + 10);
    EXPECT_EQ(offsets.at_character((line - 1) * 5 + 3), start + 6);
  }
  EXPECT_EQ(offsets.at(1000, 1), text.size());
  EXPECT_EQ(offsets.at_character(1'000'000), text.size());
}

}  // namespace
}  // namespace patchbay
