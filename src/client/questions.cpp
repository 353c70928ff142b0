#include "client/questions.h"

#include <utility>

#include "base/as_result.h"

namespace patchbay {

struct Questions::Running {
  Running(std::shared_ptr<State> s, std::shared_ptr<Answer> a) : state(std::move(s)), answer(std::move(a)) {
    ++state->running;
  }
  Running(Running&&) noexcept = default;
  Running& operator=(Running&&) = delete;
  ~Running() {
    if (!state) return;
    answer->set(std::unexpected(Error(Errc::cancelled, "cancelled")));
    if (--state->running == 0) state->ended.notify_all();
  }
  std::shared_ptr<State> state;
  std::shared_ptr<Answer> answer;
};

Questions::Questions(asio::any_io_executor executor) : state_(std::make_shared<State>(std::move(executor))) {}

Task<void> Questions::run(Running running, Task<InputResponse> handler) {
  auto outcome = co_await as_result(std::move(handler));
  running.answer->set(std::move(outcome));
}

Task<InputResponse> Questions::put(Task<InputResponse> handler) {
  const auto state = state_;
  if (state->over) throw Error(*state->over);
  auto answer = std::make_shared<Answer>();
  auto spawned = state->scope.spawn(run(Running(state, answer), std::move(handler)));
  state->open.emplace_back(answer, spawned);
  struct Leave {
    Leave(std::shared_ptr<State> s, Spawned h) : state(std::move(s)), place(std::prev(state->open.end())), handler(h) {}
    Leave(const Leave&) = delete;
    Leave& operator=(const Leave&) = delete;
    ~Leave() {
      state->open.erase(place);
      handler.cancel();  // nothing, if it has ended
    }
    std::shared_ptr<State> state;
    decltype(State::open)::iterator place;
    Spawned handler;
  } leave(state, spawned);
  while (!answer->is_set()) co_await answer->changed();
  co_return value_or_throw(answer->take());
}

void Questions::fail(const Error& why) {
  auto open = std::vector(state_->open.begin(), state_->open.end());
  for (auto& [answer, handler] : open) {
    answer->set(std::unexpected(why));
    handler.cancel();
  }
}

void Questions::end(const Error& why) {
  if (!state_->over) state_->over = why;
  fail(why);
  state_->scope.cancel();
}

Task<void> Questions::none_runs(std::shared_ptr<State> state) {
  while (state->running > 0) co_await state->ended.wait();
}

Task<void> Questions::wait_ended(Duration limit) {
  const auto now = co_await asio::this_coro::cancellation_state;
  if (state_->running == 0 || now.cancelled() != asio::cancellation_type::none) co_return;
  (void)co_await as_result(with_timeout(none_runs(state_), limit, "handlers go on"));
}

}  // namespace patchbay
