// Questions of permission that go through a channel: ids, what is sent, what is an answer, and which one counts. H2.
// compat: B9.2
#include "host/channels/relay.h"

#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/strings.h"
#include "support/fails_with.h"

namespace patchbay {
namespace {

using test::FailsWith;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// Bytes in order, again and again.
Random bytes(std::vector<std::uint8_t> these) {
  return [these, at = std::make_shared<std::size_t>(0)](std::span<std::uint8_t> out) {
    for (auto& byte : out) byte = these[(*at)++ % these.size()];
  };
}

PermissionQuestion question(std::string arguments, std::string description = "Sends.") {
  Tool tool;
  tool.name = "send";
  tool.description = std::move(description);
  CatalogEntry entry;
  entry.name = "mcp__mail__send";
  entry.server = "mail";
  entry.tool = std::make_shared<const Tool>(std::move(tool));
  return {entry, Payload::parse(std::move(arguments)).value(), {}, {}};
}

// H2
TEST(RelayIds, AreFiveLettersWithoutL) {
  EXPECT_EQ(relay_id(bytes({0, 1, 2, 3, 4})), "abcde");
  EXPECT_EQ(relay_id(bytes({10, 11, 12, 24, 25})), "kmnza");
  // What would make some letters likelier is passed over.
  EXPECT_EQ(relay_id(bytes({250, 255, 0, 251, 1})), "ababa");
  std::map<char, int> seen;
  const auto random = system_random();
  for (int i = 0; i < 2000; ++i) {
    const auto id = relay_id(random);
    EXPECT_TRUE(is_relay_id(id)) << id;
    for (const char c : id) ++seen[c];
  }
  EXPECT_EQ(seen.size(), 25u);
  EXPECT_FALSE(seen.contains('l'));
  for (const auto* text : {"", "abcd", "abcdef", "abcdl", "Abcde", "abc e", "abcd1"}) EXPECT_FALSE(is_relay_id(text));
}

// H2
TEST(RelayPreviews, ShowTheBeginningAndTheEnd) {
  EXPECT_EQ(relay_preview("short"), "short");
  EXPECT_EQ(relay_preview(std::string(3500, 'x')), std::string(3500, 'x'));
  const auto cut = relay_preview("BEGIN" + std::string(9000, 'x') + "END");
  EXPECT_THAT(cut, testing::StartsWith("BEGINx"));
  EXPECT_THAT(cut, testing::EndsWith("xEND"));
  EXPECT_THAT(cut, HasSubstr("characters …]"));
  std::string accents;
  for (int i = 0; i < 5000; ++i) accents += "é";
  const auto shorter = relay_preview(accents);
  EXPECT_TRUE(valid_utf8(shorter));
  std::size_t characters = 0;
  for (const char c : shorter) characters += (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  EXPECT_LE(characters, 3500u);
  EXPECT_GT(characters, 3400u);
  EXPECT_EQ(relay_preview("a\x1b[2Jb\u200bc"), "abc");
  EXPECT_LE(relay_preview(std::string(5u << 20, 'x')).size(), 3600u);
}

// H2
TEST(RelayQuestions, AreWithoutSecrets) {
  const TextSecrets secrets(Environment{{"MAIL_TOKEN", "planted-secret-value"}, {"HOME", "/home/me"}});
  const auto asked =
      relay_question("abcde",
                     question(R"({"to":"ann","password":"hunter2hunter2","nested":{"api_key":"kkkkkkkkkkkk"},)"
                              R"("header":"Bearer abcdefghijkl","note":"with planted-secret-value in it"})",
                              "Sends with planted-secret-value."),
                     secrets);
  EXPECT_EQ(asked["request_id"], Json("abcde"));
  EXPECT_EQ(asked["tool_name"], Json("mcp__mail__send"));
  const auto all = to_text(asked);
  for (const auto* secret : {"hunter2", "kkkkkk", "abcdefghijkl", "planted-secret"}) {
    EXPECT_THAT(all, Not(HasSubstr(secret)));
  }
  EXPECT_THAT(all, HasSubstr("ann"));
  EXPECT_EQ(asked.members().size(), 4u);
}

// H2
TEST(RelayVerdicts, AreReadStrictly) {
  const auto read = [](std::string_view text) { return read_relay_verdict(parse_json(text).value()); };
  const auto allowed = read(R"({"request_id":"abcde","behavior":"allow"})");
  ASSERT_TRUE(allowed);
  EXPECT_TRUE(allowed->allow);
  EXPECT_FALSE(read(R"({"request_id":"abcde","behavior":"deny"})")->allow);
  for (const auto* text :
       {"{}", R"({"request_id":"abcde"})", R"({"request_id":"abcdl","behavior":"allow"})",
        R"({"request_id":"abcde","behavior":"yes"})", R"({"request_id":"abcde","behavior":true})",
        R"({"request_id":7,"behavior":"allow"})", R"({"request_id":"ABCDE","behavior":"allow"})", "[]", "null"}) {
    EXPECT_THAT(read(text), FailsWith(Errc::protocol, HasSubstr("of an answer"))) << text;
  }
}

// H2
TEST(RelayBoards, TakeTheFirstAnswerOfAServerThatWasAsked) {
  RelayBoard board(bytes({0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 0, 5, 6, 7, 8, 9, 10}));
  std::vector<std::string> heard;
  auto note = [&](bool allow, const std::string& server) { heard.push_back(server + (allow ? " allows" : " denies")); };
  const auto first = board.add({"a", "b"}, note);
  const auto second = board.add({"b"}, note);
  EXPECT_NE(first, second);
  EXPECT_FALSE(board.answer({"zzzzz", true}, "a"));
  EXPECT_FALSE(board.answer({second, true}, "a"));  // was not asked
  EXPECT_TRUE(board.answer({first, false}, "b"));
  EXPECT_FALSE(board.answer({first, true}, "a"));  // too late
  board.remove(second);                            // somebody else has answered
  EXPECT_FALSE(board.answer({second, true}, "b"));
  EXPECT_THAT(heard, ElementsAre("b denies"));
  EXPECT_EQ(board.size(), 0u);
}

TEST(RelayBoards, AreBounded) {
  RelayBoard board(system_random());
  for (int i = 0; i < 64; ++i) EXPECT_NE(board.add({"a"}, {}), "");
  EXPECT_EQ(board.add({"a"}, {}), "");
}

}  // namespace
}  // namespace patchbay
