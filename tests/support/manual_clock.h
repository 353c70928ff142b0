// ManualClock: a clock in the test's hand. A loop that runs under it (run_task(clock, ...), support/loop.h) has no
// other time: limits, pauses and pings happen when the test says so and no moment later, and an hour takes no time.
// Time passes only when nothing is ready to run, and whoever waits is woken in the order of their times. Work of other
// threads and processes is not waited for: wait for what comes of it, then turn the clock. Outlives its loop; loop
// thread only.
#pragma once

#include <vector>

#include <patchbay/task.h>

#include "base/clock.h"
#include "base/waiting.h"

namespace patchbay::test {

class ManualClock final : public Clock {
 public:
  // `by_itself`: real time passes too, for what talks to real servers and wants to skip some of it.
  enum class Passes { by_hand, by_itself };
  explicit ManualClock(Passes passes = Passes::by_hand) : passes_(passes) {}
  ManualClock(const ManualClock&) = delete;
  ManualClock& operator=(const ManualClock&) = delete;

  TimePoint now() const override;
  WallTime wall() const override;
  void set_wall(WallTime now) { wall_at_begin_ = now - (this->now() - begin_); }

  // It is that much later at once: what is due meanwhile is due now.
  void skip(Duration more) { moved_ += more; }
  // Time passes: whoever waits is woken when it is their time, and all that follows from it happens, before it is
  // later.
  Task<void> advance(Duration more);

  bool by_hand() const noexcept override { return true; }
  void add(Alarm& alarm) override { alarms_.push_back(&alarm); }
  void remove(Alarm& alarm) noexcept override { std::erase(alarms_, &alarm); }

  // For the loop: wakes somebody whose time has come. False when there is nobody.
  bool wake_due();
  // For the loop, when nothing is ready: goes on to whoever is next within advance(), or ends that. False when nobody
  // is in it.
  bool turn();
  // Until somebody is due by itself.
  Duration until_next() const;
  // When whoever waits is woken next; TimePoint::max() when that is never.
  TimePoint next() const;
  // How many timers there are, awaited or not.
  std::size_t alarms() const noexcept { return alarms_.size(); }

 private:
  Alarm* earliest() const;

  Passes passes_;
  TimePoint begin_ = std::chrono::steady_clock::now();
  WallTime wall_at_begin_ = std::chrono::system_clock::now();
  Duration moved_{};
  TimePoint target_{};  // of advance(); earlier than now when nobody is in it
  Event reached_;
  std::vector<Alarm*> alarms_;
};

}  // namespace patchbay::test
