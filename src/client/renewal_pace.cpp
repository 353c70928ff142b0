#include "client/renewal_pace.h"

#include <algorithm>

namespace patchbay {
namespace {

using namespace std::chrono_literals;

constexpr int most_tries = 8;
constexpr Duration longest_pause = 30s;
constexpr Duration good_while = 3min;  // without a doubt: the session was worth having

}  // namespace

std::optional<Duration> RenewalPace::next(TimePoint now) {
  if (last_ && now - *last_ > good_while) tries_ = 0;
  if (tries_ >= most_tries) {
    last_ = now;
    return std::nullopt;
  }
  const Duration pause = tries_ == 0 ? 0s : std::min<Duration>(1s * (1 << (tries_ - 1)), longest_pause);
  ++tries_;
  last_ = now + pause;
  return pause;
}

}  // namespace patchbay
