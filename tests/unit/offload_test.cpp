// Work on the helper threads: its value, its error, a caller who does not wait for it, and who stands behind whom.
#include "base/offload.h"

#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "base/as_result.h"
#include "base/scope.h"
#include "support/fails_with.h"
#include "support/loop.h"

namespace patchbay {
namespace {

using test::FailsWith;
using test::run_task;
using test::settle;

TEST(Offload, ValuesAndErrorsComeBackToTheLoop) {
  run_task([]() -> Task<void> {
    const auto here = std::this_thread::get_id();
    const auto there = co_await offload(Pool::quick, [] { return std::this_thread::get_id(); });
    EXPECT_NE(there, here);
    EXPECT_EQ(std::this_thread::get_id(), here);
    auto failed = co_await as_result(offload(Pool::slow, []() -> int { throw Error(Errc::limit, "too much"); }));
    EXPECT_THAT(failed, FailsWith(Error(Errc::limit, "too much")));
  });
}

// A gate on which helper threads wait.
struct Gate {
  std::mutex mutex;
  std::condition_variable changed;
  bool open = false;
  int inside = 0;
  void pass() {
    std::unique_lock lock(mutex);
    ++inside;
    changed.notify_all();
    changed.wait(lock, [this] { return open; });
    --inside;
    changed.notify_all();
  }
  void wait_inside(int count) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return inside >= count; });
  }
  void let_go() {
    std::unique_lock lock(mutex);
    open = true;
    changed.notify_all();
    changed.wait(lock, [this] { return inside == 0; });
  }
};

// A small file of ours is written when whoever wrote it has ended.
TEST(Offload, CancelledCaller_WaitsForQuickWork) {
  run_task([]() -> Task<void> {
    Scope scope(co_await asio::this_coro::executor);
    auto gate = std::make_shared<Gate>();
    bool ended = false;
    scope.spawn([](std::shared_ptr<Gate> g, bool& e) -> Task<void> {
      EXPECT_EQ(co_await offload(Pool::quick,
                                 [g] {
                                   g->pass();
                                   return 1;
                                 }),
                1);
      e = true;
    }(gate, ended));
    co_await settle();
    gate->wait_inside(1);
    scope.cancel();
    co_await settle();
    EXPECT_FALSE(ended);
    gate->let_go();
    co_await scope.join();
    EXPECT_TRUE(ended);
  });
}

// Whoever is cancelled returns while the work goes on; what it captured is its own.
TEST(Offload, CancelledCaller_ReturnsBeforeSlowWorkHasEnded) {
  auto gate = std::make_shared<Gate>();
  run_task([gate]() -> Task<void> {
    Scope scope(co_await asio::this_coro::executor);
    std::optional<Error> error;
    scope.spawn([](std::shared_ptr<Gate> g, std::optional<Error>& out) -> Task<void> {
      auto result = co_await as_result(offload(Pool::slow, [g] {
        g->pass();
        return std::string("nobody takes this");
      }));
      if (!result) out = result.error();
    }(gate, error));
    co_await settle();
    gate->wait_inside(1);
    scope.cancel();
    co_await scope.join();
    EXPECT_TRUE(error);
    if (error) EXPECT_EQ(error->code(), Errc::cancelled);
  });
  // The loop is gone, and the work ends all the same.
  gate->let_go();
}

// However much waits for file systems, what waits for nobody has threads of its own.
TEST(Offload, QuickWorkDoesNotWaitForSlowWork) {
  auto gate = std::make_shared<Gate>();
  run_task([gate]() -> Task<void> {
    Scope scope(co_await asio::this_coro::executor);
    for (int i = 0; i < 100; ++i) {
      scope.spawn(
          [](std::shared_ptr<Gate> g) -> Task<void> { co_await offload(Pool::slow, [g] { g->pass(); }); }(gate));
    }
    co_await settle();
    gate->wait_inside(3);  // more than two of them run at once
    EXPECT_EQ(co_await offload(Pool::quick, [] { return 1; }), 1);
    scope.cancel();
    co_await scope.join();
  });
  gate->let_go();
}

// A large message is read while small files are written and others wait for somebody.
TEST(Offload, ReadingHasThreadsOfItsOwn) {
  auto gate = std::make_shared<Gate>();
  run_task([gate]() -> Task<void> {
    Scope scope(co_await asio::this_coro::executor);
    for (int i = 0; i < 8; ++i) {
      for (const auto pool : {Pool::quick, Pool::slow}) {
        scope.spawn(
            [](std::shared_ptr<Gate> g, Pool p) -> Task<void> { co_await offload(p, [g] { g->pass(); }); }(gate, pool));
      }
    }
    co_await settle();
    gate->wait_inside(10);  // every thread of both
    EXPECT_EQ(co_await offload(Pool::read, [] { return 1; }), 1);
    gate->let_go();
    co_await scope.join();
  });
}

// And large messages, however many are read, leave the others theirs.
TEST(Offload, NobodyStandsBehindReading) {
  auto gate = std::make_shared<Gate>();
  run_task([gate]() -> Task<void> {
    Scope scope(co_await asio::this_coro::executor);
    for (int i = 0; i < 8; ++i) {
      scope.spawn(
          [](std::shared_ptr<Gate> g) -> Task<void> { co_await offload(Pool::read, [g] { g->pass(); }); }(gate));
    }
    co_await settle();
    gate->wait_inside(2);
    EXPECT_EQ(co_await offload(Pool::quick, [] { return 1; }), 1);
    EXPECT_EQ(co_await offload(Pool::slow, [] { return 2; }), 2);
    gate->let_go();
    co_await scope.join();
  });
}

}  // namespace
}  // namespace patchbay
