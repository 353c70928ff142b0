// Messages on a byte stream that is cut anywhere: in the middle of a UTF-8 sequence, of an
// escape, of a number, between carriage return and line feed. What comes out of the line
// reader and the decoder never depends on how the bytes were read.
#include <cstring>
#include <random>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "process/line_reader.h"
#include "rpc/message.h"

namespace patchbay {
namespace {

struct Seen {
  std::vector<std::string> messages;
  std::uint64_t junk = 0;
  bool too_long = false;
  bool operator==(const Seen&) const = default;
};

std::ostream& operator<<(std::ostream& out, const Seen& seen) {
  for (const auto& message : seen.messages) out << message << "\n";
  return out << seen.junk << " junk lines" << (seen.too_long ? ", too long" : "");
}

// Reads like a channel does: one piece at a time, all complete lines after each.
class Reading {
 public:
  explicit Reading(std::size_t limit = 1u << 20) : reader_(limit) {}

  void feed(std::string_view bytes) {
    while (!bytes.empty()) {
      const auto room = reader_.room();
      const auto part = std::min(room.size(), bytes.size());
      std::memcpy(room.data(), bytes.data(), part);
      reader_.commit(part);
      bytes.remove_prefix(part);
      while (auto line = reader_.next()) decode(*line);
    }
  }
  Seen end() {
    if (auto line = reader_.rest()) decode(*line);
    seen_.junk = reader_.junk_lines();
    seen_.too_long = reader_.too_long();
    return seen_;
  }

 private:
  void decode(const LineReader::Line& line) {
    const auto decoded = decode_messages(line.block, line.text);
    if (!decoded) {
      seen_.messages.push_back(decoded.error().message());
      return;
    }
    for (const auto& message : decoded->messages) {
      std::string text;
      append_message(text, message);
      seen_.messages.push_back(std::move(text));
    }
  }

  LineReader reader_;
  Seen seen_;
};

// Characters of one to four bytes, escapes, every kind of message, a batch, blank lines, junk,
// a broken line, both line ends, and a last line without one.
const std::string sample =
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\"}\n"
    "{\"jsonrpc\":\"2.0\",\"id\":\"\xC3\xA9\",\"result\":{\"t\":\"x\xC3\xA9y\xE2\x82\xACz\xF0\x9F\x98\x80\"}}\r\n"
    "\r\n  \t\n"
    "ready \xE2\x82\xAC { not json\n"
    "\xEF\xBB\xBF{\"jsonrpc\":\"2.0\",\"method\":\"behind a mark\"}\n"
    "{\"jsonrpc\":\"2.0\",\"method\":\"\\ud83d\\ude00\\\"\\\\\",\"params\":[-1.5e3,12345678901234567890123]}\n"
    "[{\"jsonrpc\":\"2.0\",\"method\":\"n\"},{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":\"\xF4\x8F\xBF\xBF\xC2\x80\"}]"
    "\r\n"
    "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":\"\xF0\x9F\x98\"}\n"
    "{\"jsonrpc\":\"2.0\",\"id\":4,\"error\":{\"code\":-1,\"message\":\"\xE0\xA0\x80\xED\x9F\xBF\xEE\x80\x80\"}}\n"
    "{\"jsonrpc\":\"2.0\",\"method\":\"last \xF0\x90\x80\x80\"}";

Seen whole() {
  Reading reading;
  reading.feed(sample);
  return reading.end();
}

TEST(Framing, TheSampleReadAtOnceIsWhatItShouldBe) {
  const Seen expected{
      .messages =
          {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\"}",
           "{\"jsonrpc\":\"2.0\",\"id\":\"\xC3\xA9\",\"result\":{\"t\":\"x\xC3\xA9y\xE2\x82\xACz\xF0\x9F\x98\x80\"}}",
           "{\"jsonrpc\":\"2.0\",\"method\":\"\xF0\x9F\x98\x80\\\"\\\\\",\"params\":[-1.5e3,12345678901234567890123]}",
           "{\"jsonrpc\":\"2.0\",\"method\":\"n\"}",
           "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":\"\xF4\x8F\xBF\xBF\xC2\x80\"}", "invalid UTF-8 at byte 34",
           "{\"jsonrpc\":\"2.0\",\"id\":4,\"error\":{\"code\":-1,\"message\":\"\xE0\xA0\x80\xED\x9F\xBF\xEE\x80\x80\"}"
           "}",
           "{\"jsonrpc\":\"2.0\",\"method\":\"last \xF0\x90\x80\x80\"}"},
      .junk = 2,
      .too_long = false};
  EXPECT_EQ(whole(), expected);
}

// T1: at every byte, so inside every sequence at each of its borders.
TEST(Framing, ASplitAtAnyByteChangesNothing) {
  const auto expected = whole();
  for (std::size_t at = 0; at <= sample.size(); ++at) {
    Reading reading;
    reading.feed(std::string_view(sample).substr(0, at));
    reading.feed(std::string_view(sample).substr(at));
    ASSERT_EQ(reading.end(), expected) << "split at byte " << at;
  }
}

TEST(Framing, PiecesOfAnySizeChangeNothing) {
  const auto expected = whole();
  for (std::size_t size = 1; size <= 64; ++size) {
    Reading reading;
    for (std::size_t at = 0; at < sample.size(); at += size) reading.feed(std::string_view(sample).substr(at, size));
    ASSERT_EQ(reading.end(), expected) << "pieces of " << size;
  }
}

TEST(Framing, ThreePiecesAroundEveryMultiByteSequenceChangeNothing) {
  const auto expected = whole();
  for (std::size_t first = 0; first < sample.size(); ++first) {
    if (static_cast<unsigned char>(sample[first]) < 0x80) continue;
    for (std::size_t second = first; second <= std::min(first + 5, sample.size()); ++second) {
      Reading reading;
      reading.feed(std::string_view(sample).substr(0, first));
      reading.feed(std::string_view(sample).substr(first, second - first));
      reading.feed(std::string_view(sample).substr(second));
      ASSERT_EQ(reading.end(), expected) << first << " and " << second;
    }
  }
}

TEST(Framing, RandomPiecesOfALongStreamChangeNothing) {
  std::string stream;
  for (int i = 0; i < 200; ++i) stream += sample + "\n";
  Reading once;
  once.feed(stream);
  const auto expected = once.end();
  EXPECT_EQ(expected.messages.size(), 200 * whole().messages.size());
  EXPECT_EQ(expected.junk, 400u);
  std::mt19937 random(8259);
  for (int round = 0; round < 20; ++round) {
    Reading reading;
    for (std::size_t at = 0; at < stream.size();) {
      const std::size_t size = 1 + random() % (round < 10 ? 50 : 20'000);
      reading.feed(std::string_view(stream).substr(at, size));
      at += size;
    }
    ASSERT_EQ(reading.end(), expected) << "round " << round;
  }
}

// The borders of the reader's own blocks: a multi-byte character across each of them.
TEST(Framing, SequencesAcrossTheBlocksOfTheReaderStayWhole) {
  for (const std::size_t border : {std::size_t{16} << 10, std::size_t{64} << 10, std::size_t{128} << 10}) {
    for (std::size_t back = 0; back <= 5; ++back) {
      const std::string head = R"({"jsonrpc":"2.0","id":1,"result":")";
      const std::string text = head + std::string(border - back - head.size(), 'x') + "\xF0\x9F\x98\x80\"}";
      Reading reading;
      reading.feed(text + "\n" + text);
      EXPECT_EQ(reading.end(), (Seen{{text, text}, 0, false})) << border << " - " << back;
    }
  }
}

// A line cut by the end of the stream inside a character is refused, never repaired.
TEST(Framing, AStreamThatEndsInsideASequenceGivesAnError) {
  const std::string head = R"({"jsonrpc":"2.0","id":1,"result":")";
  for (const std::string character : {"\xC3\xA9", "\xE2\x82\xAC", "\xF0\x9F\x98\x80"}) {
    for (std::size_t length = 1; length < character.size(); ++length) {
      Reading reading;
      reading.feed(head + character.substr(0, length));
      EXPECT_EQ(reading.end().messages,
                (std::vector<std::string>{fmt::format("invalid UTF-8 at byte {}", head.size())}));
    }
    Reading reading;
    reading.feed(head + character);
    EXPECT_EQ(reading.end().messages,
              (std::vector<std::string>{fmt::format("unterminated string at byte {}", head.size() - 1)}));
  }
}

}  // namespace
}  // namespace patchbay
