#include "text/terminal_text.h"

#include <gtest/gtest.h>

namespace patchbay {
namespace {

TEST(TerminalText, LetsNothingThroughThatMovesACursorOrReorders) {
  const std::pair<std::string, std::string> cases[] = {
      {"plain\ttext\n", "plain\ttext\n"},
      {"\033[32mours\033[0m", "\033[32mours\033[0m"},
      {"\033[8mtheirs", "\\x1b[8mtheirs"},
      {"a\rb\a\b", "a\\rb\\x07\\x08"},
      {"\xC2\x9B"
       "2J\x9B",
       "\\u009b2J\\x9b"},
      {"\xE2\x80\xAE\xE2\x81\xA6", "\\u202e\\u2066"},
      {"\xF3\xA0\x81\x81", "\\U000e0041"},
      {"naïve 日本 👩\xE2\x80\x8D💻 שלום", "naïve 日本 👩\xE2\x80\x8D💻 שלום"},
      // The flag of Scotland.
      {"\xF0\x9F\x8F\xB4\xF3\xA0\x81\xA7\xF3\xA0\x81\xA2\xF3\xA0\x81\xBF",
       "\xF0\x9F\x8F\xB4\xF3\xA0\x81\xA7\xF3\xA0\x81\xA2\xF3\xA0\x81\xBF"},
  };
  for (const auto& [text, shown] : cases) EXPECT_EQ(terminal_text(text), shown);
}

}  // namespace
}  // namespace patchbay
