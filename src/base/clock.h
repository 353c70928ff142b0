// Clock: what time it is, for everything that runs on one loop. The system's, unless whoever makes the loop hands in
// another (base/loop_clock.h); then every timer and every time limit follows it. Pure objects are given theirs.
// Also randomness as a value that is handed in. A clock may be read by any thread; its alarms belong to the loop.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <span>

namespace patchbay {

using Duration = std::chrono::steady_clock::duration;

class Clock {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  using WallTime = std::chrono::system_clock::time_point;

  virtual TimePoint now() const = 0;
  virtual WallTime wall() const = 0;

  // Somebody who waits until it is `at` on a clock that is turned by hand: base/timer.h.
  class Alarm {
   public:
    virtual bool awaited() const noexcept = 0;
    virtual void ring() = 0;
    TimePoint at = TimePoint::max();

   protected:
    ~Alarm() = default;
  };
  // Such a clock keeps its alarms itself and rings each once; time that passes by itself leaves that to the system.
  virtual bool by_hand() const noexcept { return false; }
  virtual void add(Alarm&) {}
  virtual void remove(Alarm&) noexcept {}

 protected:
  Clock() = default;
  ~Clock() = default;
  Clock(const Clock&) = default;
  Clock& operator=(const Clock&) = default;
};

// The system's. It has no state and is there for as long as the program.
Clock& real_clock() noexcept;

// Without overflow.
inline Clock::TimePoint time_after(Clock::TimePoint now, Duration wait) {
  return wait >= Clock::TimePoint::max() - now ? Clock::TimePoint::max() : now + wait;
}

// Fills a span with random bytes; the default is the kernel's generator.
using Random = std::function<void(std::span<std::uint8_t>)>;
Random system_random();

}  // namespace patchbay
