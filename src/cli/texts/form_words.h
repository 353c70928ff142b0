// The fields of a form that a server wants to have filled in, and what a typed line becomes. Pure; used by
// cli/questions.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <patchbay/error.h>
#include <patchbay/json.h>

namespace patchbay::cli {

// One field of a form.
struct FormField {
  std::string name;
  Json schema;
  bool required = false;
  // What its schema says under this key, where that is a text.
  std::string word(std::string_view key) const;
  // What may be typed, in words: "whole number", "one of: red, green".
  std::string hint() const;
  // What it is when nothing is typed.
  std::optional<Json> fallback() const;
};
std::vector<FormField> form_fields(const Json& requested_schema);
// The value that was typed, as the field's schema wants it. Errc::invalid_argument says what is wrong.
Result<Json> typed_value(const FormField& field, std::string_view typed);

}  // namespace patchbay::cli
