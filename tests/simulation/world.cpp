#include "simulation/world.h"

#include <algorithm>

#include <boost/asio/co_spawn.hpp>

#include "base/loop_clock.h"

namespace patchbay::test {
namespace {

// Far more than a run needs: whoever passes this never ends.
constexpr std::size_t most_steps = 500'000;

}  // namespace

World::World(std::uint64_t seed) : begin_(clock_.now()), dice_(seed) { use_clock(loop_, clock_); }

void World::later(Duration wait, std::function<void()> what) {
  coming_.emplace(time_after(clock_.now(), wait), std::move(what));
}

void World::write(std::string line) {
  const auto at = std::chrono::duration_cast<std::chrono::microseconds>(elapsed()).count();
  log_.push_back(fmt::format("{:>4}.{:06} {}", at / 1'000'000, at % 1'000'000, line));
}

World::End World::run(Task<void> body) {
  asio::co_spawn(loop_, std::move(body), [this](std::exception_ptr thrown) { thrown_ = std::move(thrown); });
  while (steps_ < most_steps) {
    if (loop_.poll_one() > 0) {
      ++steps_;
      continue;
    }
    if (loop_.stopped()) return End::dry;
    const auto waiting = clock_.next();
    const auto happens = coming_.empty() ? Clock::TimePoint::max() : coming_.begin()->first;
    const auto next = std::min(waiting, happens);
    if (next == Clock::TimePoint::max()) return End::stuck;
    if (next > clock_.now()) clock_.skip(next - clock_.now());
    ++steps_;
    if (happens <= waiting) {
      const auto first = coming_.extract(coming_.begin());
      first.mapped()();
    } else {
      clock_.wake_due();
    }
  }
  return End::endless;
}

}  // namespace patchbay::test
