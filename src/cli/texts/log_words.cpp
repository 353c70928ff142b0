#include "cli/texts/log_words.h"

#include <algorithm>
#include <array>
#include <map>

#include <fmt/format.h>

#include <patchbay/json.h>

namespace patchbay::cli {
namespace {

constexpr std::string_view server_key = "server=";
constexpr std::string_view event_key = "event=";

struct EventWords {
  std::string_view event;
  std::string_view words;  // {name} stands for a value of the line; empty: for the log alone
  bool of_server = true;   // else whose connection found it is no news
};

constexpr auto known_events = std::to_array<EventWords>({
    {"headers_helper", "{text}"},
    {"ca_file_not_read", "{variable} names {file}, which cannot be read; correct it, or: unset {variable}", false},
    {"tool_left_out", "{path} is left out: {reason}"},
    {"tool_dropped", "the tool '{tool}' is left out: {reason}"},
    {"list_cut", "{reason}"},
    {"tools_not_refreshed", "its tools could not be listed again: {reason}"},
    {"not_checked", "the {what} could not be checked: {reason}"},
    {"not_sent", "a message could not be sent to it: {reason}"},
    {"not_accepted", "it refused a message (status {status}): {reason}"},
    {"answer_not_sent", "an answer could not be sent to it: {reason}"},
    {"message_skipped", "a message from it was skipped: {reason}"},
    {"bad_line", "a line from it was skipped: {why}"},
    {"unexpected_request", "it asked for {method}, which is not available to it"},
    {"error_without_id", "it sent an error that belongs to no request"},
    {"stuck", "{text}"},
    {"connectors", "the connector directory: {text}"},
    {"no_get_stream", ""},
    {"close_failed", ""},
    {"not_subscribed_again", ""},
    {"log_level_not_set", ""},
});

using Values = std::map<std::string, std::string, std::less<>>;

// key=word and key="text"; only the last text may have quotes in it.
Values values_of(std::string_view rest) {
  Values values;
  while (!rest.empty()) {
    const auto sign = rest.find('=');
    if (sign == std::string_view::npos) break;
    const auto key = std::string(rest.substr(0, sign));
    rest.remove_prefix(sign + 1);
    std::size_t end = 0;
    if (rest.starts_with('"')) {
      rest.remove_prefix(1);
      // A quote ends the text where another key or nothing follows.
      for (end = rest.find('"'); end != std::string_view::npos; end = rest.find('"', end + 1)) {
        const auto behind = rest.substr(end + 1);
        if (behind.empty()) break;
        const auto next = behind.find('=');
        if (behind.front() == ' ' && next != std::string_view::npos &&
            behind.substr(1, next - 1).find_first_of(" \"") == std::string_view::npos) {
          break;
        }
      }
    } else {
      end = rest.find(' ');
    }
    end = std::min(end, rest.size());
    values.insert_or_assign(key, std::string(rest.substr(0, end)));
    rest.remove_prefix(end);
    rest.remove_prefix(std::min(rest.find_first_not_of("\" "), rest.size()));
  }
  return values;
}

std::string filled_in(std::string_view words, const Values& values) {
  std::string out;
  while (!words.empty()) {
    const auto open = words.find('{');
    out += words.substr(0, open);
    if (open == std::string_view::npos) break;
    const auto close = words.find('}', open);
    const auto value = values.find(words.substr(open + 1, close - open - 1));
    if (value != values.end()) out += value->second;
    words.remove_prefix(close + 1);
  }
  return out;
}

// Where the field behind `server=` ends. A name that is no plain word is a JSON text there, whatever it holds.
std::size_t server_end(std::string_view line) {
  const auto begin = server_key.size();
  if (!line.substr(begin).starts_with('"')) return std::min(line.find(' ', begin), line.size());
  for (auto at = begin + 1; at < line.size(); ++at) {
    if (line[at] == '\\') {
      ++at;
    } else if (line[at] == '"') {
      return at + 1;
    }
  }
  return line.size();
}

std::size_t event_at(std::string_view line) {
  const auto begin = line.starts_with(server_key) ? std::min(server_end(line) + 1, line.size()) : 0;
  return line.substr(begin).starts_with(event_key) ? begin : std::string_view::npos;
}

std::string server_of(std::string_view line) {
  const auto field = line.substr(server_key.size(), server_end(line) - server_key.size());
  const auto text = field.starts_with('"') ? parse_json(field) : Result<Json>(Json(std::string(field)));
  return text && text->is_string() ? text->as_string() : std::string(field);
}

}  // namespace

std::string_view log_event(std::string_view line) {
  const auto at = event_at(line);
  if (at == std::string_view::npos) return {};
  line.remove_prefix(at + event_key.size());
  return line.substr(0, line.find(' '));
}

std::optional<std::string> log_words(LogLevel level, std::string_view line) {
  const auto event = log_event(line);
  if (event.empty()) return std::string(line);
  const auto at = event_at(line);
  std::string out;
  if (line.starts_with(server_key)) out = fmt::format("'{}': ", server_of(line));
  line.remove_prefix(std::min(at + event_key.size() + event.size() + 1, line.size()));
  const auto values = values_of(line);
  const auto known = std::ranges::find(known_events, event, &EventWords::event);
  if (known != known_events.end()) {
    if (known->words.empty() && level < LogLevel::error) return std::nullopt;
    if (!known->of_server) out.clear();
    if (!known->words.empty()) return out + filled_in(known->words, values);
  }
  // An event that has no words yet still has a name and a reason.
  std::string name(event);
  std::ranges::replace(name, '_', ' ');
  out += name;
  for (std::string_view key : {"text", "reason"}) {
    if (const auto why = values.find(key); why != values.end()) out += ": " + why->second;
  }
  return out;
}

}  // namespace patchbay::cli
