#include "host/background_calls.h"

#include <fmt/format.h>

#include "base/as_result.h"

namespace patchbay {

std::uint64_t BackgroundCall::id() const noexcept { return state_->status.id; }

const BackgroundCallStatus& BackgroundCall::status() const noexcept { return state_->status; }

Task<CallToolResult> BackgroundCall::result() {
  const auto state = state_;
  while (!state->outcome) co_await state->ended.wait();
  state->kept = false;
  co_return value_or_throw(*state->outcome);
}

void BackgroundCall::cancel() {
  state_->kept = false;
  state_->cancelled = true;
  state_->running.cancel();
}

BackgroundCalls::Ending::~Ending() {
  if (!state_ || state_->outcome) return;
  auto why = state_->cancelled ? Error(Errc::cancelled, "cancelled") : Error(Errc::closed, "the host was stopped");
  set(std::unexpected(std::move(why).with_carried_out(CarriedOut::no)));
}

void BackgroundCalls::Ending::set(Result<CallToolResult> outcome) {
  using State = BackgroundCallStatus::State;
  state_->status.state = outcome                                     ? State::answered
                         : outcome.error().code() == Errc::cancelled ? State::cancelled
                                                                     : State::failed;
  state_->outcome = std::move(outcome);
  state_->ended.notify_all();
}

void BackgroundCalls::let_go() {
  // One that was cancelled counts for as long as it runs.
  std::erase_if(all_, [](const auto& one) { return !one->kept && one->outcome; });
}

std::pair<BackgroundCalls::Started, BackgroundCalls::Ending> BackgroundCalls::add(std::string tool,
                                                                                  CallOptions& options,
                                                                                  std::size_t most) {
  let_go();
  if (all_.size() >= most) {
    throw Error(Errc::limit, fmt::format("\"{}\" was not called: there are {} calls in the background, which is the "
                                         "limit; fetch the result of one that has ended, or cancel one",
                                         tool, most))
        .with_carried_out(CarriedOut::no);
  }
  auto state = std::make_shared<BackgroundCall::State>();
  state->status = {.id = options.call_id, .tool = std::move(tool)};
  options.on_progress = [state, next = std::move(options.on_progress)](const Progress& progress) {
    state->status.progress = progress;
    if (next) next(progress);
  };
  all_.push_back(state);
  return {Started(state), Ending(state)};
}

std::vector<BackgroundCall> BackgroundCalls::kept() {
  let_go();
  std::vector<BackgroundCall> calls;
  for (const auto& one : all_) {
    if (one->kept) calls.push_back(BackgroundCall(one));
  }
  return calls;
}

}  // namespace patchbay
