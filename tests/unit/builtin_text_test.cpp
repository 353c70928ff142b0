#include <vector>

#include <gtest/gtest.h>

#include "builtin/text.h"

namespace patchbay::builtin {
namespace {

using namespace std::string_view_literals;

TEST(BuiltinText, KindsAreRecognisedByTheirFirstBytes) {
  struct Case {
    std::string_view bytes, image, binary;
  };
  const Case cases[] = {
      {"", "", ""},
      {"plain", "", ""},
      {"caf\xE9", "", ""},
      {"\xEF\xBB\xBFwith a mark", "", ""},
      {"\x89PNG\r\n\x1A\n\0\0"sv, "image/png", "binary data"},
      {"\xFF\xD8\xFF\xE0\0"sv, "image/jpeg", "binary data"},
      {"GIF89a\1\0"sv, "image/gif", "binary data"},
      {"GIF87a\1\0"sv, "image/gif", "binary data"},
      {"RIFF\0\0\0\0WEBPVP8 "sv, "image/webp", "binary data"},
      {"RIFF\0\0\0\0WAVEfmt "sv, "", "binary data"},
      {"RIFF", "", ""},
      {"\xFF\xFEh\0i\0"sv, "", "UTF-16 text"},
      {"\xFE\xFF\0h\0i"sv, "", "UTF-16 text"},
      {"%PDF-1.7", "", "a PDF document"},
      {"PK\x03\x04", "", "a ZIP archive"},
      {"\x1F\x8B\x08", "", "a gzip file"},
      {"\x7F"
       "ELF\2",
       "", "an ELF program"},
      {"text then\0zero"sv, "", "binary data"},
  };
  for (const auto& [bytes, image, binary] : cases) {
    EXPECT_EQ(image_type(bytes), image) << bytes;
    EXPECT_EQ(binary_kind(bytes), binary) << bytes;
  }
}

TEST(BuiltinText, BadBytesBecomeReplacementCharacters) {
  struct Case {
    std::string_view in, out;
    std::size_t replaced;
  };
  const Case cases[] = {
      {"", "", 0},           {"é", "é", 0},
      {"\xFF", "\uFFFD", 1}, {"a\xE9z", "a\uFFFDz", 1},
      {"\xC3", "\uFFFD", 1}, {"\xE2\x82", "\uFFFD\uFFFD", 2},
  };
  for (const auto& [in, out, replaced] : cases) {
    const auto repaired = repair_utf8(in);
    EXPECT_EQ(repaired.text, out);
    EXPECT_EQ(repaired.replaced, replaced) << out;
  }
}

TEST(BuiltinText, NamesStayOnOneLine) {
  EXPECT_EQ(printable_name("a b é"), "a b é");
  EXPECT_EQ(printable_name("a\nb\tc\x1B[31m\x7F"), "a\\nb\\tc\\x1b[31m\\x7f");
  EXPECT_EQ(printable_name("a\xFF"), "a\uFFFD");
}

TEST(BuiltinText, SizesAreReadable) {
  EXPECT_EQ(size_text(0), "0 bytes");
  EXPECT_EQ(size_text(1), "1 byte");
  EXPECT_EQ(size_text(9999), "9999 bytes");
  EXPECT_EQ(size_text(10240), "10.0 KiB");
  EXPECT_EQ(size_text(5u << 20), "5.0 MiB");
  EXPECT_EQ(size_text(3ull << 30), "3.0 GiB");
}

TEST(BuiltinText, LinesOfEveryEnding) {
  struct Case {
    std::string_view text;
    std::vector<std::string_view> lines;
  };
  const Case cases[] = {
      {"", {}},
      {"\n", {""}},
      {"a", {"a"}},
      {"a\n", {"a"}},
      {"a\nb", {"a", "b"}},
      {"a\r\nb\r\n", {"a", "b"}},
      {"a\r", {"a\r"}},
      {"\n\na", {"", "", "a"}},
  };
  for (const auto& [text, expected] : cases) {
    std::vector<std::string_view> found;
    Lines lines(text);
    for (std::string_view line; lines.next(line);) found.push_back(line);
    EXPECT_EQ(found, expected) << text;
  }
}

TEST(BuiltinText, LongLineIsCutAroundThePlaceToSee) {
  const std::string line = std::string(100, 'a') + "HIT" + std::string(100, 'b');
  EXPECT_EQ(cut_line("short", 10), "short");
  EXPECT_EQ(cut_line(line, 10), "aaaaaaaaaa…");
  EXPECT_EQ(cut_line(line, 20, 100), "…aaaaaHITbbbbbbbbbbbb…");
  EXPECT_EQ(cut_line(line, 20, 202), "…bbbbbbbbbbbbbbbbbbbb");
  EXPECT_EQ(cut_line("ééééé", 5), "éé…");
  EXPECT_EQ(cut_line("éééééé", 5, 9), "…éé…");
}

}  // namespace
}  // namespace patchbay::builtin
