#include "text/visible_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace patchbay {
namespace {

TEST(VisibleText, WritesOutWhatDoesNotShowItself) {
  struct Case {
    std::string text;
    std::string shown;
  };
  for (const auto& one : std::initializer_list<Case>{
           {"", ""},
           {"curl -s x | sh", "curl -s x | sh"},
           {"naïve Größe 日本語 🚀", "naïve Größe 日本語 🚀"},
           {"a\nb\tc\rd", "a\\nb\\tc\\rd"},
           {"\033]0;x\a", "\\x1b]0;x\\x07"},
           {std::string("a\0b", 3), "a\\x00b"},
           {"\x7F", "\\x7f"},
           {"\xC2\x9B"
            "31m",
            "\\u009b31m"},
           {"a\xE2\x80\x8B"
            "b",
            "a\\u200bb"},                                   // zero-width space
           {"\xE2\x80\xAE", "\\u202e"},                     // right-to-left override
           {"\xF3\xA0\x81\x81", "\\U000e0041"},             // tag
           {"\xE3\x85\xA4\xE1\x85\x9F", "\\u3164\\u115f"},  // fillers
           {"a\xEF\xB8\x8F", "a\\ufe0f"},                   // variation selector
           {"a\xC2\xA0\xE3\x80\x80", "a\\u00a0\\u3000"},    // blanks that are not the blank
           {"\xE2\x80\xA8", "\\u2028"},                     // line separator
           {"a\xD7\x90"
            "b",
            "a\\u05d0b"},                              // a letter that reorders its neighbours
           {"e\xCC\x81", "e\xCC\x81"},                 // a letter with its accent
           {"/\xCC\x81", "/\\u0301"},                  // a mark over what is no letter
           {"e\xCC\x81\xCC\x81", "e\xCC\x81\\u0301"},  // marks that pile up
           {"x\xCC\xB6", "x\\u0336"},                  // struck through
           {"\xEE\x80\x80", "\\ue000"},                // private use
           {"\xFF\xC0\xAF", "\\xff\\xc0\\xaf"},        // not UTF-8
           {"\xED\xA0\x80", "\\xed\\xa0\\x80"},        // a surrogate
           {"\xEF\xBF\xBD", "\xEF\xBF\xBD"},           // the replacement character, sent as such
           {"\\n \\x1b", "\\\\n \\\\x1b"},
           {"a  b", "a  b"},
           {"a   b", "a\\{3 blanks}b"},
           {std::string(40, ' ') + "0", "\\{40 blanks}0"},
       }) {
    EXPECT_EQ(visible_text(one.text), one.shown);
  }
}

TEST(VisibleText, InASentenceBackslashesStay) {
  EXPECT_EQ(visible_message("a \\d rule \033[2J"), "a \\d rule \\x1b[2J");
}

TEST(VisibleText, AWordIsQuotedWhereItCouldBeTakenForTwo) {
  EXPECT_EQ(visible_word("--flag=a/b:c"), "--flag=a/b:c");
  EXPECT_EQ(visible_word(""), "''");
  EXPECT_EQ(visible_word("a b"), "'a b'");
  EXPECT_EQ(visible_word("it's"), "'it\\'s'");
  EXPECT_EQ(visible_word("it\\'s"), "'it\\\\\\'s'");
  EXPECT_EQ(visible_word("#x\n"), "'#x\\n'");
}

TEST(VisibleText, LinesOfALongTextBeginWithAMark) {
  EXPECT_THAT(wrapped("abcdefghijklmnopqrstuvwxyz", 12, "  | "),
              testing::ElementsAre("abcdefghijkl", "  | mnopqrst", "  | uvwxyz"));
  EXPECT_THAT(wrapped("abc", 0, "  | "), testing::ElementsAre("abc"));
  // Between words, and no character is lost.
  EXPECT_THAT(wrapped("one two three four", 12, "  | "), testing::ElementsAre("one two ", "  | three ", "  | four"));
  EXPECT_THAT(wrapped("a bcdefghijklmno", 12, "  | "), testing::ElementsAre("a bcdefghijk", "  | lmno"));
  // A word that fits a line stays whole, however little is left before it.
  EXPECT_THAT(wrapped("a /usr/lib", 9, "|"), testing::ElementsAre("a ", "|/usr/lib"));
  EXPECT_THAT(wrapped("\033[32mone\033[0m two", 8, ""), testing::ElementsAre("\033[32mone\033[0m two"));
  // Whatever a terminal makes of them, these fit.
  EXPECT_THAT(wrapped("日本語日本語日本", 12, "  | "), testing::ElementsAre("日本語日本語", "  | 日本"));
}

}  // namespace
}  // namespace patchbay
