#include "rpc/call_clock.h"

#include <algorithm>

#include "base/timeout.h"

namespace patchbay {

CallClock::CallClock(const Clock& clock, Duration total, Duration most_doubt)
    : clock_(clock), begun_(clock.now()), total_(total), end_(time_after(begun_, total)), most_doubt_(most_doubt) {}

void CallClock::set_total(Duration total) {
  total_ = total;
  end_ = time_after(begun_, total);
  if (went_on) went_on();
}

Duration CallClock::doubted_since() const {
  if (stops_ > 0 || doubts_ == 0) return Duration::zero();
  return std::min(clock_.now() - since_, most_doubt_ - in_doubt_);
}

Duration CallClock::stood_still() const { return stood_ + (stops_ > 0 ? clock_.now() - since_ : doubted_since()); }

Duration CallClock::left() const {
  if (end_ == TimePoint::max()) return Duration::max();
  return std::max(Duration::zero(), end_ - now());
}

CallClock::TimePoint CallClock::when(TimePoint at) const {
  if (at == TimePoint::max() || stops_ > 0) return TimePoint::max();
  const auto doubt_left = doubts_ > 0 ? most_doubt_ - in_doubt_ - doubted_since() : Duration::zero();
  return time_after(time_after(at, stood_still()), doubt_left);
}

void CallClock::change(int& stops, int by) {
  const auto doubted = doubted_since();
  stood_ = stood_still();
  in_doubt_ += doubted;
  since_ = clock_.now();
  stops += by;
}

CallClock::Stop::Stop(std::shared_ptr<CallClock> clock, Whose whose) : clock_(std::move(clock)), whose_(whose) {
  if (clock_) clock_->change(whose_ == Whose::this_calls ? clock_->stops_ : clock_->doubts_, 1);
}

CallClock::Stop::~Stop() {
  if (!clock_) return;
  clock_->change(whose_ == Whose::this_calls ? clock_->stops_ : clock_->doubts_, -1);
  if (clock_->went_on) clock_->went_on();
}

Task<void> CallClock::over(std::shared_ptr<CallClock> clock) {
  Timer timer(co_await asio::this_coro::executor);
  auto arm = [&] { timer.set(clock->when(clock->end_)); };
  struct Forget {
    CallClock& clock;
    ~Forget() { clock.went_on = nullptr; }
  } forget{*clock};
  clock->went_on = arm;
  // One that was stopped meanwhile is not over when the timer fires.
  while (clock->when(clock->end_) > clock->clock_.now()) {
    arm();
    auto waited = co_await as_result(timer.wait());
    const auto state = co_await asio::this_coro::cancellation_state;
    if (!waited && state.cancelled() != asio::cancellation_type::none) throw std::move(waited).error();
  }
}

}  // namespace patchbay
