#include "agent/models/retry_rule.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string_view>

#include "base/strings.h"

namespace patchbay {
namespace {

using std::chrono::milliseconds;

// Pauses are compared with limits of minutes: more than this is all the same.
constexpr milliseconds forever = std::chrono::hours(24 * 365);

// A count of units of so many milliseconds, perhaps with a fraction. Nothing when it is no number.
std::optional<milliseconds> pause_of(std::string_view number, double unit) {
  number = trim(number);
  if (number.empty() || number.front() < '0' || number.front() > '9') return std::nullopt;
  double value = 0;
  const auto end = number.data() + number.size();
  const auto read = std::from_chars(number.data(), end, value, std::chars_format::fixed);
  if (read.ptr != end) return std::nullopt;
  if (read.ec != std::errc()) return forever;
  return milliseconds(std::llround(std::min(value * unit, static_cast<double>(forever.count()))));
}

std::optional<int> digits(std::string_view text) {
  int value = 0;
  const auto end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, value);
  return read.ec == std::errc() && read.ptr == end && text.front() != '-' ? std::optional(value) : std::nullopt;
}

// "Sun, 06 Nov 1994 08:49:37 GMT", the one form of a date that is still sent (RFC 9110, section 5.6.7).
std::optional<Clock::WallTime> http_time(std::string_view text) {
  constexpr std::array<std::string_view, 12> months{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                    "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  text = trim(text);
  if (text.size() != 29 || !text.ends_with(" GMT") || text.substr(3, 2) != ", ") return std::nullopt;
  const auto month = std::ranges::find(months, text.substr(8, 3));
  const auto day = digits(text.substr(5, 2));
  const auto year = digits(text.substr(12, 4));
  const auto hour = digits(text.substr(17, 2));
  const auto minute = digits(text.substr(20, 2));
  const auto second = digits(text.substr(23, 2));
  if (month == months.end() || !day || !year || !hour || !minute || !second) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(*year),
                                         std::chrono::month(static_cast<unsigned>(month - months.begin()) + 1),
                                         std::chrono::day(static_cast<unsigned>(*day))};
  if (!date.ok() || *hour > 23 || *minute > 59 || *second > 60) return std::nullopt;
  return std::chrono::sys_days(date) + std::chrono::hours(*hour) + std::chrono::minutes(*minute) +
         std::chrono::seconds(*second);
}

bool may_pass(const FailedAttempt& failed) {
  if (failed.kind != FailedAttempt::Kind::status) return true;
  const auto says = trim(failed.headers.get("x-should-retry"));
  if (says == "true") return true;
  if (says == "false") return false;
  return failed.status == 408 || failed.status == 409 || failed.status == 429 || failed.status >= 500;
}

milliseconds usual_pause(int attempt, const RetryLimits& limits, double jitter) {
  auto pause = limits.first;
  for (int doubled = 1; doubled < attempt && pause < limits.most; ++doubled) pause *= 2;
  pause = std::min(pause, limits.most);
  const auto share = 0.25 * std::clamp(jitter, 0.0, 1.0);
  return pause - milliseconds(std::llround(static_cast<double>(pause.count()) * share));
}

}  // namespace

std::optional<milliseconds> asked_pause(const HttpHeaders& headers, Clock::WallTime now) {
  std::optional<milliseconds> asked;
  if (const auto* exact = headers.find("retry-after-ms")) asked = pause_of(*exact, 1);
  if (const auto* usual = headers.find("retry-after"); usual && !asked) {
    asked = pause_of(*usual, 1000);
    if (const auto at = http_time(*usual); !asked && at) {
      // Whole seconds are all a date has: what is left of the last one belongs to the pause.
      asked = std::min(std::chrono::ceil<milliseconds>(*at - now), forever);
    }
  }
  if (asked && *asked <= milliseconds(0)) asked.reset();
  return asked;
}

RetryDecision retry_decision(const FailedAttempt& failed, const RetryLimits& limits, Clock::WallTime now,
                             double jitter) {
  RetryDecision decision{.of = limits.attempts};
  if (failed.kind == FailedAttempt::Kind::unreachable) {
    decision.of = std::min(decision.of, failed.attempt - failed.unreached + limits.connect_attempts);
  }
  const auto asked = asked_pause(failed.headers, now);
  if (asked && *asked > limits.honoured) decision.asked_for = asked;
  if (!may_pass(failed) || failed.attempt >= decision.of || decision.asked_for) return decision;
  decision.pause = asked ? *asked : usual_pause(failed.attempt, limits, jitter);
  return decision;
}

}  // namespace patchbay
