// What coroutines of one loop wait on: an Event (several waiters, may be notified
// again and again) and a Completion<T> (one value, one waiter). Neither ever resumes a
// waiter on the notifier's stack: resumption is posted to the waiter's executor. A
// cancelled wait throws operation_aborted and leaves the list. Loop thread only.
#pragma once

#include <list>
#include <memory>
#include <optional>
#include <utility>

#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <patchbay/task.h>

namespace patchbay {

class Event {
 public:
  Event() = default;
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  // Waiters left behind (their loop is gone, or is about to be) are destroyed, not resumed.
  ~Event() = default;

  // Returns after the next notify; a notify before the call does not count.
  Task<void> wait();
  void notify_all();
  bool has_waiters() const noexcept { return !waiters_.empty(); }

 private:
  struct Waiter {
    virtual ~Waiter() = default;
    virtual void complete(boost::system::error_code error) = 0;
  };
  using Waiters = std::list<std::unique_ptr<Waiter>>;

  template <class Handler>
  struct HandlerWaiter final : Waiter {
    explicit HandlerWaiter(Handler h) : handler(std::move(h)), work(asio::get_associated_executor(handler)) {}
    void complete(boost::system::error_code error) override {
      asio::get_associated_cancellation_slot(handler).clear();
      auto executor = work.get_executor();
      asio::post(executor, [h = std::move(handler), error]() mutable { std::move(h)(error); });
    }
    Handler handler;
    // A pending wait counts as work: the loop does not end under it.
    asio::executor_work_guard<asio::associated_executor_t<Handler>> work;
  };

  Waiters waiters_;
};

inline Task<void> Event::wait() {
  return asio::async_initiate<const asio::use_awaitable_t<>, void(boost::system::error_code)>(
      [this](auto handler) {
        auto slot = asio::get_associated_cancellation_slot(handler);
        using Handler = decltype(handler);
        waiters_.push_back(std::make_unique<HandlerWaiter<Handler>>(std::move(handler)));
        auto position = std::prev(waiters_.end());
        if (slot.is_connected()) {
          slot.assign([this, position](asio::cancellation_type) {
            auto waiter = std::move(*position);
            waiters_.erase(position);
            waiter->complete(asio::error::operation_aborted);
          });
        }
      },
      asio::use_awaitable);
}

inline void Event::notify_all() {
  Waiters woken;
  woken.swap(waiters_);
  for (auto& waiter : woken) waiter->complete({});
}

// One value for one waiting coroutine; the first set() wins.
template <class T>
class Completion {
 public:
  bool set(T value) {
    if (value_) return false;
    value_.emplace(std::move(value));
    event_.notify_all();
    return true;
  }
  bool is_set() const noexcept { return value_.has_value(); }

  Task<T> wait() {
    while (!value_) co_await event_.wait();
    co_return std::move(*value_);
  }

 private:
  std::optional<T> value_;
  Event event_;
};

}  // namespace patchbay
