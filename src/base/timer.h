// Timer: one time to wait for, by the clock that is handed in. Together with base/timeout.h and base/time_left.h the
// only place where timers are made. Whoever owns it sets it anew as often as it likes: that, and cancel(), wake
// the one who waits. Loop thread only.
#pragma once

#include <chrono>
#include <functional>
#include <utility>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <patchbay/task.h>

#include "base/clock.h"

namespace patchbay {

class Timer {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  // By the clock of the system.
  explicit Timer(const asio::any_io_executor& executor) : timer_(executor) {}
  Timer(const asio::any_io_executor& executor, const Clock& clock) : timer_(executor), now_(clock.now) {}

  // TimePoint::max(): never.
  void set(TimePoint at) {
    if (now_ && at != TimePoint::max()) {
      timer_.expires_after(at - now_());
    } else {
      timer_.expires_at(at);
    }
  }
  void set_after(std::chrono::steady_clock::duration wait) { timer_.expires_after(wait); }
  void cancel() { timer_.cancel(); }

  // Returns at that time; throws operation_aborted when it was set anew or cancelled.
  Task<void> wait() { return timer_.async_wait(asio::use_awaitable); }
  // Calls `due` then, and with an error otherwise.
  template <class Handler>
  void call(Handler due) {
    timer_.async_wait(std::move(due));
  }

  asio::any_io_executor executor() { return timer_.get_executor(); }

 private:
  asio::steady_timer timer_;
  std::function<TimePoint()> now_;  // empty: the system's
};

}  // namespace patchbay
