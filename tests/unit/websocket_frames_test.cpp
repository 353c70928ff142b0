// T4: every frame a peer can send, good and bad, and what we send.
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ws/frames.h"

namespace patchbay {
namespace {

using namespace std::string_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Kind = WebSocketEvent::Kind;
using Opcode = WebSocketOpcode;

std::string hex(std::string_view text) {
  std::string bytes;
  int high = -1;
  for (char c : text) {
    if (c == ' ') continue;
    const int value = c <= '9' ? c - '0' : c - 'A' + 10;
    if (high < 0) {
      high = value;
    } else {
      bytes.push_back(static_cast<char>(high * 16 + value));
      high = -1;
    }
  }
  return bytes;
}

struct Outcome {
  std::vector<WebSocketEvent> events;
  std::string fault;
  Errc code = Errc::internal;
  std::uint16_t told = 0;
  bool operator==(const Outcome&) const = default;
};

Outcome read(std::string_view bytes, WebSocketRole role = WebSocketRole::client, std::size_t limit = 1000,
             std::size_t piece = std::string::npos) {
  WebSocketReader reader(role, limit);
  Outcome outcome;
  while (!bytes.empty()) {
    auto fed = reader.feed(bytes.substr(0, piece));
    bytes.remove_prefix(std::min(piece, bytes.size()));
    while (auto event = reader.next()) outcome.events.push_back(std::move(*event));
    if (fed) continue;
    outcome.fault = fed.error().message();
    outcome.code = fed.error().code();
    outcome.told = reader.fault_code();
    break;
  }
  return outcome;
}

std::string frame(Opcode opcode, std::string_view payload, bool final = true) {
  std::string out;
  append_frame(out, opcode, payload, std::nullopt, final);
  return out;
}

TEST(WebSocketReader, GoodFrames_BecomeEvents) {
  struct Case {
    const char* what;
    std::string bytes;
    std::vector<WebSocketEvent> events;
  };
  const std::vector<Case> cases{
      // The examples of RFC 6455, section 5.7.
      {"text", hex("81 05 48 65 6C 6C 6F"), {{Kind::text, "Hello", 0}}},
      {"fragmented", hex("01 03 48 65 6C 80 02 6C 6F"), {{Kind::text, "Hello", 0}}},
      {"ping", hex("89 05 48 65 6C 6C 6F"), {{Kind::ping, "Hello", 0}}},
      {"binary of 256 bytes", hex("82 7E 01 00") + std::string(256, 'x'), {{Kind::binary, std::string(256, 'x'), 0}}},
      {"empty text", hex("81 00"), {{Kind::text, "", 0}}},
      {"a ping between fragments",
       frame(Opcode::text, "ab", false) + frame(Opcode::ping, "?") + frame(Opcode::continuation, "", false) +
           frame(Opcode::continuation, "c"),
       {{Kind::ping, "?", 0}, {Kind::text, "abc", 0}}},
      {"UTF-8 cut between fragments",
       frame(Opcode::text, "\xC3", false) + frame(Opcode::continuation, "\xBC"),
       {{Kind::text, "\xC3\xBC", 0}}},
      {"a binary message may hold anything", frame(Opcode::binary, "\xFF\x00"s), {{Kind::binary, "\xFF\x00"s, 0}}},
      {"pong", frame(Opcode::pong, ""), {{Kind::pong, "", 0}}},
      {"close without a code", hex("88 00"), {{Kind::close, "", 1005}}},
      {"close with code and reason",
       frame(Opcode::close,
             "\x03\xE9"
             "bye"),
       {{Kind::close, "bye", 1001}}},
      {"close of an application", frame(Opcode::close, hex("0F A1")), {{Kind::close, "", 4001}}},
      {"what stands behind a close is dropped", frame(Opcode::close, "") + "garbage", {{Kind::close, "", 1005}}},
      {"a close ends an unfinished message",
       frame(Opcode::text, "ab", false) + frame(Opcode::close, hex("03 E8")),
       {{Kind::close, "", 1000}}},
      {"several at once",
       frame(Opcode::text, "a") + frame(Opcode::text, "b"),
       {{Kind::text, "a", 0}, {Kind::text, "b", 0}}},
  };
  for (const auto& c : cases) {
    for (std::size_t piece : {std::string::npos, std::size_t{1}, std::size_t{3}}) {
      SCOPED_TRACE(fmt::format("{}, in pieces of {}", c.what, piece));
      EXPECT_EQ(read(c.bytes, WebSocketRole::client, 1000, piece), (Outcome{c.events, "", Errc::internal, 0}));
    }
  }
}

TEST(WebSocketReader, BadFrames_AreFaultsWithTheirCode) {
  struct Case {
    const char* bytes;
    const char* fault;
    std::uint16_t told;
  };
  const Case cases[] = {
      {"C1 00", "reserved bits", 1002},
      {"A1 00", "reserved bits", 1002},
      {"91 00", "reserved bits", 1002},
      {"83 00", "unknown opcode 3", 1002},
      {"8B 00", "unknown opcode 11", 1002},
      {"81 80", "masked", 1002},
      {"09 00", "control frame is fragmented", 1002},
      {"89 7E", "longer than 125", 1002},
      {"88 7F", "longer than 125", 1002},
      {"80 00", "did not begin", 1002},
      {"01 00 81 00", "has ended", 1002},
      {"01 00 82 00", "has ended", 1002},
      {"81 7E 00 7D", "shortest form", 1002},
      {"81 7F 00 00 00 00 00 00 FF FF", "shortest form", 1002},
      {"81 7F 80 00 00 00 00 00 00 00", "negative", 1002},
      {"81 02 C3 28", "not valid UTF-8", 1007},
      {"81 01 C3", "not valid UTF-8", 1007},
      {"81 03 ED A0 80", "not valid UTF-8", 1007},
      {"88 01 03", "half a code", 1002},
      {"88 02 03 E7", "code 999", 1002},
      {"88 02 03 EC", "code 1004", 1002},
      {"88 02 03 ED", "code 1005", 1002},
      {"88 02 03 EE", "code 1006", 1002},
      {"88 02 03 F7", "code 1015", 1002},
      {"88 02 07 D0", "code 2000", 1002},
      {"88 02 13 88", "code 5000", 1002},
      {"88 03 03 E8 FF", "reason of a close frame", 1007},
  };
  for (const auto& c : cases) {
    for (std::size_t piece : {std::string::npos, std::size_t{1}}) {
      SCOPED_TRACE(fmt::format("{} in pieces of {}", c.bytes, piece));
      const auto outcome = read(hex(c.bytes), WebSocketRole::client, 1000, piece);
      EXPECT_THAT(outcome.events, IsEmpty());
      EXPECT_THAT(outcome.fault, HasSubstr(c.fault));
      EXPECT_EQ(outcome.code, Errc::protocol);
      EXPECT_EQ(outcome.told, c.told);
    }
  }
}

TEST(WebSocketReader, Server_TakesMaskedFramesAlone) {
  // RFC 6455, section 5.7.
  EXPECT_THAT(read(hex("81 85 37 FA 21 3D 7F 9F 4D 51 58"), WebSocketRole::server).events,
              ElementsAre(WebSocketEvent{Kind::text, "Hello", 0}));
  EXPECT_THAT(read(hex("81 05 48 65 6C 6C 6F"), WebSocketRole::server).fault, HasSubstr("not masked"));
}

// 64 MiB pass, one byte more does not; judged by what is announced.
TEST(WebSocketReader, MessageOverTheLimit_IsRefusedBeforeItIsRead) {
  EXPECT_EQ(read(frame(Opcode::text, std::string(1000, 'x'))).events.size(), 1u);
  const auto over = read(frame(Opcode::text, std::string(1001, 'x')).substr(0, 4));
  EXPECT_EQ(over.code, Errc::limit);
  EXPECT_EQ(over.told, 1009);
  EXPECT_THAT(over.fault, HasSubstr("more than 1000 bytes"));
  const auto sum = read(frame(Opcode::text, std::string(600, 'x'), false) +
                        frame(Opcode::continuation, std::string(401, 'x')).substr(0, 4));
  EXPECT_EQ(sum.code, Errc::limit);
  EXPECT_EQ(read(frame(Opcode::text, std::string(600, 'x'), false) + frame(Opcode::continuation, std::string(400, 'x')))
                .events.size(),
            1u);
  EXPECT_EQ(read(hex("81 7F 7F FF FF FF FF FF FF FF")).code, Errc::limit);
  // A control frame does not count.
  EXPECT_EQ(read(frame(Opcode::text, std::string(1000, 'x'), false) + frame(Opcode::ping, std::string(125, '?')) +
                 frame(Opcode::continuation, ""))
                .events.size(),
            2u);
}

TEST(WebSocketReader, WhatCameBeforeAFault_IsHandedOut) {
  WebSocketReader reader(WebSocketRole::client, 100);
  EXPECT_FALSE(reader.feed(frame(Opcode::text, "good") + hex("C1 00")));
  EXPECT_EQ(reader.next(), (WebSocketEvent{Kind::text, "good", 0}));
  EXPECT_EQ(reader.next(), std::nullopt);
  EXPECT_FALSE(reader.feed(frame(Opcode::text, "more"))) << "a fault stays";
  EXPECT_EQ(reader.next(), std::nullopt);
}

TEST(WebSocketReader, Unfinished_TellsACutMessage) {
  WebSocketReader reader(WebSocketRole::client, 100);
  EXPECT_EQ(reader.unfinished(), 0u);
  EXPECT_TRUE(reader.feed(hex("81")));
  EXPECT_GT(reader.unfinished(), 0u);
  EXPECT_TRUE(reader.feed(hex("02 61")));
  EXPECT_GT(reader.unfinished(), 0u);
  EXPECT_TRUE(reader.feed("b"));
  EXPECT_EQ(reader.unfinished(), 0u);
}

TEST(WebSocketFrames, EveryLength_ComesBackAsItWas) {
  for (std::size_t size : {0, 1, 7, 8, 9, 125, 126, 127, 65535, 65536, 70001}) {
    SCOPED_TRACE(size);
    std::string payload(size, '\0');
    for (std::size_t i = 0; i < size; ++i) payload[i] = static_cast<char>('a' + i % 26);
    for (const bool masked : {false, true}) {
      std::string bytes = "front";
      append_frame(bytes, Opcode::text, payload,
                   masked ? std::optional(WebSocketMask{0x37, 0xFA, 0x21, 0x3D}) : std::nullopt);
      const auto role = masked ? WebSocketRole::server : WebSocketRole::client;
      for (std::size_t piece : {std::string::npos, std::size_t{5}}) {
        EXPECT_EQ(read(std::string_view(bytes).substr(5), role, 1u << 20, piece).events,
                  (std::vector{WebSocketEvent{Kind::text, payload, 0}}));
      }
    }
  }
}

TEST(WebSocketFrames, Masked_AsTheStandardShows) {
  std::string bytes;
  append_frame(bytes, Opcode::text, "Hello", WebSocketMask{0x37, 0xFA, 0x21, 0x3D});
  EXPECT_EQ(bytes, hex("81 85 37 FA 21 3D 7F 9F 4D 51 58"));
}

TEST(WebSocketFrames, CloseReason_IsCutToWhatFits) {
  EXPECT_EQ(close_payload(1002, "why"), hex("03 EA") + "why");
  std::string longer;
  for (int i = 0; i < 100; ++i) longer += "\xC3\xBC";
  const auto payload = close_payload(1002, longer);
  EXPECT_EQ(payload.size(), 124u) << "123 would be half a letter";
  EXPECT_EQ(describe_close_code(1011), "1011 (internal error)");
  EXPECT_EQ(describe_close_code(4321), "4321");
}

}  // namespace
}  // namespace patchbay
