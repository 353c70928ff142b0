// Which schemas OpenAI can hold an answer to. G1.
#include "agent/models/openai_schema.h"

#include <gtest/gtest.h>

namespace patchbay {
namespace {

bool strict(std::string_view text) { return is_strict_schema(parse_json(text).value()); }

TEST(OpenAiSchema, IsStrictWhereEverythingIsClosedAndRequired) {
  for (const auto* text : {
           R"({"type": "object", "properties": {}, "additionalProperties": false})",
           R"({"type": "object", "additionalProperties": false, "required": ["a", "b"], "description": "d",
               "properties": {"a": {"type": ["string", "null"]}, "b": {"type": "array", "items": {"enum": [1, 2]}}}})",
           R"({"type": "object", "additionalProperties": false, "required": ["a"], "properties": {
               "a": {"anyOf": [{"type": "null"}, {"type": "object", "additionalProperties": false, "properties": {}}]}}})",
       }) {
    EXPECT_TRUE(strict(text)) << text;
  }
  for (const auto* text : {
           R"({"type": "object"})",
           R"({"type": "array", "items": {"type": "string"}})",
           R"({"type": "object", "additionalProperties": {}, "properties": {}})",
           R"({"type": "object", "additionalProperties": false, "properties": {"a": {"type": "string"}}})",
           R"({"type": "object", "additionalProperties": false, "required": ["a"],
               "properties": {"a": {"type": "object"}}})",
           R"({"type": "object", "additionalProperties": false, "required": ["a"],
               "properties": {"a": {"type": ["object", "null"]}}})",
           R"({"type": "object", "additionalProperties": false, "required": ["a"],
               "properties": {"a": {"type": "string", "pattern": "x+"}}})",
           R"({"type": "object", "additionalProperties": false, "required": ["a"],
               "properties": {"a": {"type": "array"}}})",
           R"({"type": "object", "additionalProperties": false, "required": ["a"], "properties": {"a": {}}})",
           R"({"type": "object", "additionalProperties": false, "required": ["a"], "properties": {"a": true}})",
           R"({"type": "object", "additionalProperties": false, "anyOf": [{"type": "object"}]})",
           R"({"type": "object", "additionalProperties": false, "allOf": []})",
           R"({"$schema": "x", "type": "object", "additionalProperties": false})",
           R"(true)",
       }) {
    EXPECT_FALSE(strict(text)) << text;
  }
}

TEST(OpenAiSchema, IsNotStrictBeyondWhatTheApiTakes) {
  Json deep{{"type", "string"}};
  for (int level = 0; level < 5; ++level) {
    deep = Json{{"type", "object"},
                {"properties", Json{{"a", deep}}},
                {"required", Json::array({"a"})},
                {"additionalProperties", false}};
    EXPECT_EQ(is_strict_schema(deep), level < 4) << level;
  }
  Json wide{{"type", "object"}, {"additionalProperties", false}};
  Json properties = Json::object();
  Json required = Json::array();
  for (int at = 0; at < 101; ++at) {
    properties["p" + std::to_string(at)] = Json{{"type", "string"}};
    required.push_back("p" + std::to_string(at));
  }
  wide["properties"] = properties;
  wide["required"] = required;
  EXPECT_FALSE(is_strict_schema(wide));
}

}  // namespace
}  // namespace patchbay
