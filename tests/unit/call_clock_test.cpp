// L4, X3: the time of a call stops while a person is asked on its behalf, and only then.
#include "rpc/call_clock.h"

#include <gtest/gtest.h>

#include "support/manual_clock.h"

namespace patchbay {
namespace {

using namespace std::chrono_literals;
using Stop = CallClock::Stop;
using Whose = CallClock::Whose;

struct Bench {
  test::ManualClock real;
  std::shared_ptr<CallClock> made(Duration total) { return std::make_shared<CallClock>(real, total); }
};

TEST(CallClock, TimePassesAndIsOver) {
  Bench b;
  auto clock = b.made(10s);
  b.real.skip(4s);
  EXPECT_EQ(clock->left(), 6s);
  EXPECT_EQ(clock->when(clock->end()), b.real.now() + 6s);
  b.real.skip(7s);
  EXPECT_EQ(clock->left(), 0s);
}

TEST(CallClock, WithoutALimitItIsNeverOver) {
  Bench b;
  auto clock = b.made(Duration::max());
  const Stop stop(clock);
  const Stop doubt(clock, Whose::perhaps);
  b.real.skip(1000h);
  EXPECT_EQ(clock->left(), Duration::max());
  EXPECT_EQ(clock->when(clock->end()), CallClock::TimePoint::max());
}

TEST(CallClock, StandsStillWhileAnyStopLasts) {
  Bench b;
  auto clock = b.made(10s);
  int told = 0;
  clock->went_on = [&] { ++told; };
  b.real.skip(1s);
  {
    const Stop outer(clock);
    b.real.skip(1h);
    {
      const Stop inner(clock);
      b.real.skip(1h);
    }
    b.real.skip(1h);
    EXPECT_EQ(clock->left(), 9s);
    EXPECT_EQ(clock->when(clock->end()), CallClock::TimePoint::max());
  }
  EXPECT_GT(told, 0);
  EXPECT_EQ(clock->when(clock->end()), b.real.now() + 9s);
  b.real.skip(2s);
  EXPECT_EQ(clock->left(), 7s);
}

TEST(CallClock, DoubtsTogetherGiveItsLimitOnceMoreAndThenItGoesOn) {
  Bench b;
  auto clock = b.made(10s);
  {
    const Stop doubt(clock, Whose::perhaps);
    b.real.skip(4s);
    EXPECT_EQ(clock->left(), 10s);
    EXPECT_EQ(clock->when(clock->end()), b.real.now() + 16s);
  }
  EXPECT_EQ(clock->when(clock->end()), b.real.now() + 10s);
  b.real.skip(1s);
  const Stop again(clock, Whose::perhaps);
  b.real.skip(6s);
  EXPECT_EQ(clock->left(), 9s);
  b.real.skip(3s);
  EXPECT_EQ(clock->left(), 6s);
  EXPECT_EQ(clock->when(clock->end()), b.real.now() + 6s);
}

TEST(CallClock, WhatIsItsOwnIsNotTakenFromTheDoubt) {
  Bench b;
  auto clock = b.made(10s);
  const Stop doubt(clock, Whose::perhaps);
  {
    const Stop own(clock);
    b.real.skip(1h);
  }
  b.real.skip(10s);
  EXPECT_EQ(clock->left(), 10s);
  b.real.skip(1s);
  EXPECT_EQ(clock->left(), 9s);
}

}  // namespace
}  // namespace patchbay
