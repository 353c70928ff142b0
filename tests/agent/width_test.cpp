// How many columns a text takes, and which characters belong together. G3.
#include "terminal/width.h"

#include <gtest/gtest.h>

namespace patchbay::terminal {
namespace {

TEST(Width, CharactersAndTheirColumns) {
  struct Case {
    std::string text;
    std::size_t characters;
    std::size_t columns;
  };
  const std::vector<Case> table{
      {"", 0, 0},
      {"abc", 3, 3},
      {"äöü", 3, 3},
      {"a\u0308o", 2, 2},  // a letter and its mark
      {"日本", 2, 4},
      {"ｶﾅ", 2, 2},  // half width
      {"😀", 1, 2},
      {"👨‍👩‍👧", 1, 2},  // joined
      {"👍🏽", 1, 2},                // with a skin tone
      {"❤️", 1, 2},                   // shown as an emoji
      {"🇩🇪🇫🇷", 2, 4},                // flags
      {"각", 1, 2},
      {"\xff"
       "a",
       2, 2},
  };
  for (const auto& one : table) {
    std::size_t characters = 0;
    for (std::size_t at = 0; at < one.text.size(); at = next_character(one.text, at)) ++characters;
    EXPECT_EQ(characters, one.characters) << one.text;
    EXPECT_EQ(columns_of(one.text), one.columns) << one.text;
    std::size_t back = 0;
    for (auto at = one.text.size(); at > 0; at = previous_character(one.text, at)) ++back;
    EXPECT_EQ(back, one.characters) << one.text;
  }
}

TEST(Width, CutsBetweenCharacters) {
  EXPECT_EQ(fitting("日本語", 5), "日本");
  EXPECT_EQ(cut("日本語", 5), "日本…");
  EXPECT_EQ(cut("日本語", 6), "日本語");
  EXPECT_EQ(cut("abcdef", 4), "abc…");
  EXPECT_EQ(cut("abc", 0), "");
  EXPECT_EQ(fitting("a👨‍👩‍👧", 2), "a");
  EXPECT_EQ(shown_columns("\033[1;36mbold\033[0m"), 4u);
  EXPECT_EQ(without_colours("\033[31mx\033[0m\033[2J"), "x\033[2J");
}

}  // namespace
}  // namespace patchbay::terminal
