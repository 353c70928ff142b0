#include "text/wildcard.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace patchbay {
namespace {

// A `?` is one character to a glob, and itself to a plain wildcard pattern.
TEST(Wildcard, StarsAndQuestionMarks) {
  struct Row {
    std::string pattern;
    std::string text;
    bool matches;
  };
  for (const auto& row : std::vector<Row>{
           {"echo", "echo", true},
           {"echo", "Echo", false},
           {"echo", "echo2", false},
           {"echo", "ech", false},
           {"", "", true},
           {"", "a", false},
           {"*", "", true},
           {"*", "anything", true},
           {"**", "x", true},
           {"get_*", "get_", true},
           {"get_*", "get_all", true},
           {"get_*", "forget_all", false},
           {"*_all", "get_all", true},
           {"*_all", "get_all_", false},
           {"a*b*c", "abc", true},
           {"a*b*c", "aXXbYYc", true},
           {"a*b*c", "aXXcYYb", false},
           {"a*bc", "abcbc", true},
           {"?", "a", true},
           {"?", "", false},
           {"?", "ab", false},
           {"a?c", "abc", true},
           {"a?*", "a", false},
           {"a?*", "ab", true},
           {"*?", "", false},
           {"[a]", "a", false},
           {"[a]", "[a]", true},
           {"a.c", "abc", false},
           {"a\\*", "a*", false},
           {"tool*", "tool", true},
           {"*x*", "axb", true},
           {"*x*", "ab", false},
       }) {
    EXPECT_EQ(matches_glob(row.pattern, row.text), row.matches) << row.pattern << " on " << row.text;
    if (row.pattern.find('?') != std::string::npos) continue;
    EXPECT_EQ(matches_wildcard(row.pattern, row.text), row.matches) << row.pattern << " on " << row.text;
  }
  EXPECT_TRUE(matches_wildcard("a?", "a?"));
  EXPECT_TRUE(matches_wildcard("*?", "ab?"));
  EXPECT_FALSE(matches_wildcard("a?", "ab"));
}

// A name of a hostile server cannot make a pattern of the user's slow.
TEST(Wildcard, ManyStarsTakeBoundedTime) {
  const std::string pattern = "*a*a*a*a*a*a*a*a*a*a*a*a*b";
  EXPECT_FALSE(matches_glob(pattern, std::string(20'000, 'a')));
  EXPECT_FALSE(matches_wildcard(pattern, std::string(20'000, 'a')));
}

}  // namespace
}  // namespace patchbay
