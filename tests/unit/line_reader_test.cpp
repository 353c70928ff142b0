#include "process/line_reader.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace patchbay {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

void feed(LineReader& reader, std::string_view bytes) {
  while (!bytes.empty()) {
    auto room = reader.room();
    const auto part = std::min(room.size(), bytes.size());
    std::memcpy(room.data(), bytes.data(), part);
    reader.commit(part);
    bytes.remove_prefix(part);
    if (!bytes.empty()) ASSERT_FALSE(reader.next()) << "lines must be taken before more is fed";
  }
}

std::vector<std::string> lines(LineReader& reader) {
  std::vector<std::string> out;
  while (auto line = reader.next()) out.emplace_back(line->text);
  return out;
}

struct Case {
  const char* name;
  std::string input;
  std::vector<std::string> lines;
  std::string rest;
  std::uint64_t junk = 0;
  bool too_long = false;
};

class Lines : public testing::TestWithParam<Case> {};

// T1: the limit in these cases is 8 bytes.
const std::vector<Case> cases{
    {"one", "{1}\n", {"{1}"}},
    {"two", "{1}\n[2]\n", {"{1}", "[2]"}},
    {"carriage_return", "{1}\r\n{2}\r\n", {"{1}", "{2}"}},
    {"blank_lines", "\n\r\n  \t\n{1}\n\n", {"{1}"}},
    {"leading_blanks", "  \t{1}\n", {"{1}"}},
    {"trailing_blanks_stay", "{1} \n", {"{1} "}},
    {"half", "{1}\n{2", {"{1}"}, "{2"},
    {"junk", "hello\n{1}\nbye\n", {"{1}"}, "", 2},
    {"long_junk", "a banner much longer than the limit\n{1}\n", {"{1}"}, "", 1},
    {"junk_at_the_end", "{1}\nbye", {"{1}"}, "", 1},
    {"at_the_limit", "{123456}\n{2}\n", {"{123456}", "{2}"}},
    {"at_the_limit_with_carriage_return", "{123456}\r\n{2}\n", {"{123456}", "{2}"}},
    {"one_byte_more", "{2}\n{1234567}\n{3}\n", {"{2}"}, "", 0, true},
    {"one_byte_more_without_end", "{1234567}", {}, "", 0, true},
    {"one_byte_more_before_carriage_return", "{1234567}\r\n", {}, "", 0, true},
    {"rest_of_limit_before_carriage_return", "{123456}\r", {}, "{123456}"},
    {"only_blanks", "              ", {}},
    {"nothing", "", {}},
};

TEST_P(Lines, AreCutWhole) {
  LineReader reader(8);
  feed(reader, GetParam().input);
  EXPECT_EQ(lines(reader), GetParam().lines);
  auto rest = reader.rest();
  EXPECT_EQ(rest ? std::string(rest->text) : "", GetParam().rest);
  EXPECT_EQ(reader.junk_lines(), GetParam().junk);
  EXPECT_EQ(reader.too_long(), GetParam().too_long);
}

TEST_P(Lines, AreTheSameWhenTheyComeByteByByte) {
  LineReader reader(8);
  std::vector<std::string> seen;
  for (char byte : GetParam().input) {
    feed(reader, {&byte, 1});
    for (auto& line : lines(reader)) seen.push_back(line);
  }
  EXPECT_EQ(seen, GetParam().lines);
  auto rest = reader.rest();
  EXPECT_EQ(rest ? std::string(rest->text) : "", GetParam().rest);
  EXPECT_EQ(reader.junk_lines(), GetParam().junk);
  EXPECT_EQ(reader.too_long(), GetParam().too_long);
}

INSTANTIATE_TEST_SUITE_P(Table, Lines, testing::ValuesIn(cases),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(LineReader, KeptLineIsNeverOverwritten) {
  LineReader reader(1u << 20);
  std::vector<LineReader::Line> kept;
  std::vector<std::string> expected;
  for (int i = 0; i < 2000; ++i) {
    std::string text = "{" + std::string(static_cast<std::size_t>(i % 300), static_cast<char>('a' + i % 26)) + "}";
    feed(reader, text + "\n");
    auto line = reader.next();
    ASSERT_TRUE(line);
    if (i % 7 == 0) {
      kept.push_back(*line);
      expected.push_back(text);
    }
  }
  for (std::size_t i = 0; i < kept.size(); ++i) EXPECT_EQ(kept[i].text, expected[i]);
}

TEST(LineReader, BlockIsUsedAgainWhenNobodyKeepsIt) {
  LineReader reader(1u << 20);
  feed(reader, "{1}\n");
  const auto* first = reader.next()->block->data();
  for (int i = 0; i < 10'000; ++i) {
    feed(reader, "{\"some\":\"line\"}\n");
    auto line = reader.next();
    ASSERT_TRUE(line);
    EXPECT_EQ(line->block->data(), first);
  }
}

TEST(LineReader, BlockOfALongLineIsUsedAgainForTheNextLongLine) {
  LineReader reader(16u << 20);
  const std::string text = "{" + std::string(5u << 20, 'x') + "}";
  auto read_one = [&] {
    std::string_view rest = text;
    std::optional<LineReader::Line> line;
    while (!line) {
      auto room = reader.room();
      const auto part = std::min(room.size(), rest.size());
      std::memcpy(room.data(), rest.data(), part);
      rest.remove_prefix(part);
      if (part == 0) room[0] = '\n';
      reader.commit(part == 0 ? 1 : part);
      line = reader.next();
    }
    EXPECT_EQ(line->text, text);
    return line->block->data();
  };
  read_one();
  EXPECT_EQ(read_one(), read_one());
}

TEST(LineReader, JunkIsDroppedWhileItStreamsBy) {
  LineReader reader(1000);
  const std::string part(32u << 10, 'j');
  std::size_t largest = 0;
  for (int i = 0; i < 1000; ++i) {
    auto room = reader.room();
    largest = std::max(largest, room.size());
    std::memcpy(room.data(), part.data(), std::min(room.size(), part.size()));
    reader.commit(std::min(room.size(), part.size()));
    EXPECT_FALSE(reader.next());
  }
  feed(reader, "\n{1}\n");
  EXPECT_THAT(lines(reader), ElementsAre("{1}"));
  EXPECT_EQ(reader.junk_lines(), 1u);
  EXPECT_LE(largest, 64u << 10);
  EXPECT_EQ(reader.junk_sample(), part.substr(0, 120));
}

// L7: junk is passed over in bounded steps, so that others get their turn in between.
TEST(LineReader, JunkIsPassedOverInSteps) {
  LineReader reader(1000);
  std::string text;
  for (int i = 0; i < 5000; ++i) text += "y\n";
  text += "{}\n";
  const auto room = reader.room();
  ASSERT_GE(room.size(), text.size());
  std::ranges::copy(text, room.begin());
  reader.commit(text.size());
  int steps = 0;
  std::optional<LineReader::Line> line;
  while (!(line = reader.next())) {
    ASSERT_TRUE(reader.resting());
    ++steps;
  }
  EXPECT_GE(steps, 4);
  EXPECT_EQ(line->text, "{}");
  EXPECT_EQ(reader.junk_lines(), 5000u);
  EXPECT_GE(reader.skipped_bytes(), 5000u);
}

TEST(LineReader, SixtyFourBytesBehindALineCanBeRead) {
  LineReader reader(200u << 10);
  const std::string text = "{" + std::string((200u << 10) - 2, 'x') + "}";
  std::string_view rest = text;
  while (!rest.empty()) {
    auto room = reader.room();
    const auto part = std::min(room.size(), rest.size());
    std::memcpy(room.data(), rest.data(), part);
    reader.commit(part);
    rest.remove_prefix(part);
    EXPECT_FALSE(reader.next());
  }
  auto line = reader.rest();
  ASSERT_TRUE(line);
  EXPECT_EQ(line->text, text);
  EXPECT_LE(line->text.data() + line->text.size() + 64, line->block->data() + line->block->size());
}

}  // namespace
}  // namespace patchbay
