// A time to wait for, by a clock that is handed in.
#include "base/timer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/as_result.h"
#include "base/scope.h"
#include "base/timeout.h"
#include "support/fails_with.h"
#include "support/loop.h"
#include "support/manual_clock.h"

namespace patchbay {
namespace {

using namespace std::chrono_literals;
using test::FailsWith;
using test::ManualClock;
using test::run_task;
using test::settle;
using testing::ElementsAre;
using testing::Pair;

TEST(Timer, ATimeThatHasPassedByItsClock_IsDueAtOnce) {
  ManualClock clock;
  clock.skip(24h);
  run_task(clock, [&]() -> Task<void> {
    Timer timer(co_await asio::this_coro::executor);
    timer.set(clock.now() - 1ms);
    co_await timer.wait();
    // A day away by the clock of the system.
    timer.set(clock.now());
    co_await timer.wait();
  });
}

Task<void> woken_by_all() {
  const auto executor = co_await asio::this_coro::executor;
  Timer timer(executor);
  Scope scope(executor);
  int woken = 0;
  int due = 0;
  const auto wait = [](Timer& by, int& aborted, int& in_time) -> Task<void> {
    auto waited = co_await as_result(by.wait());
    ++(waited ? in_time : aborted);
  };
  timer.set(Timer::TimePoint::max());
  scope.spawn(wait(timer, woken, due));
  co_await settle();
  EXPECT_EQ(woken + due, 0);
  timer.set_after(1h);
  co_await settle();
  EXPECT_EQ(woken, 1);
  scope.spawn(wait(timer, woken, due));
  co_await settle();
  timer.cancel();
  co_await settle();
  EXPECT_EQ(woken, 2);
  timer.set_after(0s);
  co_await wait(timer, woken, due);
  EXPECT_EQ(due, 1);
  co_await scope.join();
}

TEST(Timer, WhoeverWaits_IsWokenWhenItIsSetAnewOrCancelled) { run_task(woken_by_all); }

// The same rules by both clocks.
TEST(Timer, ByHand_WhoeverWaitsIsWokenWhenItIsSetAnewOrCancelled) {
  ManualClock clock;
  run_task(clock, []() -> Task<void> { co_await woken_by_all(); });
}

TEST(Timer, ByHand_ThoseWhoWaitAreWokenInTheOrderOfTheirTimes) {
  ManualClock clock;
  run_task(clock, [&]() -> Task<void> {
    const auto begin = clock.now();
    std::vector<std::pair<int, Duration>> woken;
    Scope scope(co_await asio::this_coro::executor);
    for (const int seconds : {30, 10, 20}) {
      scope.spawn([](ManualClock& by, int wait, Clock::TimePoint from, auto& out) -> Task<void> {
        co_await sleep_for(std::chrono::seconds(wait));
        out.emplace_back(wait, by.now() - from);
        co_await sleep_for(1s);  // what follows has its own time
        out.emplace_back(-wait, by.now() - from);
      }(clock, seconds, begin, woken));
    }
    co_await clock.advance(9999ms);
    EXPECT_THAT(woken, ElementsAre());
    co_await clock.advance(11s);
    EXPECT_THAT(woken, ElementsAre(Pair(10, 10s), Pair(-10, 11s), Pair(20, 20s)));
    co_await clock.advance(1h);
    EXPECT_THAT(woken, ElementsAre(Pair(10, 10s), Pair(-10, 11s), Pair(20, 20s), Pair(-20, 21s), Pair(30, 30s),
                                   Pair(-30, 31s)));
    EXPECT_EQ(clock.now() - begin, 1h + 20999ms);
    co_await scope.join();
  });
}

TEST(Timer, ByHand_ALimitIsOverWhenItsTimeHasPassedAndNoMomentBefore) {
  ManualClock clock;
  run_task(clock, [&]() -> Task<void> {
    std::optional<Result<void>> ended;
    Scope scope(co_await asio::this_coro::executor);
    scope.spawn([](std::optional<Result<void>>& out) -> Task<void> {
      Event never;
      out = co_await as_result(with_timeout(never.wait(), 60s, "too long"));
    }(ended));
    co_await clock.advance(60s - 1ns);
    EXPECT_FALSE(ended);
    co_await clock.advance(1ns);
    EXPECT_TRUE(ended);
    if (ended) EXPECT_THAT(*ended, FailsWith(Errc::timeout));
    co_await scope.join();
  });
}

}  // namespace
}  // namespace patchbay
