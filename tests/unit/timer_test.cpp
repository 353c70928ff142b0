// A time to wait for, by a clock that is handed in.
#include "base/timer.h"

#include <gtest/gtest.h>

#include "base/as_result.h"
#include "base/scope.h"
#include "support/loop.h"

namespace patchbay {
namespace {

using namespace std::chrono_literals;
using test::run_task;
using test::settle;

TEST(Timer, ATimeThatHasPassedByItsClock_IsDueAtOnce) {
  run_task([]() -> Task<void> {
    Clock clock;
    const auto now = std::chrono::steady_clock::now() + 24h;
    clock.now = [now] { return now; };
    Timer timer(co_await asio::this_coro::executor, clock);
    timer.set(now - 1ms);
    co_await timer.wait();
    // A day away by the clock of the system.
    timer.set(now);
    co_await timer.wait();
  });
}

TEST(Timer, WhoeverWaits_IsWokenWhenItIsSetAnewOrCancelled) {
  run_task([]() -> Task<void> {
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
  });
}

}  // namespace
}  // namespace patchbay
