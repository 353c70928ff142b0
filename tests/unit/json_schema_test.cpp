// The JSON Schema validator beyond the official suite (tests/schema): where violations
// point, what does not compile, and that no schema, pattern or value runs away.
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "json/schema.h"

namespace patchbay {

// For messages of this test; found through the namespace of its argument.
void PrintTo(const Violation& violation, std::ostream* out) {
  *out << fmt::format("{{\"{}\", \"{}\", \"{}\", \"{}\"}}", violation.instance_path, violation.keyword,
                      violation.schema_location, violation.message);
}

namespace {

using testing::HasSubstr;
using testing::SizeIs;

Json json(std::string_view text) {
  auto parsed = parse_json(text, {.max_depth = 2000});
  if (!parsed) throw Error(parsed.error().within(text));
  return std::move(*parsed);
}

Schema compiled(std::string_view text, const SchemaOptions& options = {}) {
  auto schema = Schema::compile(json(text), options);
  if (!schema) throw Error(schema.error());
  return std::move(*schema);
}

bool accepts(std::string_view schema, std::string_view value, const SchemaOptions& options = {}) {
  const auto verdict = compiled(schema, options).accepts(json(value));
  if (!verdict) throw Error(verdict.error());
  return *verdict;
}

std::vector<Violation> violations(std::string_view schema, std::string_view value) {
  auto found = compiled(schema).validate(json(value));
  if (!found) throw Error(found.error());
  return std::move(*found);
}

// What a person or a model is told about each kind of violation.
TEST(JsonSchema, EachViolation_NamesPathKeywordAndPlace) {
  struct Case {
    const char* schema;
    const char* value;
    Violation violation;
  };
  const Case cases[] = {
      {R"({"type": "string"})", "1", {"", "type", "#/type", "expected string, found integer"}},
      {R"({"type": ["integer", "null"]})", "1.5", {"", "type", "#/type", "expected integer or null, found number"}},
      {R"({"properties": {"a/b": {"items": {"type": "number"}}}})",
       R"({"a/b": [1, "x"]})",
       {"/a~1b/1", "type", "#/properties/a~1b/items/type", "expected number, found string"}},
      {R"({"properties": {"a": {}}, "required": ["a", "b"]})",
       R"({"a": 1})",
       {"", "required", "#/required", "missing property \"b\""}},
      {R"({"properties": {"a": {}}, "additionalProperties": false})",
       R"({"a": 1, "b": 2})",
       {"", "additionalProperties", "#/additionalProperties", "unexpected property \"b\"; known are \"a\""}},
      {R"({"additionalProperties": {"type": "null"}})",
       R"({"b": 2})",
       {"/b", "type", "#/additionalProperties/type", "expected null, found integer"}},
      {R"({"patternProperties": {"^x": {"minimum": 5}}})",
       R"({"xy": 2})",
       {"/xy", "minimum", "#/patternProperties/^x/minimum", "must be at least 5"}},
      {R"({"maximum": 5})", "6", {"", "maximum", "#/maximum", "must be at most 5"}},
      {R"({"exclusiveMinimum": 5})", "5", {"", "exclusiveMinimum", "#/exclusiveMinimum", "must be above 5"}},
      {R"({"exclusiveMaximum": 5})", "5", {"", "exclusiveMaximum", "#/exclusiveMaximum", "must be below 5"}},
      {R"({"multipleOf": 0.1})", "0.25", {"", "multipleOf", "#/multipleOf", "must be a multiple of 0.1"}},
      {R"({"enum": ["a", 2]})", "\"b\"", {"", "enum", "#/enum", "must be one of \"a\",2"}},
      {R"({"const": {"a": 1}})", "{}", {"", "const", "#/const", "must be {\"a\":1}"}},
      {R"({"minLength": 2})", "\"ä\"", {"", "minLength", "#/minLength", "must have at least 2 characters, has 1"}},
      {R"({"maxLength": 1})", "\"äö\"", {"", "maxLength", "#/maxLength", "must have at most 1 character, has 2"}},
      {R"({"pattern": "^a$"})", "\"b\"", {"", "pattern", "#/pattern", "does not match the pattern ^a$"}},
      {R"({"minItems": 1})", "[]", {"", "minItems", "#/minItems", "must have at least 1 item, has 0"}},
      {R"({"maxItems": 1})", "[1, 2]", {"", "maxItems", "#/maxItems", "must have at most 1 item, has 2"}},
      {R"({"prefixItems": [{}], "items": false})",
       "[1, 2]",
       {"", "items", "#/items", "must have at most 1 item, has 2"}},
      {R"({"uniqueItems": true})", "[1, 2, 1.0]", {"", "uniqueItems", "#/uniqueItems", "items 0 and 2 are equal"}},
      {R"({"contains": {"const": 1}})",
       "[2]",
       {"", "contains", "#/contains", "must contain at least 1 item of a certain kind, has 0"}},
      {R"({"minProperties": 1})",
       "{}",
       {"", "minProperties", "#/minProperties", "must have at least 1 property, has 0"}},
      {R"({"propertyNames": {"maxLength": 1}})",
       R"({"ab": 1})",
       {"", "propertyNames", "#/propertyNames",
        "the name \"ab\" is not allowed: must have at most 1 character, has 2"}},
      {R"({"dependentRequired": {"a": ["b"]}})",
       R"({"a": 1})",
       {"", "dependentRequired", "#/dependentRequired", "missing property \"b\", which \"a\" needs"}},
      {R"({"anyOf": [{"type": "string"}, {"required": ["x"]}]})",
       "{}",
       {"", "anyOf", "#/anyOf",
        "matches none of 2 alternatives: (1) expected string, found object; (2) missing property \"x\""}},
      {R"({"oneOf": [{"type": "integer"}, {"minimum": 0}]})",
       "1",
       {"", "oneOf", "#/oneOf", "matches alternatives 1 and 2, must match exactly one"}},
      {R"({"not": {"type": "integer"}})",
       "1",
       {"", "not", "#/not", "matches the schema in \"not\", which it must not match"}},
      {R"({"if": true, "then": false})", "1", {"", "false", "#/then", "nothing is allowed here"}},
      {R"({"properties": {"a": true}, "unevaluatedProperties": false})",
       R"({"b": 1})",
       {"", "unevaluatedProperties", "#/unevaluatedProperties", "unexpected property \"b\""}},
      {R"({"prefixItems": [true], "unevaluatedItems": false})",
       "[1, 2]",
       {"", "unevaluatedItems", "#/unevaluatedItems", "unexpected item 1"}},
      {R"({"$id": "https://example.com/tree", "$ref": "#/$defs/n", "$defs": {"n": {"$id": "n", "type": "null"}}})",
       "1",
       {"", "type", "https://example.com/n#/type", "expected null, found integer"}},
      {R"({"$ref": "#/x/y", "x": {"y": {"properties": {"p": {"type": "null"}}}}})",
       R"({"p": 1})",
       {"/p", "type", "#/x/y/properties/p/type", "expected null, found integer"}},
      {"false", "1", {"", "false", "#", "nothing is allowed here"}},
  };
  for (const Case& item : cases) {
    EXPECT_THAT(violations(item.schema, item.value), testing::ElementsAre(item.violation)) << item.schema;
    EXPECT_FALSE(accepts(item.schema, item.value)) << item.schema;
  }
}

TEST(JsonSchema, AllViolations_AreCollectedUpToTheCap) {
  const Schema schema = compiled(R"({"items": {"type": "string"}})");
  const Json value = json("[1, 2, 3, 4, 5]");
  EXPECT_THAT(*schema.validate(value), SizeIs(5));
  EXPECT_THAT(*schema.validate(value, {.max_violations = 3}), SizeIs(3));
  EXPECT_EQ(schema.validate(value, {.max_violations = 2})->back().instance_path, "/1");
}

TEST(JsonSchema, Violations_AreDescribedLineByLine) {
  const auto found =
      violations(R"({"properties": {"size": {"type": "integer"}}, "required": ["path"]})", R"({"size": "big"})");
  EXPECT_EQ(describe(found, "arguments"),
            "/size: expected integer, found string\narguments: missing property \"path\"");
}

TEST(JsonSchema, Schema_OutlivesWhatItWasCompiledFrom) {
  auto source =
      std::make_unique<Json>(json(R"({"properties": {"a": {"enum": ["long enough to be on the heap", [1]]}}})"));
  auto schema = std::make_unique<Schema>(std::move(*Schema::compile(*source)));
  source.reset();
  const Schema copy = *schema;
  schema.reset();
  EXPECT_TRUE(*copy.accepts(json(R"({"a": [1]})")));
  EXPECT_THAT(*copy.validate(json(R"({"a": 1})")), SizeIs(1));
}

// What cannot be a schema is refused, with the place.
TEST(JsonSchema, BadSchemas_DoNotCompile) {
  struct Case {
    const char* schema;
    Errc code;
    const char* message;
  };
  const Case cases[] = {
      {"3", Errc::invalid_argument, "#: expected a schema"},
      {R"({"type": "strnig"})", Errc::invalid_argument, "#/type: expected null, boolean"},
      {R"({"type": []})", Errc::invalid_argument, "#/type: expected at least one"},
      {R"({"properties": {"a": 3}})", Errc::invalid_argument, "#/properties: expected a schema"},
      {R"({"properties": []})", Errc::invalid_argument, "#/properties: expected an object"},
      {R"({"items": [{}]})", Errc::invalid_argument, "#/items: expected a schema"},
      {R"({"allOf": []})", Errc::invalid_argument, "#/allOf: expected an array"},
      {R"({"required": true})", Errc::invalid_argument, "#/required: expected an array of strings"},
      {R"({"required": [1]})", Errc::invalid_argument, "#/required: expected an array of strings"},
      {R"({"enum": 1})", Errc::invalid_argument, "#/enum: expected an array"},
      {R"({"minimum": "1"})", Errc::invalid_argument, "#/minimum: expected a number"},
      {R"({"minLength": -1})", Errc::invalid_argument, "#/minLength: expected an integer"},
      {R"({"minLength": 1.5})", Errc::invalid_argument, "#/minLength: expected an integer"},
      {R"({"multipleOf": 0})", Errc::invalid_argument, "#/multipleOf: expected a positive number"},
      {R"({"uniqueItems": 1})", Errc::invalid_argument, "#/uniqueItems: expected a boolean"},
      {R"({"properties": {"a": {"pattern": "("}}})", Errc::invalid_argument, "#/properties/a/pattern: \"(\" cannot be"},
      {R"({"patternProperties": {"*": {}}})", Errc::invalid_argument, "#/patternProperties: \"*\" cannot be"},
      {R"({"$ref": 1})", Errc::invalid_argument, "#/$ref: expected a string"},
      {R"({"properties": {"a": {"$ref": "#/nowhere"}}})", Errc::invalid_argument,
       "#/properties/a/$ref: \"#/nowhere\" cannot be resolved"},
      {R"({"$ref": "#nowhere"})", Errc::invalid_argument, "no such anchor"},
      {R"({"$ref": "https://example.com/other.json"})", Errc::invalid_argument, "nothing is fetched from the network"},
      {R"({"$ref": "file:///etc/passwd"})", Errc::invalid_argument, "no document \"file:///etc/passwd\""},
      {R"({"$id": "https://example.com/a", "$ref": "b#/c"})", Errc::invalid_argument, "\"https://example.com/b\""},
      {R"({"$ref": "#/%zz"})", Errc::invalid_argument, "percent"},
      {R"({"$dynamicRef": "#none"})", Errc::invalid_argument, "#/$dynamicRef: \"#none\" cannot be resolved"},
      {R"({"$id": "https://example.com/a#b"})", Errc::invalid_argument, "$id must not have a fragment"},
      {R"({"$defs": {"a": {"$id": "urn:x"}, "b": {"$id": "urn:x"}}})", Errc::invalid_argument, "two schemas"},
      {R"({"$schema": "http://json-schema.org/draft-03/schema#"})", Errc::unsupported,
       "draft-03/schema#\" is not known"},
      {R"({"$schema": "https://example.com/mine"})", Errc::unsupported, "\"https://example.com/mine\" is not known"},
  };
  for (const Case& item : cases) {
    const auto schema = Schema::compile(json(item.schema));
    ASSERT_FALSE(schema) << item.schema;
    EXPECT_EQ(schema.error().code(), item.code) << item.schema;
    EXPECT_THAT(schema.error().message(), HasSubstr(item.message));
  }
}

TEST(JsonSchema, RequiredVocabularyWeDoNotKnow_IsUnsupported) {
  const SchemaDocuments documents{
      {"https://example.com/meta", json(R"({"$schema": "https://json-schema.org/draft/2020-12/schema",
                                            "$vocabulary": {"https://example.com/vocab": true}})")}};
  const auto schema = Schema::compile(json(R"({"$schema": "https://example.com/meta"})"), {.documents = &documents});
  ASSERT_FALSE(schema);
  EXPECT_EQ(schema.error().code(), Errc::unsupported);
  EXPECT_THAT(schema.error().message(), HasSubstr("\"https://example.com/vocab\""));
}

TEST(JsonSchema, Dialect_IsTheDeclaredOneOrTheDefault) {
  EXPECT_EQ(compiled("{}").dialect(), SchemaDialect::draft_2020_12);
  EXPECT_EQ(compiled("{}", {.default_dialect = SchemaDialect::draft_07}).dialect(), SchemaDialect::draft_07);
  EXPECT_EQ(compiled(R"({"$schema": "http://json-schema.org/draft-07/schema#"})").dialect(), SchemaDialect::draft_07);
  EXPECT_EQ(compiled(R"({"$schema": "https://json-schema.org/draft/2020-12/schema"})").dialect(),
            SchemaDialect::draft_2020_12);
  // A tuple is written differently in the two.
  const std::string tuple = R"("items": [{"type": "string"}], "additionalItems": false)";
  EXPECT_FALSE(accepts(R"({"$schema": "http://json-schema.org/draft-07/schema#", )" + tuple + "}", R"(["a", "b"])"));
}

TEST(JsonSchema, SuppliedDocuments_AreFoundByUri) {
  const SchemaDocuments documents{
      {"https://example.com/size", json(R"({"$defs": {"s": {"$anchor": "s", "type": "integer"}}})")},
  };
  const SchemaOptions options{.base_uri = "https://example.com/root", .documents = &documents};
  EXPECT_TRUE(accepts(R"({"$ref": "size#s"})", "1", options));
  EXPECT_FALSE(accepts(R"({"$ref": "size#/$defs/s"})", "\"1\"", options));
}

TEST(JsonSchema, MetaSchemas_AreBuiltIn) {
  for (const char* uri : {"https://json-schema.org/draft/2020-12/schema", "http://json-schema.org/draft-07/schema#"}) {
    const std::string meta = fmt::format(R"({{"$ref": "{}"}})", uri);
    EXPECT_TRUE(accepts(meta, R"({"properties": {"a": {"type": "string", "minLength": 3}}, "allOf": [true]})")) << uri;
    EXPECT_FALSE(accepts(meta, R"({"properties": {"a": {"type": "strnig"}}})")) << uri;
    EXPECT_FALSE(accepts(meta, R"({"allOf": [{"allOf": [{"minLength": -1}]}]})")) << uri;
    // Each describes itself.
    EXPECT_TRUE(accepts(meta, meta)) << uri;
  }
}

TEST(JsonSchema, Numbers_AreExact) {
  struct Case {
    const char* schema;
    const char* value;
    bool valid;
  };
  const Case cases[] = {
      {R"({"multipleOf": 0.0001})", "0.0075", true},
      {R"({"multipleOf": 0.0001})", "0.00751", false},
      {R"({"multipleOf": 0.01})", "19.99", true},
      {R"({"multipleOf": 0.1})", "-1.3", true},
      {R"({"multipleOf": 0.5})", "1e308", true},
      {R"({"multipleOf": 0.123456789})", "1e308", false},
      {R"({"multipleOf": 1e300})", "3e300", true},
      {R"({"multipleOf": 1e300})", "3e299", false},
      {R"({"multipleOf": 3})", "9223372036854775807", false},
      {R"({"multipleOf": 7})", "9223372036854775807", true},
      {R"({"multipleOf": 3})", "18446744073709551615", true},
      {R"({"multipleOf": 3})", "300000000000000000000000000003", true},
      {R"({"multipleOf": 3})", "300000000000000000000000000004", false},
      {R"({"multipleOf": 7})", "7e400", true},
      {R"({"multipleOf": 2})", "0", true},
      {R"({"multipleOf": 2})", "-0.0", true},
      {R"({"type": "integer"})", "1.0", true},
      {R"({"type": "integer"})", "1e2", true},
      {R"({"type": "integer"})", "1.5", false},
      {R"({"type": "integer"})", "123456789012345678901234567890", true},
      {R"({"type": "integer"})", "1e400", true},
      {R"({"type": "integer"})", "1e-400", false},
      {R"({"type": "integer"})", "123456789012345678901234567890.5", true},  // the nearest double has no fraction
      {R"({"maximum": 9007199254740992})", "9007199254740993", false},
      {R"({"maximum": 9007199254740992.0})", "9007199254740993", false},
      {R"({"maximum": 18446744073709551614})", "18446744073709551615", false},
      {R"({"minimum": 9223372036854775807})", "9223372036854775808", true},
      {R"({"maximum": 100000000000000000000000000000})", "100000000000000000000000000001", false},
      {R"({"minimum": -100000000000000000000000000000})", "-100000000000000000000000000001", false},
      {R"({"maximum": 1e308})", "1e400", false},
      {R"({"exclusiveMinimum": 0})", "1e-400", true},
      {R"({"exclusiveMaximum": 0})", "-1e-400", true},
      {R"({"const": 1})", "1.0", true},
      {R"({"const": 1})", "true", false},
      {R"({"const": 0})", "false", false},
      {R"({"const": 1e400})", "10e399", true},
      {R"({"enum": [123456789012345678901234567890]})", "123456789012345678901234567890", true},
      {R"({"enum": [123456789012345678901234567890]})", "123456789012345678901234567891", false},
      {R"({"minLength": 2.0})", "\"ab\"", true},
      {R"({"maxLength": 1e30})", "\"ab\"", true},
  };
  for (const Case& item : cases) EXPECT_EQ(accepts(item.schema, item.value), item.valid) << item.schema << item.value;
}

TEST(JsonSchema, UniqueItems_ComparesByValueAtAnySize) {
  const Schema schema = compiled(R"({"uniqueItems": true})");
  Json many = Json::array();
  for (int i = 0; i < 5'000; ++i) many.push_back(Json{{"id", i}, {"tags", Json::array({"a", i})}});
  EXPECT_TRUE(*schema.accepts(many));
  many.push_back(Json{{"tags", Json::array({"a", 777.0})}, {"id", 777}});
  EXPECT_FALSE(*schema.accepts(many));
  EXPECT_EQ(schema.validate(many)->front().message, "items 777 and 5000 are equal");
}

// The size of an object decides how its properties are looked up.
TEST(JsonSchema, ManyProperties_AreFoundAsFewAre) {
  Json schema{{"additionalProperties", false}};
  Json value = Json::object();
  for (int i = 0; i < 40; ++i) {
    const std::string name = fmt::format("p{}", i);
    schema["properties"][name] = Json{{"const", i}};
    schema["required"].push_back(name);
    value[name] = i;
  }
  const auto many = Schema::compile(schema);
  ASSERT_TRUE(many);
  EXPECT_TRUE(*many->accepts(value));
  value["p7"] = 8;
  EXPECT_EQ(many->validate(value)->front().instance_path, "/p7");
  value.as_object().erase("p7");
  EXPECT_EQ(many->validate(value)->front().message, "missing property \"p7\"");
}

TEST(JsonSchema, Unevaluated_SeesOnlyWhatMatched) {
  struct Case {
    const char* schema;
    const char* value;
    bool valid;
  };
  const char* branches = R"({"anyOf": [{"properties": {"a": {"const": 1}}, "required": ["a"]},
                                       {"properties": {"b": {"const": 2}}, "required": ["b"]}],
                             "unevaluatedProperties": false})";
  const char* nested = R"({"allOf": [{"properties": {"a": true}, "unevaluatedProperties": false}],
                           "properties": {"b": true}})";
  const char* outer = R"({"allOf": [{"properties": {"a": true}, "unevaluatedProperties": {"type": "integer"}}],
                          "unevaluatedProperties": false})";
  const char* condition = R"({"if": {"properties": {"a": {"const": 1}}, "required": ["a"]},
                              "then": {"properties": {"b": true}}, "unevaluatedProperties": false})";
  const Case cases[] = {
      {branches, R"({"a": 1})", true},
      {branches, R"({"a": 1, "b": 2})", true},
      {branches, R"({"a": 1, "b": 3})", false},  // the second branch failed, so b was not evaluated
      {branches, R"({"a": 1, "c": 3})", false},
      {nested, R"({"a": 1})", true},
      {nested, R"({"b": 1})", false},  // a cousin's annotations are not seen
      {outer, R"({"a": 1, "x": 1})", true},
      {outer, R"({"a": 1, "x": "y"})", false},
      {condition, R"({"a": 1, "b": 1})", true},
      {condition, R"({"a": 2})", false},
      {R"({"not": {"not": {"properties": {"a": true}}}, "unevaluatedProperties": false})", R"({"a": 1})", false},
      {R"({"contains": {"type": "string"}, "unevaluatedItems": {"type": "integer"}})", R"(["a", 1])", true},
      {R"({"contains": {"type": "string"}, "unevaluatedItems": {"type": "integer"}})", R"(["a", null])", false},
  };
  for (const Case& item : cases) EXPECT_EQ(accepts(item.schema, item.value), item.valid) << item.schema << item.value;

  // Beyond the 64 positions that need no memory of their own.
  Json wide = Json::object();
  Json names = Json::object();
  for (int i = 0; i < 300; ++i) {
    wide[fmt::format("p{}", i)] = i;
    names[fmt::format("p{}", i)] = true;
  }
  const Json schema{{"anyOf", Json::array({Json{{"properties", names}}})}, {"unevaluatedProperties", false}};
  EXPECT_TRUE(*Schema::compile(schema)->accepts(wide));
  wide["q"] = 1;
  EXPECT_FALSE(*Schema::compile(schema)->accepts(wide));
}

TEST(JsonSchema, Formats_AreCheckedOnlyWhenAsked) {
  EXPECT_TRUE(accepts(R"({"format": "email"})", R"("nobody")"));
  struct Case {
    const char* format;
    const char* good;
    const char* bad;
  };
  const Case cases[] = {
      {"email", "a.b+c@example.org", "a@b@"},
      {"uri", "https://example.org/a?b#c", "/a"},
      {"uri-reference", "/a?b", "a b"},
      {"date", "2024-02-29", "2023-02-29"},
      {"date-time", "2024-02-29T23:59:60Z", "2024-02-29 10:00:00Z"},
      {"time", "10:20:30+05:30", "10:20:30"},
      {"duration", "P1Y2M3DT4H", "P1D2H"},
      {"ipv4", "192.0.2.1", "192.0.2.01"},
      {"ipv6", "2001:db8::1.2.3.4", "2001:db8:::1"},
      {"uuid", "2eb8aa08-aa98-11ea-b4aa-73b441d16380", "2eb8aa08aa9811eab4aa73b441d16380"},
      {"hostname", "a-1.example", "-a.example"},
      {"json-pointer", "/a~1b/0", "a/b"},
      {"regex", "^(a|b)+$", "^(a|b+$"},
  };
  for (const Case& item : cases) {
    const std::string schema = fmt::format(R"({{"format": "{}"}})", item.format);
    const SchemaOptions asserted{.assert_formats = true};
    EXPECT_TRUE(accepts(schema, to_text(Json(item.good)), asserted)) << item.format << ' ' << item.good;
    EXPECT_FALSE(accepts(schema, to_text(Json(item.bad)), asserted)) << item.format << ' ' << item.bad;
    EXPECT_TRUE(accepts(schema, to_text(Json(item.bad)))) << item.format;
    EXPECT_TRUE(accepts(schema, "1", asserted)) << item.format;
  }
  EXPECT_TRUE(accepts(R"({"format": "novel"})", R"("x")", {.assert_formats = true}));
}

// ---- hostile input --------------------------------------------------------------------

Errc limit_of(const Schema& schema, const Json& value, const ValidateOptions& options = {}) {
  const auto verdict = schema.accepts(value, options);
  if (verdict) throw Error(Errc::internal, *verdict ? "valid" : "invalid");
  const auto found = schema.validate(value, options);
  EXPECT_FALSE(found);
  return verdict.error().code();
}

Json nested(int levels) {
  Json value = 1;
  for (int i = 0; i < levels; ++i) {
    Json outer = Json::array();
    outer.push_back(std::move(value));
    value = std::move(outer);
  }
  return value;
}

TEST(HostileSchema, ReferenceToItself_EndsAtTheDepthBound) {
  for (const char* schema : {
           R"({"$ref": "#"})",
           R"({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}})",
           R"({"anyOf": [{"$ref": "#"}, {"$ref": "#"}]})",
           R"({"not": {"$ref": "#"}})",
           R"({"if": {"$ref": "#"}})",
           R"({"$dynamicAnchor": "x", "$dynamicRef": "#x"})",
           R"({"$dynamicAnchor": "x", "oneOf": [{"$dynamicRef": "#x"}], "unevaluatedProperties": false})",
           R"({"$schema": "http://json-schema.org/draft-07/schema#", "dependencies": {"a": {"$ref": "#"}}})",
       }) {
    EXPECT_EQ(limit_of(compiled(schema), json(R"({"a": [1]})")), Errc::limit) << schema;
  }
}

TEST(HostileSchema, ExponentialAllOf_EndsAtTheStepBound) {
  for (const char* keyword : {"allOf", "anyOf", "oneOf"}) {
    const bool all = keyword == std::string_view("allOf");
    Json definitions{{"a64", Json{{"type", all ? "integer" : "string"}}}};
    for (int i = 0; i < 64; ++i) {
      const Json next{{"$ref", fmt::format("#/$defs/a{}", i + 1)}};
      definitions[fmt::format("a{}", i)] = Json{{keyword, Json::array({next, next})}};
    }
    const auto schema = Schema::compile(Json{{"$defs", definitions}, {"$ref", "#/$defs/a0"}});
    ASSERT_TRUE(schema);
    EXPECT_EQ(limit_of(*schema, Json(1), {.max_steps = 200'000}), Errc::limit) << keyword;
  }
}

TEST(HostileSchema, CatastrophicPattern_EndsAtTheStepBound) {
  const std::string many(5'000, 'a');
  std::string wide_class;  // 1500 characters that PCRE2 goes through one by one
  for (int i = 0; i < 1'500; ++i) wide_class += fmt::format("\\u{:04x}", 0x4E00 + 2 * i);
  const std::string long_literal(7'000, 'a');
  // Classes at the end, because PCRE2 looks for a required character before anything else.
  const std::pair<std::string, std::string> cases[] = {
      {"(x+x+)+[yz]", std::string(40, 'x')},
      {"^(a+)+$", many + "!"},
      {"^(a|a)*$", many + "!"},
      {"^(a|aa)+$", many + "!"},
      {"a*a*a*a*a*[bc]", many},
      {"a*?a*?a*?a*?a*?[bc]", many},
      {"^(([a-z])+.)+[A-Z]([a-z])+$", many},
      {"^(?:a?){60}a{60}$", std::string(59, 'a') + "b"},
      {"(a*)\\1\\1\\1[bc]", many},
      {"(?=(a+))a*[bc]\\1", many + many},
      {"(?:(?:a*)*)*[bc]", many},
      {"(?:a{0,90}){0,90}[bc]", many},
      {"[a-z]*[xy]\\d", std::string(1'000'000, 'a')},
      {".*.*=.*", std::string(200'000, 'a') + "\n="},
      {"a{60000}[bc]", std::string(119'999, 'a')},
      {"(?:a|b)*[cd]", std::string(5'000'000, 'a')},
      {"(?:a|b|(?=c)|(?!d))*[xy]", many},
      {long_literal + "[bc]", std::string(100'000, 'a')},
      {"[^" + wide_class + "]*[bc]\\d", "\u4E01" + std::string(100'000, 'a')},
  };
  for (const auto& [pattern, text] : cases) {
    const SchemaOptions options{.max_pattern_bytes = 10'000};
    const auto schema = Schema::compile(Json{{"pattern", pattern}}, options);
    ASSERT_TRUE(schema) << pattern;
    EXPECT_EQ(limit_of(*schema, Json(text), {.max_steps = 500'000}), Errc::limit) << pattern;
    const auto names = Schema::compile(Json{{"patternProperties", Json{{pattern, false}}}}, options);
    EXPECT_EQ(limit_of(*names, Json{{text, 1}}, {.max_steps = 500'000}), Errc::limit) << pattern;
  }
}

TEST(HostileSchema, OrdinaryPatterns_StayFarBelowTheStepBound) {
  const std::pair<const char*, std::string> cases[] = {
      {"^[a-z]+$", std::string(1'000'000, 'a')},
      {"^(?!\\.)(?!.*\\.\\.)([A-Za-z0-9_'+\\-\\.]*)[A-Za-z0-9_+-]@([A-Za-z0-9][A-Za-z0-9\\-]*\\.)+[A-Za-z]{2,}$",
       "someone.with+tag@mail.example.org"},
      {"foo$", std::string(100'000, 'f') + "foo"},
      {"^(?:[0-9a-f]{2}:){5}[0-9a-f]{2}$", "00:11:22:33:44:55"},
  };
  for (const auto& [pattern, text] : cases) {
    const auto schema = Schema::compile(Json{{"pattern", pattern}});
    ASSERT_TRUE(schema) << pattern;
    const auto verdict = schema->accepts(Json(text), {.max_steps = 200'000});
    ASSERT_TRUE(verdict) << pattern << ": " << verdict.error().message();
    EXPECT_TRUE(*verdict) << pattern;
  }
}

TEST(HostileSchema, TooManySubschemas_AreRefused) {
  Json properties = Json::object();
  for (int i = 0; i < 200; ++i) properties[fmt::format("p{}", i)] = true;
  const Json schema{{"properties", properties}};
  EXPECT_TRUE(Schema::compile(schema, {.max_subschemas = 201}));
  const auto refused = Schema::compile(schema, {.max_subschemas = 200});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Errc::limit);
}

TEST(HostileSchema, HugePattern_IsRefused) {
  const Json schema{{"pattern", std::string(9'000, 'a')}};
  EXPECT_TRUE(Schema::compile(schema, {.max_pattern_bytes = 9'000}));
  const auto refused = Schema::compile(schema);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Errc::limit);
  EXPECT_THAT(refused.error().message(), HasSubstr("#/pattern"));
  // One that is short but grows when compiled.
  const auto growing = Schema::compile(json(R"({"pattern": "((((a{999}){999}){999}){999}){999}"})"));
  ASSERT_FALSE(growing);
  EXPECT_EQ(growing.error().code(), Errc::invalid_argument);
}

TEST(HostileSchema, DeepNesting_UsesNoStackWhenCompiling) {
  Json schema = true;
  for (int i = 0; i < 9'000; ++i) {
    Json outer = Json::object();
    outer["items"] = std::move(schema);
    schema = std::move(outer);
  }
  const auto deep = Schema::compile(schema);
  ASSERT_TRUE(deep);
  EXPECT_TRUE(*deep->accepts(nested(900)));
  EXPECT_EQ(limit_of(*deep, nested(8'000)), Errc::limit);
}

TEST(HostileSchema, DeepValue_EndsAtTheDepthBound) {
  const Schema schema = compiled(R"({"items": {"$ref": "#"}})");
  EXPECT_TRUE(*schema.accepts(nested(128)));
  EXPECT_EQ(limit_of(schema, nested(50'000)), Errc::limit);
  // Comparing and hashing do not recurse with the value.
  const Schema unique = compiled(R"({"uniqueItems": true})");
  Json twins = Json::array();
  twins.push_back(nested(50'000));
  twins.push_back(nested(50'000));
  EXPECT_FALSE(*unique.accepts(twins));
}

TEST(HostileSchema, CollidingItems_EndAtTheStepBound) {
  // Differences deeper than the hash looks make every pair a comparison.
  Json items = Json::array();
  for (int i = 0; i < 100; ++i) {
    Json item = i;
    for (int level = 0; level < 80; ++level) item = Json::array({item});
    items.push_back(item);
  }
  const Schema schema = compiled(R"({"uniqueItems": true})");
  EXPECT_EQ(limit_of(schema, items, {.max_steps = 20'000}), Errc::limit);
  EXPECT_TRUE(*schema.accepts(items));
}

TEST(HostileSchema, NestedAlternatives_DoNotMultiplyTheReasons) {
  // Each level of the value fails five alternatives, each of which looks one level deeper.
  const Schema schema = compiled(R"({"anyOf": [
      {"$ref": "#/$defs/deeper"}, {"$ref": "#/$defs/deeper"}, {"$ref": "#/$defs/deeper"}, {"type": "null"}],
      "$defs": {"deeper": {"type": "array", "items": {"$ref": "#"}}}})");
  const Json value = nested(8);
  const auto found = schema.validate(value);
  ASSERT_TRUE(found) << found.error().message();
  EXPECT_EQ(found->front().keyword, "anyOf");
  EXPECT_LT(found->front().message.size(), 2'000u);
}

TEST(HostileSchema, ReasonsBeyondTheBound_LeaveTheVerdict) {
  // The verdict needs one item, the reasons all of them.
  Json value = Json::array();
  value.push_back("no integer");
  for (int i = 0; i < 10'000; ++i) value.push_back(i);
  value.push_back("no integer");
  const Schema schema = compiled(R"({"items": {"type": "integer"}})");
  EXPECT_FALSE(*schema.accepts(value, {.max_steps = 100}));
  EXPECT_THAT(*schema.validate(value, {.max_steps = 100}), SizeIs(1));
  EXPECT_THAT(*schema.validate(value), SizeIs(2));
  const Schema negated = compiled(R"({"propertyNames": {"maxLength": 3}})");
  const auto unexplained = negated.validate(Json{{"long name", 1}}, {.max_steps = 2});
  ASSERT_TRUE(unexplained) << unexplained.error().message();
  EXPECT_THAT(unexplained->front().message, HasSubstr("not valid"));
}

TEST(HostileSchema, LargeConstant_IsPaidForInSteps) {
  Json constant = Json::array();
  for (int i = 0; i < 20'000; ++i) constant.push_back(i);
  const Json branch{{"const", constant}};
  Json branches = Json::array();
  for (int i = 0; i < 9'000; ++i) branches.push_back(Json{{"$ref", "#/$defs/c"}});
  const auto schema = Schema::compile(Json{{"$defs", Json{{"c", branch}}}, {"allOf", branches}});
  ASSERT_TRUE(schema);
  EXPECT_EQ(limit_of(*schema, constant, {.max_steps = 100'000}), Errc::limit);
}

}  // namespace
}  // namespace patchbay
