// Runs heavy or blocking work on a helper thread and resumes on the loop. Each caller chooses the threads, so that work
// which waits for nobody never waits behind work that does (docs/adr/0008). The work gets only what it captures by
// value: it is never interrupted, and a caller who is cancelled leaves slow work behind, whose result is dropped. Quick
// work is waited for all the same: a small file of ours is written when whoever wrote it has ended. Called on the loop.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <type_traits>
#include <utility>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/thread_pool.hpp>

#include <patchbay/task.h>

#include "base/as_result.h"
#include "base/waiting.h"

namespace patchbay {

enum class Pool : std::uint8_t {
  quick,  // ends by itself soon: computing, small files of our own
  read,   // reads large messages of servers: as long as they are large, so nothing else waits behind it
  slow,   // may wait for somebody else: files of people, network file systems, walks, stores of secrets
};

asio::thread_pool& offload_pool(Pool pool);

// What a piece of work and its caller share.
template <class F>
struct Offloaded {
  using Value = std::invoke_result_t<F>;
  using Kept = std::conditional_t<std::is_void_v<Value>, bool, Value>;

  Offloaded(asio::any_io_executor l, F w) : loop(std::move(l)), work(std::move(w)) {}

  static void run(const std::shared_ptr<Offloaded>& self) {
    if (self->begun.exchange(true)) return;  // withdrawn
    try {
      auto now = std::move(*self->work);
      self->work.reset();
      if constexpr (std::is_void_v<Value>) {
        now();
        self->value = true;
      } else {
        self->value.emplace(now());
      }
    } catch (...) {
      self->failed = std::current_exception();
    }
    // While somebody waits there is a loop to tell.
    const std::lock_guard lock(self->mutex);
    if (!self->wanted) return;
    asio::post(self->loop, [self] {
      self->over = true;
      self->ended.notify_all();
    });
  }

  // Held by who waits.
  struct Wish {
    explicit Wish(std::shared_ptr<Offloaded> s) : state(std::move(s)) {}
    Wish(const Wish&) = delete;
    Wish& operator=(const Wish&) = delete;
    ~Wish() {
      const std::lock_guard lock(state->mutex);
      state->wanted = false;
    }
    std::shared_ptr<Offloaded> state;
  };

  asio::any_io_executor loop;
  std::optional<F> work;
  std::optional<Kept> value;
  std::exception_ptr failed;
  std::atomic<bool> begun = false;
  bool over = false;  // on the loop
  Event ended;
  std::mutex mutex;
  bool wanted = true;
};

// What a caller does who is cancelled before the work has ended.
enum class WhenCancelled : std::uint8_t {
  leaves,
  waits,
  withdraws,  // work that has not begun is not begun any more; what has begun is waited for
};

template <class F>
auto offload_to(asio::thread_pool& threads, WhenCancelled cancelled, F work) -> Task<std::invoke_result_t<F>> {
  using State = Offloaded<F>;
  const typename State::Wish wish(std::make_shared<State>(co_await asio::this_coro::executor, std::move(work)));
  auto& state = *wish.state;
  asio::post(threads, [shared = wish.state] { State::run(shared); });
  if (cancelled == WhenCancelled::leaves) {
    while (!state.over) co_await state.ended.wait();
  } else {
    // The setting belongs to the whole chain of awaiting coroutines, so it is put back below.
    const bool throws = co_await asio::this_coro::throw_if_cancelled();
    co_await asio::this_coro::throw_if_cancelled(false);
    while (!state.over) {
      auto waited = co_await as_result(state.ended.wait());
      if (waited || cancelled != WhenCancelled::withdraws || state.begun.exchange(true)) continue;
      co_await asio::this_coro::throw_if_cancelled(throws);
      throw std::move(waited).error();
    }
    co_await asio::this_coro::throw_if_cancelled(throws);
  }
  if (state.failed) std::rethrow_exception(std::exchange(state.failed, nullptr));
  if constexpr (!std::is_void_v<std::invoke_result_t<F>>) co_return std::move(*state.value);
}

template <class F>
auto offload(Pool pool, F work) -> Task<std::invoke_result_t<F>> {
  return offload_to(offload_pool(pool), pool == Pool::slow ? WhenCancelled::leaves : WhenCancelled::waits,
                    std::move(work));
}

}  // namespace patchbay
