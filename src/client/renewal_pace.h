// RenewalPace: how soon a session that nobody uses is asked about once more, when something says
// that the server has forgotten it. A server that forgets every session at once is not asked for one
// again and again; one that forgets them now and then is, for ever. Part of a session; pure.
#pragma once

#include <chrono>
#include <optional>

#include "base/timeout.h"

namespace patchbay {

class RenewalPace {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  // How long to wait before asking; nothing when it was asked often enough.
  std::optional<Duration> next(TimePoint now);

 private:
  int tries_ = 0;  // in a row
  std::optional<TimePoint> last_;
};

}  // namespace patchbay
