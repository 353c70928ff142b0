#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "builtin/edit_text.h"

namespace patchbay::builtin {
namespace {

using testing::HasSubstr;

TEST(BuiltinEditText, ReplacesExactlyWhatWasAsked) {
  struct Case {
    const char* name;
    std::string text, old_text, new_text;
    bool all;
    std::string result;
    std::size_t replacements;
  };
  const Case cases[] = {
      {"one word", "a b c", "b", "x", false, "a x c", 1},
      {"to nothing", "a\nb\nc\n", "b\n", "", false, "a\nc\n", 1},
      {"whole file", "a", "a", "b\n", false, "b\n", 1},
      {"all", "aXbXc", "X", "--", true, "a--b--c", 2},
      {"all does not overlap", "aaaa", "aa", "b", true, "bb", 2},
      {"all of one", "a b", "b", "c", true, "a c", 1},
      {"new text holds old text", "a b", "b", "bb", true, "a bb", 1},
      {"unicode", "naïve café", "café", "thé", false, "naïve thé", 1},
      {"bytes that are no UTF-8 stay", "\xFF a \xFE", "a", "b", false, "\xFF b \xFE", 1},
      {"CRLF file, several lines", "a\r\nb\r\nc\r\n", "a\nb\n", "x\ny\n", false, "x\r\ny\r\nc\r\n", 1},
      {"CRLF file, one line becomes two", "a\r\nb\r\nc\r\n", "b", "x\ny", false, "a\r\nx\r\ny\r\nc\r\n", 1},
      {"CRLF file, last line without end", "a\r\nb", "b", "x\ny", false, "a\r\nx\r\ny", 1},
      {"CRLF file, lines joined", "a\r\nb\r\n", "a\nb", "ab", false, "ab\r\n", 1},
      {"CRLF file, piece begins at a line end", "a\r\nb\r\n", "\nb", "\nc", false, "a\r\nc\r\n", 1},
      {"CRLF file, piece ends before a line end", "a\r\nb\r\n", "a", "x", false, "x\r\nb\r\n", 1},
      {"mixed file, each place its own", "a\nb\r\na\r\nb\n", "a\nb", "x\ny", true, "x\ny\r\nx\r\ny\n", 2},
      {"CR in the piece is literal", "a\r\nb\r\n", "a\r\n", "a\n", false, "a\nb\r\n", 1},
      {"CR in the new text is literal", "a\nb\n", "a\n", "a\r\n", false, "a\r\nb\n", 1},
      {"LF file stays LF", "a\nb\n", "a\nb", "x\ny\nz", false, "x\ny\nz\n", 1},
  };
  for (const auto& item : cases) {
    auto edit = edit_text(item.text, {item.old_text, item.new_text, item.all});
    ASSERT_TRUE(edit) << item.name << ": " << edit.error().message();
    EXPECT_EQ(edit->text, item.result) << item.name;
    EXPECT_EQ(edit->replacements, item.replacements) << item.name;
  }
}

TEST(BuiltinEditText, RefusalSaysWhatToSendInstead) {
  struct Case {
    const char* name;
    std::string text, old_text, new_text;
    const char* reason;
  };
  const Case cases[] = {
      {"empty", "a", "", "b", "write_file"},
      {"same", "a", "a", "a", "the same"},
      {"absent", "a\nb\n", "c", "d", "does not occur in the file: read the file again"},
      {"absent from an empty file", "", "c", "d", "does not occur"},
      {"blanks only", "a", "  \n ", "d", "does not occur"},
      {"twice", "x\na\ny\na\n", "a", "b", "occurs 2 times (lines 2, 4). Add lines"},
      {"overlapping", "aaa", "aa", "b", "occurs 2 times"},
      {"indentation", "{\n\tint a;\n\tint b;\n}\n", "    int a;\n    int b;\n", "x",
       "The text at line 2 differs only in blanks"},
      {"leading blank line", "a\n\n  b\n", "\nb\n", "x", "The text at line 2 differs only in blanks"},
      {"first line only", "f() {\n  1;\n}\n", "f() {\n  2;\n}\n", "x", "first line occurs at line 1"},
      {"CR wanted, none there", "a\nb\n", "a\r\nb", "x", "does not occur"},
  };
  for (const auto& item : cases) {
    auto edit = edit_text(item.text, {item.old_text, item.new_text, false});
    ASSERT_FALSE(edit) << item.name;
    EXPECT_EQ(edit.error().code(), Errc::invalid_argument) << item.name;
    EXPECT_THAT(edit.error().message(), HasSubstr(item.reason)) << item.name;
  }
}

TEST(BuiltinEditText, ManyPlacesAreCountedAndTheFirstNamed) {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += "a\n";
  auto edit = edit_text(text, {"a", "b", false});
  ASSERT_FALSE(edit);
  EXPECT_THAT(edit.error().message(), HasSubstr("occurs 1000 times (lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, …)"));
}

TEST(BuiltinEditText, ExcerptShowsTheChangeWithItsSurroundings) {
  const std::string text = "1\n2\n3\n4\n5\n6\n7\n";
  EXPECT_EQ(edit_text(text, {"4", "four", false})->excerpt, "@@ line 4 @@\n 2\n 3\n-4\n+four\n 5\n 6\n");
  EXPECT_EQ(edit_text(text, {"1\n", "", false})->excerpt, "@@ line 1 @@\n-1\n 2\n 3\n");
  EXPECT_EQ(edit_text(text, {"7\n", "7", false})->excerpt, "@@ line 7 @@\n 5\n 6\n-7\n+7\n");
  EXPECT_EQ(edit_text(text, {"3\n4", "x", false})->excerpt, "@@ line 3 @@\n 1\n 2\n-3\n-4\n+x\n 5\n 6\n");
  EXPECT_EQ(edit_text("a\r\nb\r\n", {"b", "c", false})->excerpt, "@@ line 2 @@\n a\n-b\n+c\n");
}

TEST(BuiltinEditText, LongExcerptIsCut) {
  std::string text, longer(1000, 'x');
  for (int i = 0; i < 10; ++i) text += "a\n";
  auto many = edit_text(text, {"a", "b", true});
  EXPECT_EQ(many->replacements, 10u);
  EXPECT_THAT(many->excerpt, HasSubstr("… 7 more places"));
  auto wide = edit_text("a\n", {"a", longer, false});
  EXPECT_LT(wide->excerpt.size(), 400u);
  std::string tall;
  for (int i = 0; i < 100; ++i) tall += "line\n";
  EXPECT_THAT(edit_text("a\n", {"a\n", tall, false})->excerpt, HasSubstr("+… 60 more lines"));
}

// Comparing at every place, from its beginning, would take days.
TEST(BuiltinEditText, TextsThatRepeatThemselves_TakeLinearWork) {
  const std::string same(1u << 20, 'a');
  const std::string almost = std::string(512u << 10, 'a') + "b";
  EXPECT_THAT(edit_text(same, {almost, "x"}).error().message(), HasSubstr("does not occur"));
  EXPECT_THAT(edit_text(same, {std::string_view(same).substr(512u << 10), "x"}).error().message(),
              HasSubstr("occurs 524289 times (lines 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, …)"));

  std::string lines, wanted;
  for (int i = 0; i < 100'000; ++i) lines += " a\n";
  for (int i = 0; i < 50'000; ++i) wanted += "a\n";
  EXPECT_THAT(edit_text(lines, {wanted + "b\n", "x"}).error().message(), HasSubstr("what follows there is different"));

  const std::string one_line = "x\r\n" + std::string(256u << 10, 'a');
  const auto edit = edit_text(one_line, {"a", "b\n", true});
  ASSERT_TRUE(edit);
  EXPECT_EQ(edit->replacements, std::size_t(256) << 10);
  EXPECT_TRUE(edit->text.starts_with("x\r\nb\r\nb\r\n"));
}

TEST(BuiltinEditText, WhatWouldComeOfIt_IsBounded) {
  const std::string text(1000, 'a');
  EXPECT_EQ(edit_text(text, {"a", "bb", true, 2000})->text.size(), 2000u);
  EXPECT_THAT(edit_text(text, {"a", "bb", true, 1999}).error().message(),
              HasSubstr("1000 replacements of 2 bytes each would exceed the 1999 bytes that a file may have"));
  EXPECT_THAT(edit_text(text + "c", {"c", std::string(1000, 'b'), false, 1999}).error().message(),
              HasSubstr("the file would have 2000 bytes, and the limit is 1999 bytes"));
}

}  // namespace
}  // namespace patchbay::builtin
