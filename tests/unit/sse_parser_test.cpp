#include "http/sse_parser.h"

#include <random>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace patchbay {
namespace {

using namespace std::literals;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::size_t plenty = 1u << 20;

SseEvent event(std::string data, std::string name = {}, std::optional<std::string> id = {},
               std::optional<std::chrono::milliseconds> retry = {}) {
  return {.event = std::move(name), .data = std::move(data), .id = std::move(id), .retry = retry};
}

struct Outcome {
  std::vector<SseEvent> events;
  std::string last_id;
  std::optional<std::chrono::milliseconds> retry;
  std::uint64_t comments = 0;
  bool mid_event = false;
  std::optional<Errc> failure;
  bool operator==(const Outcome&) const = default;
};

// `cut` says how many bytes the next chunk has.
template <class Cut>
Outcome parse(std::string_view stream, std::size_t limit, Cut cut) {
  SseParser parser(limit);
  Outcome out;
  while (!stream.empty() && !out.failure) {
    const auto chunk = stream.substr(0, cut());
    stream.remove_prefix(chunk.size());
    if (auto fed = parser.feed(chunk); !fed) out.failure = fed.error().code();
    while (auto found = parser.next()) out.events.push_back(std::move(*found));
  }
  out.last_id = parser.last_id();
  out.retry = parser.retry();
  out.comments = parser.comments();
  out.mid_event = parser.mid_event();
  return out;
}

Outcome parse_whole(std::string_view stream, std::size_t limit = plenty) {
  return parse(stream, limit, [&] { return stream.size(); });
}

struct Case {
  const char* what;
  std::string_view stream;
  std::vector<SseEvent> events;
};

const std::vector<Case>& cases() {
  static const std::vector<Case> table{
      {"one line", "data: a\n\n", {event("a")}},
      {"no blank behind the colon", "data:a\n\n", {event("a")}},
      {"only one blank is taken away", "data:  a \n\n", {event(" a ")}},
      {"CR", "data: a\rdata: b\r\r", {event("a\nb")}},
      {"CRLF", "data: a\r\ndata: b\r\n\r\n", {event("a\nb")}},
      {"mixed line ends", "data: a\n\rdata: b\r\n\n", {event("a"), event("b")}},
      {"several data lines", "data: a\ndata:\ndata: c\n\n", {event("a\n\nc")}},
      {"a name", "event: ping\ndata: {}\n\n", {event("{}", "ping")}},
      {"the name message", "event: message\ndata: {}\n\n", {event("{}", "message")}},
      {"a name alone is no event", "event: ping\n\ndata: x\n\n", {event("x")}},
      {"an id", "id: 7\ndata: x\n\n", {event("x", "", "7")}},
      {"an id is not inherited", "id: 7\ndata: x\n\ndata: y\n\n", {event("x", "", "7"), event("y")}},
      {"an empty id", "id\ndata: x\n\n", {event("x", "", "")}},
      {"an id with NUL is ignored", "id: a\0b\ndata: x\n\n"sv, {event("x")}},
      {"priming: an id and empty data", "id: 1\ndata:\n\n", {event("", "", "1")}},
      {"priming: an id alone", "id: 1\n\n", {event("", "", "1")}},
      {"retry", "retry: 500\ndata: x\n\n", {event("x", "", {}, 500ms)}},
      {"retry alone", "retry: 500\n\n", {event("", "", {}, 500ms)}},
      {"retry with a sign", "retry: -1\ndata: x\n\n", {event("x")}},
      {"retry with a fraction", "retry: 1.5\ndata: x\n\n", {event("x")}},
      {"retry without a number", "retry:\ndata: x\n\n", {event("x")}},
      {"comments", ": hello\ndata: x\n:\n\n", {event("x")}},
      {"unknown fields", "foo: bar\ndata: x\nfoo\n Data: y\n\n", {event("x")}},
      {"a field without a colon", "data\n\n", {event("")}},
      {"blank lines between", "\n\n\ndata: x\n\n\n\n", {event("x")}},
      {"a byte order mark",
       "\xEF\xBB\xBF"
       "data: x\n\n",
       {event("x")}},
      {"a second byte order mark is part of a name",
       "\xEF\xBB\xBF\xEF\xBB\xBF"
       "data: x\n\n",
       {}},
      {"half a byte order mark",
       "\xEF\xBB"
       "data: x\n\ndata: y\n\n",
       {event("y")}},
      {"UTF-8", "data: gr\xC3\xBC\xC3\x9F \xF0\x9F\x98\x80\n\n", {event("gr\xC3\xBC\xC3\x9F \xF0\x9F\x98\x80")}},
      {"U+2028 is no line end",
       "data: a\xE2\x80\xA8"
       "b\n\n",
       {event("a\xE2\x80\xA8"
              "b")}},
      {"an unfinished event is dropped", "data: x\n\ndata: y\n", {event("x")}},
      {"an unfinished line is dropped", "data: x\n\ndata: y", {event("x")}},
      {"nothing", "", {}},
  };
  return table;
}

TEST(SseParser, Streams_AreReadAsTheStandardSays) {
  for (const auto& c : cases()) {
    SCOPED_TRACE(c.what);
    const auto out = parse_whole(c.stream);
    EXPECT_EQ(out.events, c.events);
    EXPECT_FALSE(out.failure);
  }
}

// T2: where the network cuts a stream changes nothing, also inside a line end or a character.
TEST(SseParser, Chunking_ChangesNothing) {
  std::mt19937 random(1);
  for (const auto& c : cases()) {
    SCOPED_TRACE(c.what);
    const auto expected = parse_whole(c.stream);
    EXPECT_EQ(parse(c.stream, plenty, [] { return 1; }), expected);
    for (std::size_t first = 1; first < c.stream.size(); ++first) {
      bool begun = false;
      EXPECT_EQ(parse(c.stream, plenty, [&] { return std::exchange(begun, true) ? c.stream.size() : first; }), expected)
          << "cut behind byte " << first;
    }
    for (int round = 0; round < 20; ++round) {
      EXPECT_EQ(parse(c.stream, plenty, [&] { return 1 + random() % 5; }), expected);
    }
  }
}

TEST(SseParser, LastId_IsThatOfACompleteEvent) {
  EXPECT_EQ(parse_whole("id: 1\ndata: x\n\nid: 2\ndata: y\n").last_id, "1");
  EXPECT_EQ(parse_whole("id: 1\n\ndata: x\n\n").last_id, "1");
  EXPECT_EQ(parse_whole("id: 1\n\nid\n\n").last_id, "");
  EXPECT_EQ(parse_whole("id: 1\n\nid: a\0b\n\n"sv).last_id, "1");
}

TEST(SseParser, Retry_CountsAtOnceAndIsBounded) {
  EXPECT_EQ(parse_whole("retry: 20\n").retry, 20ms);
  EXPECT_EQ(parse_whole("retry: 20\n\nretry: x\n\n").retry, 20ms);
  EXPECT_EQ(parse_whole("retry: 999999999999999999999999\n").retry, std::chrono::milliseconds::max());
}

TEST(SseParser, Comments_AreCountedAsSignsOfLife) {
  const auto out = parse_whole(":\n: keep-alive\n\n:x\n");
  EXPECT_EQ(out.comments, 3u);
  EXPECT_THAT(out.events, IsEmpty());
}

// L7: whatever belongs to no event that is reported can be sent without end, so it is counted.
TEST(SseParser, WhatBelongsToNoEvent_IsCounted) {
  SseParser parser(1000);
  ASSERT_TRUE(parser.feed(":a\n\n\nfield: x\nretry: soon\nevent: e\n\ndata: 1\nevent: m\n\n"));
  EXPECT_EQ(parser.ignored_lines(), 6u) << "a comment, two blank lines, two fields, an event of nothing";
  EXPECT_EQ(parser.ignored_bytes(), 2u + 8u + 11u + 1u);
  EXPECT_TRUE(parser.next());
  EXPECT_FALSE(parser.next());
}

// The search for a line end passes each byte once for each kind of end, also where only the other kind comes.
TEST(SseParser, ManyLinesOfEitherEnd_AreReadInOnePass) {
  for (const std::string end : {"\n", "\r", "\r\n"}) {
    std::string stream;
    for (int i = 0; i < 500'000; ++i) stream += ":" + end;
    stream += "data: last" + end + end;
    SseParser parser(1000);
    ASSERT_TRUE(parser.feed(stream));
    EXPECT_EQ(parser.comments(), 500'000u);
    const auto event = parser.next();
    ASSERT_TRUE(event);
    EXPECT_EQ(event->data, "last");
  }
}

TEST(SseParser, MidEvent_TellsACutStreamFromAnEndedOne) {
  EXPECT_FALSE(parse_whole("data: x\n\n").mid_event);
  EXPECT_FALSE(parse_whole(": comment\n").mid_event);
  EXPECT_TRUE(parse_whole("data: x\n").mid_event);
  EXPECT_TRUE(parse_whole("data: x\n\nda").mid_event);
}

// T2: an event over the limit is an error, however it arrives; one just within it is not.
TEST(SseParser, EventOverTheLimit_FailsAndStaysFailed) {
  const std::string fits(1000, 'x');
  const std::string too_long(1001, 'x');
  for (std::size_t chunk : {1u, 7u, 100'000u}) {
    SCOPED_TRACE(chunk);
    auto cut = [&] { return chunk; };
    EXPECT_THAT(parse("data: " + fits + "\n\n", 1000, cut).events, ElementsAre(event(fits)));
    EXPECT_EQ(parse("data: " + too_long + "\n\n", 1000, cut).failure, Errc::limit);
    EXPECT_EQ(parse("data: " + too_long, 990, cut).failure, Errc::limit);
    EXPECT_EQ(parse(": " + too_long + too_long, 1000, cut).failure, Errc::limit);
    std::string lines;
    for (int i = 0; i < 1002; ++i) lines += "data:\n";
    EXPECT_EQ(parse(lines, 1000, cut).failure, Errc::limit);
    EXPECT_EQ(parse("id: " + fits + "\ndata: x\n\n", 1000, cut).failure, Errc::limit);
    // Events before it are delivered, and small ones never add up to a large one.
    EXPECT_THAT(parse("data: a\n\ndata: " + too_long, 1000, cut).events, ElementsAre(event("a")));
    std::string many;
    for (int i = 0; i < 500; ++i) many += "data: 0123456789\n\n";
    EXPECT_EQ(parse(many, 10, cut).events.size(), 500u);
  }
  SseParser parser(4);
  EXPECT_FALSE(parser.feed("data: 12345\n\n"));
  EXPECT_FALSE(parser.feed("data: 1\n\n"));
  EXPECT_FALSE(parser.next());
}

}  // namespace
}  // namespace patchbay
