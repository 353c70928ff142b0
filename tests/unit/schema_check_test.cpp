// W3: arguments, results and answers against the schemas that came with them.
#include "protocol/schema_check.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace patchbay {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr std::uint64_t plenty = 100'000;

Json json(std::string_view text) { return parse_json(text).value(); }

// "" when the check passes, else the code and the message.
std::string told(const Result<void>& checked) {
  return checked ? "" : fmt::format("{}: {}", to_string(checked.error().code()), checked.error().message());
}

constexpr std::string_view person = R"({
  "type": "object",
  "properties": {"name": {"type": "string", "minLength": 1}, "age": {"type": "integer"}, "sex": {"enum": ["f", "m"]}},
  "required": ["name"],
  "additionalProperties": false
})";

TEST(SchemaCheck, ArgumentsThatDoNotFit_AreNamedByPathExpectationAndKeyword) {
  const std::string wrong = "invalid_argument: the arguments do not match the tool \"meet\": ";
  struct Row {
    std::string_view schema;
    std::string_view arguments;
    std::string expected;
  };
  for (const auto& [schema, arguments, expected] : std::vector<Row>{
           {person, R"({"name": "Ada"})", ""},
           {person, R"({"name": "Ada", "age": 36, "sex": "f"})", ""},
           {person, "{}", wrong + R"(arguments: missing property "name" (required))"},
           {person, R"({"name": "Ada", "age": "36"})", wrong + "/age: expected integer, found string (type)"},
           {person, R"({"name": "Ada", "sex": "x"})", wrong + R"(/sex: must be one of "f","m" (enum))"},
           {person, R"({"name": "Ada", "nmae": 1})",
            wrong + R"(arguments: unexpected property "nmae"; known are "name", "age", "sex" (additionalProperties))"},
           {person, R"({"name": "", "age": 1.5})",
            wrong + "/name: must have at least 1 character, has 0 (minLength); /age: expected integer, found number "
                    "(type)"},
           // No schema and an empty one take any object.
           {"null", R"({"any": 1})", ""},
           {"{}", R"({"any": 1})", ""},
           {"true", R"({"any": 1})", ""},
           {"false", "{}", wrong + "arguments: nothing is allowed here (false)"},
           // What half of the real servers write.
           {R"({"$schema": "http://json-schema.org/draft-07/schema#", "properties": {"a": {"type": "string"}}})",
            R"({"a": 1})", wrong + "/a: expected string, found integer (type)"},
           // A format is not a condition for a tool.
           {R"({"properties": {"when": {"format": "date"}}})", R"({"when": "tomorrow"})", ""},
       }) {
    const ToolSchemas schemas(json(schema), nullptr);
    ASSERT_EQ(schemas.input_problem(), nullptr) << schema;
    EXPECT_EQ(told(schemas.check_arguments("meet", json(arguments), plenty)), expected) << schema << arguments;
  }
}

TEST(SchemaCheck, ManyProblems_AreCutToAHandful) {
  const ToolSchemas schemas(json(R"({"additionalProperties": {"type": "string"}})"), nullptr);
  const auto checked = schemas.check_arguments("t", json(R"({"a":1,"b":2,"c":3,"d":4,"e":5,"f":6,"g":7})"), plenty);
  ASSERT_FALSE(checked);
  EXPECT_THAT(checked.error().message(), AllOf(HasSubstr("/e: "), Not(HasSubstr("/f: ")), EndsWith("; and more")));

  // Names of any length and kind stay on one line of a bounded length.
  const auto strange = schemas.check_arguments("t", Json{{std::string(5'000, 'n') + "\n", 1}, {"a\nb", 1}}, plenty);
  ASSERT_FALSE(strange);
  EXPECT_LT(strange.error().message().size(), 1'000u);
  EXPECT_THAT(strange.error().message(), AllOf(HasSubstr(R"("/a\nb": expected)"), Not(HasSubstr("\n"))));
}

TEST(SchemaCheck, SchemasThatCannotBeCompiled_CheckNothingAndSayWhy) {
  for (const auto& [schema, reason] : std::vector<std::pair<std::string, std::string>>{
           {R"({"$schema": "http://json-schema.org/draft-04/schema#"})", "draft-04"},
           {R"({"properties": {"a": {"$ref": "https://example.com/other.json"}}})", "example.com"},
           {R"({"properties": {"a": {"$ref": "#/$defs/gone"}}})", "gone"},
           {R"({"type": "objekt"})", "type"},
           {R"({"properties": {"a": {"pattern": "("}}})", "pattern"},
           {R"("a string")", ""},
       }) {
    const auto value = json(schema);
    const ToolSchemas schemas(value, &value);
    ASSERT_NE(schemas.input_problem(), nullptr) << schema;
    ASSERT_NE(schemas.output_problem(), nullptr) << schema;
    EXPECT_THAT(schemas.input_problem()->message(), HasSubstr(reason));
    EXPECT_THAT(schemas.output_problem()->message(), HasSubstr(reason));
    EXPECT_TRUE(schemas.check_arguments("t", json(R"({"a": 1})"), plenty)) << schema;
    EXPECT_TRUE(schemas.check_result("t", CallToolResult{}, plenty)) << schema;
  }
}

TEST(SchemaCheck, ResultsMustKeepWhatTheToolDeclares) {
  const std::string other = "protocol: the tool \"meet\" returned a result that does not match its output schema: ";
  struct Row {
    std::optional<std::string_view> schema;
    std::optional<std::string_view> structured;
    bool is_error;
    std::string expected;
  };
  for (const auto& [schema, structured, is_error, expected] : std::vector<Row>{
           {person, R"({"name": "Ada"})", false, ""},
           {person, R"({"name": 1})", false, other + "/name: expected string, found integer (type)"},
           {person, "[]", false, other + "structuredContent: expected object, found array (type)"},
           {person,
            {},
            false,
            "protocol: the tool \"meet\" declares an output schema but returned no structured content"},
           // A tool that failed owes nothing.
           {person, {}, true, ""},
           {person, R"({"name": 1})", true, ""},
           // Without a schema everything goes.
           {{}, {}, false, ""},
           {{}, "[1]", false, ""},
           // Any kind of value may be declared, null as well.
           {R"({"type": "array"})", "[1]", false, ""},
           {R"({"type": "null"})", "null", false, ""},
       }) {
    const auto output = schema ? json(*schema) : Json();
    const ToolSchemas schemas(Json(), schema ? &output : nullptr);
    ASSERT_EQ(schemas.output_problem(), nullptr);
    CallToolResult result;
    if (structured) result.structured_content = json(*structured);
    result.is_error = is_error;
    EXPECT_EQ(told(schemas.check_result("meet", result, plenty)), expected) << structured.value_or("nothing");
  }
}

TEST(SchemaCheck, FormsAreCheckedWithTheirFormats) {
  constexpr std::string_view form = R"({"type": "object", "required": ["mail"], "properties": {
      "mail": {"type": "string", "format": "email"}, "on": {"type": "string", "format": "date"},
      "color": {"type": "string", "oneOf": [{"const": "r", "title": "Red"}, {"const": "g", "title": "Green"}]},
      "old": {"type": "string", "enum": ["a"], "enumNames": ["A"]},
      "days": {"type": "array", "minItems": 1, "items": {"type": "string", "enum": ["mon", "tue"]}}}})";
  struct Row {
    std::string_view schema;
    std::string_view content;
    std::string expected;  // how it begins
  };
  for (const auto& [schema, content, expected] : std::vector<Row>{
           {form, R"({"mail": "a@example.com", "on": "2026-02-28", "color": "g", "old": "a", "days": ["tue"]})", ""},
           {form, R"({"mail": "nobody"})", "invalid_argument: /mail: "},
           {form, R"({"mail": "a@example.com", "on": "2026-02-30"})", "invalid_argument: /on: "},
           {form, R"({"mail": "a@example.com", "color": "b"})", "invalid_argument: /color: matches none of 2"},
           {form, R"({"mail": "a@example.com", "days": []})", "invalid_argument: /days: must have at least 1 item"},
           {form, R"({"mail": "a@example.com", "days": ["sun"]})", "invalid_argument: /days/0: must be one of"},
           {form, "{}", "invalid_argument: content: missing property \"mail\" (required)"},
           // Outside of what a form may be, and checked all the same.
           {R"({"properties": {"a": {"properties": {"b": {"type": "string"}}}}})", R"({"a": {"b": 1}})",
            "invalid_argument: /a/b: "},
           {"null", R"({"a": 1})", ""},
           {"null", "[]", "invalid_argument: content: expected object"},
           {R"({"type": 1})", "{}", "unsupported: "},
       }) {
    const auto checked = check_form(json(schema), json(content), plenty);
    if (expected.empty()) {
      EXPECT_TRUE(checked) << told(checked);
    } else {
      EXPECT_THAT(told(checked), StartsWith(expected)) << content;
    }
  }
  EXPECT_TRUE(check_form_schema(json(form)));
  EXPECT_TRUE(check_form_schema(Json()));
  EXPECT_THAT(told(check_form_schema(json(R"({"type": 1})"))), StartsWith("invalid_argument: requestedSchema: "));
}

// Whatever a schema is made of, one check takes no more steps than it may.
TEST(SchemaCheck, HostileSchemas_EndUndecidedAtTheStepBound) {
  Json definitions{{"d0", Json{{"minimum", 0}}}};
  for (int i = 1; i < 60; ++i) {
    const Json before{{"$ref", fmt::format("#/$defs/d{}", i - 1)}};
    definitions[fmt::format("d{}", i)] = Json{{"allOf", Json::array({before, before})}};
  }
  const std::string as(40, 'a');
  for (const auto& [name, property, value] : std::vector<std::tuple<std::string, Json, Json>>{
           {"doubling", Json{{"$ref", "#/$defs/d59"}}, 1},
           {"backtracking", Json{{"pattern", "^(a+)+$"}}, as + "!"},
           {"overlapping alternatives", Json{{"pattern", "^(a|a|aa)*$"}}, as + "!"},
       }) {
    const ToolSchemas schemas(Json{{"$defs", definitions}, {"properties", Json{{"x", property}}}}, nullptr);
    ASSERT_EQ(schemas.input_problem(), nullptr) << name;
    const auto checked = schemas.check_arguments("t", Json{{"x", value}}, 50'000);
    ASSERT_FALSE(checked) << name;
    EXPECT_EQ(checked.error().code(), Errc::limit) << name;
  }
}

}  // namespace
}  // namespace patchbay
