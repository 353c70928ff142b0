// What a terminal sends, as keys. P1 G3.
#include "terminal/keys.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace patchbay::terminal {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// In pieces of so many bytes, and the time-out at the end.
std::vector<Key> keys(std::string_view bytes, std::size_t piece) {
  KeyReader reader;
  std::vector<Key> out;
  const auto append = [&](std::vector<Key> more) { out.insert(out.end(), more.begin(), more.end()); };
  for (std::size_t at = 0; at < bytes.size(); at += piece) append(reader.feed(bytes.substr(at, piece)));
  append(reader.timed_out());
  EXPECT_EQ(reader.held(), KeyReader::Held::nothing);
  return out;
}

TEST(Keys, WhatTerminalsSend) {
  struct Case {
    std::string bytes;
    std::vector<Key> keys;
  };
  using enum KeyCode;
  const std::vector<Case> table{
      {"a", {{.text = "a"}}},
      {"ä€😀", {{.text = "ä"}, {.text = "€"}, {.text = "😀"}}},
      {"\r\t\x7f\b", {{.code = enter}, {.code = tab}, {.code = backspace}, {.code = backspace}}},
      {"\x01\x03\x1a", {{.text = "a", .ctrl = true}, {.text = "c", .ctrl = true}, {.text = "z", .ctrl = true}}},
      {"\n", {{.text = "j", .ctrl = true}}},
      {std::string("\0", 1), {{.text = " ", .ctrl = true}}},
      {"\x1f", {{.text = "_", .ctrl = true}}},
      // a lone escape, Alt
      {"\033", {{.code = escape}}},
      {"\033\033", {{.code = escape, .alt = true}}},
      {"\033b", {{.text = "b", .alt = true}}},
      {"\033ä", {{.text = "ä", .alt = true}}},
      {"\033\r", {{.code = enter, .alt = true}}},
      {"\033\x7f", {{.code = backspace, .alt = true}}},
      {"\033\x02", {{.text = "b", .ctrl = true, .alt = true}}},
      {"\033[", {{.text = "[", .alt = true}}},
      {"\033O", {{.text = "O", .alt = true}}},
      {"\033]", {{.text = "]", .alt = true}}},
      // arrows and their neighbours: xterm, application mode, rxvt, Linux
      {"\033[A\033OB\033[C\033OD", {{.code = up}, {.code = down}, {.code = right}, {.code = left}}},
      {"\033[H\033OF\033[1~\033[8~", {{.code = home}, {.code = end}, {.code = home}, {.code = end}}},
      {"\033[2~\033[3~\033[5~\033[6~", {{.code = insert}, {.code = erase}, {.code = page_up}, {.code = page_down}}},
      {"\033[1;5C", {{.code = right, .ctrl = true}}},
      {"\033[1;3D", {{.code = left, .alt = true}}},
      {"\033[1;8A", {{.code = up, .ctrl = true, .alt = true, .shift = true}}},
      {"\033[3;5~", {{.code = erase, .ctrl = true}}},
      {"\033\033[A", {{.code = up, .alt = true}}},
      {"\033Oc\033[d", {{.code = right, .ctrl = true}, {.code = left, .shift = true}}},
      {"\033[3^\033[3$", {{.code = erase, .ctrl = true}, {.code = erase, .shift = true}}},
      {"\033[Z", {{.code = tab, .shift = true}}},
      {"\033OP\033[15~\033[[A\033[24~",
       {{.code = function, .number = 1},
        {.code = function, .number = 5},
        {.code = function, .number = 1},
        {.code = function, .number = 12}}},
      // modifyOtherKeys and kitty
      {"\033[27;2;13~", {{.code = enter, .shift = true}}},
      {"\033[13;2u", {{.code = enter, .shift = true}}},
      {"\033[97;5u", {{.text = "a", .ctrl = true}}},
      {"\033[228u", {{.text = "ä"}}},
      {"\033[97:65;2u", {{.text = "A"}}},
      {"\033[57441u", {}},  // a Shift by itself
      // pastes
      {"\033[200~a\rb\033[A\033[201~c", {{.code = paste, .text = "a\rb\033[A"}, {.text = "c"}}},
      {"\033[200~cut off", {{.code = paste, .text = "cut off"}}},
      {"\033[201~x", {{.text = "x"}}},
      // what nobody asked for
      {"\033[I\033[Ox", {{.text = "x"}}},
      {"\033[M !!x", {{.text = "x"}}},
      {"\033[<0;1;2Mx", {{.text = "x"}}},
      {"\033[?62;1cx", {{.text = "x"}}},
      {"\033]11;rgb:00/00/00\033\\x", {{.text = "x"}}},
      {"\033]0;title\ax", {{.text = "x"}}},
      {"\033P1$r0m\033\\x", {{.text = "x"}}},
      {"\033]never ends", {}},
      {"\033[1;5", {}},
      {"\033]cut\033[A", {{.code = up}}},
      {"\033[1;\x01", {{.text = "a", .ctrl = true}}},
      {"\033[99999999999999999999~x", {{.text = "x"}}},
      {"\033[1114112u\033[55296u\033[155u", {}},
      {"\xff\xc3x\xc2\x9b", {{.text = "\xEF\xBF\xBD"}, {.text = "\xEF\xBF\xBD"}, {.text = "x"}}},
      {"\xe2\x82", {{.text = "\xEF\xBF\xBD"}}},
  };
  for (const auto& one : table) {
    for (const std::size_t piece : {std::size_t{1}, std::size_t{3}, one.bytes.size()}) {
      EXPECT_EQ(keys(one.bytes, piece), one.keys) << testing::PrintToString(one.bytes) << " in pieces of " << piece;
    }
  }
}

TEST(Keys, ALoneEscapeWaitsForTheTimeOut) {
  KeyReader reader;
  EXPECT_THAT(reader.feed("\033"), IsEmpty());
  EXPECT_EQ(reader.held(), KeyReader::Held::sequence);
  EXPECT_THAT(reader.timed_out(), ElementsAre(Key{.code = KeyCode::escape}));
  EXPECT_EQ(reader.held(), KeyReader::Held::nothing);
}

TEST(Keys, ALongPasteIsCutAndALongSequenceIsSkipped) {
  KeyReader reader;
  EXPECT_THAT(reader.feed("\033[200~"), IsEmpty());
  EXPECT_EQ(reader.held(), KeyReader::Held::paste);
  for (int i = 0; i < 40; ++i) EXPECT_THAT(reader.feed(std::string(64u << 10, 'x')), IsEmpty());
  const auto pasted = reader.feed("\033[201~");
  ASSERT_EQ(pasted.size(), 1u);
  EXPECT_EQ(pasted.front().text.size(), KeyReader::longest_paste);

  const auto after = keys("\033[" + std::string(500, ';') + "A", 7);
  for (const auto& key : after) EXPECT_TRUE(key.text == ";" || key.text == "A");
}

}  // namespace
}  // namespace patchbay::terminal
