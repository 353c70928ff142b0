#include "pins/definition.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "base/crypto.h"
#include "text/clean_text.h"

namespace patchbay {
namespace {

using Members = std::vector<std::pair<std::string, Json>>;

Json object_of(Members members) {
  std::ranges::sort(members, {}, &Members::value_type::first);
  Json out = Json::object();
  for (auto& [key, value] : members) out.as_object().set(key, std::move(value));
  return out;
}

// A value that is not a schema: only the order of keys is notation.
Json sorted(const Json& value) {
  if (const auto* items = value.if_array()) {
    Json out = Json::array();
    for (const auto& item : *items) out.push_back(sorted(item));
    return out;
  }
  const auto* object = value.if_object();
  if (object == nullptr) return value;
  Members members;
  for (const auto& [key, one] : *object) members.emplace_back(std::string(key), sorted(one));
  return object_of(std::move(members));
}

// A list whose order means nothing.
Json sorted_list(const Json& value) {
  const auto* items = value.if_array();
  if (items == nullptr) return sorted(value);
  std::vector<std::pair<std::string, Json>> all;
  for (const auto& item : *items) {
    auto one = sorted(item);
    auto text = to_text(one);
    all.emplace_back(std::move(text), std::move(one));
  }
  std::ranges::sort(all, {}, &Members::value_type::first);
  Json out = Json::array();
  std::string_view last;
  for (auto& [text, one] : all) {
    if (!out.as_array().empty() && text == last) continue;
    last = text;
    out.push_back(std::move(one));
  }
  return out;
}

constexpr std::array schema_keys{
    "items",         "additionalProperties",  "additionalItems", "not", "if", "then", "else", "contains",
    "propertyNames", "unevaluatedProperties", "unevaluatedItems"};
constexpr std::array schema_map_keys{"properties", "patternProperties", "$defs", "dependentSchemas"};
constexpr std::array schema_list_keys{"allOf", "anyOf", "oneOf", "prefixItems"};

template <std::size_t N>
bool is_one_of(const std::array<const char*, N>& keys, std::string_view key) {
  return std::ranges::find(keys, key) != keys.end();
}

Json canonical_list(const Json& value) {
  const auto* items = value.if_array();
  if (items == nullptr) return canonical_schema(value);
  Json out = Json::array();
  for (const auto& item : *items) out.push_back(canonical_schema(item));
  return out;
}

Json canonical_map(const Json& value) {
  const auto* object = value.if_object();
  if (object == nullptr) return sorted(value);
  Members members;
  for (const auto& [key, one] : *object) members.emplace_back(std::string(key), canonical_schema(one));
  return object_of(std::move(members));
}

bool is_empty(const Json& value) {
  if (const auto* items = value.if_array()) return items->empty();
  const auto* object = value.if_object();
  return object != nullptr && object->empty();
}

Json reference(const Json& value) {
  constexpr std::string_view old_place = "#/definitions/";
  const auto text = value.text();
  if (!text || !text->starts_with(old_place)) return value;
  return Json("#/$defs/" + std::string(text->substr(old_place.size())));
}

Json canonical_type(const Json& value) {
  const auto* items = value.if_array();
  if (items != nullptr && items->size() == 1) return *items->begin();
  return sorted_list(value);
}

Json canonical_member(const std::string& key, const Json& value) {
  if (is_one_of(schema_keys, key) || is_one_of(schema_list_keys, key)) return canonical_list(value);
  if (is_one_of(schema_map_keys, key)) return canonical_map(value);
  if (key == "required" || key == "enum") return sorted_list(value);
  if (key == "type") return canonical_type(value);
  if (key == "$ref") return reference(value);
  return sorted(value);
}

void find_hiding(const std::string& text, std::vector<std::string>& out) {
  std::string plain = text;
  std::erase(plain, '\r');
  if (clean_for_display(plain) != plain) out.push_back(text);
}

void find_hiding(const Json& value, std::vector<std::string>& out) {
  if (const auto text = value.text()) return find_hiding(std::string(*text), out);
  if (const auto* items = value.if_array()) {
    for (const auto& item : *items) find_hiding(item, out);
  } else if (const auto* object = value.if_object()) {
    for (const auto& [key, one] : *object) {
      find_hiding(std::string(key), out);
      find_hiding(one, out);
    }
  }
}

Json hints_of(const ToolAnnotations& annotations) {
  Json out = Json::object();
  auto add = [&out](std::string_view key, const std::optional<bool>& hint) {
    if (hint) out.as_object().set(key, Json(*hint));
  };
  add("destructiveHint", annotations.destructive_hint);
  add("idempotentHint", annotations.idempotent_hint);
  add("openWorldHint", annotations.open_world_hint);
  add("readOnlyHint", annotations.read_only_hint);
  if (annotations.title) out.as_object().set("title", Json(*annotations.title));
  return out;
}

}  // namespace

Json canonical_schema(const Json& schema) {
  const auto* object = schema.if_object();
  if (object == nullptr) return schema;
  Members members;
  for (const auto& [written, value] : *object) {
    const std::string key(written == "definitions" ? "$defs" : written);
    if (key == "$schema") continue;
    if (key == "const") {
      members.emplace_back("enum", sorted_list(Json::array({value})));
      continue;
    }
    auto one = canonical_member(key, value);
    const bool means_nothing = (key == "required" || is_one_of(schema_map_keys, key)) && is_empty(one);
    if (means_nothing || (key == "additionalProperties" && one == Json(true))) continue;
    members.emplace_back(key, std::move(one));
  }
  return object_of(std::move(members));
}

std::string_view to_string(ToolPart part) noexcept {
  static constexpr std::array names{"title", "description", "input schema", "output schema", "annotations"};
  return names.at(static_cast<std::size_t>(part));
}

const std::string& ToolParts::of(ToolPart part) const noexcept {
  switch (part) {
    case ToolPart::title:
      return title;
    case ToolPart::description:
      return description;
    case ToolPart::input:
      return input;
    case ToolPart::output:
      return output;
    case ToolPart::annotations:
      break;
  }
  return annotations;
}

ToolParts parts_of(const Tool& tool) {
  ToolParts parts;
  parts.title = tool.title.value_or("");
  parts.description = tool.description.value_or("");
  parts.input = to_text(canonical_schema(tool.input_schema));
  if (tool.output_schema) parts.output = to_text(canonical_schema(*tool.output_schema));
  if (tool.annotations) {
    if (const auto hints = hints_of(*tool.annotations); !is_empty(hints)) parts.annotations = to_text(hints);
  }
  return parts;
}

std::string print_of(const ToolParts& parts) {
  Json all = Json::array();
  for (const auto part : tool_parts) all.push_back(Json(parts.of(part)));
  return sha256_hex(to_text(all));
}

std::vector<std::string> hiding_texts(const Tool& tool) {
  std::vector<std::string> out;
  find_hiding(tool.name, out);
  for (const auto* text : {&tool.title, &tool.description}) {
    if (*text) find_hiding(**text, out);
  }
  find_hiding(tool.input_schema, out);
  if (tool.output_schema) find_hiding(*tool.output_schema, out);
  if (tool.annotations && tool.annotations->title) find_hiding(*tool.annotations->title, out);
  std::ranges::sort(out);
  out.erase(std::ranges::unique(out).begin(), out.end());
  return out;
}

}  // namespace patchbay
