// What providers share. G1.
#include "agent/models/answer_parts.h"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace patchbay {
namespace {

TEST(AnswerParts, ReadArgumentsAsAnObjectOrKeepThemAsBroken) {
  const auto read = [](std::string_view text) {
    ModelToolUse use;
    read_arguments(use, text);
    return use;
  };
  EXPECT_EQ(read(R"({"a": 1})"), (ModelToolUse{.input = Json{{"a", 1}}}));
  EXPECT_EQ(read(""), ModelToolUse{});
  EXPECT_EQ(read(" \n"), ModelToolUse{});
  for (const std::string wrong : {"{\"a\": ", "[1]", "\"text\"", "null", "{\"a\":1}{\"b\":2}", "look"}) {
    EXPECT_EQ(read(wrong), ModelToolUse{.broken = wrong}) << wrong;
  }
}

TEST(AnswerParts, WriteBrokenArgumentsAsAnEmptyObject) {
  EXPECT_EQ(arguments_text({.input = Json{{"a", 1}}}), R"({"a":1})");
  EXPECT_EQ(arguments_text({.broken = "{\"a\":"}), "{}");
}

TEST(AnswerParts, FindWhatAMessageQuotesFirst) {
  EXPECT_EQ(first_quoted("Invalid value: 'a_b'. Supported are: 'c'"), "a_b");
  EXPECT_EQ(first_quoted("Unexpected value(s) `it's` for the `x` header"), "it's");
  EXPECT_EQ(first_quoted("role \"system\""), "system");
  for (const auto* none : {"", "nothing", "it isn't", "''"}) EXPECT_EQ(first_quoted(none), "") << none;
}

TEST(AnswerParts, NoticeTheEndOfAnObjectInPieces) {
  const auto reached = [](const std::vector<std::string>& pieces) {
    ObjectEnd end;
    for (const auto& piece : pieces) end.feed(piece);
    return end.reached();
  };
  EXPECT_TRUE(reached({"{}"}));
  EXPECT_TRUE(reached({"{\"a\": [1, {\"b", "\": \"}\\", "\"{\"}]}"}));
  EXPECT_FALSE(reached({""}));
  EXPECT_FALSE(reached({"}"}));
  EXPECT_FALSE(reached({"{\"a\": \"}"}));
  EXPECT_FALSE(reached({"{\"a\": {}"}));
}

TEST(AnswerParts, MakeUpIdsThatTheConversationDoesNotHave) {
  auto message = std::make_shared<ModelMessage>();
  message->role = Role::assistant;
  message->parts = {ModelToolUse{.id = "call_2"}, ModelToolUse{.id = "abc"}};
  CallIds ids({.messages = {message}});
  EXPECT_EQ(ids.take("new"), "new");
  EXPECT_EQ(ids.take(""), "call_3");
  EXPECT_EQ(ids.take("abc"), "call_4");
  EXPECT_EQ(ids.take("new"), "call_5");
  EXPECT_EQ(ids.take(std::string(1'000, 'x')), "call_6");
  CallIds first(ModelRequest{});
  EXPECT_EQ(first.take(""), "call_1");
}

TEST(AnswerParts, KeepNamesAndIdsWithinWhatAnApiTakes) {
  EXPECT_EQ(plain_name("mcp__files__read-all", 64), "mcp__files__read-all");
  EXPECT_EQ(plain_name("functions.look it/up", 64), "functions_look_it_up");
  EXPECT_EQ(plain_name("long", 2), "lo");
  EXPECT_EQ(plain_name("", 64), "unknown");
  EXPECT_EQ(plain_id("call_1", 64), "call_1");
  const std::string many(300, 'x');
  std::set<std::string> ids;
  for (const auto& id : {std::string("a_b"), std::string("a.b"), std::string("a:b"), many, many + "y", many + "z"}) {
    EXPECT_LE(plain_id(id, 64).size(), 64u);
    EXPECT_TRUE(ids.insert(plain_id(id, 64)).second) << id;
  }
  EXPECT_EQ(short_id("call_1", 40), "call_1");
  const std::string long_id(41, 'x');
  EXPECT_EQ(short_id(long_id, 40).size(), 32u);
  EXPECT_EQ(short_id(long_id, 40), short_id(long_id, 40));
  EXPECT_NE(short_id(long_id, 40), short_id(long_id + "y", 40));
}

TEST(AnswerParts, WriteAnImageAsAUrl) {
  EXPECT_EQ(data_url({.data = "AAAA", .mime_type = "image/png"}), "data:image/png;base64,AAAA");
}

}  // namespace
}  // namespace patchbay
