#include "agent/models/openai_schema.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace patchbay {
namespace {

constexpr std::size_t most_levels = 5;        // of the API; some models allow more
constexpr std::size_t most_properties = 100;  // the same

bool is_one_of(std::string_view word, const auto& words) { return std::ranges::find(words, word) != words.end(); }

bool has_type(const Json& schema, std::string_view type) {
  const auto& said = schema["type"];
  if (said.text() == type) return true;
  return std::ranges::any_of(said.items(), [&](const Json& one) { return one.text() == type; });
}

class StrictSchema {
 public:
  bool holds(const Json& schema, std::size_t level) {
    constexpr std::array plain{"type",
                               "description",
                               "title",
                               "enum",
                               "const",
                               "required",
                               "minimum",
                               "maximum",
                               "exclusiveMinimum",
                               "exclusiveMaximum",
                               "minItems",
                               "maxItems"};
    if (!schema.is_object() || level > most_levels) return false;
    const bool object = has_type(schema, "object");
    if (object && !closed(schema)) return false;
    if (has_type(schema, "array") && !schema.find("items")) return false;
    for (auto [word, value] : schema.members()) {
      if (word == "properties") {
        for (auto [name, property] : value.members()) {
          if (++properties_ > most_properties || !holds(property, level + 1)) return false;
        }
      } else if (word == "items") {
        if (!holds(value, level + 1)) return false;
      } else if (word == "anyOf") {
        if (level == 1 || value.items().empty()) return false;
        for (const auto& one : value.items()) {
          if (!holds(one, level + 1)) return false;
        }
      } else if (word == "additionalProperties") {
        if (value != Json(false)) return false;
      } else if (!is_one_of(word, plain)) {
        return false;
      }
    }
    return schema.find("type") || schema.find("anyOf") || schema.find("enum") || schema.find("const");
  }

 private:
  static bool closed(const Json& object) {
    if (object["additionalProperties"] != Json(false)) return false;
    const auto required = object["required"].items();
    return std::ranges::all_of(object["properties"].members(), [&](const auto& property) {
      return std::ranges::any_of(required, [&](const Json& name) { return name.text() == property.name; });
    });
  }

  std::size_t properties_ = 0;
};

}  // namespace

bool is_strict_schema(const Json& schema) {
  return schema["type"].text() == "object" && StrictSchema().holds(schema, 1);
}

}  // namespace patchbay
