// The form of a server's question and what is typed into it: bounded, whatever the schema is; a value that is taken is
// one that the field takes, and what was filled in is what is sent.

#include <patchbay/json.h>

#include "fuzz/fuzz.h"
#include "protocol/question_form.h"

using namespace patchbay;
using fuzz::require;

// First line: what is typed into each field; the rest: the schema.
FUZZ_TARGET(question_form) {
  const auto typed = fuzz::take_line(input);
  const auto schema = parse_json(input);
  if (!schema) return;
  const auto form = read_form(*schema);
  if (!form) {
    require(form.error().code() == Errc::limit || form.error().code() == Errc::unsupported,
            "refused with another code");
    return;
  }
  require(form->fields.size() <= most_form_fields, "a form with too many fields");
  Json given = Json::object();
  for (const auto& field : form->fields) {
    require(field.choices.size() <= most_form_choices, "a field with too many choices");
    require(!expected_text(field).empty(), "a field takes nothing");
    if (field.fallback) require(given_value(field, *field.fallback).has_value(), "a default that does not fit");
    const auto value = typed_value(field, typed);
    if (!value) {
      require(value.error().code() == Errc::invalid_argument, "not taken with another code");
      require(!value.error().message().empty(), "not taken without a reason");
      continue;
    }
    require(given_value(field, *value).has_value(), "a typed value is not one that the field takes");
    given[field.name] = *value;
  }
  const auto filled = fill_in(*form, given);
  if (!filled) return;
  require(filled->unused.empty(), "a field of the form is not used");
  for (const auto& [name, value] : given.members()) require(filled->content[name] == value, "another value is sent");
}
