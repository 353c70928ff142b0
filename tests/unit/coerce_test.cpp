// Texts that become what a schema wants, and all that stays as it is.
#include "json/coerce.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace patchbay {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Json json(std::string_view text) { return parse_json(text).value(); }

Schema schema_of(std::string_view text) { return Schema::compile(json(text)).value(); }

// Its text after coercion; "-" when it stays as it is.
std::string coerced(std::string_view schema, std::string_view value) {
  const auto made = coerce(schema_of(schema), json(value));
  return made ? to_text(made->value) : "-";
}

struct Case {
  std::string_view schema;
  std::string_view value;
  std::string_view expected;  // "-": stays as it is
};

TEST(Coerce, TextsBecomeWhatTheSchemaWants) {
  const Case cases[] = {
      // Numbers.
      {R"({"type":"integer"})", R"("10")", "10"},
      {R"({"type":"integer"})", R"("-3")", "-3"},
      {R"({"type":"integer"})", R"("0")", "0"},
      {R"({"type":"integer"})", R"("10.0")", "10"},
      {R"({"type":"integer"})", R"("1e3")", "1000"},
      {R"({"type":"integer"})", R"("18446744073709551615")", "18446744073709551615"},
      {R"({"type":"integer"})", R"("123456789012345678901234567890")", "123456789012345678901234567890"},
      {R"({"type":"number"})", R"("2.5")", "2.5"},
      {R"({"type":"number"})", R"("2.50")", "2.5"},
      {R"({"type":"number"})", R"("10")", "10"},
      {R"({"type":"number"})", R"("1e400")", "1e400"},
      {R"({"type":"integer"})", R"("10.5")", "-"},
      {R"({"type":"number"})", R"("0.1000000000000000000001")", "-"},
      {R"({"type":"integer"})", R"("ten")", "-"},
      {R"({"type":"integer"})", R"("")", "-"},
      {R"({"type":"integer"})", R"(" 10")", "-"},
      {R"({"type":"integer"})", R"("10 ")", "-"},
      {R"({"type":"integer"})", R"("+10")", "-"},
      {R"({"type":"integer"})", R"("010")", "-"},
      {R"({"type":"integer"})", R"("0x10")", "-"},
      {R"({"type":"integer"})", R"("1,000")", "-"},
      {R"({"type":"number"})", R"("NaN")", "-"},
      // Booleans and null.
      {R"({"type":"boolean"})", R"("true")", "true"},
      {R"({"type":"boolean"})", R"("false")", "false"},
      {R"({"type":"boolean"})", R"("True")", "-"},
      {R"({"type":"boolean"})", R"("yes")", "-"},
      {R"({"type":"boolean"})", R"("1")", "-"},
      {R"({"type":"boolean"})", "1", "-"},
      {R"({"type":["integer","null"]})", R"("null")", "null"},
      // JSON.
      {R"({"type":"object"})", R"("{\"a\":1}")", R"({"a":1})"},
      {R"({"type":"object"})", R"(" { } ")", "{}"},
      {R"({"type":"array"})", R"("[1,\"b\"]")", R"([1,"b"])"},
      {R"({"type":"object"})", R"("{\"a\":1,\"a\":2}")", "-"},
      {R"({"type":"object"})", R"("{\"a\":1} and more")", "-"},
      {R"({"type":"object"})", R"("[1]")", "-"},
      {R"({"type":"array"})", R"("{}")", "-"},
      {R"({"type":"array"})", R"("a")", "-"},
      // JSON inside of JSON.
      {R"({"type":"object","properties":{"n":{"type":"integer"}}})", R"("{\"n\":\"7\"}")", R"({"n":7})"},
      {R"({"type":"array","items":{"type":"object"}})", R"(["{\"a\":\"x\"}",{}])", R"([{"a":"x"},{}])"},
      // What fits stays, whatever else it could mean.
      {R"({"type":"string"})", R"("10")", "-"},
      {R"({"type":["string","integer"]})", R"("10")", "-"},
      {R"({"type":["string","object"]})", R"("{}")", "-"},
      {"{}", R"("10")", "-"},
      {"true", R"("10")", "-"},
      {R"({"minimum":5})", R"("10")", "-"},
      {R"({"type":"integer"})", "10", "-"},
      // Nothing but texts is changed.
      {R"({"type":"string"})", "10", "-"},
      {R"({"type":"string"})", "true", "-"},
      {R"({"type":"array"})", "1", "-"},
      {R"({"type":"object"})", "[]", "-"},
      // What would not fit either stays.
      {R"({"type":"integer","maximum":5})", R"("10")", "-"},
      {R"({"type":"object","required":["a"]})", R"("{}")", "-"},
      {"false", R"("10")", "-"},
      // enum and const.
      {R"({"enum":[1,2,3]})", R"("2")", "2"},
      {R"({"enum":["2",2]})", R"("2")", "-"},
      {R"({"enum":[1,3]})", R"("2")", "-"},
      {R"({"const":true})", R"("true")", "true"},
  };
  for (const auto& [schema, value, expected] : cases) {
    EXPECT_EQ(coerced(schema, value), expected) << schema << ' ' << value;
  }
}

TEST(Coerce, MembersAndItemsAreLookedAt) {
  constexpr auto schema = R"({"type":"object","required":["name"],"properties":{
      "name":{"type":"string"},"count":{"type":"integer"},"deep":{"type":"object","properties":{"on":{"type":"boolean"}}},
      "list":{"type":"array","prefixItems":[{"type":"string"}],"items":{"type":"integer"}}},
      "patternProperties":{"^n_":{"type":"number"}},"additionalProperties":{"type":["integer","array"]}})";
  const Case cases[] = {
      {schema, R"({"name":"10","count":"10"})", R"({"name":"10","count":10})"},
      {schema, R"({"name":"a","deep":{"on":"true","other":"true"}})",
       R"({"name":"a","deep":{"on":true,"other":"true"}})"},
      {schema, R"({"name":"a","list":["1","2",3,"4"]})", R"({"name":"a","list":["1",2,3,4]})"},
      {schema, R"({"name":"a","n_x":"1.5"})", R"({"name":"a","n_x":1.5})"},
      {schema, R"({"name":"a","else":"[1]","more":"3"})", R"({"name":"a","else":[1],"more":3})"},
      {schema, R"({"name":"a","deep":"{\"on\":\"false\"}"})", R"({"name":"a","deep":{"on":false}})"},
      // All or nothing: an error speaks of what was sent.
      {schema, R"({"count":"10"})", "-"},
      {schema, R"({"name":"a","count":"10","list":["1","b"]})", "-"},
      {schema, R"({"name":"a","count":10})", "-"},
  };
  for (const auto& [given, value, expected] : cases) EXPECT_EQ(coerced(given, value), expected) << value;
}

TEST(Coerce, AReferenceAndAllOfAreFollowed) {
  const Case cases[] = {
      {R"({"$ref":"#/$defs/n","$defs":{"n":{"type":"integer"}}})", R"("4")", "4"},
      {R"({"properties":{"a":{"$ref":"#/$defs/n"}},"$defs":{"n":{"type":"integer"}}})", R"({"a":"4"})", R"({"a":4})"},
      {R"({"properties":{"next":{"$ref":"#"},"n":{"type":"integer"}}})", R"({"next":{"next":{"n":"1"}},"n":"2"})",
       R"({"next":{"next":{"n":1}},"n":2})"},
      {R"({"allOf":[{"properties":{"a":{"type":"integer"}}},{"properties":{"b":{"type":"boolean"}}}]})",
       R"({"a":"1","b":"true"})", R"({"a":1,"b":true})"},
      {R"({"properties":{"a":{"type":"string"}},"allOf":[{"properties":{"a":{"type":"integer"}}}]})", R"({"a":"1"})",
       "-"},
      {R"({"if":{"properties":{"kind":{"const":"n"}}},"then":{"properties":{"v":{"type":"integer"}}},
           "else":{"properties":{"v":{"type":"string"}}}})",
       R"({"kind":"n","v":"1"})", R"({"kind":"n","v":1})"},
      {R"({"if":{"properties":{"kind":{"const":"n"}}},"then":{"properties":{"v":{"type":"integer"}}},
           "else":{"properties":{"v":{"type":"string"}}}})",
       R"({"kind":"s","v":"1"})", "-"},
      {R"({"dependentSchemas":{"a":{"properties":{"b":{"type":"integer"}}}}})", R"({"a":1,"b":"2"})",
       R"({"a":1,"b":2})"},
      {R"({"dependentSchemas":{"a":{"properties":{"b":{"type":"integer"}}}}})", R"({"b":"2"})", "-"},
  };
  for (const auto& [schema, value, expected] : cases) EXPECT_EQ(coerced(schema, value), expected) << schema << value;
}

TEST(Coerce, OfAlternativesExactlyOneReadingMustFit) {
  const Case cases[] = {
      {R"({"anyOf":[{"type":"integer"},{"type":"boolean"}]})", R"("10")", "10"},
      {R"({"anyOf":[{"type":"integer"},{"type":"boolean"}]})", R"("true")", "true"},
      {R"({"anyOf":[{"type":"integer"},{"type":"string"}]})", R"("10")", "-"},
      {R"({"oneOf":[{"type":"object"},{"type":"array"}]})", R"("[1]")", "[1]"},
      // Two alternatives that come to the same value are one reading.
      {R"({"anyOf":[{"type":"integer"},{"type":"number"}]})", R"("10")", "10"},
      {R"({"anyOf":[{"properties":{"a":{"type":"integer"}}},{"properties":{"a":{"type":"boolean"}}}]})",
       R"({"a":"true"})", R"({"a":true})"},
      // Two that come to different values are none.
      {R"({"anyOf":[{"properties":{"a":{"type":"integer"},"b":{"type":"string"}}},
                    {"properties":{"a":{"type":"integer"},"b":{"type":"integer"}}}]})",
       R"({"a":"1","b":"2"})", "-"},
      {R"({"oneOf":[{"type":"integer"},{"type":"number"}]})", R"("10")", "-"},
  };
  for (const auto& [schema, value, expected] : cases) EXPECT_EQ(coerced(schema, value), expected) << schema << value;
}

TEST(Coerce, EveryPlaceThatChangedIsNamed) {
  const auto schema = schema_of(R"({"properties":{"a/b":{"type":"integer"},"deep":{"type":"object","properties":{
      "on":{"type":"boolean"}}},"list":{"type":"array","items":{"type":"number"}}}})");
  const auto made = coerce(schema, json(R"({"a/b":"1","x":"1","deep":"{\"on\":\"true\"}","list":[1,"2.5"]})"));
  ASSERT_TRUE(made);
  EXPECT_THAT(made->places,
              ElementsAre(CoercedPlace{"/a~1b", "string", "integer"}, CoercedPlace{"/deep", "string", "object"},
                          CoercedPlace{"/deep/on", "string", "boolean"}, CoercedPlace{"/list/1", "string", "number"}));
  const auto whole = coerce(schema_of(R"({"type":"integer"})"), json(R"("1")"));
  ASSERT_TRUE(whole);
  EXPECT_THAT(whole->places, ElementsAre(CoercedPlace{"", "string", "integer"}));
}

// A stranger's schema and a stranger's value: what costs too much, or goes too deep, is left as it is.
TEST(Coerce, ItIsBounded) {
  const auto recursive = schema_of(R"({"anyOf":[{"properties":{"a":{"$ref":"#"},"b":{"$ref":"#"}},"required":["a","b"]},
      {"properties":{"a":{"$ref":"#"},"b":{"$ref":"#"}},"required":["b","a"]},{"type":"integer"}]})");
  std::string value = R"("1")";
  for (int i = 0; i < 12; ++i) value = fmt::format(R"({{"a":{0},"b":{0}}})", value);
  EXPECT_FALSE(coerce(recursive, json(value)));

  const auto nested = schema_of(R"({"type":"object","properties":{"a":{"$ref":"#"},"n":{"type":"integer"}}})");
  std::string deep = R"({"n":"1"})";
  for (int i = 0; i < 10; ++i) deep = fmt::format(R"({{"a":{}}})", deep);
  EXPECT_TRUE(coerce(nested, json(deep)));
  for (int i = 0; i < 90; ++i) deep = fmt::format(R"({{"a":{}}})", deep);
  EXPECT_FALSE(coerce(nested, json(deep)));
  // JSON text that is itself too deep.
  const std::string brackets = std::string(100, '[') + std::string(100, ']');
  EXPECT_FALSE(coerce(schema_of(R"({"type":"array"})"), Json(brackets)));
  EXPECT_FALSE(
      coerce(schema_of(R"({"type":"array"})"), Json("[" + std::string(100'000, ' ') + "]"), {.max_steps = 100}));
}

TEST(Coerce, WhatWasCoercedIsNotCoercedAgain) {
  const auto schema = schema_of(R"({"type":"object","properties":{"n":{"type":"integer"},"o":{"type":"object"}}})");
  const auto made = coerce(schema, json(R"({"n":"1","o":"{\"x\":\"2\"}"})"));
  ASSERT_TRUE(made);
  EXPECT_EQ(to_text(made->value), R"({"n":1,"o":{"x":"2"}})");
  EXPECT_FALSE(coerce(schema, made->value));
}

}  // namespace
}  // namespace patchbay
