#include "cli/texts/state_words.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/strings.h"
#include "cli/texts/present.h"
#include "host/server_error.h"

namespace patchbay::cli {
namespace {

constexpr std::size_t most_shown = 400;

std::string cause(const StateWords& words, const std::string& error) {
  return message_line(without_name(words.server, error), most_shown);
}

}  // namespace

std::string age_text(std::chrono::seconds age) {
  const auto seconds = static_cast<std::size_t>(std::max<std::int64_t>(age.count(), 0));
  if (seconds < 120) return plural(seconds, "second");
  if (seconds < 7200) return plural(seconds / 60, "minute");
  if (seconds < 172'800) return plural(seconds / 3600, "hour");
  return plural(seconds / 86'400, "day");
}

std::string ago_text(std::chrono::seconds age) {
  return age < std::chrono::seconds(5) ? std::string("just now") : fmt::format("{} ago", age_text(age));
}

std::string state_text(const StateWords& words, bool color) {
  auto paint = [color](std::string_view text, std::string_view code) {
    return color ? fmt::format("\033[{}m{}\033[0m", code, text) : std::string(text);
  };
  const std::string state(to_string(words.state));
  const bool by_reason = words.by_entry || words.state == ServerState::pending;
  const auto reason = safe_name(words.reason, 80);
  std::string out = paint(by_reason && !reason.empty() ? reason : state, words.state == ServerState::connected ? "32"
                                                                         : words.state == ServerState::failed  ? "31"
                                                                                                               : "33");
  if (words.attempts > 0) out += fmt::format(", attempt {} of {}", words.attempt, words.attempts);
  if (words.age) out += " " + ago_text(*words.age);
  if (words.state == ServerState::connected) out += fmt::format("  {}", plural(words.tool_count, "tool"));
  const auto& failure = words.last_failure;
  if (!words.error.empty()) {
    out += fmt::format(": {}", cause(words, words.error));
    if (failure && failure->error == words.error) out += fmt::format(" ({})", ago_text(failure->age));
  } else if (!by_reason && !reason.empty() && reason != state) {
    out += fmt::format(": {}", reason);
  }
  if (failure && failure->error != words.error) {
    out += fmt::format("; last failure {}: {}", ago_text(failure->age), cause(words, failure->error));
  }
  return out;
}

}  // namespace patchbay::cli
