// L4, X3: the time of a call stops while a person is asked on its behalf, and only then.
#include "rpc/call_clock.h"

#include <gtest/gtest.h>

namespace patchbay {
namespace {

using namespace std::chrono_literals;
using Stop = CallClock::Stop;
using Whose = CallClock::Whose;

struct Bench {
  CallClock::TimePoint real{};
  std::shared_ptr<CallClock> made(Duration total) {
    return std::make_shared<CallClock>(
        Clock{.now = [this] { return real; }, .wall = [] { return std::chrono::system_clock::time_point(); }}, total);
  }
};

TEST(CallClock, TimePassesAndIsOver) {
  Bench b;
  auto clock = b.made(10s);
  b.real += 4s;
  EXPECT_EQ(clock->left(), 6s);
  EXPECT_EQ(clock->when(clock->end()), b.real + 6s);
  b.real += 7s;
  EXPECT_EQ(clock->left(), 0s);
}

TEST(CallClock, WithoutALimitItIsNeverOver) {
  Bench b;
  auto clock = b.made(Duration::max());
  const Stop stop(clock);
  const Stop doubt(clock, Whose::perhaps);
  b.real += 1000h;
  EXPECT_EQ(clock->left(), Duration::max());
  EXPECT_EQ(clock->when(clock->end()), CallClock::TimePoint::max());
}

TEST(CallClock, StandsStillWhileAnyStopLasts) {
  Bench b;
  auto clock = b.made(10s);
  int told = 0;
  clock->went_on = [&] { ++told; };
  b.real += 1s;
  {
    const Stop outer(clock);
    b.real += 1h;
    {
      const Stop inner(clock);
      b.real += 1h;
    }
    b.real += 1h;
    EXPECT_EQ(clock->left(), 9s);
    EXPECT_EQ(clock->when(clock->end()), CallClock::TimePoint::max());
  }
  EXPECT_GT(told, 0);
  EXPECT_EQ(clock->when(clock->end()), b.real + 9s);
  b.real += 2s;
  EXPECT_EQ(clock->left(), 7s);
}

TEST(CallClock, DoubtsTogetherGiveItsLimitOnceMoreAndThenItGoesOn) {
  Bench b;
  auto clock = b.made(10s);
  {
    const Stop doubt(clock, Whose::perhaps);
    b.real += 4s;
    EXPECT_EQ(clock->left(), 10s);
    EXPECT_EQ(clock->when(clock->end()), b.real + 16s);
  }
  EXPECT_EQ(clock->when(clock->end()), b.real + 10s);
  b.real += 1s;
  const Stop again(clock, Whose::perhaps);
  b.real += 6s;
  EXPECT_EQ(clock->left(), 9s);
  b.real += 3s;
  EXPECT_EQ(clock->left(), 6s);
  EXPECT_EQ(clock->when(clock->end()), b.real + 6s);
}

TEST(CallClock, WhatIsItsOwnIsNotTakenFromTheDoubt) {
  Bench b;
  auto clock = b.made(10s);
  const Stop doubt(clock, Whose::perhaps);
  {
    const Stop own(clock);
    b.real += 1h;
  }
  b.real += 10s;
  EXPECT_EQ(clock->left(), 10s);
  b.real += 1s;
  EXPECT_EQ(clock->left(), 9s);
}

}  // namespace
}  // namespace patchbay
