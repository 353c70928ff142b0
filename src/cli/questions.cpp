#include "cli/questions.h"

#include <boost/asio/this_coro.hpp>
#include <fmt/format.h>

#include "base/strings.h"
#include "cli/approval.h"
#include "cli/texts/form_words.h"
#include "cli/texts/present.h"
#include "text/visible_text.h"

namespace patchbay::cli {
namespace {

constexpr int most_tries = 5;  // at one field, or at y or n

// A server's text may be long, and has no right to look like ours.
std::string quoted(std::string_view text, std::size_t columns) {
  return join(wrapped("  | " + visible_message(std::string(text)), columns, "  | "), "\n") + "\n";
}

// The value of one field; nothing when it is left out. `ended`: the user has left the form.
Task<std::optional<Json>> ask_field(FormField field, HeldTalk& held, TypedLines& terminal, std::size_t columns,
                                    bool& ended) {
  if (const auto about = field.word("description"); !about.empty()) held.say(quoted(about, columns));
  const auto title = field.word("title");
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

// Yes or no; nothing: neither. Only Enter, the end of input, and too many other words mean that.
Task<std::optional<bool>> ask_yes_or_no(std::string question, HeldTalk& held, TypedLines& terminal) {
  for (int tried = 0; tried < most_tries; ++tried) {
    held.say(question);
    const auto typed = co_await terminal.next();
    if (!typed) {
      held.say("\n");
      break;
    }
    const auto word = to_lower_ascii(*typed);
    if (word == "y" || word == "yes") co_return true;
    if (word == "n" || word == "no") co_return false;
    if (word.empty()) break;
    held.say("To answer, type y or n; Enter alone cancels.\n");
  }
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
  const auto said = co_await ask_yes_or_no(form ? "Answer? What you type is sent to the server. [y/n] (Enter: cancel) "
                                                : "Have you opened it, and done what it says? [y/n] (Enter: cancel) ",
                                           held, terminal);
  if (said == false) answer.action = ElicitResult::Action::decline;
  if (said != true) co_return answer;
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
