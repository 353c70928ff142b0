// L7: one budget for what all connections hold; nobody waits for ever, and two halves do not wait for each other.
#include "base/byte_budget.h"

#include <thread>

#include <boost/asio/io_context.hpp>
#include <boost/asio/this_coro.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/as_result.h"
#include "base/scope.h"
#include "support/loop.h"

namespace patchbay::test {
namespace {

constexpr std::size_t mebibyte = 1u << 20;
constexpr std::size_t ceiling = 10 * mebibyte;

TEST(ByteBudget, WhatIsSmallWeighsNothingAndAlwaysGoesThrough) {
  run_task([]() -> Task<void> {
    ByteBudget budget;
    const auto full = budget.charge(ceiling);
    ByteBudget::Unfinished message(budget, co_await asio::this_coro::executor, ceiling);
    message.hold(ByteBudget::small);
    EXPECT_TRUE(message.fits(ByteBudget::small));
    EXPECT_EQ(budget.charge(ByteBudget::small).bytes(), 0u);
    EXPECT_EQ(budget.used(), ceiling);
  });
}

TEST(ByteBudget, AMessageWaitsForWhatIsWhole) {
  run_task([]() -> Task<void> {
    ByteBudget budget;
    auto executor = co_await asio::this_coro::executor;
    auto whole = budget.charge(8 * mebibyte);
    ByteBudget::Unfinished message(budget, executor, ceiling);
    message.hold(mebibyte);
    EXPECT_TRUE(message.fits(mebibyte));
    EXPECT_FALSE(message.fits(2 * mebibyte));
    bool grew = false;
    Scope scope(executor);
    scope.spawn([](ByteBudget::Unfinished& m, bool& done) -> Task<void> {
      co_await m.room(2 * mebibyte);
      done = true;
    }(message, grew));
    co_await settle();
    EXPECT_FALSE(grew);
    whole.release();
    co_await scope.join();
    EXPECT_TRUE(grew);
    EXPECT_EQ(budget.used(), mebibyte);
    message.hold(3 * mebibyte);
    const auto charge = message.finish();
    EXPECT_EQ(charge.bytes(), 3 * mebibyte);
    EXPECT_EQ(budget.used(), 3 * mebibyte);
  });
}

// What has to go and is whole a moment later has not to go any more: its bytes are on their way to whoever wanted them.
TEST(ByteBudget, AMessageThatIsWholeAfterAllDoesNotGo) {
  for (const bool large : {true, false}) {
    run_task([large]() -> Task<void> {
      ByteBudget budget;
      auto executor = co_await asio::this_coro::executor;
      int given_up = 0;
      ByteBudget::Unfinished silent(budget, executor, ceiling, [&] { ++given_up; });
      silent.hold(9 * mebibyte);
      ByteBudget::Unfinished other(budget, executor, ceiling);
      other.hold(mebibyte);
      Scope scope(executor);
      scope.start([](ByteBudget::Unfinished& m) -> Task<void> { co_await m.room(mebibyte); }(other));
      EXPECT_TRUE(silent.failed());
      // Its rest had arrived already.
      ByteBudget::Charge whole;
      if (large) {
        whole = silent.finish();
      } else {
        silent.hold(0);
      }
      EXPECT_FALSE(silent.failed());
      co_await settle();
      EXPECT_EQ(given_up, 0);
      whole.release();
      co_await scope.join();
    });
  }
}

TEST(ByteBudget, OfTwoHalvesThatWaitForEachOther_TheLargerGoes) {
  run_task([]() -> Task<void> {
    ByteBudget budget;
    auto executor = co_await asio::this_coro::executor;
    auto smaller = std::make_unique<ByteBudget::Unfinished>(budget, executor, ceiling);
    auto larger = std::make_unique<ByteBudget::Unfinished>(budget, executor, ceiling);
    smaller->hold(4 * mebibyte);
    larger->hold(6 * mebibyte);
    Result<void> first, second;
    Scope scope(executor);
    auto grow = [](std::unique_ptr<ByteBudget::Unfinished>& m, Result<void>& outcome) -> Task<void> {
      outcome = co_await as_result(m->room(mebibyte));
      if (!outcome) m.reset();
    };
    scope.spawn(grow(smaller, first));
    scope.spawn(grow(larger, second));
    co_await scope.join();
    EXPECT_TRUE(first);
    EXPECT_FALSE(second);
    if (!second) EXPECT_EQ(second.error().code(), Errc::limit);
    EXPECT_EQ(budget.used(), 4 * mebibyte);
  });
}

// Its peer has fallen silent in the middle of a message, so it asks for nothing itself.
TEST(ByteBudget, OneThatHoldsTheMostAndDoesNotMove_IsGivenUp) {
  run_task([]() -> Task<void> {
    ByteBudget budget;
    auto executor = co_await asio::this_coro::executor;
    std::unique_ptr<ByteBudget::Unfinished> silent;
    silent = std::make_unique<ByteBudget::Unfinished>(budget, executor, ceiling, [&silent] {
      EXPECT_TRUE(silent->failed());
      silent.reset();
    });
    silent->hold(9 * mebibyte);
    ByteBudget::Unfinished other(budget, executor, ceiling);
    other.hold(mebibyte);
    co_await other.room(mebibyte);
    EXPECT_EQ(silent, nullptr);
    EXPECT_FALSE(other.failed());
  });
}

TEST(ByteBudget, WhatCanNeverFit_FailsAtOnce) {
  run_task([]() -> Task<void> {
    ByteBudget budget;
    auto value = co_await as_result(budget.admit(ceiling + 1, 0, ceiling));
    EXPECT_FALSE(value);
    if (!value) EXPECT_EQ(value.error().code(), Errc::limit);
    EXPECT_EQ(budget.used(), 0u);
  });
}

// Each has its text already and needs room for its values: one of them must get on.
TEST(ByteBudget, ValuesOfTwoWholeTexts_DoNotWaitForEachOther) {
  run_task([]() -> Task<void> {
    ByteBudget budget;
    auto executor = co_await asio::this_coro::executor;
    int made = 0, failed = 0;
    Scope scope(executor);
    auto make = [](ByteBudget& b, ByteBudget::Charge text, int& good, int& bad) -> Task<void> {
      auto value = co_await as_result(b.admit(2 * mebibyte, text.bytes(), ceiling));
      ++(value ? good : bad);
    };
    scope.spawn(make(budget, budget.charge(5 * mebibyte), made, failed));
    scope.spawn(make(budget, budget.charge(5 * mebibyte), made, failed));
    co_await scope.join();
    EXPECT_EQ(made, 1);
    EXPECT_EQ(failed, 1);
    EXPECT_EQ(budget.used(), 0u);
  });
}

// Another host of the same process may allow itself more; its messages do not go for the sake of ours.
TEST(ByteBudget, WhoAllowsItselfLess_GivesUpItsOwn) {
  run_task([]() -> Task<void> {
    ByteBudget budget;
    auto executor = co_await asio::this_coro::executor;
    ByteBudget::Unfinished theirs(budget, executor, 2 * ceiling);
    theirs.hold(12 * mebibyte);
    ByteBudget::Unfinished ours(budget, executor, ceiling);
    ours.hold(mebibyte);
    auto room = co_await as_result(ours.room(mebibyte));
    EXPECT_FALSE(room);
    EXPECT_FALSE(theirs.failed());
  });
}

TEST(ByteBudget, ACancelledWaitLeavesNothingBehind) {
  run_task([]() -> Task<void> {
    ByteBudget budget;
    auto executor = co_await asio::this_coro::executor;
    {
      const auto whole = budget.charge(ceiling);
      Scope scope(executor);
      scope.spawn([](ByteBudget& b) -> Task<void> { (void)co_await b.admit(mebibyte, 0, ceiling); }(budget));
      co_await settle();
      scope.cancel();
      co_await scope.join();
    }
    EXPECT_EQ(budget.used(), 0u);
    (void)co_await budget.admit(ceiling, 0, ceiling);
  });
}

// A host on a loop of its own, in another thread, frees what this one waits for.
TEST(ByteBudget, IsSharedByTheLoopsOfSeveralThreads) {
  run_task([]() -> Task<void> {
    ByteBudget budget;
    auto whole = budget.charge(ceiling);
    std::thread other([charge = std::move(whole)]() mutable { charge.release(); });
    auto value = co_await budget.admit(2 * mebibyte, 0, ceiling);
    other.join();
    EXPECT_EQ(value.bytes(), 2 * mebibyte);
  });
}

}  // namespace
}  // namespace patchbay::test
