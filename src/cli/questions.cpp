#include "cli/questions.h"

#include <boost/asio/this_coro.hpp>
#include <fmt/format.h>

#include "base/strings.h"
#include "cli/approval.h"
#include "cli/browser.h"
#include "cli/texts/form_words.h"
#include "cli/texts/present.h"
#include "protocol/question_form.h"
#include "text/visible_text.h"

namespace patchbay::cli {
namespace {

constexpr int most_tries = 5;     // at one field, or at y or n
constexpr int most_changes = 50;  // of a form before it is sent

// What one question needs; borrowed by the functions below, which end before it.
struct Desk {
  HeldTalk& held;
  TypedLines& terminal;
  std::size_t columns;
};

// The value of one field; nothing when it is left out. `ended`: the user has left the form.
// `place`: "3 of 13", where all are asked about one after the other.
Task<std::optional<Json>> ask_field(const FormField& field, std::string place, Desk& desk, bool& ended) {
  if (!place.empty()) desk.held.say(place + "\n");
  desk.held.say(field_about(field, desk.columns));
  for (int tried = 0; tried < most_tries; ++tried) {
    desk.held.say(field_prompt(field));
    const auto typed = co_await desk.terminal.next();
    if (!typed) {
      desk.held.say("\n");
      ended = true;
      co_return std::nullopt;
    }
    if (typed->empty() && field.fallback) co_return *field.fallback;
    if (typed->empty() && !field.required) co_return std::nullopt;
    auto value = typed_value(field, *typed);
    if (value) co_return std::move(*value);
    desk.held.say(fault_line(value.error().message()));
  }
  desk.held.say(fmt::format("No answer that fits after {} tries.\n", most_tries));
  ended = true;
  co_return std::nullopt;
}

// Yes or no; nothing: neither. Only Enter, the end of input, and too many other words mean that.
Task<std::optional<bool>> ask_yes_or_no(std::string question, Desk& desk) {
  for (int tried = 0; tried < most_tries; ++tried) {
    desk.held.say(question);
    const auto typed = co_await desk.terminal.next();
    if (!typed) {
      desk.held.say("\n");
      break;
    }
    const auto word = to_lower_ascii(*typed);
    if (word == "y" || word == "yes") co_return true;
    if (word == "n" || word == "no") co_return false;
    if (word.empty()) break;
    desk.held.say("To answer, type y or n; Enter alone cancels.\n");
  }
  co_return std::nullopt;
}

// The field that is meant by its name, its title or its number in the review.
const FormField* meant_field(const QuestionForm& form, const std::string& typed) {
  if (const auto* field = form.find(typed)) return field;
  for (const auto& field : form.fields) {
    if (!field.title.empty() && field.title == typed) return &field;
  }
  for (std::size_t i = 0; i < form.fields.size(); ++i) {
    if (typed == std::to_string(i + 1)) return &form.fields[i];
  }
  return nullptr;
}

Task<ElicitResult::Action> review(const QuestionForm& form, Json& content, std::string server, Desk& desk) {
  using Action = ElicitResult::Action;
  for (int looked = 0; looked < most_changes; ++looked) {
    desk.held.say(fmt::format("Your answers to \"{}\":\n{}", server, review_text(form, content, desk.columns)));
    const FormField* change = nullptr;
    for (int tried = 0; change == nullptr; ++tried) {
      if (tried == most_tries) co_return Action::cancel;
      desk.held.say("Send them? [y/n, or the field to change] (Enter: cancel) ");
      const auto typed = co_await desk.terminal.next();
      if (!typed) desk.held.say("\n");
      if (!typed || typed->empty()) co_return Action::cancel;
      const auto word = to_lower_ascii(*typed);
      if (word == "y" || word == "yes") co_return Action::accept;
      if (word == "n" || word == "no") co_return Action::decline;
      change = meant_field(form, *typed);
      if (change == nullptr) desk.held.say("  There is no such field; type its number or its name.\n");
    }
    bool ended = false;
    auto value = co_await ask_field(*change, {}, desk, ended);
    if (ended) co_return Action::cancel;
    if (value) {
      content[change->name] = std::move(*value);
    } else {
      content.erase(change->name);
    }
  }
  co_return Action::cancel;
}

Task<ElicitResult> ask_form(ElicitRequest question, std::string server, Desk& desk) {
  ElicitResult answer{.action = ElicitResult::Action::cancel};
  const auto form = read_form(question.requested_schema);
  if (!form) {
    desk.held.say(fault_line(form.error().message()));
    co_return answer;
  }
  const auto fields = form->fields.empty() ? std::string() : fmt::format(" ({})", plural(form->fields.size(), "field"));
  const auto said = co_await ask_yes_or_no(
      fmt::format("Answer{}? What you type is sent to the server. [y/n] (Enter: cancel) ", fields), desk);
  if (said == false) answer.action = ElicitResult::Action::decline;
  if (said != true) co_return answer;
  Json content = Json::object();
  std::size_t number = 0;
  for (const auto& field : form->fields) {
    ++number;
    auto place = form->fields.size() > 1 ? fmt::format("{} of {}", number, form->fields.size()) : std::string();
    bool ended = false;
    auto value = co_await ask_field(field, std::move(place), desk, ended);
    if (ended) co_return answer;
    if (value) content[field.name] = std::move(*value);
  }
  answer.action =
      form->fields.empty() ? ElicitResult::Action::accept : co_await review(*form, content, std::move(server), desk);
  if (answer.action == ElicitResult::Action::accept) answer.content = std::move(content);
  co_return answer;
}

Task<ElicitResult> ask_visit(ElicitRequest question, Desk& desk) {
  ElicitResult answer{.action = ElicitResult::Action::cancel};
  const auto visit = visit_of(question);
  if (!visit) {
    desk.held.say(fmt::format("  Page: {}\n{}", visible_text(question.url.value_or("")),
                              fault_line("It is not opened: " + visit.error().message())));
    co_return answer;
  }
  desk.held.say(fmt::format("  Host: {}\n", visible_text(visit->host)));
  // A long address must stay one line, so that it can be copied.
  desk.held.write(fmt::format("  Page: {}\n", visible_text(visit->address)));
  if (!visit->warning.empty()) desk.held.say("  " + visit->warning + "\n");
  const auto said = co_await ask_yes_or_no("Open it in your browser? [y/n] (Enter: cancel) ", desk);
  if (said == false) answer.action = ElicitResult::Action::decline;
  if (said != true) co_return answer;
  const auto why_not = co_await open_browser(browser_plan(process_environment(), visit->address));
  desk.held.say(why_not.empty() ? std::string("It was opened in your browser.\n")
                                : fmt::format("No browser was opened here: {}. Open the page yourself.\n",
                                              message_line(why_not, 300)));
  desk.held.say("Press Enter when you are done there. [Enter/n] ");
  const auto typed = co_await desk.terminal.next();
  const auto word = typed ? to_lower_ascii(*typed) : std::string();
  if (!typed) {
    desk.held.say("\n");
  } else {
    answer.action = word == "n" || word == "no" ? ElicitResult::Action::decline : ElicitResult::Action::accept;
  }
  co_return answer;
}

std::string_view end_words(ElicitResult::Action action) {
  switch (action) {
    case ElicitResult::Action::accept:
      return {};
    case ElicitResult::Action::decline:
      return "You declined.\n";
    case ElicitResult::Action::cancel:
      break;
  }
  return "The question was cancelled.\n";
}

}  // namespace

Task<ElicitResult> ask_user(Io& io, Waiting& waiting, ElicitRequest question, CallContext context) {
  TypedLines terminal(co_await asio::this_coro::executor);
  if (!terminal) co_return ElicitResult{.action = ElicitResult::Action::cancel};
  waiting.suspend();
  const struct Resume {
    Waiting& line;
    ~Resume() { line.resume(); }
  } resume{waiting};
  HeldTalk held(io);
  Desk desk{held, terminal, talk_columns(io)};
  const bool form = question.mode == ElicitRequest::Mode::form;
  const auto server = safe_name(context.server, 80);
  held.say(fmt::format("The server \"{}\" {}{}:\n", server, form ? "asks" : "asks you to open a web page",
                       context.tool.empty() ? "" : fmt::format(" (tool {})", safe_name(context.tool, 80))));
  held.say(quoted(question.message, desk.columns));
  ElicitResult answer;
  if (form) {
    answer = co_await ask_form(std::move(question), server, desk);
  } else {
    answer = co_await ask_visit(std::move(question), desk);
  }
  held.say(end_words(answer.action));
  co_return answer;
}

}  // namespace patchbay::cli
