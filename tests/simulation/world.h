// World: the surroundings of one simulated run. It has the loop, a clock that jumps to whoever waits next when nothing
// is ready, things that happen at their time, and the log of all that happened. Every choice comes from one seed,
// and nothing of the machine is asked: two runs of one seed are the same to the last line. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <fmt/format.h>

#include <patchbay/task.h>

#include "support/dice.h"
#include "support/manual_clock.h"

namespace patchbay::test {

// The choices of one of those who take part; what others choose does not change them.
class Choices {
 public:
  Choices(const Dice& dice, std::string_view name) : base_(dice.number(name, "choices", std::uint64_t{1} << 62)) {}
  // 0 ... below - 1.
  std::uint64_t number(std::string_view what, std::uint64_t below) {
    return Dice(base_ + ++made_).number({}, what, below);
  }
  bool chance(std::string_view what, std::uint64_t percent) { return number(what, 100) < percent; }
  // Most are short, some are as long as `most`.
  Duration wait(std::string_view what, std::chrono::microseconds most) {
    auto below = static_cast<std::uint64_t>(most.count());
    if (!chance("long", 30)) below = below / 20 + 1;
    return std::chrono::microseconds(number(what, below + 1));
  }

 private:
  std::uint64_t base_;
  std::uint64_t made_ = 0;
};

class World {
 public:
  explicit World(std::uint64_t seed);
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  asio::io_context& loop() noexcept { return loop_; }
  ManualClock& clock() noexcept { return clock_; }
  const Dice& dice() const noexcept { return dice_; }
  Duration elapsed() const { return clock_.now() - begin_; }

  // Happens then, between two turns of the loop. What is left over when the loop is dry never happens.
  void later(Duration wait, std::function<void()> what);

  template <class... Values>
  void note(fmt::format_string<Values...> text, Values&&... values) {
    write(fmt::format(text, std::forward<Values>(values)...));
  }
  const std::vector<std::string>& log() const noexcept { return log_; }

  enum class End {
    dry,      // nothing is left to do
    stuck,    // somebody waits, and nothing will ever wake them
    endless,  // it goes on and on
  };
  // Runs `body` and all it leads to. Whatever it throws is kept.
  End run(Task<void> body);
  std::exception_ptr thrown() const noexcept { return thrown_; }
  std::size_t steps() const noexcept { return steps_; }
  // Timers that exist.
  std::size_t timers() const noexcept { return clock_.alarms(); }

 private:
  void write(std::string line);

  ManualClock clock_;
  Clock::TimePoint begin_;
  Dice dice_;
  std::multimap<Clock::TimePoint, std::function<void()>> coming_;
  std::vector<std::string> log_;
  std::exception_ptr thrown_;
  std::size_t steps_ = 0;
  asio::io_context loop_{1};
};

}  // namespace patchbay::test
