#include "cli/questions.h"

#include <algorithm>

#include <boost/asio/this_coro.hpp>
#include <fmt/format.h>

#include "base/limits.h"
#include "base/strings.h"
#include "cli/approval.h"
#include "cli/texts/present.h"
#include "protocol/schema_check.h"
#include "text/visible_text.h"

namespace patchbay::cli {
namespace {

constexpr int most_tries = 5;            // at one field
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

// A server's text may be long, and has no right to look like ours.
std::string quoted(std::string_view text, std::size_t columns) {
  return join(wrapped("  | " + visible_message(std::string(text)), columns, "  | "), "\n") + "\n";
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

namespace {

// The value of one field; nothing when it is left out. `ended`: the user has left the form.
Task<std::optional<Json>> ask_field(FormField field, HeldTalk& held, TypedLines& terminal, std::size_t columns,
                                    bool& ended) {
  if (const auto about = text_in(field.schema, "description"); !about.empty()) held.say(quoted(about, columns));
  const auto title = text_in(field.schema, "title");
  const auto fallback = field.fallback();
  const auto empty = fallback          ? fmt::format("; Enter: {}", visible_text(to_text(*fallback)))
                     : !field.required ? std::string("; Enter: leave it out")
                                       : std::string();
  for (int tried = 0; tried < most_tries; ++tried) {
    held.say(fmt::format("{} ({}{}): ", safe_name(title.empty() ? field.name : title, 80), field.hint(), empty));
    const auto typed = co_await terminal.next();
    if (!typed) {
      held.say("\n");
      break;
    }
    if (typed->empty() && fallback) co_return *fallback;
    if (typed->empty() && !field.required) co_return std::nullopt;
    auto value = typed_value(field, *typed);
    if (value) co_return std::move(*value);
    held.say(fmt::format("  {}\n", message_line(value.error().message(), 300)));
  }
  ended = true;
  co_return std::nullopt;
}

}  // namespace

Task<ElicitResult> ask_user(Io& io, Waiting& waiting, ElicitRequest question, CallContext context) {
  ElicitResult answer{.action = ElicitResult::Action::cancel};
  TypedLines terminal(co_await asio::this_coro::executor);
  if (!terminal) co_return answer;
  waiting.suspend();
  const struct Resume {
    Waiting& line;
    ~Resume() { line.resume(); }
  } resume{waiting};
  HeldTalk held(io);
  const auto columns = talk_columns(io);
  held.say(fmt::format("The server \"{}\" asks{}:\n", safe_name(context.server, 80),
                       context.tool.empty() ? "" : fmt::format(" (tool {})", safe_name(context.tool, 80))));
  held.say(quoted(question.message, columns));
  const bool form = question.mode == ElicitRequest::Mode::form;
  if (!form) held.say(fmt::format("  Page to open: {}\n", visible_text(question.url.value_or(""))));
  held.say(form ? "Answer? What you type is sent to the server. [y/n] (Enter: cancel) "
                : "Have you opened it, and done what it says? [y/n] (Enter: cancel) ");
  const auto typed = co_await terminal.next();
  const auto word = to_lower_ascii(typed.value_or(""));
  if (!typed) held.say("\n");
  if (word == "n" || word == "no") answer.action = ElicitResult::Action::decline;
  if (word != "y" && word != "yes") co_return answer;
  Json content = Json::object();
  for (const auto& field : form ? form_fields(question.requested_schema) : std::vector<FormField>()) {
    bool ended = false;
    auto value = co_await ask_field(field, held, terminal, columns, ended);
    if (ended) co_return answer;
    if (value) content[field.name] = std::move(*value);
  }
  answer.action = ElicitResult::Action::accept;
  if (form) answer.content = std::move(content);
  co_return answer;
}

}  // namespace patchbay::cli
