// L7: what is not a message is borne for a while, and not without end.
#include "http/chatter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace patchbay {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

const auto begin = Chatter::TimePoint(1h);
const ChatterRule rule{.bytes = 1000, .pieces = 10, .bytes_a_second = 100, .pieces_a_second = 1};

TEST(Chatter, PiecesOrBytesWithoutAMessage_AreTooMuchAtSomePoint) {
  Chatter pieces(rule);
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(pieces.note(0, 1, begin));
  const auto one_more = pieces.note(0, 1, begin);
  ASSERT_FALSE(one_more);
  EXPECT_EQ(one_more.error().code(), Errc::limit);
  EXPECT_THAT(one_more.error().message(), HasSubstr("11 pieces"));

  Chatter bytes(rule);
  EXPECT_TRUE(bytes.note(1000, 1, begin));
  EXPECT_FALSE(bytes.note(1, 0, begin));
}

TEST(Chatter, AMessage_MakesUpForAllThatCameBefore) {
  Chatter chatter(rule);
  for (int i = 0; i < 100; ++i) {
    EXPECT_TRUE(chatter.note(1000, 10, begin));
    chatter.heard();
  }
}

TEST(Chatter, SignsOfLifeAtAPace_AreNeverTooMuch) {
  Chatter chatter(rule);
  for (int i = 0; i < 10'000; ++i) EXPECT_TRUE(chatter.note(30, 1, begin + i * 1s));
  // Nor when they come in small steps of time, each of which forgets less than one.
  Chatter quick(rule);
  for (int i = 0; i < 10'000; ++i) EXPECT_TRUE(quick.note(1, i % 4 == 0 ? 1 : 0, begin + i * 250ms));
}

TEST(Chatter, WhatComesFasterThanItIsForgotten_IsTooMuchInTheEnd) {
  Chatter chatter(rule);
  int borne = 0;
  while (chatter.note(0, 2, begin + borne * 1s)) ++borne;
  EXPECT_GT(borne, 5);
  EXPECT_LT(borne, 20);
}

}  // namespace
}  // namespace patchbay
