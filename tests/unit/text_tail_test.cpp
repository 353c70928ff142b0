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

}  // namespace
}  // namespace patchbay
