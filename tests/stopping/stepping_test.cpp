// What the other tests of this folder rely on: stop_at_every_step() goes through every point, and fails
// where something hangs, is left running or does not finish.
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include "base/scope.h"
#include "base/timeout.h"
#include "base/waiting.h"
#include "support/stop_at_every_step.h"

namespace patchbay::test {
namespace {

using namespace std::chrono_literals;

// Six hops, between which it looks whether it shall end.
class Hops : public SteppedWorld {
 public:
  Task<void> operate() override {
    for (int hop = 0; hop < 6; ++hop) {
      if (stopped) throw Error(Errc::closed, "stopped");
      co_await asio::post(asio::use_awaitable);
    }
  }
  Task<void> stop() override {
    stopped = true;
    co_return;
  }
  bool stopped = false;
};

TEST(Stepping, EveryPointIsMet) {
  const auto report = stop_at_every_step([](auto) { return std::make_unique<Hops>(); });
  EXPECT_GE(report.failed.at(Errc::closed), 3u);
  EXPECT_GE(report.succeeded, 1u);
  EXPECT_EQ(report.runs, report.succeeded + report.failed.at(Errc::closed));
}

TEST(Stepping, EveryPointIsCancelled) {
  const auto report = cancel_at_every_step([](auto) { return std::make_unique<Hops>(); });
  EXPECT_GE(report.failed.at(Errc::cancelled), 3u);
  EXPECT_GE(report.succeeded, 1u);
}

const SteppingOptions short_wait{.end_within = 20ms};

class Deaf : public SteppedWorld {
 public:
  Task<void> operate() override { co_await never.wait(); }
  Event never;
};

TEST(Stepping, AnOperationThatHangsIsFound) {
  EXPECT_NONFATAL_FAILURE(stop_at_every_step([](auto) { return std::make_unique<Deaf>(); }, short_wait),
                          "the operation hangs");
}

class Leaky : public SteppedWorld {
 public:
  explicit Leaky(asio::any_io_executor executor) : scope(executor) {}
  Task<void> operate() override {
    scope.spawn([]() -> Task<void> { co_await sleep_for(1h); }());
    co_return;
  }
  Scope scope;
};

TEST(Stepping, WhatIsLeftRunningIsFound) {
  EXPECT_NONFATAL_FAILURE(stop_at_every_step([](auto e) { return std::make_unique<Leaky>(e); }, short_wait),
                          "still runs");
}

}  // namespace
}  // namespace patchbay::test
