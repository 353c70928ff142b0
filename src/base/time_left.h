// The time a piece of work has, and stands still while a person is asked on its behalf. Owned by who does the work;
// those who ask on its behalf hold a TimeLeft::Stop meanwhile. What time it is is handed in; waiting for the end goes
// by base/timeout.h and the clock of the system. Loop thread only.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <string>

#include "base/timeout.h"
#include "base/waiting.h"

namespace patchbay {

class TimeLeft {
 public:
  using Now = std::function<std::chrono::steady_clock::time_point()>;

  TimeLeft(Duration limit, Now now) : limit_(limit), now_(std::move(now)), since_(now_()) {}
  TimeLeft(const TimeLeft&) = delete;
  TimeLeft& operator=(const TimeLeft&) = delete;

  Duration limit() const noexcept { return limit_; }
  // Another limit, counted from the same beginning.
  void set_limit(Duration limit) {
    limit_ = limit;
    changed_.notify_all();
  }
  Duration left() const { return limit_ == Duration::max() ? limit_ : std::max(Duration::zero(), limit_ - used()); }
  // Returns when nothing is left.
  Task<void> over() {
    while (left() > Duration::zero() || stops_ > 0) {
      if (stops_ > 0 || limit_ == Duration::max()) {
        co_await changed_.wait();
      } else {
        using asio::experimental::awaitable_operators::operator||;
        asio::steady_timer timer(co_await asio::this_coro::executor, left());
        co_await (timer.async_wait(asio::use_awaitable) || changed_.wait());
      }
    }
  }

  // While one of these is there, no time passes.
  class Stop {
   public:
    explicit Stop(TimeLeft* time) : time_(time) {
      if (time_ != nullptr) time_->stop();
    }
    Stop(const Stop&) = delete;
    Stop& operator=(const Stop&) = delete;
    ~Stop() {
      if (time_ != nullptr) time_->go_on();
    }

   private:
    TimeLeft* time_;
  };

 private:
  Duration used() const { return stops_ > 0 ? used_ : used_ + (now_() - since_); }
  void stop() {
    used_ = used();
    ++stops_;
    changed_.notify_all();
  }
  void go_on() {
    if (--stops_ > 0) return;
    since_ = now_();
    changed_.notify_all();
  }

  Duration limit_;
  Now now_;
  std::chrono::steady_clock::time_point since_;
  Duration used_{};
  std::size_t stops_ = 0;
  Event changed_;
};

// with_timeout() for a limit that may stand still; `message` says what it was at when nothing is left.
template <class T>
Task<T> with_timeout(Task<T> work, TimeLeft& time, std::function<std::string()> message) {
  using asio::experimental::awaitable_operators::operator||;
  auto outcome = co_await (as_result(std::move(work)) || time.over());
  if (outcome.index() == 1) throw Error(Errc::timeout, message());
  co_return value_or_throw(std::move(std::get<0>(outcome)));
}

}  // namespace patchbay
