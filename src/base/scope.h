// Scope owns the coroutines it spawned: nothing runs on after the Scope's owner is
// gone. It is the only caller of asio::co_spawn in Patchbay. The owner calls cancel()
// and then co_awaits join() before it is destroyed. Loop thread only.
#pragma once

#include <memory>
#include <string_view>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <patchbay/task.h>

namespace patchbay {

// A handle on one spawned coroutine, to cancel it alone. Does nothing once it has ended.
class Spawned {
 public:
  Spawned() = default;
  void cancel();

 private:
  friend class Scope;
  std::weak_ptr<asio::cancellation_signal> signal_;
};

class Scope {
 public:
  explicit Scope(asio::any_io_executor executor);
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;
  // Cancels what still runs. A frame that has not ended by then outlives the Scope only
  // until the loop next turns, so an owner whose members those frames use must join first.
  ~Scope();

  // Starts `task` on the next turn of the loop. After cancel() it is destroyed unstarted.
  // An Error escaping from it is a bug: it is kept for join() to throw.
  Spawned spawn(Task<void> task);
  // The same at once: up to where it first waits it runs on the caller's stack.
  Spawned start(Task<void> task);

  // Starts `task` and lets go of it: neither cancel() nor the destructor reaches it. Only for
  // a task that keeps alive all it uses and ends by itself in bounded time: a last clean-up.
  void spawn_last(Task<void> task);

  void cancel();
  bool empty() const noexcept;
  std::size_t size() const noexcept;

  // Waits until every spawned coroutine has ended, even when itself cancelled.
  Task<void> join();
  // The same, but passes its own cancellation on to them; then throws Errc::cancelled.
  Task<void> finish();

  const asio::any_io_executor& executor() const noexcept;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

// Runs clean-up that must reach its end: cancelling whoever waits does not cancel the work.
// The caller has set throw_if_cancelled to false, or it may not get here at all.
template <class T>
Task<T> shielded(Task<T> work) {
  auto executor = co_await asio::this_coro::executor;
  co_return co_await asio::co_spawn(executor, std::move(work),
                                    asio::bind_cancellation_slot(asio::cancellation_slot(), asio::use_awaitable));
}

}  // namespace patchbay
