#include "process/text_tail.h"

#include <gtest/gtest.h>

namespace patchbay {
namespace {

TEST(TextTail, KeepsAllOfAShortText) {
  TextTail tail(100);
  tail.append("one\ntwo\n");
  EXPECT_EQ(tail.kept(), "one\ntwo\n");
}

TEST(TextTail, KeepsWholeLinesOfALongText) {
  TextTail tail(20);
  for (int i = 0; i < 1000; ++i) tail.append("line " + std::to_string(i) + "\n");
  EXPECT_EQ(tail.kept(), "line 998\nline 999\n");
}

TEST(TextTail, KeepsTheEndOfOneLongLine) {
  TextTail tail(4);
  tail.append("abcdefgh");
  tail.append("ij");
  EXPECT_EQ(tail.kept(), "ghij");
}

TEST(TextTail, LastLinesAreCountedFromTheEnd) {
  TextTail tail(100);
  EXPECT_EQ(tail.last_lines(3), "");
  tail.append("a\nb\nc\n");
  EXPECT_EQ(tail.last_lines(0), "");
  EXPECT_EQ(tail.last_lines(1), "c");
  EXPECT_EQ(tail.last_lines(2), "b\nc");
  EXPECT_EQ(tail.last_lines(3), "a\nb\nc");
  EXPECT_EQ(tail.last_lines(9), "a\nb\nc");
}

TEST(TextTail, TellsHowItBeganWhatAnErrorSaysAndHowItEnded) {
  TextTail tail(10'000);
  for (int i = 1; i <= 40; ++i) tail.append((i == 20 ? "Error: no key" : "line " + std::to_string(i)) + "\n");
  EXPECT_EQ(tail.telling_lines(12),
            "line 1\nline 2\nline 3\n… (16 lines are not shown)\nError: no key\n… (15 lines are not shown)\nline 36\n"
            "line 37\nline 38\nline 39\nline 40");
  EXPECT_EQ(TextTail(10).telling_lines(12), "");
}

TEST(TextTail, RemembersTheBeginningOfATextThatWasCut) {
  TextTail tail(50);
  for (int i = 1; i <= 100; ++i) tail.append("line " + std::to_string(i) + "\n");
  const auto told = tail.telling_lines(9);
  EXPECT_TRUE(told.starts_with("line 1\nline 2\nline 3\n… (")) << told;
  EXPECT_TRUE(told.ends_with("\nline 99\nline 100")) << told;
}

TEST(TextTail, TellsAllOfAShortText) {
  TextTail tail(100);
  tail.append("one\ntwo\n\n");
  EXPECT_EQ(tail.telling_lines(20), "one\ntwo");
}

}  // namespace
}  // namespace patchbay
