// What an edit changes, as lines. G3.
#include "terminal/diff_lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace patchbay::terminal {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::SizeIs;

TEST(DiffLines, WhatGoesAndWhatComes) {
  struct Case {
    std::string before;
    std::string now;
    std::vector<std::string> shown;
  };
  const std::vector<Case> table{
      {"a\nb\nc\n", "a\nb\nc\n", {}},
      {"a\nb\nc\n", "a\nx\nc\n", {"  a", "- b", "+ x", "  c"}},
      {"", "new\n", {"+ new"}},
      {"old", "", {"- old"}},
      {"a\nb", "a\nb\nc", {"  a", "  b", "+ c"}},
      {"1\n2\n3\n4\n5\n6\n7\n8\n9",
       "1\n2\n3\n4\nx\n6\n7\n8\n9",
       {"  … 2 lines", "  3", "  4", "- 5", "+ x", "  6", "  7", "  … 2 lines"}},
      {"a\nb\nc\nd\ne", "x\nb\nc\nd\ny", {"- a", "+ x", "  b", "  c", "  d", "- e", "+ y"}},
      {"\033[31mred", "  two", {"- \\x1b[31mred", "+   two"}},
      {"x", "a line that is much longer than the terminal", {"- x", "+ a line that is mu…"}},
  };
  for (const auto& one : table) {
    EXPECT_THAT(shown_diff(diff_lines(one.before, one.now, {.context = 2}), {.columns = 20}),
                ElementsAreArray(one.shown))
        << one.before << " / " << one.now;
  }
}

TEST(DiffLines, AllOfItWhereAllMustBeSeen) {
  EXPECT_THAT(shown_diff(diff_lines("", "a line that is longer"), {.columns = 16}, true),
              ElementsAre("+ a line that is", "    longer"));
}

TEST(DiffLines, IsBounded) {
  std::string before;
  std::string now;
  for (int i = 0; i < 20'000; ++i) {
    before += "old " + std::to_string(i) + "\n";
    now += "new " + std::to_string(i) + "\n";
  }
  const auto lines = diff_lines(before, now, {.most_lines = 50});
  ASSERT_THAT(lines, SizeIs(51));
  EXPECT_EQ(lines.back().kind, DiffLine::Kind::skipped);
  EXPECT_EQ(lines.back().lines, 40'000u - 50u);
}

}  // namespace
}  // namespace patchbay::terminal
