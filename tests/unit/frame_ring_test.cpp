// The latest frames of a server within their bounds, and what stays when there is no more room. N8.
#include "recording/frame_ring.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace patchbay {
namespace {

using Kind = RecordedFrame::Kind;
using testing::ElementsAre;
using testing::HasSubstr;

Message call(std::int64_t id, std::string text = "x") {
  return Request{id, "tools/call", Payload(Json{{"name", "echo"}, {"text", std::move(text)}})};
}

std::vector<Kind> kinds_of(const FrameRing& ring) {
  std::vector<Kind> kinds;
  for (const auto& frame : ring.frames()) kinds.push_back(frame.kind);
  return kinds;
}

// N8: what passed is kept as it passed, in order.
TEST(FrameRing, KeepsMessagesAndMarksInOrder) {
  FrameRing ring;
  ring.opened(1, 10);
  ring.add(Kind::sent, 1, 11, call(7));
  ring.add(Kind::received, 1, 12, Response{std::int64_t{7}, Payload(Json{{"content", Json::array()}})});
  ring.mark(Kind::lost, 1, 13, R"({"id":8,"reason":"gone"})");
  ring.mark(Kind::ended, 1, 14, "it exited with status 3");
  EXPECT_THAT(kinds_of(ring), ElementsAre(Kind::opened, Kind::sent, Kind::received, Kind::lost, Kind::ended));
  const auto frames = ring.frames();
  EXPECT_EQ(frames[1].text, R"({"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"echo","text":"x"}})");
  EXPECT_EQ(frames[2].text, R"({"jsonrpc":"2.0","id":7,"result":{"content":[]}})");
  EXPECT_EQ(frames[2].time, 12);
  EXPECT_EQ(frames[4].text, "it exited with status 3");
}

// N8: how the connection began stays, however many calls follow: without it nobody can replay them.
TEST(FrameRing, KeepsHowAConnectionBeganAndSaysHowManyFramesAreMissingBehindIt) {
  FrameRing ring;
  ring.opened(1, 0);
  constexpr std::int64_t calls = 1000;
  for (std::int64_t id = 1; id <= calls; ++id) ring.add(Kind::sent, 1, id, call(id));
  EXPECT_EQ(ring.size(), FrameRing::most_frames);
  const auto frames = ring.frames();
  ASSERT_EQ(frames.size(), FrameRing::most_frames + 1);
  EXPECT_EQ(frames.front().kind, Kind::opened);
  EXPECT_THAT(frames[1].text, HasSubstr("\"id\":1,"));
  const auto& gap = frames[FrameRing::head_frames];
  EXPECT_EQ(gap.kind, Kind::gap);
  EXPECT_EQ(gap.size, calls + 1 - FrameRing::most_frames);
  EXPECT_THAT(frames.back().text, HasSubstr("\"id\":1000,"));
  // The frame behind the gap is the one after those that are missing.
  EXPECT_THAT(frames[FrameRing::head_frames + 1].text, HasSubstr(fmt::format("\"id\":{},", calls - 231)));
}

TEST(FrameRing, ANewConnectionMakesTheBeginningOfTheOneBeforeOrdinary) {
  FrameRing ring;
  ring.opened(1, 0);
  for (std::int64_t id = 1; id <= 300; ++id) ring.add(Kind::sent, 1, id, call(id));
  ring.opened(2, 301);
  for (std::int64_t id = 1; id <= 100; ++id) ring.add(Kind::sent, 2, 301 + id, call(id, "second"));
  const auto frames = ring.frames();
  EXPECT_EQ(ring.size(), FrameRing::most_frames);
  // Nothing of the second is missing, so what went are the oldest.
  EXPECT_EQ(frames.front().kind, Kind::sent);
  EXPECT_EQ(frames[frames.size() - 101].kind, Kind::opened);
  EXPECT_EQ(frames[frames.size() - 101].channel, 2u);
  std::int64_t last = 0;
  for (const auto& frame : frames) {
    EXPECT_LE(last, frame.time);
    last = frame.time;
  }
}

// N8: bounded in bytes, whatever messages there are.
TEST(FrameRing, StaysWithinItsBytes) {
  FrameRing ring;
  ring.opened(1, 0);
  for (std::int64_t id = 1; id <= 100; ++id) ring.add(Kind::received, 1, id, call(id, std::string(100'000, 'x')));
  EXPECT_LE(ring.bytes(), FrameRing::most_bytes);
  EXPECT_GT(ring.bytes(), FrameRing::most_bytes / 2);
  EXPECT_THAT(ring.frames().back().text, HasSubstr("\"id\":100,"));
  ring.clear();
  EXPECT_EQ(ring.bytes(), 0u);
  EXPECT_EQ(ring.size(), 0u);
}

// N8: of a message that is too large, who and how large it was.
TEST(FrameRing, AMessageThatIsTooLargeLeavesItsEnvelope) {
  FrameRing ring;
  ring.opened(1, 0);
  const std::string large(FrameRing::largest_frame, 'x');
  ring.add(Kind::sent, 1, 1, call(7, large));
  ring.add(Kind::received, 1, 2, Response{std::int64_t{7}, Payload(Json{{"text", large}})});
  ring.add(Kind::received, 1, 3, ErrorResponse{std::int64_t{8}, {-32603, large, {}}});
  const auto frames = ring.frames();
  ASSERT_EQ(frames.size(), 4u);
  EXPECT_EQ(frames[1].text, R"({"jsonrpc":"2.0","id":7,"method":"tools/call"})");
  EXPECT_EQ(frames[2].text, R"({"jsonrpc":"2.0","id":7,"result":{}})");
  EXPECT_EQ(frames[3].text, R"({"jsonrpc":"2.0","id":8,"error":{"code":-32603,"message":""}})");
  for (std::size_t i = 1; i < frames.size(); ++i) {
    EXPECT_TRUE(frames[i].cut);
    EXPECT_GT(frames[i].size, large.size());
  }
  EXPECT_LT(ring.bytes(), 1000u);
}

TEST(FrameRing, WithoutAConnectionItKeepsTheLatest) {
  FrameRing ring;
  for (std::int64_t id = 1; id <= 300; ++id) ring.add(Kind::sent, 1, id, call(id));
  const auto frames = ring.frames();
  EXPECT_EQ(ring.size(), FrameRing::most_frames);
  EXPECT_EQ(frames.front().kind, Kind::gap);
  EXPECT_THAT(frames.back().text, HasSubstr("\"id\":300,"));
}

}  // namespace
}  // namespace patchbay
