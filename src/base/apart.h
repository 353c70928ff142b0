// Apart: runs what the program above us gave us (its handlers) apart from whoever waits for the outcome.
// A waiter that is cancelled goes on at once, whether or not the handler listens to its own cancellation;
// so an end that waits for waiters is bounded, and wait_ended() gives handlers a moment beyond that. fail() and
// end() let all waiters go at once, whatever the handlers do.
// One that is still not done runs on until it ends by itself: it must keep alive all it uses.
// A cheap handle; loop thread only.
#pragma once

#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <patchbay/task.h>

#include "base/as_result.h"
#include "base/scope.h"
#include "base/timeout.h"
#include "base/waiting.h"

namespace patchbay {

class Apart {
 public:
  explicit Apart(asio::any_io_executor executor) : state_(std::make_shared<State>(std::move(executor))) {}

  // The outcome of `work`, which begins at once. Whoever leaves earlier cancels it.
  template <class T>
  Task<T> run(Task<T> work) const {
    return wait_for(state_, std::move(work));
  }
  // Now: waiters get `why`, and what they wait for is cancelled.
  void fail(const Error& why) const {
    std::vector<Spawned> left;
    for (Waiter* waiter = state_->first; waiter != nullptr; waiter = waiter->next) left.push_back(waiter->fail(why));
    for (auto& work : left) work.cancel();
  }
  // The same for good: later ones are refused with `why`.
  void end(const Error& why) const {
    if (!state_->over) state_->over = why;
    fail(why);
    state_->scope.cancel();
  }
  // What runs now, also what nobody waits for any more.
  std::size_t running() const noexcept { return state_->running; }
  // Returns when nothing runs, or after `limit`; whether nothing does.
  Task<bool> wait_ended(Duration limit) const { return wait_for_end(state_, limit); }

 private:
  struct Waiter;
  struct State {
    explicit State(asio::any_io_executor executor) : scope(std::move(executor)) {}
    std::size_t running = 0;
    Event ended;  // the last of them
    Waiter* first = nullptr;
    std::optional<Error> over;
    Scope scope;
  };
  template <class T>
  struct Outcome {
    std::optional<T> value;
    std::exception_ptr error;
    std::move_only_function<void(boost::system::error_code)> waiter;
    bool is_known() const noexcept { return value || error; }
    void tell(boost::system::error_code why) {
      if (auto told = std::exchange(waiter, nullptr)) told(why);
    }
  };
  // One who waits, in its own frame; listed for as long as it does.
  struct Waiter {
    explicit Waiter(State& s) : state(s), next(s.first) {
      if (next != nullptr) next->previous = this;
      state.first = this;
    }
    Waiter(const Waiter&) = delete;
    Waiter& operator=(const Waiter&) = delete;
    virtual Spawned fail(const Error& why) = 0;  // what nobody waits for any more
    State& state;
    Waiter* previous = nullptr;
    Waiter* next;

   protected:
    ~Waiter() {
      (previous != nullptr ? previous->next : state.first) = next;
      if (next != nullptr) next->previous = previous;
    }
  };
  template <class T>
  struct Waiting final : Waiter {
    Waiting(State& s, std::shared_ptr<Outcome<T>> o) : Waiter(s), outcome(std::move(o)) {}
    ~Waiting() { work.cancel(); }  // nothing, if it has ended
    Spawned fail(const Error& why) override {
      if (!outcome->is_known()) outcome->error = std::make_exception_ptr(why);
      outcome->tell({});
      return work;
    }
    std::shared_ptr<Outcome<T>> outcome;
    Spawned work;
  };
  // Counts a frame for as long as it exists, and sees to it that there is an outcome.
  template <class T>
  struct Running {
    Running(std::shared_ptr<State> s, std::shared_ptr<Outcome<T>> o) : state(std::move(s)), outcome(std::move(o)) {
      ++state->running;
    }
    Running(Running&&) noexcept = default;
    Running& operator=(Running&&) = delete;
    ~Running() {
      if (!state) return;
      if (!outcome->is_known()) outcome->error = std::make_exception_ptr(Error(Errc::cancelled, "cancelled"));
      outcome->tell({});
      if (--state->running == 0) state->ended.notify_all();
    }
    std::shared_ptr<State> state;
    std::shared_ptr<Outcome<T>> outcome;
  };

  template <class T>
  static Task<void> perform(Running<T> running, Task<T> work) {
    try {
      auto value = co_await std::move(work);
      if (!running.outcome->is_known()) running.outcome->value.emplace(std::move(value));
    } catch (...) {
      if (!running.outcome->is_known()) running.outcome->error = std::current_exception();
    }
  }

  // A cancellation reaches the work at once, as if it were awaited here: what it waits for may be gone
  // on the next turn of the loop.
  template <class T>
  static Task<void> known(std::shared_ptr<Outcome<T>> outcome, Spawned work) {
    return asio::async_initiate<const asio::use_awaitable_t<>, void(boost::system::error_code)>(
        [outcome, work](auto handler) {
          auto slot = asio::get_associated_cancellation_slot(handler);
          auto guard = asio::make_work_guard(asio::get_associated_executor(handler));
          outcome->waiter = [h = std::move(handler), g = std::move(guard)](boost::system::error_code error) mutable {
            asio::get_associated_cancellation_slot(h).clear();
            auto executor = g.get_executor();
            post_on(executor, [resumed = std::move(h), error]() mutable { std::move(resumed)(error); });
          };
          if (!slot.is_connected()) return;
          slot.assign([outcome, work](asio::cancellation_type) {
            const auto kept = outcome;  // this function goes with the slot
            auto cancelled = work;
            cancelled.cancel();
            kept->tell(asio::error::operation_aborted);
          });
        },
        asio::use_awaitable);
  }

  template <class T>
  static Task<T> wait_for(std::shared_ptr<State> state, Task<T> work) {
    if (state->over) throw Error(*state->over);
    auto outcome = std::make_shared<Outcome<T>>();
    Waiting<T> waiting(*state, outcome);
    waiting.work = state->scope.start(perform(Running<T>(state, outcome), std::move(work)));
    if (!outcome->is_known()) co_await known(outcome, waiting.work);
    if (outcome->error) std::rethrow_exception(outcome->error);
    co_return std::move(*outcome->value);
  }

  static Task<void> until_ended(std::shared_ptr<State> state) {
    while (state->running > 0) co_await state->ended.wait();
  }
  static Task<bool> wait_for_end(std::shared_ptr<State> state, Duration limit) {
    if (state->running == 0) co_return true;
    (void)co_await as_result(with_timeout(until_ended(state), limit, "handlers go on"));
    co_return state->running == 0;
  }

  std::shared_ptr<State> state_;
};

}  // namespace patchbay
