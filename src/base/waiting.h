// What coroutines of one loop wait on: an Event (several waiters, may be notified
// again and again) and a Completion<T> (one value, one waiter). Neither ever resumes a
// waiter on the notifier's stack: resumption is posted to the waiter's executor. A
// cancelled wait throws operation_aborted and leaves the list. Loop thread only.
#pragma once

#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <patchbay/task.h>

namespace patchbay {

// asio::post; past the type erasure where it is an ordinary loop, which is most of the cost.
template <class Executor, class Function>
void post_on(const Executor& executor, Function function) {
  if constexpr (std::is_same_v<Executor, asio::any_io_executor>) {
    if (const auto* loop = executor.template target<asio::io_context::executor_type>()) {
      asio::post(*loop, std::move(function));
      return;
    }
  }
  asio::post(executor, std::move(function));
}

class Event {
 public:
  Event() = default;
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  // Waiters left behind (their loop is gone, or is about to be) are destroyed, not resumed.
  ~Event() { drop(std::exchange(first_, nullptr)); }

  // Returns after the next notify; a notify before the call does not count.
  Task<void> wait();
  // The same for a handler with an executor and perhaps a cancellation slot, called with an error code.
  template <class Handler>
  void call(Handler&& handler);
  void notify_all() { complete_all({}); }
  // Waits end with operation_aborted.
  void abort_all() { complete_all(asio::error::operation_aborted); }
  bool has_waiters() const noexcept { return first_ != nullptr; }

 private:
  struct Waiter {
    virtual ~Waiter() = default;
    virtual void complete(boost::system::error_code error) = 0;
    Waiter* previous = nullptr;
    Waiter* next = nullptr;
  };

  template <class Handler>
  struct HandlerWaiter final : Waiter {
    explicit HandlerWaiter(Handler&& h) : handler(std::move(h)), work(asio::get_associated_executor(handler)) {}
    void complete(boost::system::error_code error) override {
      asio::get_associated_cancellation_slot(handler).clear();
      auto executor = work.get_executor();
      post_on(executor, [h = std::move(handler), error]() mutable { std::move(h)(error); });
    }
    Handler handler;
    // A pending wait counts as work: the loop does not end under it.
    asio::executor_work_guard<asio::associated_executor_t<Handler>> work;
  };

  void complete_all(boost::system::error_code error);
  void append(Waiter* waiter) noexcept {
    waiter->previous = last_;
    (last_ != nullptr ? last_->next : first_) = waiter;
    last_ = waiter;
  }
  std::unique_ptr<Waiter> remove(Waiter* waiter) noexcept {
    (waiter->previous != nullptr ? waiter->previous->next : first_) = waiter->next;
    (waiter->next != nullptr ? waiter->next->previous : last_) = waiter->previous;
    return std::unique_ptr<Waiter>(waiter);
  }
  static void drop(Waiter* waiter) noexcept {
    while (waiter != nullptr) delete std::exchange(waiter, waiter->next);
  }

  // In the order in which they began to wait; each was made by new.
  Waiter* first_ = nullptr;
  Waiter* last_ = nullptr;
};

template <class Handler>
void Event::call(Handler&& handler) {
  static_assert(!std::is_lvalue_reference_v<Handler>, "it is moved from");
  auto slot = asio::get_associated_cancellation_slot(handler);
  auto* waiter = new HandlerWaiter<Handler>(std::forward<Handler>(handler));
  append(waiter);
  if (slot.is_connected()) {
    slot.assign([this, waiter](asio::cancellation_type) { remove(waiter)->complete(asio::error::operation_aborted); });
  }
}

inline Task<void> Event::wait() {
  return asio::async_initiate<const asio::use_awaitable_t<>, void(boost::system::error_code)>(
      [this](auto&& handler) { call(std::move(handler)); }, asio::use_awaitable);
}

inline void Event::complete_all(boost::system::error_code error) {
  Waiter* woken = std::exchange(first_, nullptr);
  last_ = nullptr;
  while (woken != nullptr) {
    const std::unique_ptr<Waiter> waiter(std::exchange(woken, woken->next));
    waiter->complete(error);
  }
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

  // The same in two steps, for a coroutine that would rather not have another one inside it:
  // while it is not set, await changed(); then take the value.
  Task<void> changed() { return event_.wait(); }
  T take() { return std::move(*value_); }

 private:
  std::optional<T> value_;
  Event event_;
};

}  // namespace patchbay
