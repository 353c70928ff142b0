// The file format of recordings: what is written comes back, and what a stranger wrote is read within bounds. N8.
#include "recording/recording.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace patchbay {
namespace {

using Kind = RecordedFrame::Kind;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

const std::string header_line =
    R"({"patchbayRecording":1,"server":"files","program":"patchbay 1","time":"2026-11-18T02:20:34.123Z"})";
const std::string call_line =
    R"({"t":5,"c":1,"dir":"sent","frame":{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"x"}}})";

TEST(Recording, WhatIsWrittenComesBack) {
  const RecordingHeader header{"files", "patchbay 1", "2026-11-18T02:20:34.123Z", "it exited"};
  const std::vector<RecordedFrame> frames{
      {.kind = Kind::opened, .channel = 1, .time = 0, .text = {}},
      {.kind = Kind::sent, .channel = 1, .time = 2, .text = R"({"jsonrpc":"2.0","id":1,"method":"ping"})"},
      {.kind = Kind::received, .channel = 1, .time = 3, .text = R"({"jsonrpc":"2.0","id":1,"result":{}})"},
      {.kind = Kind::received,
       .cut = true,
       .channel = 1,
       .time = 4,
       .size = 300'000,
       .text = R"({"jsonrpc":"2.0","id":2,"result":{}})"},
      {.kind = Kind::lost, .channel = 1, .time = 5, .text = R"({"id":9,"reason":"reset"})"},
      {.kind = Kind::gap, .time = 5, .size = 17, .text = {}},
      {.kind = Kind::ended, .channel = 1, .time = 6, .text = "exited with \"3\"\n"},
      {.kind = Kind::closed, .channel = 2, .time = 7, .text = {}},
  };
  const auto text = write_recording(header, frames);
  const auto read = read_recording(text);
  ASSERT_TRUE(read.has_value()) << read.error().message();
  EXPECT_EQ(read->header, header);
  EXPECT_EQ(read->frames, frames);
  EXPECT_THAT(read->warnings, IsEmpty());
  EXPECT_EQ(std::ranges::count(text, '\n'), 9);
}

TEST(Recording, AnotherFileIsNone) {
  for (const auto* text : {"", "\n", "{}", "[1]", "{\"patchbayRecording\":\"1\"}\n", "{\"patchbayRecording\":0}",
                           "\x7f"
                           "ELF"}) {
    const auto read = read_recording(text);
    ASSERT_FALSE(read.has_value()) << text;
    EXPECT_EQ(read.error().code(), Errc::config);
    EXPECT_THAT(read.error().message(), HasSubstr("this is not a recording"));
  }
  const auto newer = read_recording("{\"patchbayRecording\":2}\n");
  ASSERT_FALSE(newer.has_value());
  EXPECT_THAT(newer.error().message(), HasSubstr("use a newer patchbay"));
}

// N8: one that was cut in the middle is used as far as it goes.
TEST(Recording, OneThatBreaksOffIsReadUpToThere) {
  const auto whole = header_line + "\n" + call_line + "\n" + call_line + "\n";
  const auto read = read_recording(whole.substr(0, whole.size() - 20));
  ASSERT_TRUE(read.has_value());
  EXPECT_THAT(read->frames, SizeIs(1));
  EXPECT_THAT(read->warnings, ElementsAre("line 3 is left out: the recording breaks off in the middle of it"));
  // At every byte: it never fails, and never has a frame too many.
  for (std::size_t i = header_line.size(); i <= whole.size(); ++i) {
    const auto part = read_recording(whole.substr(0, i));
    ASSERT_TRUE(part.has_value()) << i;
    EXPECT_LE(part->frames.size(), 2u);
  }
}

// N8: a foreign frame is left out with its line, and the rest works.
TEST(Recording, WhatIsNoFrameIsLeftOutAndNamed) {
  struct Foreign {
    const char* line;
    const char* why;
  };
  for (const auto& [line, why] : std::vector<Foreign>{
           {"not JSON", "it is no JSON"},
           {"[]", "it is no JSON object"},
           {"{}", "it has neither a \"dir\" (sent, received) nor a \"mark\" that is known"},
           {R"({"dir":"up","frame":{}})", "it has neither a \"dir\""},
           {R"({"dir":"sent","frame":{"hello":1}})", "its frame is no JSON-RPC message"},
           {R"({"dir":"sent"})", "its frame is no JSON-RPC message"},
           {R"({"dir":"sent","frame":[{"jsonrpc":"2.0","method":"x"}]})", "its frame is a batch"},
           {R"({"mark":"cut","dir":"sent"})", "its frame is no JSON-RPC message"},
           {R"({"mark":"exploded"})", "the mark \"exploded\" is not known"},
           {R"({"mark":"lost"})", "a lost request without \"request\""},
           {R"({"c":4294967296,"mark":"opened"})", "\"c\" is not the number of a channel"},
       }) {
    const auto read = read_recording(header_line + "\n" + line + "\n" + call_line + "\n");
    ASSERT_TRUE(read.has_value()) << line;
    EXPECT_THAT(read->frames, SizeIs(1)) << line;
    ASSERT_THAT(read->warnings, SizeIs(1)) << line;
    EXPECT_THAT(read->warnings.front(), HasSubstr(std::string("line 2 is left out: ") + why));
  }
}

TEST(Recording, IsReadWithinBounds) {
  auto many = header_line + "\n";
  for (int i = 0; i < 100; ++i) many += "nothing\n";
  const auto read = read_recording(many);
  ASSERT_TRUE(read.has_value());
  EXPECT_THAT(read->warnings, SizeIs(most_recording_warnings + 1));
  EXPECT_EQ(read->warnings.back(), "and 80 lines more");

  auto frames = header_line + "\n";
  for (std::size_t i = 0; i < most_recorded_frames + 5; ++i) frames += "{\"mark\":\"opened\"}\n";
  const auto longest = read_recording(frames);
  ASSERT_TRUE(longest.has_value());
  EXPECT_THAT(longest->frames, SizeIs(most_recorded_frames));
  EXPECT_THAT(longest->warnings, ElementsAre(HasSubstr("a recording has at most 20000 frames")));

  const auto large = read_recording(header_line + "\n" + std::string(largest_recording, ' '));
  ASSERT_FALSE(large.has_value());
  EXPECT_EQ(large.error().code(), Errc::limit);
  const auto line =
      read_recording(header_line + "\n" + std::string(longest_recording_line + 1, 'x') + "\n" + call_line);
  ASSERT_TRUE(line.has_value());
  EXPECT_THAT(line->frames, SizeIs(1));
}

}  // namespace
}  // namespace patchbay
