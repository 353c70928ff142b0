// The latest frames of a server within their bounds, and what stays when there is no more room. N8.
#include "recording/frame_ring.h"

#include <random>

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

// N8: whatever kind of message it is, what leaves the ring is what would have been written to the wire, on one line.
TEST(FrameRing, WhatLeavesItIsTheMessageAsItIsWritten) {
  const auto pretty = [] { return Payload::parse("{\n  \"text\": \"a\\nb\",\r\n  \"n\": [1,\n2]\n}").value(); };
  const std::vector<Message> messages{
      Request{std::int64_t{-7}, "tools/call", pretty()},
      Request{std::int64_t{8}, "ping", {}},
      Request{std::string("eight \"8\""), "quoted \"method\"", pretty()},
      Notification{"notifications/cancelled", pretty()},
      Notification{"notifications/initialized", {}},
      Notification{"", Payload(Json::array())},
      Response{std::int64_t{7}, pretty()},
      Response{std::int64_t{8}, {}},
      Response{std::int64_t{9}, Payload(Json())},
      Response{std::string("nine"), Payload(Json{{"a", 1}})},
      ErrorResponse{std::int64_t{10}, {-32603, "why \"not\"", pretty()}},
      ErrorResponse{std::nullopt, {-32700, "", {}}},
  };
  FrameRing ring;
  for (const auto& message : messages) ring.add(Kind::received, 1, 1, message);
  const auto frames = ring.frames();
  ASSERT_EQ(frames.size(), messages.size());
  for (std::size_t i = 0; i < messages.size(); ++i) {
    std::string written;
    append_message(written, messages[i]);
    EXPECT_EQ(frames[i].text, written);
    EXPECT_FALSE(frames[i].text.contains('\n'));
  }
}

// N8: frames of all sizes, connections that come and go: what is there is right, the newest is always there, and the
// bounds hold.
TEST(FrameRing, KeepsTheNewestWhateverCameBefore) {
  FrameRing ring;
  std::minstd_rand random(11);
  constexpr std::int64_t frames = 2000;
  std::uint32_t channel = 0;
  std::vector<std::string> written(1);  // of each time
  for (std::int64_t time = 1; time <= frames; ++time) {
    const auto choice = random() % 500;
    written.emplace_back();
    if (choice < 3) {
      ring.opened(++channel, time);
    } else if (choice < 10) {
      ring.mark(Kind::lost, channel, time, written.back() = fmt::format("lost {}", time));
    } else {
      const std::size_t size = choice < 20 ? random() % 300'000 : choice < 100 ? random() % 8000 : random() % 100;
      const auto message = call(time, std::string(size, 'x'));
      ring.add(Kind::sent, channel, time, message);
      append_message(written.back(), message);
    }
    EXPECT_LE(ring.size(), FrameRing::most_frames);
    EXPECT_LE(ring.bytes(), FrameRing::most_bytes);
    if (time % 17 != 0) continue;
    const auto held = ring.frames();
    EXPECT_EQ(held.back().time, time);
    std::int64_t last = 0;
    for (const auto& frame : held) {
      if (frame.kind == Kind::gap) continue;
      EXPECT_LT(last, frame.time);
      last = frame.time;
      const auto& whole = written[static_cast<std::size_t>(frame.time)];
      if (frame.cut) {
        EXPECT_EQ(frame.size, whole.size());
      } else {
        ASSERT_EQ(frame.text, whole);
      }
    }
  }
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
