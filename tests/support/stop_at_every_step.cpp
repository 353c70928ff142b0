#include "support/stop_at_every_step.h"

#include <optional>
#include <string>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include "base/as_result.h"

namespace patchbay::test {
namespace {

using Clock = std::chrono::steady_clock;

// One coroutine, whether it has begun and how it ended.
struct Spawning {
  bool begun = false;
  int outcomes = 0;
  std::optional<Error> error;

  void start(asio::io_context& loop, Task<void> task, asio::cancellation_slot slot = {}) {
    loop.restart();  // it stops whenever it has nothing to do
    asio::co_spawn(loop, begin(std::move(task)),
                   asio::bind_cancellation_slot(slot, [this](std::exception_ptr exception) {
                     ++outcomes;
                     if (exception) error = error_from(exception);
                   }));
  }
  Task<void> begin(Task<void> task) {
    begun = true;
    co_await std::move(task);
  }
  bool ended() const noexcept { return outcomes > 0; }
  std::string text() const { return error ? std::string(to_string(error->code())) + ": " + error->message() : "fine"; }
};

// Turns the loop until `done`, or until it has no work, or until the time is over.
template <class Done>
void turn_until(asio::io_context& loop, Clock::time_point deadline, Done done) {
  while (!done() && Clock::now() < deadline) {
    if (loop.run_one_until(deadline) == 0) return;
  }
}

// False when the step could not be made: the operation has ended, or waits for something that does not come.
bool step(asio::io_context& loop, const Spawning& operation, const SteppingOptions& options) {
  if (operation.ended()) return false;
  if (loop.poll_one() > 0) return true;
  return options.quiet.count() > 0 && loop.run_one_for(options.quiet) > 0;
}

enum class How { stop, cancel };
enum class Next { go_on, no_later_ones, failed };

// One run with the stop after `k` handlers.
Next run_once(const MakeWorld& make, const SteppingOptions& options, How how, std::size_t k, SteppingReport& report) {
  std::string problems;
  auto require = [&](bool held, const std::string& what) {
    if (!held) problems += (problems.empty() ? "" : "; ") + what;
  };
  asio::io_context loop(1);
  auto world = make(loop.get_executor());
  Spawning preparation;
  preparation.start(loop, world->prepare());
  turn_until(loop, Clock::now() + options.end_within, [&] { return preparation.ended(); });
  require(preparation.ended() && !preparation.error, "not prepared; " + preparation.text());
  if (!problems.empty()) {
    ADD_FAILURE() << problems;
    return Next::failed;
  }

  Spawning operation;
  Spawning stopping;
  Spawning finishing;
  asio::cancellation_signal cancel;
  operation.start(loop, world->operate(), cancel.slot());
  // Asio has not begun it yet. From Boost 1.82 on, co_spawn throws out of the loop when it is cancelled before. What
  // the preparation left may come first.
  while (how == How::cancel && !operation.begun && loop.poll_one() > 0) continue;
  bool later = true;
  for (std::size_t made = 0; made < k && later; ++made) later = step(loop, operation, options);
  if (how == How::stop) {
    stopping.start(loop, world->stop());
  } else {
    cancel.emit(asio::cancellation_type::terminal);
    ++stopping.outcomes;
  }
  const auto deadline = Clock::now() + options.end_within;
  turn_until(loop, deadline, [&] { return operation.ended() && stopping.ended(); });
  require(operation.ended(), "the operation hangs");
  require(stopping.ended(), "the stop hangs");
  require(!stopping.error, "the stop failed; " + stopping.text());
  finishing.start(loop, world->finish());
  // Everything else ends by itself, and soon.
  turn_until(loop, deadline, [] { return false; });
  require(finishing.ended() && !finishing.error, "not finished; " + finishing.text());
  require(loop.stopped(), "something still runs");
  require(operation.outcomes <= 1 && stopping.outcomes <= 1, "more than one outcome");
  ++report.runs;
  if (operation.error) {
    ++report.failed[operation.error->code()];
  } else if (operation.ended()) {
    ++report.succeeded;
  }
  if (!problems.empty()) {
    ADD_FAILURE() << problems;
    return Next::failed;
  }
  return later ? Next::go_on : Next::no_later_ones;
}

SteppingReport run_all(const MakeWorld& make, const SteppingOptions& options, How how) {
  SteppingReport report;
  for (std::size_t k = 0;; k += options.stride) {
    SCOPED_TRACE("stopped after " + std::to_string(k) + " handlers");
    if (run_once(make, options, how, k, report) != Next::go_on) break;
    if (k >= options.most_steps) {
      if (!options.endless) ADD_FAILURE() << "the operation takes more steps than that";
      break;
    }
  }
  return report;
}

}  // namespace

SteppingReport stop_at_every_step(const MakeWorld& make, SteppingOptions options) {
  return run_all(make, options, How::stop);
}

SteppingReport cancel_at_every_step(const MakeWorld& make, SteppingOptions options) {
  return run_all(make, options, How::cancel);
}

}  // namespace patchbay::test
