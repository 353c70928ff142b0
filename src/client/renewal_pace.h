// RenewalPace: how soon a session that nobody uses is asked about once more, when something says
// that the server has forgotten it. A server that forgets every session at once is not asked for one
// again and again; one whose sessions last a while is, for ever. Part of a session; pure.
#pragma once

#include <chrono>
#include <optional>

#include "base/timeout.h"

namespace patchbay {

// Tests have shorter times.
struct RenewalRule {
  int most_tries = 8;                               // in a row
  Duration second_pause = std::chrono::seconds(1);  // there is none before the first try; later ones are longer
  Duration longest_pause = std::chrono::seconds(30);
  Duration good_while = std::chrono::seconds(30);  // a session that lasted so long was worth having
};

class RenewalPace {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  explicit RenewalPace(RenewalRule rule = {}) : rule_(rule) {}

  // There is a new session.
  void renewed(TimePoint now);
  // There is a doubt about the one there is; next() is asked from then on.
  void doubted(TimePoint now);
  // How long to wait before asking; nothing when it was asked often enough.
  std::optional<Duration> next();
  // The doubt was unfounded. As long as it turns out so, it is never often enough.
  void known();
  // Whether it was often enough, and no session has shown otherwise since.
  bool given_up() const noexcept { return given_up_; }

 private:
  RenewalRule rule_;
  int tries_ = 0;                   // in a row
  std::optional<TimePoint> since_;  // when this session, or the doubts about it, began
  bool given_up_ = false;
};

}  // namespace patchbay
