#include "cli/texts/log_words.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "cli/texts/present.h"
#include "cli/texts/remedy_words.h"

namespace patchbay::cli {
namespace {

struct EventWords {
  std::string_view event;
  std::string_view words;  // {name} is replaced by the field of that name; empty: for the log alone
  bool of_server = true;   // else it does not matter whose connection found it
  std::optional<Remedy::Kind> remedy = {};
};

constexpr auto known_events = std::to_array<EventWords>({
    {"headers_helper", "{text}", true, Remedy::Kind::trust_project},
    {"ca_file_not_read", "{variable} names {file}, which cannot be read; correct the variable, or: unset {variable}",
     false},
    {"item_left_out", "one of its {list} is left out: {path}: {reason}; report it to the server's author"},
    {"tool_dropped", "the tool \"{tool}\" is left out: {reason}; report it to the server's author"},
    {"list_cut", "{reason}"},
    {"list_not_refreshed", "its list of {list} changed, but the new list could not be read: {reason}"},
    {"not_checked",
     "the {what} could not be checked against the schema that the server sent: {reason}; the call goes on"},
    {"not_sent", "a message could not be sent to the server: {reason}"},
    {"not_accepted", "the server refused a message (HTTP status {status}): {reason}"},
    {"answer_not_sent", "an answer could not be sent to the server: {reason}"},
    {"question_cancelled", "a question of the server was cancelled: {reason}"},
    {"sampling_denied", "it may not have text from the model: {reason}"},
    {"message_skipped", "a message from the server was skipped: {reason}"},
    {"bad_line", "a line that is not a message was skipped: {why}"},
    {"unexpected_request",
     "the server sent the request {method}, but in this protocol revision servers send no requests; it is ignored"},
    {"error_without_id",
     "the server sent an error that does not belong to a request; report it to the server's author"},
    {"stuck", "{text}"},
    {"hook_failed", "{hook} failed and is ignored: {reason}", false},
    {"hook_message", "{hook}: {text}", false},
    {"connectors_sign_in",
     "the servers of your connectors are not listed: {text}; to sign in: patchbay login connectors"},
    {"connectors", "the servers of your connectors could not be listed: {text}"},
    {"sign_in_not_renewed", "the sign-in at \"{server}\" was not renewed: {reason}", false},
    {"sign_in_not_kept",
     "the renewed sign-in at \"{server}\" could not be kept for later runs: {reason}; to sign in again then: patchbay "
     "login",
     false},
    {"state_not_kept", "what was learned of servers cannot be kept for later runs: {text}; everything else works",
     false},
    {"channel_messages_not_kept",
     "messages that servers push cannot be kept for later runs: {reason}; they are delivered in this one", false},
    {"channel_full", "its messages are not taken any more until some have been read: {reason}"},
    {"channel_message_refused", "a message that it pushed is refused: {reason}"},
    {"channel_not_open", "it pushes messages, and they are not taken: {reason}"},
    {"channel_not_declared", "it pushes messages without declaring the capability {reason}; they are not taken"},
    {"channel_question_not_sent", "a question could not be sent to a channel: {reason}"},
    {"pins_not_kept", "what tools were at first sight cannot be kept for later runs: {text}; everything else works",
     false},
    {"no_get_stream", ""},
    {"close_failed", ""},
    {"not_subscribed_again", ""},
    {"log_level_not_set", ""},
});

std::string filled_in(std::string_view words, const LogEvent& event) {
  std::string out;
  while (!words.empty()) {
    const auto open = words.find('{');
    out += words.substr(0, open);
    if (open == std::string_view::npos) break;
    const auto close = words.find('}', open);
    out += event.field(words.substr(open + 1, close - open - 1));
    words.remove_prefix(close + 1);
  }
  return out;
}

// Of one server.
constexpr std::size_t most_told = 50;

}  // namespace

std::optional<std::string> ToldLines::next(const std::string& server, std::string line) {
  auto& told = told_[server];
  if (server.empty()) return told.insert(line).second ? std::optional(std::move(line)) : std::nullopt;
  if (told.size() > most_told || !told.insert(line).second) return std::nullopt;
  if (told.size() <= most_told) return line;
  return fmt::format("\"{}\": more is not shown; --log-file FILE keeps all of it", server);
}

std::optional<std::string> log_words(const LogEvent& event) {
  std::string out;
  if (!event.server.empty()) out = fmt::format("\"{}\": ", event.server);
  const auto known = std::ranges::find(known_events, event.event, &EventWords::event);
  if (known != known_events.end()) {
    if (known->words.empty() && event.level < LogLevel::error) return std::nullopt;
    if (!known->of_server) out.clear();
    if (!known->words.empty()) {
      out += filled_in(known->words, event);
      return known->remedy ? continued(out, remedy_words({*known->remedy})) : out;
    }
  }
  // An event that has no words yet still has a name and a reason.
  std::string name(event.event);
  std::ranges::replace(name, '_', ' ');
  out += name;
  for (std::string_view key : {"text", "reason"}) {
    if (const auto why = event.field(key); !why.empty()) out += fmt::format(": {}", why);
  }
  return out;
}

}  // namespace patchbay::cli
