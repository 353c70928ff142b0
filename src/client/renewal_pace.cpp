#include "client/renewal_pace.h"

#include <algorithm>

namespace patchbay {

void RenewalPace::renewed(TimePoint now) {
  since_ = now;
  given_up_ = false;
}

void RenewalPace::doubted(TimePoint now) {
  if (since_ && now - *since_ < rule_.good_while) return;
  tries_ = 0;
  since_ = now;
  given_up_ = false;
}

std::optional<Duration> RenewalPace::next() {
  if (tries_ >= rule_.most_tries) {
    given_up_ = true;
    return std::nullopt;
  }
  const auto pause =
      tries_ == 0 ? Duration(0)
                  : std::min<Duration>(rule_.second_pause * (1LL << std::min(tries_ - 1, 20)), rule_.longest_pause);
  ++tries_;
  return pause;
}

void RenewalPace::known() { tries_ = std::min(tries_, rule_.most_tries - 1); }

}  // namespace patchbay
