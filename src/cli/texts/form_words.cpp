#include "cli/texts/form_words.h"

#include <fmt/format.h>

#include "base/limits.h"
#include "base/strings.h"
#include "protocol/schema_check.h"
#include "text/visible_text.h"

namespace patchbay::cli {
namespace {

constexpr std::size_t most_fields = 50;  // of one form
constexpr std::size_t most_choices = 50;

std::string text_in(const Json& object, std::string_view key) {
  const auto text = object[key].text();
  return text ? std::string(*text) : std::string();
}

// The values that a schema allows, in whichever of the ways the protocol knows.
std::vector<std::string> choices_of(const Json& schema) {
  std::vector<std::string> out;
  auto take = [&](const Json& value) {
    if (const auto text = value.text(); text && out.size() < most_choices) out.emplace_back(*text);
  };
  for (const Json& value : schema["enum"].items()) take(value);
  for (const auto* key : {"oneOf", "anyOf"}) {
    for (const Json& value : schema[key].items()) take(value["const"]);
  }
  return out;
}

Result<Json> number_typed(const FormField& field, std::string_view typed) {
  auto value = parse_json(typed);
  const bool whole = text_in(field.schema, "type") == "integer";
  if (!value || !(whole ? value->is_integer() : value->is_number())) {
    return fail(Errc::invalid_argument, whole ? "expected a whole number" : "expected a number");
  }
  return std::move(*value);
}

}  // namespace

std::string FormField::hint() const {
  const auto type = text_in(schema, "type");
  const bool list = type == "array";
  if (auto choices = choices_of(list ? schema["items"] : schema); !choices.empty()) {
    for (auto& choice : choices) choice = visible_text(choice);
    return fmt::format("{}: {}", list ? "any of, separated by commas" : "one of", join(choices, ", "));
  }
  if (type == "boolean") return "yes or no";
  if (type == "integer") return "whole number";
  if (type == "number") return "number";
  const auto format = text_in(schema, "format");
  return format.empty() ? "text" : fmt::format("text, {}", visible_text(format));
}

std::optional<Json> FormField::fallback() const {
  const Json* value = schema.find("default");
  return value ? std::optional(*value) : std::nullopt;
}

std::vector<FormField> form_fields(const Json& requested_schema) {
  std::vector<FormField> fields;
  for (const auto& [name, schema] : requested_schema["properties"].members()) {
    if (fields.size() == most_fields) break;
    bool required = false;
    for (const Json& one : requested_schema["required"].items()) required |= one == Json(name);
    fields.push_back({std::string(name), schema, required});
  }
  return fields;
}

Result<Json> typed_value(const FormField& field, std::string_view typed) {
  const auto type = text_in(field.schema, "type");
  Json value(typed);
  if (type == "boolean") {
    const auto word = to_lower_ascii(typed);
    const bool yes = word == "y" || word == "yes" || word == "true";
    if (!yes && word != "n" && word != "no" && word != "false")
      return fail(Errc::invalid_argument, "expected yes or no");
    value = Json(yes);
  } else if (type == "integer" || type == "number") {
    auto number = number_typed(field, typed);
    if (!number) return number;
    value = std::move(*number);
  } else if (type == "array") {
    value = Json::array();
    for (const auto& part : split(typed, ',')) value.push_back(Json(std::string(trim(part))));
  }
  const Json schema{{"type", "object"}, {"properties", Json{{field.name, field.schema}}}};
  auto fits = check_form(schema, Json{{field.name, value}}, Limits{}.schema_steps);
  if (!fits && fits.error().code() == Errc::invalid_argument) return std::unexpected(std::move(fits).error());
  return value;
}

std::string FormField::word(std::string_view key) const { return text_in(schema, key); }

}  // namespace patchbay::cli
