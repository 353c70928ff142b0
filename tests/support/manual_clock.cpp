#include "support/manual_clock.h"

#include <algorithm>

namespace patchbay::test {

Clock::TimePoint ManualClock::now() const {
  return (passes_ == Passes::by_itself ? std::chrono::steady_clock::now() : begin_) + moved_;
}

Clock::WallTime ManualClock::wall() const { return wall_at_begin_ + (now() - begin_); }

Task<void> ManualClock::advance(Duration more) {
  target_ = now() + more;
  co_await reached_.wait();
}

Clock::Alarm* ManualClock::earliest() const {
  Alarm* first = nullptr;
  for (auto* alarm : alarms_) {
    if (alarm->awaited() && (!first || alarm->at < first->at)) first = alarm;
  }
  return first;
}

bool ManualClock::wake_due() {
  auto* first = earliest();
  if (first == nullptr || first->at > now()) return false;
  first->ring();
  return true;
}

bool ManualClock::turn() {
  if (!reached_.has_waiters()) return false;
  const auto* first = earliest();
  const auto next = first != nullptr ? std::min(first->at, target_) : target_;
  if (next > now()) moved_ += next - now();
  if (next == target_ && (first == nullptr || first->at > target_)) reached_.notify_all();
  return true;
}

Duration ManualClock::until_next() const {
  const auto* first = passes_ == Passes::by_itself ? earliest() : nullptr;
  return first != nullptr && first->at != TimePoint::max() ? first->at - now() : Duration::max();
}

Clock::TimePoint ManualClock::next() const {
  const auto* first = earliest();
  return first != nullptr ? first->at : TimePoint::max();
}

}  // namespace patchbay::test
