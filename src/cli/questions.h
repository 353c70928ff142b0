// What a server asks the user while a command waits for it (elicitation): shown on the terminal with the name of the
// server that asks, answered there or not at all. What is typed becomes a value by the rules below, which are pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <patchbay/call.h>
#include <patchbay/questions.h>
#include <patchbay/task.h>

#include "cli/io.h"
#include "cli/waiting.h"

namespace patchbay::cli {

// One field of a form.
struct FormField {
  std::string name;
  Json schema;
  bool required = false;
  // What may be typed, in words: "whole number", "one of: red, green".
  std::string hint() const;
  // What it is when nothing is typed.
  std::optional<Json> fallback() const;
};
std::vector<FormField> form_fields(const Json& requested_schema);
// The value that was typed, as the field's schema wants it. Errc::invalid_argument says what is wrong.
Result<Json> typed_value(const FormField& field, std::string_view typed);

// Cancelled when there is no terminal or the user leaves it; a form is asked for field by field.
Task<ElicitResult> ask_user(Io& io, Waiting& waiting, ElicitRequest question, CallContext context);

}  // namespace patchbay::cli
