#include "protocol/question_form.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/strings.h"
#include "json/schema_formats.h"
#include "json/schema_number.h"
#include "protocol/schema_check.h"
#include "text/utf8.h"

namespace patchbay {
namespace {

// Of one value against the schema of its field.
constexpr std::uint64_t most_steps = 200'000;

using Kind = FormField::Kind;

std::string text_in(const Json& object, std::string_view key) {
  const auto text = object[key].text();
  return text ? std::string(*text) : std::string();
}

std::optional<std::uint64_t> count_in(const Json& object, std::string_view key) { return object[key].to_uint(); }

std::optional<Json> number_in(const Json& object, std::string_view key) {
  const auto& value = object[key];
  return value.is_number() ? std::optional(value) : std::nullopt;
}

Error not_a_form(std::string_view name, std::string_view why) {
  return Error(Errc::unsupported, fmt::format("the field {} of the form {}", to_text(Json(name)), why));
}

// The values that a schema allows, in whichever of the ways the protocol knows. Nothing: they are not choices.
Result<std::vector<FormChoice>> choices_of(std::string_view name, const Json& schema) {
  std::vector<FormChoice> out;
  std::optional<Error> wrong;
  auto take = [&](const Json& value, std::string title) {
    const auto text = value.text();
    if (!text) {
      wrong = not_a_form(name, "has choices that are not texts");
    } else if (out.size() == most_form_choices) {
      wrong = Error(Errc::limit, fmt::format("the field {} of the form has more than {} choices", to_text(Json(name)),
                                             most_form_choices));
    } else {
      out.push_back({std::string(*text), title == *text ? std::string() : std::move(title)});
    }
  };
  const auto names = schema["enumNames"].items();
  std::size_t at = 0;
  for (const Json& value : schema["enum"].items()) {
    std::string title;
    if (at < names.size()) title = std::string(names[at].text().value_or(""));
    ++at;
    take(value, std::move(title));
    if (wrong) return std::unexpected(std::move(*wrong));
  }
  for (const auto* key : {"oneOf", "anyOf"}) {
    for (const Json& value : schema[key].items()) {
      if (value.find("const") == nullptr) return std::unexpected(not_a_form(name, "has alternatives, not choices"));
      take(value["const"], text_in(value, "title"));
      if (wrong) return std::unexpected(std::move(*wrong));
    }
  }
  return out;
}

Result<Kind> kind_of(std::string_view name, const Json& schema) {
  const auto type = text_in(schema, "type");
  const bool chosen = schema.find("enum") || schema.find("oneOf") || schema.find("anyOf");
  if (type == "string" || (type.empty() && chosen)) return chosen ? Kind::one_of : Kind::text;
  if (chosen && type != "array") return std::unexpected(not_a_form(name, "has choices that are not texts"));
  if (type == "number") return Kind::number;
  if (type == "integer") return Kind::whole_number;
  if (type == "boolean") return Kind::yes_or_no;
  if (type == "array") return Kind::any_of;
  return std::unexpected(
      not_a_form(name, type.empty() ? "has no type"
                                    : fmt::format("has the type {}, which a form cannot have", to_text(Json(type)))));
}

Result<FormField> read_field(std::string_view name, const Json& schema, bool required) {
  if (!schema.is_object()) return std::unexpected(not_a_form(name, "is not described by an object"));
  auto kind = kind_of(name, schema);
  if (!kind) return std::unexpected(std::move(kind).error());
  FormField field{.name = std::string(name),
                  .title = text_in(schema, "title"),
                  .description = text_in(schema, "description"),
                  .kind = *kind,
                  .required = required,
                  .schema = schema};
  const bool list = field.kind == Kind::any_of;
  if (field.kind == Kind::one_of || list) {
    auto choices = choices_of(name, list ? schema["items"] : schema);
    if (!choices) return std::unexpected(std::move(choices).error());
    field.choices = std::move(*choices);
    const auto items = text_in(schema["items"], "type");
    if (list && !items.empty() && items != "string") {
      return std::unexpected(not_a_form(name, "is a list of something else than texts"));
    }
  } else if (field.kind == Kind::text) {
    field.format = text_in(schema, "format");
    field.pattern = text_in(schema, "pattern");
  } else {
    field.minimum = number_in(schema, "minimum");
    field.maximum = number_in(schema, "maximum");
  }
  if (list || field.kind == Kind::text) {
    field.least = count_in(schema, list ? "minItems" : "minLength");
    field.most = count_in(schema, list ? "maxItems" : "maxLength");
  }
  // One that the server itself would refuse helps nobody.
  if (const Json* fallback = schema.find("default"); fallback && given_value(field, *fallback))
    field.fallback = *fallback;
  return field;
}

Result<void> fault(std::string message) { return fail(Errc::invalid_argument, std::move(message)); }

std::string expected(const FormField& field) { return "expected " + expected_text(field); }

// By the schema itself, for what has no words of ours.
Result<void> check_by_schema(const FormField& field, const Json& value) {
  const Json schema{{"type", "object"}, {"properties", Json{{"f", field.schema}}}};
  const auto fits = check_form(schema, Json{{"f", value}}, most_steps);
  // One that cannot be checked alone, because it leads elsewhere, is checked with the whole form.
  if (fits || fits.error().code() != Errc::invalid_argument) return {};
  std::string_view why = fits.error().message();
  if (why.starts_with("/f: ")) why.remove_prefix(4);
  return fault(std::string(why));
}

std::size_t characters(std::string_view text) {
  std::size_t count = 0;
  for (std::size_t at = 0; at < text.size(); at += std::max<std::size_t>(decode_utf8(text, at).length, 1)) ++count;
  return count;
}

std::string count_text(const FormField& field, std::string_view what) {
  const auto things = [&](std::uint64_t count) { return plural(count, what); };
  if (field.least && field.most && *field.least == *field.most) return "exactly " + things(*field.least);
  if (field.least && *field.least > 0 && field.most) return fmt::format("{} to {}", *field.least, things(*field.most));
  if (field.least && *field.least > 0) return "at least " + things(*field.least);
  if (field.most) return "at most " + things(*field.most);
  return {};
}

bool counts(const FormField& field, std::uint64_t count) {
  return (!field.least || count >= *field.least) && (!field.most || count <= *field.most);
}

Result<void> check_text(const FormField& field, std::string_view text) {
  if (!counts(field, characters(text))) {
    return fault(fmt::format("expected {}, found {}", count_text(field, "character"), characters(text)));
  }
  const auto check = field.format.empty() ? nullptr : schema::find_format(field.format);
  if (check && !check(text)) return fault(expected(field));
  return {};
}

Result<void> check_number(const FormField& field, const Json& value) {
  const bool whole = field.kind == Kind::whole_number;
  if (!value.is_number() || (whole && !schema::is_integral(value))) return fault(expected(field));
  if ((field.minimum && schema::compare_numbers(value, *field.minimum) < 0) ||
      (field.maximum && schema::compare_numbers(value, *field.maximum) > 0)) {
    return fault(expected(field));
  }
  return {};
}

Result<void> check_value(const FormField& field, const Json& value) {
  Result<void> checked;
  switch (field.kind) {
    case Kind::text:
      checked = value.is_string() ? check_text(field, value.as_text()) : fault(expected(field));
      break;
    case Kind::number:
    case Kind::whole_number:
      checked = check_number(field, value);
      break;
    case Kind::yes_or_no:
      if (!value.is_bool()) checked = fault(expected(field));
      break;
    case Kind::one_of: {
      const bool known = value.is_string() &&
                         std::ranges::find(field.choices, value.as_text(), &FormChoice::value) != field.choices.end();
      if (!known) checked = fault(expected(field));
      break;
    }
    case Kind::any_of:
      if (!value.is_array()) {
        checked = fault(expected(field));
      } else if (!counts(field, value.size())) {
        checked = fault(fmt::format("expected {}, found {}", count_text(field, "choice"), value.size()));
      }
      break;
  }
  if (!checked) return checked;
  return check_by_schema(field, value);
}

// The choice that is meant: by its value, its title, its number, or without regard to upper and lower case. In this
// order, so that what a server wrote is never taken for a number of ours.
const FormChoice* meant_choice(const std::vector<FormChoice>& choices, std::string_view typed) {
  for (const auto of : {&FormChoice::value, &FormChoice::title}) {
    const auto found = std::ranges::find(choices, typed, of);
    if (found != choices.end() && !typed.empty()) return &*found;
  }
  if (const auto found = std::ranges::find(choices, typed, &FormChoice::value); found != choices.end()) return &*found;
  const FormChoice* only = nullptr;
  const auto lower = to_lower_ascii(typed);
  std::size_t same = 0;
  for (const auto& choice : choices) {
    if (to_lower_ascii(choice.value) != lower && to_lower_ascii(choice.title) != lower) continue;
    only = &choice;
    ++same;
  }
  if (same > 0) return same == 1 ? only : nullptr;
  if (typed.empty() || typed.size() > 4 || !std::ranges::all_of(typed, [](char c) { return c >= '0' && c <= '9'; })) {
    return nullptr;
  }
  std::size_t number = 0;
  for (const char c : typed) number = number * 10 + static_cast<std::size_t>(c - '0');
  return number >= 1 && number <= choices.size() ? &choices[number - 1] : nullptr;
}

Result<Json> chosen(const FormField& field, std::string_view typed) {
  if (const auto* choice = meant_choice(field.choices, typed)) return Json(choice->value);
  return fail(Errc::invalid_argument, expected(field));
}

// Parts between commas; one that is a choice with a comma in it is that choice.
Result<Json> several(const FormField& field, std::string_view typed) {
  Json values = Json::array();
  auto add = [&](Json value) {
    if (std::ranges::none_of(values.items(), [&](const Json& known) { return known == value; })) {
      values.push_back(std::move(value));
    }
  };
  if (trim(typed).empty()) return values;
  if (field.has_choices() && meant_choice(field.choices, typed)) {
    add(Json(meant_choice(field.choices, typed)->value));
    return values;
  }
  for (const auto& part : split(typed, ',')) {
    const auto word = trim(part);
    if (word.empty()) continue;
    if (!field.has_choices()) {
      values.push_back(Json(std::string(word)));
      continue;
    }
    auto one = chosen(field, word);
    if (!one) return one;
    add(std::move(*one));
  }
  return values;
}

Result<Json> number_typed(const FormField& field, std::string_view typed) {
  auto value = parse_json(trim(typed));
  if (!value || !value->is_number()) return fail(Errc::invalid_argument, expected(field));
  return std::move(*value);
}

Result<Json> read_typed(const FormField& field, std::string_view typed) {
  switch (field.kind) {
    case Kind::text:
      break;
    case Kind::number:
    case Kind::whole_number:
      return number_typed(field, typed);
    case Kind::yes_or_no: {
      const auto word = to_lower_ascii(trim(typed));
      if (word == "y" || word == "yes" || word == "true") return Json(true);
      if (word == "n" || word == "no" || word == "false") return Json(false);
      return fail(Errc::invalid_argument, expected(field));
    }
    case Kind::one_of:
      return chosen(field, typed);
    case Kind::any_of:
      return several(field, typed);
  }
  return Json(typed);
}

std::string number_text(const FormField& field, std::string_view what) {
  if (field.minimum && field.maximum) {
    return fmt::format("{} from {} to {}", what, to_text(*field.minimum), to_text(*field.maximum));
  }
  if (field.minimum) return fmt::format("{}, at least {}", what, to_text(*field.minimum));
  if (field.maximum) return fmt::format("{}, at most {}", what, to_text(*field.maximum));
  return std::string(what);
}

std::string text_text(const FormField& field) {
  std::string what = "a text";
  if (field.format == "email") what = "an email address, like name@example.com";
  if (field.format == "uri") what = "a URL, like https://example.com/page";
  if (field.format == "date") what = "a date, like 2026-03-31";
  if (field.format == "date-time") what = "a date and a time, like 2026-03-31T12:00:00Z";
  if (what == "a text" && !field.format.empty()) what = fmt::format("a text in the format {}", field.format);
  if (const auto count = count_text(field, "character"); !count.empty()) what += ", " + count;
  return what;
}

}  // namespace

const FormField* QuestionForm::find(std::string_view name) const noexcept {
  const auto found = std::ranges::find(fields, name, &FormField::name);
  return found == fields.end() ? nullptr : &*found;
}

Result<QuestionForm> read_form(const Json& requested_schema) {
  QuestionForm form;
  if (requested_schema.is_null()) return form;
  if (!requested_schema.is_object()) return fail(Errc::unsupported, "the form is not described by an object");
  const auto& properties = requested_schema["properties"];
  if (properties.size() > most_form_fields) {
    return fail(Errc::limit,
                fmt::format("the form has {} fields; the limit is {}", properties.size(), most_form_fields));
  }
  if (const auto size = to_text(requested_schema).size(); size > most_form_bytes) {
    return fail(Errc::limit, fmt::format("the form has {} bytes; the limit is {}", size, most_form_bytes));
  }
  if (const auto type = text_in(requested_schema, "type"); !type.empty() && type != "object") {
    return fail(Errc::unsupported, fmt::format("the form is of type {}, not an object", to_text(Json(type))));
  }
  const auto required = requested_schema["required"].items();
  for (const auto& [name, schema] : properties.members()) {
    const bool needed = std::ranges::any_of(required, [key = Json(name)](const Json& one) { return one == key; });
    auto field = read_field(name, schema, needed);
    if (!field) return std::unexpected(std::move(field).error());
    form.fields.push_back(std::move(*field));
  }
  for (const Json& one : required) {
    const auto name = one.text();
    if (name && !form.find(*name)) return std::unexpected(not_a_form(*name, "is required and is not described"));
  }
  return form;
}

Result<Json> typed_value(const FormField& field, std::string_view typed) {
  if (typed.size() > most_answer_bytes) {
    return fail(Errc::invalid_argument, fmt::format("expected at most {} bytes", most_answer_bytes));
  }
  auto value = read_typed(field, typed);
  if (!value) return value;
  if (auto fits = check_value(field, *value); !fits) return std::unexpected(std::move(fits).error());
  return value;
}

Result<Json> given_value(const FormField& field, const Json& value) {
  if (value.is_string() && field.kind != Kind::text) return typed_value(field, value.as_text());
  if (auto fits = check_value(field, value); !fits) return std::unexpected(std::move(fits).error());
  return value;
}

std::string expected_text(const FormField& field) {
  switch (field.kind) {
    case Kind::text:
      return text_text(field);
    case Kind::number:
      return number_text(field, "a number");
    case Kind::whole_number:
      return number_text(field, "a whole number");
    case Kind::yes_or_no:
      return "yes or no";
    case Kind::one_of:
      return field.choices.size() == 1 ? "the only choice" : fmt::format("one of the {} choices", field.choices.size());
    case Kind::any_of: {
      const auto count = count_text(field, field.has_choices() ? "choice" : "text");
      return fmt::format("{}{}{}", field.has_choices() ? "choices" : "texts", " separated by commas",
                         count.empty() ? "" : ", " + count);
    }
  }
  return {};
}

Result<GivenForm> fill_in(const QuestionForm& form, const Json& given) {
  if (!given.is_object()) return fail(Errc::invalid_argument, "expected an object with a value for each field");
  GivenForm out;
  for (const auto& [name, value] : given.members()) {
    if (!form.find(name)) out.unused.emplace_back(name);
  }
  for (const auto& field : form.fields) {
    const Json* value = given.find(field.name);
    if (value == nullptr) {
      if (field.fallback) {
        out.content[field.name] = *field.fallback;
      } else if (field.required) {
        return fail(Errc::invalid_argument, fmt::format("the field {} is missing", to_text(Json(field.name))));
      }
      continue;
    }
    auto fits = given_value(field, *value);
    if (!fits) {
      return fail(Errc::invalid_argument,
                  fmt::format("the field {}: {}", to_text(Json(field.name)), fits.error().message()));
    }
    out.content[field.name] = std::move(*fits);
  }
  return out;
}

}  // namespace patchbay
