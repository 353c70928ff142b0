// The form of a server's question (elicitation) as a value: its fields in order, what each takes, and what a typed text
// or a given value becomes. Keeps apart what may be asked and how it is asked: terminals, files of answers and
// other faces use the same fields and give the same reasons. Pure and bounded; a form that is larger than the bounds,
// or holds what no form may hold, is refused as a whole.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <patchbay/error.h>
#include <patchbay/json.h>

namespace patchbay {

struct FormChoice {
  std::string value;
  std::string title;  // what people call it; empty: there is no other name
  const std::string& shown() const noexcept { return title.empty() ? value : title; }
  bool operator==(const FormChoice&) const = default;
};

struct FormField {
  enum class Kind : std::uint8_t { text, number, whole_number, yes_or_no, one_of, any_of };

  std::string name;
  std::string title;        // empty: none
  std::string description;  // empty: none
  Kind kind = Kind::text;
  bool required = false;
  std::string format = {};   // of a text; empty: any
  std::string pattern = {};  // of a text; empty: none
  std::optional<Json> minimum = {};
  std::optional<Json> maximum = {};
  std::optional<std::uint64_t> least = {};  // characters of a text, choices of any_of
  std::optional<std::uint64_t> most = {};
  std::vector<FormChoice> choices = {};  // of one_of and any_of; none for any_of: texts of any kind
  std::optional<Json> fallback = {};     // the schema's default, where it fits
  Json schema = {};                      // all that the server says about it

  const std::string& shown() const noexcept { return title.empty() ? name : title; }
  bool has_choices() const noexcept { return !choices.empty(); }
  bool operator==(const FormField&) const = default;
};

struct QuestionForm {
  std::vector<FormField> fields;
  const FormField* find(std::string_view name) const noexcept;
  bool operator==(const QuestionForm&) const = default;
};

// A person fills it in, so these are a person's bounds.
inline constexpr std::size_t most_form_fields = 100;
inline constexpr std::size_t most_form_choices = 500;        // of one field
inline constexpr std::size_t most_form_bytes = 256u << 10;   // of the schema's text
inline constexpr std::size_t most_answer_bytes = 64u << 10;  // of one typed text

// Errc::limit beyond the bounds, Errc::unsupported for what is not a form; the message says why.
Result<QuestionForm> read_form(const Json& requested_schema);

// What was typed for a field. Errc::invalid_argument says what was expected.
Result<Json> typed_value(const FormField& field, std::string_view typed);
// What somebody gave as a value: a text is taken as if it were typed where the field wants something else.
Result<Json> given_value(const FormField& field, const Json& value);

// What a field takes, in words: "a whole number from 1 to 5". Names, choices and formats in it are the server's.
std::string expected_text(const FormField& field);

// A whole form filled in from an object by field name.
struct GivenForm {
  Json content = Json::object();
  std::vector<std::string> unused;  // names that are not of this form
};
// Errc::invalid_argument names the field and the reason, also for a required one that is not there.
Result<GivenForm> fill_in(const QuestionForm& form, const Json& given);

}  // namespace patchbay
