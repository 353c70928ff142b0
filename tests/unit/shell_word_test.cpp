// Words that are pasted into a shell stay one word and run nothing.
#include "text/shell_word.h"

#include <gtest/gtest.h>

namespace patchbay {
namespace {

TEST(ShellWord, IsOneWordWhateverIsInIt) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"plain-word_1.2", "plain-word_1.2"},
      {"https://h/mcp", "https://h/mcp"},
      {"", "''"},
      {"two words", "'two words'"},
      {"$(touch x)", "'$(touch x)'"},
      {"`id`", "'`id`'"},
      {"a;b&c|d>e", "'a;b&c|d>e'"},
      {"it's", "'it'\\''s'"},
      {"~", "'~'"},
      {"*", "'*'"},
      {"#", "'#'"},
      {"a\nb", "'a\nb'"},
  };
  for (const auto& [word, expected] : cases) EXPECT_EQ(shell_word(word), expected);
}

// In a shell it is the same word, and to the eye it is not another one.
TEST(PastedWord, WritesOutWhatDoesNotShowItself) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"plain", "plain"},     {"it's", "'it'\\''s'"},     {"Größe", "'Größe'"},
      {"a\nb", "$'a\\x0ab'"}, {"\033[2J", "$'\\x1b[2J'"}, {"it's\xE2\x80\x8B\\", "$'it\\'s\\xe2\\x80\\x8b\\\\'"},
      {"\xFF", "$'\\xff'"},
  };
  for (const auto& [word, expected] : cases) EXPECT_EQ(pasted_word(word), expected);
}

TEST(ShellOperands, NoneIsTakenForAFlag) {
  EXPECT_EQ(shell_operands({}), "");
  EXPECT_EQ(shell_operands({"a", "b c"}), " a 'b c'");
  EXPECT_EQ(shell_operands({"a", "--all"}), " -- a --all");
}

}  // namespace
}  // namespace patchbay
