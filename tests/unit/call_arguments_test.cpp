#include "text/call_arguments.h"

#include <gtest/gtest.h>

namespace patchbay {
namespace {

ArgumentSources sources() {
  return {.read_file = [](const std::string& path) -> Result<std::string> {
            if (path == "text") return "line\n";
            if (path == "number") return "7\n";
            if (path == "json") return "{\"a\": [1]}\n";
            if (path == "handles") return "see @result:a and @result:";
            if (path == "binary") return "\xFF";
            return fail(Errc::invalid_argument, path + ": there is no such file");
          },
          .read_stdin = [] { return Result<std::string>("{\"from\": \"stdin\"}"); }};
}

const Json& schema() {
  static const Json value = parse_json(R"({
    "type": "object",
    "properties": {
      "s": {"type": "string"}, "i": {"type": "integer"}, "n": {"type": "number"}, "b": {"type": "boolean"},
      "z": {"type": "null"}, "o": {"type": "object", "properties": {"x": {"type": "integer"}, "y": {}}},
      "tags": {"type": "array", "items": {"type": "string"}}, "ids": {"type": "array", "items": {"type": "integer"}},
      "anything": {}, "either": {"type": ["string", "integer"]}, "maybe": {"type": ["integer", "null"]},
      "many": {"type": ["string", "integer", "boolean"]}, "text_or_null": {"anyOf": [{"type": "string"}, {"type": "null"}]},
      "numbers": {"type": ["integer", "number"]}, "open": {"anyOf": [{"type": "integer"}, {}]},
      "level": {"enum": ["low", "high"]}, "one": {"const": 1}, "mixed": {"enum": [1, 2]},
      "ref": {"$ref": "#/$defs/Count"}, "circle": {"$ref": "#/$defs/Circle"}, "far": {"$ref": "https://h/s.json"},
      "all": {"allOf": [{"description": "x"}, {"type": "boolean"}]},
      "strs": {"type": ["array", "string"]}, "list": {"type": ["array", "null"]},
      "a.b": {"type": "integer"}, "p.q": {"type": "object", "properties": {"r": {"type": "integer"}}},
      "closed": {"type": "object", "properties": {"inner": {"type": "string"}}, "additionalProperties": false}
    },
    "allOf": [{"properties": {"via": {"type": "integer"}}}],
    "$defs": {"Count": {"type": "integer"}, "Circle": {"$ref": "#/$defs/Circle"}}
  })")
                                .value();
  return value;
}

std::string outcome(const std::vector<std::string>& words, const Json& with) {
  auto result = call_arguments(words, with, sources());
  if (result) return to_text(*result);
  EXPECT_EQ(result.error().code(), Errc::invalid_argument);
  return result.error().message();
}

struct Case {
  std::vector<std::string> words;
  std::string expected;
};

TEST(CallArguments, ValuesTakeTheTypeOfTheSchema) {
  for (const auto& [words, expected] : std::initializer_list<Case>{
           {{}, R"({})"},
           {{"s=5"}, R"({"s":"5"})"},
           {{"s="}, R"({"s":""})"},
           {{"s=a=b"}, R"({"s":"a=b"})"},
           {{"s={x}"}, R"({"s":"{x}"})"},
           {{"s=\xC3\xA9"}, "{\"s\":\"\xC3\xA9\"}"},
           {{"i=5"}, R"({"i":5})"},
           {{"i=-5"}, R"({"i":-5})"},
           {{"i=1e3"}, R"({"i":1000})"},
           {{"i=18446744073709551615"}, R"({"i":18446744073709551615})"},
           {{"i=123456789012345678901234567890"}, R"({"i":123456789012345678901234567890})"},
           {{"n=1.5"}, R"({"n":1.5})"},
           {{"n=2"}, R"({"n":2})"},
           {{"b=true", "z=null"}, R"({"b":true,"z":null})"},
           {{R"(o={"x":1})"}, R"({"o":{"x":1}})"},
           {{"anything=5"}, R"({"anything":"5"})"},
           {{"unknown=5"}, R"({"unknown":"5"})"},
           {{"either=5"}, R"({"either":5})"},
           {{"either=five"}, R"({"either":"five"})"},
           {{"maybe=5"}, R"({"maybe":5})"},
           {{"maybe=null"}, R"({"maybe":null})"},
           {{"many=5"}, R"({"many":"5"})"},
           {{"text_or_null=null"}, R"({"text_or_null":null})"},
           {{"text_or_null=x"}, R"({"text_or_null":"x"})"},
           {{"numbers=1.5"}, R"({"numbers":1.5})"},
           {{"open=5"}, R"({"open":"5"})"},
           {{"level=low", "one=1", "mixed=2"}, R"({"level":"low","one":1,"mixed":2})"},
           {{"ref=5", "circle=5", "far=5", "all=false", "via=3"},
            R"({"ref":5,"circle":"5","far":"5","all":false,"via":3})"},
       }) {
    EXPECT_EQ(outcome(words, schema()), expected);
  }
}

TEST(CallArguments, WrongValuesNameTheArgumentAndWhatIsExpected) {
  for (const auto& [words, expected] : std::initializer_list<Case>{
           {{"i=abc"}, R"(i: expected an integer, found "abc")"},
           {{"i=1.5"}, R"(i: expected an integer, found "1.5")"},
           {{"i=1e400"}, R"(i: expected an integer, found "1e400")"},
           {{"i=\"5\""}, R"(i: expected an integer, found "\"5\"")"},
           {{"i="}, R"(i: expected an integer, found "")"},
           {{"i=+5"}, R"(i: expected an integer, found "+5")"},
           {{"n=NaN"}, R"(n: expected a number, found "NaN")"},
           {{"b=yes"}, R"(b: expected true or false, found "yes")"},
           {{"z=0"}, R"(z: expected null, found "0")"},
           {{"o=[1]"}, R"(o: expected a JSON object, found "[1]")"},
           {{"maybe=x"}, R"(maybe: expected null or an integer, found "x")"},
           {{"ids=x"}, R"(ids: expected an integer, found "x")"},
           {{"o.x=q"}, R"(o.x: expected an integer, found "q")"},
           {{"i=" + std::string(90, 'x')}, "i: expected an integer, found \"" + std::string(80, 'x') + "…\""},
       }) {
    EXPECT_EQ(outcome(words, schema()), expected);
  }
}

TEST(CallArguments, ArraysCollectRepeatedKeys) {
  for (const auto& [words, expected] : std::initializer_list<Case>{
           {{"tags=a"}, R"({"tags":["a"]})"},
           {{"tags=a", "s=x", "tags=b"}, R"({"tags":["a","b"],"s":"x"})"},
           {{R"(tags=["a","b"])", "tags=c"}, R"({"tags":["a","b","c"]})"},
           {{"tags=[draft]"}, R"({"tags":["[draft]"]})"},
           {{"ids=1", "ids=[2, 3]"}, R"({"ids":[1,2,3]})"},
           {{"ids:=[1]", "ids=2"}, R"({"ids":[1,2]})"},
           {{"tags=[]"}, R"({"tags":[]})"},
           {{"list=a"}, R"({"list":["a"]})"},
           {{"list=null"}, R"({"list":null})"},
           {{"list=null", "list=a"}, "list: given more than once; remove all but one"},
           {{"strs=a"}, R"({"strs":"a"})"},
           {{R"(strs=["a"])"}, R"({"strs":["a"]})"},
           {{"tags=a", "tags:=[]"}, "tags: given more than once; remove all but one"},
           {{"s=a", "s=b"}, "s: given more than once; remove all but one"},
           {{"strs=a", "strs=b"}, "strs: given more than once; remove all but one"},
       }) {
    EXPECT_EQ(outcome(words, schema()), expected);
  }
}

TEST(CallArguments, JsonAndFilesGiveValues) {
  for (const auto& [words, expected] : std::initializer_list<Case>{
           {{"s:=5"}, R"({"s":5})"},
           {{R"(x:={"a":[1,"=b"]})"}, R"({"x":{"a":[1,"=b"]}})"},
           {{"x:=nope"}, "x: not JSON: "},
           {{"x:="}, "x: not JSON: "},
           {{"s=@text"}, R"({"s":"line\n"})"},
           {{"i=@number"}, R"({"i":7})"},
           {{"o=@json"}, R"({"o":{"a":[1]}})"},
           {{"x:=@json"}, R"({"x":{"a":[1]}})"},
           {{"anything=@number"}, R"({"anything":"7\n"})"},
           {{"tags=@text"}, R"({"tags":["line\n"]})"},
           {{"s=@missing"}, R"(s: missing: there is no such file; if you mean the text itself, write 's:="@missing"')"},
           {{"s=@result:abcdefgh#/a"}, R"({"s":"@result:abcdefgh#/a"})"},
           {{"tags=@result:abcdefgh", "o=@result:abcdefgh", "i:=@result:abcdefgh"},
            R"({"tags":"@result:abcdefgh","o":"@result:abcdefgh","i":"@result:abcdefgh"})"},
           {{"s=@handles"}, R"({"s":"see \\@result:a and \\@result:"})"},
           {{"s=@binary"}, "s: the file binary is not UTF-8 text"},
           {{R"(s:="@text")"}, R"({"s":"@text"})"},
       }) {
    auto found = outcome(words, schema());
    EXPECT_TRUE(expected.ends_with("JSON: ") ? found.starts_with(expected) : found == expected) << found;
  }
}

TEST(CallArguments, APathSetsNestedValuesUnlessAPropertyIsCalledSo) {
  for (const auto& [words, expected] : std::initializer_list<Case>{
           {{"o.x=5", "o.y=6", "o.z=7"}, R"({"o":{"x":5,"y":"6","z":"7"}})"},
           {{"a.b=5"}, R"({"a.b":5})"},
           {{"a.c=5"}, R"({"a":{"c":"5"}})"},
           {{"p.q.r=5"}, R"({"p.q":{"r":5}})"},
           {{"u.v.w=5", "u.v.x=6"}, R"({"u":{"v":{"w":"5","x":"6"}}})"},
           {{R"(o:={"x":1})", "o.y=2"}, R"({"o":{"x":1,"y":"2"}})"},
           {{"o.x=1", "o.x=2"}, "o.x: given more than once; remove all but one"},
           {{"o.x=1", "o:={}"}, "o: given more than once; remove all but one"},
           {{"u=1", "u.v=2"}, R"(u.v: "u" is already given as a string)"},
           {{"u:=null", "u.v=2"}, R"(u.v: "u" is already given as null)"},
           {{"s.x=1"}, R"(s.x: "s" is a string, so nothing can be set inside it)"},
           {{".x=1"}, R"({".x":"1"})"},
           {{"u.=1"}, R"({"u.":"1"})"},
           {{"u..v=1"}, R"({"u..v":"1"})"},
           {{"closed.inner=x"}, R"({"closed":{"inner":"x"}})"},
           {{"closed.iner=x"}, R"(closed.iner: unknown argument; did you mean "inner"?)"},
       }) {
    EXPECT_EQ(outcome(words, schema()), expected);
  }
  std::string deep = "a";
  for (int i = 0; i < 1000; ++i) deep += ".a";
  EXPECT_TRUE(outcome({deep + "=1"}, schema()).ends_with("nested deeper than 64 levels"));
}

TEST(CallArguments, OneWordMayStandForAll) {
  for (const auto& [words, expected] : std::initializer_list<Case>{
           {{R"({"s": 1})"}, R"({"s":1})"},
           {{" {}"}, R"({})"},
           {{"-"}, R"({"from":"stdin"})"},
           {{"[1]"}, "arguments: expected a JSON object, found an array"},
           {{"{"}, "arguments: not JSON: "},
           {{"{}", "s=1"}, R"("{}": this gives all arguments, so it must be the only one)"},
           {{"s=1", "-"}, R"("-": this gives all arguments, so it must be the only one)"},
           {{"5"},
            R"("5": expected key=value, key:=json, key=@file, one JSON object, or - to read the object from stdin)"},
           {{"word"},
            R"("word": expected key=value, key:=json, key=@file, one JSON object, or - to read the object from stdin)"},
           {{""},
            R"("": expected key=value, key:=json, key=@file, one JSON object, or - to read the object from stdin)"},
           {{"=x"},
            R"("=x": expected key=value, key:=json, key=@file, one JSON object, or - to read the object from stdin)"},
           {{":=5"},
            R"(":=5": expected key=value, key:=json, key=@file, one JSON object, or - to read the object from stdin)"},
       }) {
    auto found = outcome(words, schema());
    EXPECT_TRUE(expected.ends_with("JSON: ") ? found.starts_with(expected) : found == expected) << found;
  }
}

TEST(CallArguments, StdinMustHoldAnObject) {
  for (auto [text, expected] : std::initializer_list<std::pair<std::string, std::string>>{
           {"", "stdin: expected a JSON object, but it is empty"},
           {" \n", "stdin: expected a JSON object, but it is empty"},
           {"[]", "stdin: expected a JSON object, found an array"},
           {"null", "stdin: expected a JSON object, found null"},
       }) {
    auto with = sources();
    with.read_stdin = [&] { return Result<std::string>(text); };
    auto result = call_arguments(std::vector<std::string>{"-"}, Json(), with);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().message(), expected);
  }
}

TEST(CallArguments, UnknownKeysAreRefusedOnlyWhereTheSchemaIsClosed) {
  auto closed = parse_json(R"({"properties": {"path": {}, "limit": {}}, "additionalProperties": false})").value();
  auto nothing = parse_json(R"({"type": "object", "additionalProperties": false})").value();
  auto patterns =
      parse_json(R"({"patternProperties": {"^x": {}}, "properties": {"path": {}}, "additionalProperties": false})")
          .value();
  EXPECT_EQ(outcome({"pth=x"}, closed), R"(pth: unknown argument; did you mean "path"?)");
  EXPECT_EQ(outcome({"something=x"}, closed), "something: unknown argument; expected one of path, limit");
  EXPECT_EQ(outcome({"something.x=x"}, closed), "something.x: unknown argument; expected one of path, limit");
  EXPECT_EQ(outcome({"x=1"}, nothing), "x: unknown argument; no arguments are accepted here");
  EXPECT_EQ(outcome({"x1=1"}, patterns), R"({"x1":"1"})");
}

TEST(CallArguments, StrangeSchemasMeanStrings) {
  for (auto text : {"null", "true", "[]", R"({"properties": 5})", R"({"properties": {"x": true}})",
                    R"({"properties": {"x": {"type": 5}}})", R"({"properties": {"x": {"type": "colour"}}})",
                    R"({"properties": {"x": {"anyOf": {}}}})", R"({"properties": {"x": {"enum": 1}}})",
                    R"({"$ref": "#"})", R"({"properties": {"x": {"$ref": "#/properties/x"}}})",
                    R"({"properties": {"x": {"$ref": "#nowhere"}}})", R"({"allOf": [{"$ref": "#"}]})"}) {
    EXPECT_EQ(outcome({"x=5"}, parse_json(text).value()), R"({"x":"5"})") << text;
  }
}

TEST(CallArguments, ASchemaThatBranchesIntoItselfIsBounded) {
  Json branches = Json::array();
  for (int i = 0; i < 1000; ++i) branches.push_back(Json{{"$ref", "#"}});
  EXPECT_EQ(outcome({"x=5"}, Json{{"allOf", branches}, {"anyOf", branches}}), R"({"x":"5"})");
}

TEST(UndeclaredArguments, AreFoundWithWhatWasMeant) {
  struct Case {
    std::string_view arguments, schema;
    std::vector<UndeclaredArgument> expected;
  };
  const std::string_view read = R"({"type":"object","properties":{"path":{},"head":{},"tail":{}}})";
  const Case cases[] = {
      {R"({"path":"x"})", read, {}},
      {R"({"path":"x","hed":1})", read, {{"hed", "head", false}}},
      {R"({"path":"x","colour":1})", read, {{"colour", "", false}}},
      // What is given already was not meant.
      {R"({"head":1,"hed":1})", read, {{"hed", "", false}}},
      {R"({"hed":1})", R"({"properties":{"head":{}},"additionalProperties":true})", {{"hed", "head", true}}},
      {R"({"hed":1})", R"({"properties":{"head":{}},"patternProperties":{"^h":{}}})", {{"hed", "head", true}}},
      {R"({"hed":1})", R"({"type":"object"})", {{"hed", "", true}}},
      {R"({"hed":1})", R"({"properties":{"x":{}},"allOf":[{"properties":{"hed":{}}}]})", {}},
      {R"({"hed":1})", "true", {{"hed", "", true}}},
      {R"([1])", read, {}},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(undeclared_arguments(parse_json(c.arguments).value(), parse_json(c.schema).value()), c.expected)
        << c.arguments << " " << c.schema;
  }
}

}  // namespace
}  // namespace patchbay
