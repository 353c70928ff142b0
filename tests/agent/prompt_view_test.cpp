// The prompt on the screen: what is drawn, and that nothing above it is touched. G3.
#include "terminal/prompt_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/screen.h"

namespace patchbay::terminal {
namespace {

using test::Screen;
using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::HasSubstr;
using testing::Not;

PromptState state(std::string text, std::size_t columns = 20) {
  PromptState out;
  out.cursor = text.size();
  out.text = std::move(text);
  out.columns = columns;
  return out;
}

TEST(PromptView, LinesAndTheCursor) {
  struct Case {
    std::string text;
    std::size_t cursor;
    std::vector<std::string> lines;
    std::size_t row;
    std::size_t column;
  };
  const std::vector<Case> table{
      {"", 0, {"> "}, 0, 2},
      {"abc", 1, {"> abc"}, 0, 3},
      {"ab\ncd", 5, {"> ab", "  cd"}, 1, 4},
      {"ab\ncd", 2, {"> ab", "  cd"}, 0, 4},
      {"ab\n", 3, {"> ab", "  "}, 1, 2},
      {"12345678", 8, {"> 1234567", "  8"}, 1, 3},
      {"1234567", 7, {"> 1234567", "  "}, 1, 2},  // the cursor needs a place
      {"1234567", 0, {"> 1234567"}, 0, 2},
      {"日本語字", 0, {"> 日本語", "  字"}, 0, 2},  // a wide one is not broken
      {"日本語字", 9, {"> 日本語", "  字"}, 1, 2},
      {"\tx", 1, {">     x"}, 0, 6},
  };
  for (const auto& one : table) {
    auto now = state(one.text, 10);
    now.cursor = one.cursor;
    const auto frame = layout(now);
    EXPECT_THAT(frame.lines, ElementsAreArray(one.lines)) << one.text;
    EXPECT_EQ(frame.row, one.row) << one.text;
    EXPECT_EQ(frame.column, one.column) << one.text;
  }
}

TEST(PromptView, EverythingHasItsPlaceAndNothingIsTooWide) {
  auto now = state("typed");
  now.above = {"Working 3 s", std::string(50, 'w')};
  now.below = {"hint"};
  now.candidates = {{"one", "the first"}, {"two", "the second of them"}};
  now.chosen = 1;
  EXPECT_THAT(layout(now).lines, ElementsAre("Working 3 s", std::string(18, 'w') + "…", "> typed", "  one  the first",
                                             "> two  the second …", "hint"));
  now.search = "ty";
  EXPECT_EQ(layout(now).lines[2], "search: ty -> typed");
}

TEST(PromptView, ALongTextScrollsAroundTheCursor) {
  std::string text;
  for (int i = 0; i < 50; ++i) text += std::to_string(i) + "\n";
  auto now = state(text);
  now.rows = 10;
  now.above = {"status"};
  for (std::size_t cursor = 0; cursor <= text.size(); ++cursor) {
    now.cursor = cursor;
    const auto frame = layout(now);
    EXPECT_LT(frame.lines.size(), 10u);
    ASSERT_LT(frame.row, frame.lines.size());
    const auto line = std::to_string(std::ranges::count(text.substr(0, cursor), '\n'));
    if (line != "50") EXPECT_THAT(frame.lines[frame.row], HasSubstr(line));
  }
}

TEST(PromptView, RedrawingShowsExactlyTheFrame) {
  std::vector<PromptState> states(9, state(""));
  states[1].text = "hello", states[1].cursor = 3;
  states[2].above = {"Working", "2 queued"};
  states[3].text = "several\nlines\nhere", states[3].cursor = 4;
  states[4].text = "日本語日本語日本語日本語", states[4].cursor = 12;
  states[5].candidates = {{"a"}, {"b"}, {"c"}};
  states[6].typing = false, states[6].above = {"just this"};
  states[7].typing = false;
  states[8].below = {"hint", "more"};
  for (const auto& from : states) {
    for (const auto& to : states) {
      Screen screen(20, 10);
      screen.write("above 1\r\nabove 2\r\n");
      const auto before = layout(from);
      const auto after = layout(to);
      screen.write(redraw({}, before));
      screen.write(redraw(before, after));
      auto wanted = after.lines;
      wanted.insert(wanted.begin(), {"above 1", "above 2"});
      for (auto& line : wanted) line.resize(line.find_last_not_of(' ') + 1);
      while (wanted.back().empty()) wanted.pop_back();
      EXPECT_EQ(screen.lines(), wanted);
      EXPECT_EQ(screen.row(), after.row + 2);
      EXPECT_EQ(screen.column(), after.column);
      EXPECT_EQ(screen.unknown(), 0u);
      EXPECT_EQ(screen.out_of_reach(), 0u);
      Screen again(20, 10);
      again.write("above 1\r\nabove 2\r\n");
      again.write(redraw({}, before));
      again.write(redraw_all(before, after));
      EXPECT_EQ(again.lines(), wanted);
    }
  }
}

TEST(PromptView, WhatIsPrintedAboveStaysAndIsPrintedOnce) {
  Screen screen(20, 6);
  auto now = state("typing");
  now.above = {"working"};
  const auto frame = layout(now);
  screen.write(redraw({}, frame));
  std::vector<std::string> wanted;
  for (int i = 0; i < 30; ++i) {
    const auto line = "line " + std::to_string(i);
    wanted.push_back(line);
    screen.write(print_above(frame, line + "\n", frame));
  }
  wanted.insert(wanted.end(), {"working", "> typing"});
  EXPECT_EQ(screen.lines(), wanted);
  EXPECT_EQ(screen.unknown(), 0u);
  EXPECT_EQ(screen.out_of_reach(), 0u);
}

TEST(PromptView, NothingIsWrittenWhereNothingChangedAndOneLineWhereOneDid) {
  auto now = state("typed");
  now.above = {"one", "two"};
  const auto before = layout(now);
  EXPECT_EQ(redraw(before, before), "");
  now.above[0] = "three";
  const auto bytes = redraw(before, layout(now));
  EXPECT_THAT(bytes, HasSubstr("three"));
  EXPECT_THAT(bytes, Not(HasSubstr("two")));
  EXPECT_THAT(bytes, Not(HasSubstr("typed")));
  EXPECT_TRUE(bytes.starts_with("\033[?2026h") && bytes.ends_with("\033[?2026l"));
}

TEST(PromptView, ANarrowerTerminalBreaksLinesAnew) {
  auto now = state("1234567890");
  now.above = {"a status of 18 col"};
  const auto frame = layout(now);
  EXPECT_EQ(frame.row, 1u);
  const auto narrow = reflowed(frame, 10);
  EXPECT_EQ(narrow.row, 3u);  // two lines of status, then the second of the prompt
  EXPECT_EQ(narrow.column, 2u);
}

TEST(PromptView, WhichTerminalBreaksLinesAnewIsKnownByItsVariables) {
  struct Case {
    std::map<std::string, std::string, std::less<>> variables;
    bool anew;
  };
  for (const auto& c : std::vector<Case>{
           {{}, true},
           {{{"TERM", "xterm-256color"}}, true},
           {{{"TERM", "xterm-kitty"}}, true},
           {{{"TERM", "xterm"}, {"XTERM_VERSION", "XTerm(379)"}}, false},
           {{{"TERM", "xterm"}, {"XTERM_VERSION", ""}}, true},
           {{{"TERM", "linux"}}, false},
           {{{"TERM", "rxvt-unicode-256color"}}, false},
           {{{"TERM", "screen"}, {"STY", "12.pts"}}, false},
           {{{"TERM", "screen"}}, true},  // tmux at the other end of SSH
           {{{"TERM", "screen"}, {"TMUX", "/tmp/t"}, {"XTERM_VERSION", "XTerm(379)"}}, true},
           {{{"TERM", "xterm"}, {"TMUX", "/tmp/t"}, {"XTERM_VERSION", "XTerm(379)"}}, false},
           {{{"TERM", "xterm-256color"}, {"NVIM", "/run/nvim"}}, false},
           {{{"TERM", "xterm"}, {"VIM_TERMINAL", "900"}}, false},
       }) {
    const auto variable = [&](std::string_view name) -> std::optional<std::string> {
      const auto found = c.variables.find(name);
      return found == c.variables.end() ? std::nullopt : std::optional(found->second);
    };
    EXPECT_EQ(breaks_lines_anew(variable), c.anew) << testing::PrintToString(c.variables);
  }
}

}  // namespace
}  // namespace patchbay::terminal
