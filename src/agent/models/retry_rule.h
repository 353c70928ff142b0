// What to do when a request to a model API failed: send it again after a pause, or give up. http_model calls it after
// every failure. Pure: the time, the answer's headers and the randomness come in as values.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "base/clock.h"
#include "http/message.h"

namespace patchbay {

struct RetryLimits {
  int attempts = 8;          // with the first one
  int connect_attempts = 3;  // in a row, where nobody is reached: that passes quickly or not at all
  std::chrono::milliseconds first{500};
  std::chrono::milliseconds most{8'000};
  std::chrono::milliseconds honoured{60'000};  // the longest pause an API may ask for
};

struct FailedAttempt {
  enum class Kind : std::uint8_t {
    status,       // of HTTP, or what an error inside of a stream means
    unreachable,  // no connection, or silence for as long as we wait
    cut_off,      // the connection ended before the answer did
  };
  Kind kind = Kind::status;
  int status = 0;
  HttpHeaders headers = {};  // of the answer, where there was one
  int attempt = 1;           // the one that failed
  int unreached = 1;         // with `unreachable`: how many in a row were, with this one
};

struct RetryDecision {
  // Unset: give up.
  std::optional<std::chrono::milliseconds> pause = {};
  int of = 0;  // attempts there are at most, with a failure of this kind
  // The API asked for a pause that is too long to wait for here.
  std::optional<std::chrono::milliseconds> asked_for = {};
  bool operator==(const RetryDecision&) const = default;
};

// 408, 409, 429, everything from 500 on, and what was not reached or not complete, unless x-should-retry says
// otherwise. What the API asks for (retry-after-ms, retry-after) is the pause; otherwise it doubles from `first` to
// `most`, less up to a quarter: `jitter` of it, from 0 to 1.
RetryDecision retry_decision(const FailedAttempt& failed, const RetryLimits& limits, Clock::WallTime now,
                             double jitter);

// How long these headers ask to wait; nothing where they say nothing, or nothing that lies ahead.
std::optional<std::chrono::milliseconds> asked_pause(const HttpHeaders& headers, Clock::WallTime now);

}  // namespace patchbay
