#include "base/scope.h"

#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <gtest/gtest.h>

#include "base/timeout.h"
#include "base/waiting.h"
#include "support/fails_with.h"
#include "support/loop.h"

namespace patchbay {
namespace {

using test::FailsWith;
using test::run_task;
using namespace std::chrono_literals;

TEST(Scope, JoinReturnsAfterEverySpawnedCoroutineEnded) {
  int ended = 0;
  run_task([&]() -> Task<void> {
    Scope scope(co_await asio::this_coro::executor);
    for (int i = 0; i < 3; ++i) {
      scope.spawn([](int& n) -> Task<void> {
        co_await sleep_for(1ms);
        ++n;
      }(ended));
    }
    co_await scope.join();
  });
  EXPECT_EQ(ended, 3);
}

TEST(Scope, NothingSpawnedRunsOnTheCallersStack) {
  run_task([]() -> Task<void> {
    Scope scope(co_await asio::this_coro::executor);
    bool ran = false;
    scope.spawn([](bool& flag) -> Task<void> {
      flag = true;
      co_return;
    }(ran));
    EXPECT_FALSE(ran);
    co_await scope.join();
    EXPECT_TRUE(ran);
  });
}

TEST(Scope, StartedTaskRunsAtOnceUpToItsFirstWait) {
  run_task([]() -> Task<void> {
    Scope scope(co_await asio::this_coro::executor);
    Event never;
    std::string steps;
    auto started = scope.start([](Event& event, std::string& log) -> Task<void> {
      log += "begun ";
      auto waited = co_await as_result(event.wait());
      log += waited ? "woken" : to_string(waited.error().code());
    }(never, steps));
    EXPECT_EQ(steps, "begun ");
    started.cancel();
    co_await scope.join();
    EXPECT_EQ(steps, "begun cancelled");
  });
}

// It has ended by the time its owner gets hold of it.
TEST(Scope, StartedTaskThatNeverWaitsIsJoined) {
  run_task([]() -> Task<void> {
    Scope scope(co_await asio::this_coro::executor);
    bool ran = false;
    auto started = scope.start([](bool& flag) -> Task<void> {
      flag = true;
      co_return;
    }(ran));
    EXPECT_TRUE(ran);
    started.cancel();
    co_await scope.join();
    EXPECT_TRUE(scope.empty());
  });
}

TEST(Scope, CancelEndsWaitersAndRefusesNewOnes) {
  run_task([]() -> Task<void> {
    Scope scope(co_await asio::this_coro::executor);
    Event never;
    bool cancelled = false;
    scope.spawn([](Event& event, bool& flag) -> Task<void> {
      auto result = co_await as_result(event.wait());
      flag = !result && result.error().code() == Errc::cancelled;
    }(never, cancelled));
    co_await sleep_for(1ms);
    scope.cancel();
    bool ran = false;
    scope.spawn([](bool& flag) -> Task<void> {
      flag = true;
      co_return;
    }(ran));
    co_await scope.join();
    EXPECT_TRUE(cancelled);
    EXPECT_FALSE(ran);
    EXPECT_FALSE(never.has_waiters());
  });
}

TEST(Scope, JoinThrowsWhatASpawnedCoroutineThrew) {
  run_task([]() -> Task<void> {
    Scope scope(co_await asio::this_coro::executor);
    scope.spawn([]() -> Task<void> {
      throw Error(Errc::internal, "a bug");
      co_return;
    }());
    auto result = co_await as_result(scope.join());
    EXPECT_FALSE(result);
    EXPECT_EQ(result.error(), Error(Errc::internal, "a bug"));
  });
}

TEST(Scope, JoinWaitsForItsCoroutinesEvenWhenCancelled) {
  run_task([]() -> Task<void> {
    auto executor = co_await asio::this_coro::executor;
    Scope outer(executor);
    bool inner_ended = false;
    Event go;
    outer.spawn([](asio::any_io_executor ex, Event& event, bool& flag) -> Task<void> {
      Scope inner(ex);
      inner.spawn([](Event& e, bool& f) -> Task<void> {
        co_await e.wait();
        f = true;
      }(event, flag));
      co_await inner.join();
    }(executor, go, inner_ended));
    co_await sleep_for(1ms);
    outer.cancel();
    co_await sleep_for(1ms);
    EXPECT_FALSE(outer.empty());
    go.notify_all();
    co_await outer.join();
    EXPECT_TRUE(inner_ended);
  });
}

TEST(Scope, FinishPassesItsCancellationOnAndStillWaits) {
  run_task([]() -> Task<void> {
    auto executor = co_await asio::this_coro::executor;
    Scope outer(executor);
    Event never;
    bool inner_cancelled = false;
    std::optional<Error> finished;
    outer.spawn([](asio::any_io_executor ex, Event& event, bool& flag, std::optional<Error>& out) -> Task<void> {
      Scope inner(ex);
      inner.spawn([](Event& e, bool& f) -> Task<void> {
        auto waited = co_await as_result(e.wait());
        f = !waited;
      }(event, flag));
      auto result = co_await as_result(inner.finish());
      EXPECT_TRUE(inner.empty());
      if (!result) out = result.error();
    }(executor, never, inner_cancelled, finished));
    co_await test::settle();
    outer.cancel();
    co_await outer.join();
    EXPECT_TRUE(inner_cancelled);
    EXPECT_TRUE(finished);
    EXPECT_EQ(finished->code(), Errc::cancelled);
  });
}

TEST(Scope, FinishWithoutACancelIsAJoin) {
  run_task([]() -> Task<void> {
    Scope scope(co_await asio::this_coro::executor);
    int ended = 0;
    for (int i = 0; i < 3; ++i) {
      scope.spawn([](int& n) -> Task<void> {
        co_await test::settle();
        ++n;
      }(ended));
    }
    co_await scope.finish();
    EXPECT_EQ(ended, 3);
  });
}

TEST(Timeout, FailureOfTheWorkIsReportedAtOnceNotWhenTheTimerFires) {
  run_task([]() -> Task<void> {
    auto result = co_await as_result(with_timeout(
        []() -> Task<int> {
          throw Error(Errc::rpc, "refused");
          co_return 1;
        }(),
        1h, "too slow"));
    EXPECT_THAT(result, FailsWith(Error(Errc::rpc, "refused")));
  });
}

TEST(Timeout, SlowWorkIsCancelledAndNamed) {
  run_task([]() -> Task<void> {
    Event never;
    auto result = co_await as_result(with_timeout(never.wait(), 1ms, "the server did not answer"));
    EXPECT_THAT(result, FailsWith(Error(Errc::timeout, "the server did not answer")));
    EXPECT_FALSE(never.has_waiters());
  });
}

TEST(Timeout, OuterCancelIsACancelNotATimeout) {
  run_task([]() -> Task<void> {
    Scope scope(co_await asio::this_coro::executor);
    Result<void> seen;
    Event never;
    scope.spawn([](Event& event, Result<void>& out) -> Task<void> {
      out = co_await as_result(with_timeout(event.wait(), 1h, "too slow"));
    }(never, seen));
    co_await sleep_for(1ms);
    scope.cancel();
    co_await scope.join();
    EXPECT_FALSE(seen);
    EXPECT_EQ(seen.error().code(), Errc::cancelled);
  });
}

// Between the call and the first turn of the loop neither side of the race has begun.
TEST(Timeout, ACancelBeforeTheRaceBeginsCounts) {
  for (int turns = 0; turns < 6; ++turns) {
    run_task([turns]() -> Task<void> {
      Scope scope(co_await asio::this_coro::executor);
      std::optional<Result<void>> seen;
      Event never;
      scope.spawn([](Event& event, std::optional<Result<void>>& out) -> Task<void> {
        out = co_await as_result(with_timeout(event.wait(), 1h, "too slow"));
      }(never, seen));
      for (int i = 0; i < turns; ++i) co_await asio::post(asio::use_awaitable);
      scope.cancel();
      co_await scope.join();
      if (seen) EXPECT_EQ(seen->error().code(), Errc::cancelled);
      EXPECT_FALSE(never.has_waiters());
    });
  }
}

TEST(Completion, FirstValueWins) {
  run_task([]() -> Task<void> {
    Completion<int> completion;
    EXPECT_TRUE(completion.set(1));
    EXPECT_FALSE(completion.set(2));
    EXPECT_EQ(co_await completion.wait(), 1);
  });
}

}  // namespace
}  // namespace patchbay
