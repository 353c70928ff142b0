#include "base/semaphore.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/as_result.h"
#include "base/scope.h"
#include "support/loop.h"

namespace patchbay {
namespace {

using test::run_task;
using test::settle;
using testing::ElementsAre;

// Takes a permit and keeps it until told to go on.
struct Worker {
  Event go;
  bool working = false;
  std::optional<Error> failed;
};

Task<void> work(Semaphore& semaphore, Worker& worker, std::vector<int>& order, int number) {
  auto permit = co_await as_result(semaphore.acquire());
  if (!permit) {
    worker.failed = permit.error();
    co_return;
  }
  order.push_back(number);
  worker.working = true;
  co_await worker.go.wait();
  worker.working = false;
}

TEST(Semaphore, NoMoreThanItsPermitsAreOutAtOnce) {
  run_task([]() -> Task<void> {
    Semaphore semaphore(3);
    Scope scope(co_await asio::this_coro::executor);
    std::vector<Worker> workers(10);
    std::vector<int> order;
    for (int i = 0; i < 10; ++i) scope.spawn(work(semaphore, workers[static_cast<std::size_t>(i)], order, i));
    for (std::size_t i = 0; i < 10; ++i) {
      co_await settle();
      EXPECT_EQ(order.size(), std::min<std::size_t>(i + 3, 10));
      EXPECT_EQ(semaphore.free(), order.size() == 10 && i > 7 ? i - 7 : 0u);
      EXPECT_TRUE(workers[i].working);
      workers[i].go.notify_all();
    }
    co_await scope.join();
    EXPECT_EQ(semaphore.free(), 3u);
    EXPECT_THAT(order, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9));
  });
}

TEST(Semaphore, WhoeverComesLaterDoesNotOvertakeThoseWhoWait) {
  run_task([]() -> Task<void> {
    Semaphore semaphore(1);
    Scope scope(co_await asio::this_coro::executor);
    std::vector<Worker> workers(3);
    std::vector<int> order;
    auto first = co_await semaphore.acquire();
    scope.spawn(work(semaphore, workers[0], order, 0));
    co_await settle();
    first.release();
    // The permit is free, but the one who waits has not run yet.
    EXPECT_EQ(semaphore.free(), 1u);
    scope.spawn([](Semaphore& s, Worker& w, std::vector<int>& o) -> Task<void> {
      auto permit = co_await s.acquire();
      EXPECT_FALSE(w.working);
      o.push_back(1);
    }(semaphore, workers[0], order));
    {
      // This very coroutine has the floor, and still does not come first.
      Spawned helper = scope.spawn([](Worker& w) -> Task<void> {
        co_await settle();
        EXPECT_TRUE(w.working);
        w.go.notify_all();
      }(workers[0]));
      auto mine = co_await semaphore.acquire();
      order.push_back(2);
    }
    co_await scope.join();
    EXPECT_EQ(order.front(), 0);
    EXPECT_EQ(order.size(), 3u);
  });
}

TEST(Semaphore, ACancelledWaiterLeavesTheQueueAndTheNextIsServed) {
  run_task([]() -> Task<void> {
    Semaphore semaphore(1);
    Scope scope(co_await asio::this_coro::executor);
    std::vector<Worker> workers(3);
    std::vector<int> order;
    scope.spawn(work(semaphore, workers[0], order, 0));
    auto impatient = scope.spawn(work(semaphore, workers[1], order, 1));
    scope.spawn(work(semaphore, workers[2], order, 2));
    co_await settle();
    impatient.cancel();
    co_await settle();
    EXPECT_TRUE(workers[1].failed);
    EXPECT_EQ(workers[1].failed->code(), Errc::cancelled);
    workers[0].go.notify_all();
    co_await settle();
    EXPECT_THAT(order, ElementsAre(0, 2));
    workers[2].go.notify_all();
    co_await scope.join();
    EXPECT_EQ(semaphore.free(), 1u);
  });
}

TEST(Semaphore, AWaiterCancelledAtTheMomentItIsServedTakesNoPermitAlong) {
  run_task([]() -> Task<void> {
    Semaphore semaphore(1);
    Scope scope(co_await asio::this_coro::executor);
    std::vector<Worker> workers(2);
    std::vector<int> order;
    auto permit = co_await semaphore.acquire();
    auto served = scope.spawn(work(semaphore, workers[0], order, 0));
    scope.spawn(work(semaphore, workers[1], order, 1));
    co_await settle();
    permit.release();
    served.cancel();
    co_await settle();
    EXPECT_TRUE(workers[1].working);
    workers[1].go.notify_all();
    co_await scope.join();
    EXPECT_EQ(semaphore.free(), 1u);
  });
}

TEST(Semaphore, APermitIsReturnedOnce) {
  run_task([]() -> Task<void> {
    Semaphore semaphore(2);
    auto first = co_await semaphore.acquire();
    auto moved = std::move(first);
    first.release();
    EXPECT_EQ(semaphore.free(), 1u);
    moved.release();
    moved.release();
    EXPECT_EQ(semaphore.free(), 2u);
    {
      auto scoped = co_await semaphore.acquire();
      EXPECT_EQ(semaphore.free(), 1u);
      scoped = co_await semaphore.acquire();  // the old one goes when the new one is there
      EXPECT_EQ(semaphore.free(), 1u);
    }
    EXPECT_EQ(semaphore.free(), 2u);
  });
}

}  // namespace
}  // namespace patchbay
