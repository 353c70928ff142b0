// Ends an operation at every point where it can be interrupted. The loop is turned by hand, one handler
// at a time: for k = 0, 1, 2, … a world is made anew, the operation is started, k handlers run, and then
// the stop begins beside it (or the operation is cancelled). Each time both must end within bounded
// steps, each with exactly one outcome, and the loop must have nothing left to run. What is freed too
// early or never is the address sanitizer's to find.
//
// A test names the world, the operation and the stop; see tests/stopping. It runs on the caller's thread,
// which has no other loop. Worlds whose handlers depend on sockets or threads are no different from one k
// to the next in what is checked, only in where exactly the stop falls: give them a `stride` and a bound.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>

#include <patchbay/task.h>

namespace patchbay::test {

// What one run is about. Made anew for every k on a loop of its own, destroyed after that loop has ended.
class SteppedWorld {
 public:
  virtual ~SteppedWorld() = default;
  // Runs to its end before anything is counted: connecting, say.
  virtual Task<void> prepare() { co_return; }
  // What is stopped. May throw: how it ended is what is looked at.
  virtual Task<void> operate() = 0;
  // Starts after k handlers. Throwing is a failure of the test. Not called by cancel_at_every_step().
  virtual Task<void> stop() { co_return; }
  // Runs after both have ended, and must leave nothing behind: what stop() does not clean up.
  virtual Task<void> finish() { co_return; }
};

struct SteppingOptions {
  std::size_t most_steps = 3000;  // an operation that takes more is a failure of the test, unless
  bool endless = false;           // it never ends by itself, and so many are enough
  std::size_t stride = 1;         // only every so many k
  // While the operation has nothing to run, so long is waited for something from outside (a socket, a timer).
  // Nothing came: it is where it stays, and the stop begins there for the last time.
  std::chrono::milliseconds quiet{0};
  // From the stop on: what takes longer hangs.
  std::chrono::milliseconds end_within{20'000};
};

struct SteppingReport {
  std::size_t runs = 0;  // how many different k there were
  std::size_t succeeded = 0;
  std::map<Errc, std::size_t> failed;  // by code
};

using MakeWorld = std::function<std::unique_ptr<SteppedWorld>(asio::any_io_executor)>;

// Failures are test failures, each with its k; the first one ends it.
SteppingReport stop_at_every_step(const MakeWorld& make, SteppingOptions options = {});
// The same with a cancellation of operate() instead of stop().
SteppingReport cancel_at_every_step(const MakeWorld& make, SteppingOptions options = {});

}  // namespace patchbay::test
