#include "base/scope.h"

#include <exception>
#include <list>
#include <vector>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "base/as_result.h"
#include "base/waiting.h"

namespace patchbay {

struct Scope::State {
  explicit State(asio::any_io_executor e) : executor(std::move(e)) {}
  asio::any_io_executor executor;
  std::list<std::shared_ptr<asio::cancellation_signal>> running;
  Event ended;
  std::exception_ptr failure;
  bool cancelled = false;
};

Scope::Scope(asio::any_io_executor executor) : state_(std::make_shared<State>(std::move(executor))) {}

Scope::~Scope() { cancel(); }

void Spawned::cancel() {
  if (auto signal = signal_.lock()) signal->emit(asio::cancellation_type::terminal);
}

namespace {

// co_spawn alone would run the beginning on the caller's stack.
Task<void> on_next_turn(Task<void> task) {
  co_await asio::post(asio::use_awaitable);
  co_await std::move(task);
}

}  // namespace

Spawned Scope::spawn(Task<void> task) { return start(on_next_turn(std::move(task))); }

Spawned Scope::start(Task<void> task) {
  Spawned spawned;
  if (state_->cancelled) return spawned;
  state_->running.push_back(std::make_shared<asio::cancellation_signal>());
  spawned.signal_ = state_->running.back();
  auto position = std::prev(state_->running.end());
  asio::co_spawn(
      state_->executor, std::move(task),
      asio::bind_cancellation_slot((*position)->slot(), [state = state_, position](std::exception_ptr exception) {
        if (exception && error_from(exception).code() != Errc::cancelled && !state->failure) {
          state->failure = exception;
        }
        state->running.erase(position);
        state->ended.notify_all();
      }));
  return spawned;
}

void Scope::spawn_last(Task<void> task) {
  asio::co_spawn(state_->executor, std::move(task), [](std::exception_ptr) {});
}

void Scope::cancel() {
  state_->cancelled = true;
  // Emitting may run code that ends other entries, so the list is walked as a copy.
  auto running = std::vector(state_->running.begin(), state_->running.end());
  for (auto& signal : running) signal->emit(asio::cancellation_type::terminal);
}

bool Scope::empty() const noexcept { return state_->running.empty(); }
std::size_t Scope::size() const noexcept { return state_->running.size(); }
const asio::any_io_executor& Scope::executor() const noexcept { return state_->executor; }

Task<void> Scope::join() {
  auto state = state_;
  // The setting belongs to the whole chain of awaiting coroutines, so it is put back below.
  const bool throws = co_await asio::this_coro::throw_if_cancelled();
  co_await asio::this_coro::throw_if_cancelled(false);
  while (!state->running.empty()) {
    // Cancelled while joining: what we own must still end first. A slot fires once per
    // emit, so this loop does not spin.
    (void)co_await as_result(state->ended.wait());
  }
  co_await asio::this_coro::throw_if_cancelled(throws);
  if (state->failure) std::rethrow_exception(std::exchange(state->failure, nullptr));
}

Task<void> Scope::finish() {
  auto state = state_;
  const bool throws = co_await asio::this_coro::throw_if_cancelled();
  co_await asio::this_coro::throw_if_cancelled(false);
  bool cancelled = false;
  while (!state->running.empty()) {
    auto waited = co_await as_result(state->ended.wait());
    if (waited || cancelled) continue;
    cancelled = true;
    auto running = std::vector(state->running.begin(), state->running.end());
    for (auto& signal : running) signal->emit(asio::cancellation_type::terminal);
  }
  co_await asio::this_coro::throw_if_cancelled(throws);
  if (state->failure) std::rethrow_exception(std::exchange(state->failure, nullptr));
  if (cancelled) throw Error(Errc::cancelled, "cancelled");
}

}  // namespace patchbay
