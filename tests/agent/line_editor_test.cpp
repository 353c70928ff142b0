// Editing what is typed. G3.
#include "terminal/line_editor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace patchbay::terminal {
namespace {

using testing::ElementsAre;

// Bytes as a terminal sends them; the last event that is not none.
EditEvent type(LineEditor& editor, std::string_view bytes) {
  KeyReader reader;
  auto last = EditEvent::none;
  auto keys = reader.feed(bytes);
  for (auto& key : reader.timed_out()) keys.push_back(std::move(key));
  for (const auto& key : keys) {
    if (const auto event = editor.key(key); event != EditEvent::none) last = event;
  }
  return last;
}

// The text with | where the cursor is.
std::string shown(const LineEditor& editor) {
  return editor.text().substr(0, editor.cursor()) + "|" + editor.text().substr(editor.cursor());
}

TEST(LineEditor, KeysAndWhatBecomesOfTheText) {
  struct Case {
    std::string keys;
    std::string shown;
  };
  const std::vector<Case> table{
      {"hello", "hello|"},
      {"hello\x01x", "x|hello"},
      {"hello\033[D\033[Dx", "helx|lo"},
      {"日本\x02x", "日x|本"},
      {"a👨‍👩‍👧b\x02\x7f", "a|b"},
      {"ab\x7f\x7f\x7f", "|"},
      {"ab\x01\x04", "|b"},
      {"ab\x01\033[3~", "|b"},
      // words
      {"one two three\033b\033b", "one |two three"},
      {"one two\x01\033f", "one| two"},
      {"one two\033[1;5D", "one |two"},
      {"one two\x17", "one |"},
      {"a/b c/d\x17", "a/b |"},
      {"a/b c/d\033\x7f", "a/b c/|"},
      {"one two\x01\033d", "| two"},
      // kill and yank
      {"one two\x15", "|"},
      {"one two\x15\x19\x19", "one twoone two|"},
      {"one two\x01\x0b\x19", "one two|"},
      {"one two three\x17\x17\x19", "one two three|"},  // killed one after the other: one text
      {"a\x15"
       "b\x15\x19\033y",
       "a|"},
      {"a\x15"
       "b\x15\x19\033y\033y",
       "b|"},
      {"a\x15"
       "b\x15\x19 \033y",
       "b |"},  // only right behind a yank
      // undo
      {"one\x15\x1f", "one|"},
      {"one two\x17\x17\x1f", "one |"},
      {"abc\x1f", "|"},
      {"abc\x1f\x1f\x1f", "|"},
      {"ab\033[Dc\x1f", "a|b"},
      // several lines
      {"a\033\rb", "a\nb|"},
      {"a\\\rb", "a\nb|"},
      {"a\nb", "a\nb|"},
      {"a\033[13;2ub", "a\nb|"},
      {"abc\nx\033[A", "a|bc\nx"},
      {"abc\nx\nabc\033[A\033[A", "abc|\nx\nabc"},  // the column is kept over a short line
      {"日本\nabc\033[A", "日|本\nabc"},
      {"ab\ncd\x01x", "ab\nx|cd"},
      {"ab\ncd\x01\x02\x0b", "ab|cd"},
      {"ab\ncd\x15", "ab\n|"},
      {"ab\ncd\033<x", "x|ab\ncd"},
      {"abc\x14", "acb|"},
      {"abc\x02\x14", "acb|"},
      // pastes: one edit, cleaned
      {"x\033[200~a\r\nb\rc\td\033[31m\xe2\x80\xae\033[201~", "xa\nb\nc\td|"},
      {"x\033[200~a\nb\033[201~\x1f", "x|"},
      // nothing
      {"\033[5~\033x\033[15~\x11", "|"},
      {"\033[A\033[B", "|"},
  };
  for (const auto& one : table) {
    LineEditor editor;
    type(editor, one.keys);
    EXPECT_EQ(shown(editor), one.shown) << testing::PrintToString(one.keys);
  }
}

TEST(LineEditor, Events) {
  struct Case {
    std::string keys;
    EditEvent event;
  };
  const std::vector<Case> table{
      {"a\r", EditEvent::submit},        {"\r", EditEvent::submit},      {"a\033\r", EditEvent::none},
      {"a\\\r", EditEvent::none},        {"\x03", EditEvent::interrupt}, {"a\x03", EditEvent::interrupt},
      {"\x04", EditEvent::end_of_input}, {"a\x04", EditEvent::none},     {"a\t", EditEvent::complete},
      {"\033", EditEvent::escape},       {"\x0c", EditEvent::redraw},
  };
  for (const auto& one : table) {
    LineEditor editor;
    EXPECT_EQ(type(editor, one.keys), one.event) << testing::PrintToString(one.keys);
  }
}

TEST(LineEditor, HistoryGoesUpAndDownAndKeepsTheDraft) {
  LineEditor editor;
  for (const std::string line : {"one", "two", "two", " secret", "  ", "three"}) {
    editor.set(line);
    EXPECT_EQ(editor.take(), line);
  }
  EXPECT_THAT(editor.history(), ElementsAre("one", "two", "three"));
  type(editor, "draft");
  const auto after = [&](std::string_view keys) {
    type(editor, keys);
    return shown(editor);
  };
  EXPECT_EQ(after("\033[A"), "three|");
  EXPECT_EQ(after("\x10\x10\x10"), "one|");
  EXPECT_EQ(after("\033[B\x0e"), "three|");
  EXPECT_EQ(after("\033[B"), "draft|");
  EXPECT_EQ(after("\033[B"), "draft|");
}

TEST(LineEditor, HistoryIsSearched) {
  LineEditor editor;
  editor.set_history({"git status", "make", "git log", "git log"});
  type(editor, "typed");
  type(editor, "\x12git");
  ASSERT_TRUE(editor.search());
  EXPECT_EQ(editor.search()->words, "git");
  EXPECT_EQ(editor.text(), "git log");
  type(editor, "\x12");
  EXPECT_EQ(editor.text(), "git status");  // what looks the same is passed over
  type(editor, "\x12");
  EXPECT_EQ(editor.text(), "git status");
  type(editor, "\x7f\x7f\x7fmak");
  EXPECT_EQ(editor.text(), "make");
  type(editor, "\007");
  EXPECT_EQ(shown(editor), "typed|");
  EXPECT_FALSE(editor.search());
  // Another key takes it, and does what it does.
  type(editor, "\x12mak\x05!");
  EXPECT_EQ(shown(editor), "make!|");
  EXPECT_EQ(type(editor, "\x12stat\r"), EditEvent::submit);
  EXPECT_EQ(editor.take(), "git status");
}

TEST(LineEditor, CompletionIsAWishAndAnOffer) {
  LineEditor editor;
  const auto wish = [&](std::string_view typed) {
    editor.clear();
    EXPECT_EQ(type(editor, std::string(typed) + "\t"), EditEvent::complete);
    return editor.wanted();
  };
  auto wanted = wish("see @re");
  EXPECT_EQ(wanted.text, "see @re");
  EXPECT_EQ(wanted.cursor, 7u);
  editor.offer(wanted.number, 4, {{"@readme.md"}});
  EXPECT_EQ(shown(editor), "see @readme.md|");

  // Several: what they begin with, and the rest to choose from.
  wanted = wish("@r");
  editor.offer(wanted.number, 0, {{"@read"}, {"@really"}, {"@reason"}});
  EXPECT_EQ(shown(editor), "@rea|");
  EXPECT_EQ(editor.candidates().size(), 3u);
  type(editor, "\t\t");
  EXPECT_EQ(editor.chosen(), 1u);
  type(editor, "\033[Z");
  EXPECT_EQ(editor.chosen(), 0u);
  type(editor, "\x10");
  EXPECT_EQ(editor.chosen(), 2u);
  EXPECT_EQ(type(editor, "\r"), EditEvent::none);
  EXPECT_EQ(shown(editor), "@reason|");
  EXPECT_TRUE(editor.candidates().empty());

  // Typing on, and escape, put them away.
  wanted = wish("@r");
  editor.offer(wanted.number, 0, {{"@ra"}, {"@rb"}});
  type(editor, "x");
  EXPECT_EQ(shown(editor), "@rx|");
  EXPECT_TRUE(editor.candidates().empty());
  wanted = wish("@r");
  editor.offer(wanted.number, 0, {{"@ra"}, {"@rb"}});
  EXPECT_EQ(type(editor, "\033"), EditEvent::none);
  EXPECT_TRUE(editor.candidates().empty());

  // Too late, or about nothing.
  wanted = wish("@r");
  type(editor, "e");
  editor.offer(wanted.number, 0, {{"@really"}});
  EXPECT_EQ(shown(editor), "@re|");
  wanted = wish("@r");
  editor.offer(wanted.number, 99, {{"@really"}});
  editor.offer(wanted.number, 0, {});
  EXPECT_EQ(shown(editor), "@r|");
}

TEST(LineEditor, IsBounded) {
  LineEditor editor;
  for (int i = 0; i < 3; ++i) editor.key({.code = KeyCode::paste, .text = std::string(600'000, 'x')});
  EXPECT_EQ(editor.text().size(), LineEditor::longest_text);
  editor.clear();
  for (int i = 0; i < 1200; ++i) {
    editor.set(std::to_string(i));
    (void)editor.take();
  }
  EXPECT_EQ(editor.history().size(), LineEditor::most_history);
  EXPECT_EQ(editor.history().back(), "1199");
}

}  // namespace
}  // namespace patchbay::terminal
