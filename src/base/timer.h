// Timer: one time to wait for, by the clock of its loop. Together with base/timeout.h the only place where timers are
// made. Whoever owns it sets it anew as often as it likes: that, and cancel(), wake the one who waits. Loop thread
// only.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <patchbay/task.h>

#include "base/loop_clock.h"
#include "base/waiting.h"

namespace patchbay {

class Timer {
 public:
  using TimePoint = Clock::TimePoint;

  explicit Timer(const asio::any_io_executor& executor) : Timer(executor, loop_clock(executor)) {}
  // `clock` is the loop's, for who knows it already; or the system's, for what the system times itself.
  Timer(const asio::any_io_executor& executor, Clock& clock) {
    if (clock.by_hand()) {
      by_hand_ = std::make_unique<ByHand>(executor, clock);
    } else {
      timer_.emplace(executor);
    }
  }

  // TimePoint::max(): never.
  void set(TimePoint at) {
    if (timer_) {
      timer_->expires_at(at);
    } else {
      by_hand_->set(at);
    }
  }
  void set_after(Duration wait) {
    if (timer_) {
      timer_->expires_after(wait);
    } else {
      by_hand_->set(time_after(by_hand_->clock.now(), wait));
    }
  }
  void cancel() {
    if (timer_) {
      timer_->cancel();
    } else {
      by_hand_->woken.abort_all();
    }
  }

  // Returns at that time; throws operation_aborted when it was set anew or cancelled.
  Task<void> wait() { return timer_ ? timer_->async_wait(asio::use_awaitable) : by_hand_->woken.wait(); }
  // The same without an exception, which costs more than most of what is waited for: the error, none at that time.
  auto came() {
    return asio::async_initiate<const asio::as_tuple_t<asio::use_awaitable_t<>>, void(boost::system::error_code)>(
        [this](auto&& handler) { call(std::move(handler)); }, asio::as_tuple(asio::use_awaitable));
  }
  // Calls `due` then, and with an error otherwise.
  template <class Handler>
  void call(Handler due) {
    if (timer_) {
      timer_->async_wait(std::move(due));
    } else {
      by_hand_->woken.call(asio::bind_executor(by_hand_->executor, std::move(due)));
    }
  }

  asio::any_io_executor executor() { return timer_ ? timer_->get_executor() : by_hand_->executor; }

 private:
  struct ByHand final : Clock::Alarm {
    ByHand(asio::any_io_executor e, Clock& c) : executor(std::move(e)), clock(c) { clock.add(*this); }
    ByHand(const ByHand&) = delete;
    ByHand& operator=(const ByHand&) = delete;
    ~ByHand() {
      clock.remove(*this);
      woken.abort_all();
    }
    void set(TimePoint when) {
      at = when;
      woken.abort_all();
    }
    bool awaited() const noexcept override { return woken.has_waiters(); }
    void ring() override { woken.notify_all(); }

    asio::any_io_executor executor;
    Clock& clock;
    Event woken;
  };

  // One of the two.
  std::optional<asio::steady_timer> timer_;
  std::unique_ptr<ByHand> by_hand_;
};

}  // namespace patchbay
