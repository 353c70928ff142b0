// What waits to be written, and when it is.
#include "base/write_queue.h"

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "support/loop.h"

namespace patchbay {
namespace {

using test::run_task;
using test::settle;

TEST(WriteQueue, WhatIsQueuedWhileSomethingLeaves_FollowsItWhole) {
  WriteQueue queue;
  EXPECT_TRUE(queue.empty());
  EXPECT_EQ(queue.front(), "");
  queue.tail() += "one";
  EXPECT_EQ(queue.front(), "one");
  queue.wrote(1);
  EXPECT_FALSE(queue.between());
  queue.tail() += "two";
  queue.tail() += "three";
  EXPECT_EQ(queue.front(), "ne");
  EXPECT_EQ(queue.size(), 10u);
  queue.wrote(2);
  EXPECT_TRUE(queue.between());
  EXPECT_EQ(queue.front(), "twothree");
  queue.wrote(8);
  EXPECT_TRUE(queue.empty());
}

TEST(WriteQueue, BetweenTwoMessages_SomethingMayGoFirst) {
  WriteQueue queue;
  queue.tail() += "later";
  EXPECT_TRUE(queue.between());
  queue.begin() += "now";
  EXPECT_EQ(queue.size(), 8u);
  EXPECT_EQ(queue.front(), "now");
  queue.wrote(3);
  EXPECT_EQ(queue.front(), "later");
}

TEST(WriteQueue, WhatWasNotBegun_CanBeTakenOut) {
  WriteQueue queue;
  queue.tail() += "aabbcc";
  (void)queue.front();
  queue.wrote(1);
  queue.tail() += "ddee";
  queue.erase(1, 2);  // bb, of what is on its way
  queue.erase(3, 2);  // dd, of what waits
  std::string left;
  while (!queue.empty()) {
    left += queue.front();
    queue.wrote(queue.front().size());
  }
  EXPECT_EQ(left, "accee");
}

struct Owner {
  explicit Owner(FlushPace how = FlushPace()) : pace(how) {}
  FlushPace pace;
  int flushes = 0;
  void flush() { ++flushes; }
};

TEST(FlushPace, TheFirstAfterAnAnswer_IsWrittenAtOnceAndTheOthersTogether) {
  run_task([]() -> Task<void> {
    const auto executor = co_await asio::this_coro::executor;
    const auto owner = std::make_shared<Owner>();
    owner->pace.queued(executor, owner);
    EXPECT_EQ(owner->flushes, 1);
    owner->pace.queued(executor, owner);
    owner->pace.queued(executor, owner);
    EXPECT_EQ(owner->flushes, 1);
    co_await settle();
    EXPECT_EQ(owner->flushes, 2) << "once for both";
    owner->pace.answered();
    owner->pace.queued(executor, owner);
    EXPECT_EQ(owner->flushes, 3);
    EXPECT_EQ(owner.use_count(), 1) << "nothing is left in the loop";
  });
}

TEST(FlushPace, TheFirstOfATurn_IsWrittenAtOnceWhateverWasRead) {
  run_task([]() -> Task<void> {
    const auto executor = co_await asio::this_coro::executor;
    const auto owner = std::make_shared<Owner>(FlushPace(FlushPace::AtOnce::first_of_a_turn));
    for (int turn = 0; turn < 2; ++turn) {
      owner->flushes = 0;
      owner->pace.queued(executor, owner);
      EXPECT_EQ(owner->flushes, 1);
      owner->pace.queued(executor, owner);
      owner->pace.queued(executor, owner);
      EXPECT_EQ(owner->flushes, 1);
      co_await settle();
      EXPECT_EQ(owner->flushes, 2);
    }
  });
}

}  // namespace
}  // namespace patchbay
