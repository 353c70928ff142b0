// Handlers that run apart from whoever waits for them.
#include "base/apart.h"

#include <string>
#include <vector>

#include <boost/asio/post.hpp>
#include <gtest/gtest.h>

#include "support/loop.h"

namespace patchbay {
namespace {

using namespace std::chrono_literals;
using test::run_task;
using test::settle;

Task<int> seven() { co_return 7; }

struct Stranger {};

Task<int> throws_a_stranger() {
  co_await asio::post(asio::use_awaitable);
  throw Stranger();
  co_return 0;
}

// Does not hear that it is cancelled.
Task<int> deaf(std::shared_ptr<Event> released, std::shared_ptr<bool> go) {
  co_await asio::this_coro::throw_if_cancelled(false);
  while (!*go) {
    co_await asio::this_coro::reset_cancellation_state();
    (void)co_await as_result(released->wait());
  }
  co_return 1;
}

TEST(Apart, ItsOutcomeComesBackAsItIs) {
  run_task([]() -> Task<void> {
    const Apart apart(co_await asio::this_coro::executor);
    EXPECT_EQ(co_await apart.run(seven()), 7);
    bool thrown = false;
    try {
      (void)co_await apart.run(throws_a_stranger());
    } catch (const Stranger&) {
      thrown = true;
    }
    EXPECT_TRUE(thrown);
    EXPECT_EQ(apart.running(), 0u);
    EXPECT_TRUE(co_await apart.wait_ended(1min));
  });
}

TEST(Apart, WhoIsCancelled_DoesNotWaitForOneThatDoesNotListen) {
  run_task([]() -> Task<void> {
    const auto executor = co_await asio::this_coro::executor;
    const Apart apart(executor);
    auto released = std::make_shared<Event>();
    auto go = std::make_shared<bool>(false);
    std::optional<Errc> ended;
    Scope scope(executor);
    auto waiter = scope.spawn([](Apart where, Task<int> work, std::optional<Errc>& end) -> Task<void> {
      auto outcome = co_await as_result(where.run(std::move(work)));
      end = outcome ? Errc::internal : outcome.error().code();
    }(apart, deaf(released, go), ended));
    co_await settle();
    waiter.cancel();
    co_await scope.join();
    EXPECT_EQ(ended, Errc::cancelled);
    EXPECT_EQ(apart.running(), 1u);
    EXPECT_FALSE(co_await apart.wait_ended(1ms));
    *go = true;
    released->notify_all();
    EXPECT_TRUE(co_await apart.wait_ended(1min));
  });
}

TEST(Apart, WhoIsCancelled_CancelsWhatItWaitedFor) {
  run_task([]() -> Task<void> {
    const auto executor = co_await asio::this_coro::executor;
    const Apart apart(executor);
    Event never;
    Scope scope(executor);
    auto waiter = scope.spawn([](Apart where, Event& event) -> Task<void> {
      (void)co_await as_result(where.run([](Event& e) -> Task<int> {
        co_await e.wait();
        co_return 0;
      }(event)));
    }(apart, never));
    co_await settle();
    EXPECT_TRUE(never.has_waiters());
    waiter.cancel();
    EXPECT_FALSE(never.has_waiters()) << "what it waited for may be gone on the next turn";
    EXPECT_TRUE(co_await apart.wait_ended(1min));
    EXPECT_FALSE(never.has_waiters());
    co_await scope.join();
  });
}

TEST(Apart, WhenItIsFailed_WaitersGoOnAtOnceAndLaterOnesAreServed) {
  run_task([]() -> Task<void> {
    const auto executor = co_await asio::this_coro::executor;
    const Apart apart(executor);
    auto released = std::make_shared<Event>();
    auto go = std::make_shared<bool>(false);
    std::vector<std::string> ends;
    Scope scope(executor);
    for (int i = 0; i < 2; ++i) {
      scope.spawn([](Apart where, Task<int> work, std::vector<std::string>& told) -> Task<void> {
        auto outcome = co_await as_result(where.run(std::move(work)));
        told.push_back(outcome ? "answered" : outcome.error().message());
      }(apart, deaf(released, go), ends));
    }
    co_await settle();
    apart.fail(Error(Errc::closed, "the server is gone"));
    co_await scope.join();
    EXPECT_EQ(ends, (std::vector<std::string>{"the server is gone", "the server is gone"}));
    EXPECT_EQ(apart.running(), 2u) << "they do not listen";
    EXPECT_EQ(co_await apart.run(seven()), 7);
    *go = true;
    released->notify_all();
    EXPECT_TRUE(co_await apart.wait_ended(1min));
  });
}

TEST(Apart, WhenItHasEnded_NothingMoreIsRun) {
  run_task([]() -> Task<void> {
    const Apart apart(co_await asio::this_coro::executor);
    apart.end(Error(Errc::closed, "over"));
    auto outcome = co_await as_result(apart.run(seven()));
    EXPECT_FALSE(outcome);
    if (!outcome) EXPECT_EQ(outcome.error().message(), "over");
    EXPECT_EQ(apart.running(), 0u);
  });
}

TEST(Apart, OneThatEndsItAll_IsNotWaitedFor) {
  run_task([]() -> Task<void> {
    const Apart apart(co_await asio::this_coro::executor);
    auto released = std::make_shared<Event>();
    auto go = std::make_shared<bool>(false);
    auto outcome = co_await as_result(apart.run([](Apart where, Task<int> then) -> Task<int> {
      co_await asio::post(asio::use_awaitable);
      where.end(Error(Errc::closed, "ended from inside"));
      co_return co_await std::move(then);
    }(apart, deaf(released, go))));
    EXPECT_FALSE(outcome);
    if (!outcome) EXPECT_EQ(outcome.error().message(), "ended from inside");
    *go = true;
    released->notify_all();
    EXPECT_TRUE(co_await apart.wait_ended(1min));
  });
}

}  // namespace
}  // namespace patchbay
