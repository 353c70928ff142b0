// Messages in a file: what is written is read as the same. C10.
#include "agent/conversation/message_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/conversation/record.h"

namespace patchbay {
namespace {

using testing::HasSubstr;

ModelTool tool(std::string name) {
  return {.name = std::move(name),
          .catalog_name = "mcp__a__b",
          .description = "does it",
          .input_schema = std::make_shared<const Json>(Json{{"type", "object"}}),
          .changes = {"a keyword was left out"}};
}

std::vector<ModelMessage> messages_to_keep() {
  return {
      {.role = Role::user},
      {.role = Role::user, .parts = {ModelText{"hello \u00e9 \"quoted\"\n"}, ModelImage{"AAAA", "image/png", 3, 4}}},
      {.role = Role::assistant,
       .parts = {ProviderBlock{"anthropic", Json{{"type", "thinking"}, {"signature", "x"}}}, ModelText{"I look."},
                 ModelToolUse{.id = "1", .name = "mcp__a__b", .input = Json{{"path", "a"}, {"n", 9007199254740993}}},
                 ModelToolUse{.id = "2", .name = "b", .broken = "{\"a\": "}}},
      {.role = Role::user,
       .parts = {ModelToolOutcome{.id = "1",
                                  .name = "mcp__a__b",
                                  .blocks = {ModelText{"yes"}, ModelImage{"BBBB", "image/webp", 1, 1}},
                                  .found = {"mcp__a__c"}},
                 ModelToolOutcome{.id = "2", .name = "b", .is_error = true},
                 ModelNews{.text = "new tools", .added = {tool("x"), tool("y")}, .removed = {"z"}}}},
  };
}

TEST(MessageJson, ReadsWhatItWrites) {
  for (const auto& message : messages_to_keep()) {
    const auto text = to_text(to_json(message));
    const auto json = parse_json(text);
    ASSERT_TRUE(json) << text;
    const auto read = read_message(*json);
    ASSERT_TRUE(read) << text << ": " << read.error().message();
    EXPECT_EQ(*read, message) << text;
  }
  const ModelUsage usage{.input = 1, .cache_read = 2, .cache_written = 3, .output = 4, .cache_miss = "tools changed"};
  EXPECT_EQ(read_usage(to_json(usage)), usage);
}

TEST(MessageJson, SaysWhatIsWrongAndWhere) {
  struct Case {
    const char* json;
    const char* says;
  };
  const Case cases[] = {
      {"[]", "expected an object, found an array"},
      {R"({"parts": []})", "role: expected a text, found null"},
      {R"({"role": "system", "parts": []})", "role: expected a role"},
      {R"({"role": "user"})", "parts: expected a list, found null"},
      {R"({"role": "user", "parts": [{"type": "text", "text": "a"}, {"type": "text"}]})", "parts[1].text: expected"},
      {R"({"role": "user", "parts": [{"type": "video", "data": ""}]})", "a newer one has written it"},
      {R"({"role": "user", "parts": [{"type": "tool_outcome", "id": "1", "name": "", "blocks": [{"type": "audio"}]}]})",
       "parts[0].blocks[0]: a part of the type \"audio\""},
      {R"({"role": "assistant", "parts": [{"type": "tool_use", "id": "1", "name": "a", "input": []}]})",
       "parts[0].input: expected an object, found an array"},
      {R"({"role": "user", "parts": [{"type": "image", "data": "", "mimeType": "", "width": 4294967296}]})",
       "parts[0].width: expected a number in its range"},
      {R"({"role": "user", "parts": [{"type": "news", "text": "", "added": [{"name": "a"}]}]})",
       "parts[0].added[0].description: expected a text"},
  };
  for (const auto& c : cases) {
    const auto read = read_message(*parse_json(c.json));
    ASSERT_FALSE(read) << c.json;
    EXPECT_EQ(read.error().code(), Errc::config);
    EXPECT_THAT(read.error().message(), HasSubstr(c.says));
  }
}

TEST(MessageJson, PassesOverMembersItDoesNotKnow) {
  const auto read = read_message(
      *parse_json(R"({"role": "user", "later": 1, "parts": [{"type": "text", "text": "a", "later": {"x": 1}}]})"));
  ASSERT_TRUE(read);
  EXPECT_EQ(text_of(*read), "a");
}

TEST(ConversationRecord, RefusesWhatANewerVersionHasWritten) {
  const auto id = conversation_id(12345);
  const auto head = write_head({.id = id, .directory = "/d"});
  EXPECT_TRUE(read_conversation(head, 10));
  auto says = [](const auto& result) { return result ? std::string("nothing") : result.error().message(); };
  EXPECT_THAT(says(read_conversation("{\"patchbayConversation\": 2}\n", 10)), HasSubstr("newer version"));
  EXPECT_THAT(says(read_conversation(head + "{\"holographic\": {}}\n", 10)), HasSubstr("line 2: an event that"));
  EXPECT_THAT(says(read_conversation("{}\n", 10)), HasSubstr("no conversation"));
  EXPECT_THAT(says(read_conversation(head + "nonsense\n{\"usage\": {}}\n", 10)), HasSubstr("line 2: it is not JSON"));
  EXPECT_THAT(says(read_conversation(head + "{\"usage\": {}}\n{\"usage\": {}}\n", 1)), HasSubstr("more than 1 events"));
}

TEST(ConversationRecord, DropsALastLineThatWasCutOff) {
  const auto whole = write_head({.id = conversation_id(1), .directory = "/d"}) + "{\"usage\":{\"input\":3}}\n";
  const std::string zeros(5, '\0');
  for (const auto& tail :
       {std::string(), std::string("{\"usage\":{\"input\":3}}"), std::string("{\"usa"), zeros + "\n"}) {
    const auto read = read_conversation(whole + tail, 10);
    ASSERT_TRUE(read) << tail;
    EXPECT_EQ(read->whole, whole.size());
    EXPECT_EQ(read->state.usage.input, 3u);
  }
}

TEST(ConversationRecord, KnowsItsIds) {
  EXPECT_TRUE(is_conversation_id(conversation_id(0)));
  EXPECT_TRUE(is_conversation_id(conversation_id(~std::uint64_t{0})));
  for (const auto* other : {"", "../../etc/p", "abcdefghi", "abcdefghijk", "ABCDEFGHIJ", "abcdefgh.j"}) {
    EXPECT_FALSE(is_conversation_id(other)) << other;
  }
}

}  // namespace
}  // namespace patchbay
