// What Chat Completions is asked, whole. G1, W3.
#include "agent/models/openai_chat.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace patchbay {
namespace {

std::shared_ptr<const ModelMessage> message(Role role, std::vector<ModelPart> parts) {
  return std::make_shared<const ModelMessage>(ModelMessage{.role = role, .parts = std::move(parts)});
}

std::shared_ptr<const ToolPool> pool() {
  auto tools = std::make_shared<ToolPool>();
  tools->tools.push_back({.name = "look",
                          .description = "Looks.",
                          .input_schema = std::make_shared<const Json>(Json{{"type", "object"}})});
  return tools;
}

ModelInfo info(ModelApi api) { return {.provider = "openai-chat", .model = "gpt-x", .api = api, .max_output = 500}; }

// A conversation with everything that can be in one.
ModelRequest everything() {
  return {
      .system = "Be brief.",
      .tools = pool(),
      .messages =
          {
              message(Role::user, {ModelText{"What is here?"}, ModelImage{.data = "AAAA", .mime_type = "image/png"}}),
              message(Role::assistant,
                      {ProviderBlock{.provider = "openai-chat", .value = Json{{"reasoning_content", "Hm."}}},
                       ProviderBlock{.provider = "anthropic", .value = Json{{"reasoning_content", "not ours"}}},
                       ModelText{"I look."}, ModelToolUse{.id = "c1", .name = "look", .input = Json{{"at", "sky"}}},
                       ModelToolUse{.id = "c2", .name = "look out", .broken = "{\"at\":"}}),
              message(Role::user,
                      {ModelText{"Go on."},
                       ModelToolOutcome{.id = "c1",
                                        .name = "look",
                                        .blocks = {ModelText{"blue"}, ModelText{"and"},
                                                   ModelImage{.data = "BBBB", .mime_type = "image/gif"}}},
                       ModelToolOutcome{
                           .id = "c2", .name = "look out", .blocks = {ModelText{"no such tool"}}, .is_error = true},
                       ModelNews{.text = "A server is late."}}),
              message(Role::assistant, {ModelText{"It is"}, ModelText{"blue."}}),
              message(Role::user, {ModelText{"Thanks."}}),
          },
      .max_tokens = 0,
      .conversation = "abc",
  };
}

Json wanted(std::string_view text) { return parse_json(text).value(); }

TEST(OpenAiChat, WritesAConversationWithEverythingInIt) {
  const auto request = openai_chat_provider(info(ModelApi::openai_chat))->request(everything());
  EXPECT_EQ(request.path, "/chat/completions");
  EXPECT_EQ(request.framing, AnswerFraming::events);
  EXPECT_EQ(to_pretty_text(request.body), to_pretty_text(wanted(R"({
    "model": "gpt-x",
    "messages": [
      {"role": "system", "content": "Be brief."},
      {"role": "user", "content": [
        {"type": "text", "text": "What is here?"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}]},
      {"role": "assistant", "content": "I look.", "tool_calls": [
        {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{\"at\":\"sky\"}"}},
        {"id": "c2", "type": "function", "function": {"name": "look_out", "arguments": "{}"}}]},
      {"role": "tool", "tool_call_id": "c1", "content": "blue\n\nand"},
      {"role": "tool", "tool_call_id": "c2", "content": "Error: no such tool"},
      {"role": "user", "content": [
        {"type": "text", "text": "What look answered as an image:"},
        {"type": "image_url", "image_url": {"url": "data:image/gif;base64,BBBB"}},
        {"type": "text", "text": "Go on."},
        {"type": "text", "text": "A server is late."}]},
      {"role": "assistant", "content": "It is\n\nblue."},
      {"role": "user", "content": "Thanks."}],
    "stream": true,
    "stream_options": {"include_usage": true},
    "tools": [{"type": "function", "function": {
      "name": "look", "description": "Looks.", "parameters": {"type": "object"}, "strict": false}}],
    "max_completion_tokens": 500
  })")));
}

TEST(OpenAiChat, SaysLessToALocalServer) {
  auto local = info(ModelApi::local);
  local.takes_images = false;
  const auto request = openai_chat_provider(local)->request({
      .tools = pool(),
      .messages = {message(Role::user, {ModelText{"Look."}, ModelImage{.width = 8, .height = 9}}),
                   message(Role::assistant,
                           {ProviderBlock{.provider = "openai-chat", .value = Json{{"reasoning", "Hm."}, {"x", "y"}}},
                            ProviderBlock{.provider = "ollama", .value = Json{{"reasoning_content", "not ours"}}},
                            ModelToolUse{.id = "c1", .name = "look"}}),
                   message(Role::user, {ModelToolOutcome{.id = "c1", .name = "look", .blocks = {ModelImage{}}}})},
  });
  EXPECT_EQ(to_pretty_text(request.body), to_pretty_text(wanted(R"json({
    "model": "gpt-x",
    "messages": [
      {"role": "user", "content": "Look.\n\n(an image of 8 x 9 pixels; this model is not given images)"},
      {"role": "assistant", "content": "", "reasoning": "Hm.", "tool_calls": [
        {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}]},
      {"role": "tool", "tool_call_id": "c1",
       "content": "(an image of 0 x 0 pixels; this model is not given images)"}],
    "stream": true,
    "stream_options": {"include_usage": true},
    "tools": [{"type": "function", "function": {
      "name": "look", "description": "Looks.", "parameters": {"type": "object"}}}]
})json")));
}

TEST(OpenAiChat, AsksForAnAnswerOfASchema) {
  ModelRequest request{.messages = {message(Role::user, {ModelText{"Go."}})},
                       .max_tokens = 7,
                       .answer_schema = Json{{"type", "object"}}};
  const auto format = wanted(
      R"({"type": "json_schema", "json_schema": {"name": "answer", "schema": {"type": "object"}, "strict": false}})");
  const auto of_api = openai_chat_provider(info(ModelApi::openai_chat))->request(request).body;
  EXPECT_EQ(of_api["response_format"], format);
  EXPECT_EQ(of_api["max_completion_tokens"], Json(7));
  const auto of_local = openai_chat_provider(info(ModelApi::local))->request(request).body;
  EXPECT_EQ(of_local["response_format"], format);
  EXPECT_EQ(of_local["max_tokens"], Json(7));

  // One grammar cannot hold both the answer and calls.
  request.tools = pool();
  EXPECT_EQ(openai_chat_provider(info(ModelApi::openai_chat))->request(request).body["response_format"], format);
  const auto with_tools = openai_chat_provider(info(ModelApi::local))->request(request).body;
  EXPECT_TRUE(with_tools["response_format"].is_null());
  EXPECT_THAT(std::string(with_tools["messages"].items()[0]["content"].as_text()),
              testing::HasSubstr(R"({"type":"object"})"));
}

TEST(OpenAiChat, LeavesOutWhatHasNothingToSay) {
  const auto request = openai_chat_provider(info(ModelApi::openai_chat))
                           ->request({.tools = std::make_shared<ToolPool>(),
                                      .messages = {message(Role::user, {}), message(Role::assistant, {}),
                                                   message(Role::user, {ModelText{"Hi."}})}});
  EXPECT_EQ(request.body["messages"], wanted(R"([{"role": "user", "content": "Hi."}])"));
  EXPECT_TRUE(request.body["tools"].is_null());
}

TEST(OpenAiChat, SendsCallAndOutcomeOfAnotherProviderUnderOneShortId) {
  const std::string id(60, 'i');
  const auto body = openai_chat_provider(info(ModelApi::openai_chat))
                        ->request({.messages = {message(Role::assistant, {ModelToolUse{.id = id, .name = "look"}}),
                                                message(Role::user, {ModelToolOutcome{.id = id, .name = "look"}})}})
                        .body;
  const auto messages = body["messages"].items();
  const auto& sent = messages[0]["tool_calls"].items()[0]["id"];
  EXPECT_LE(sent.as_text().size(), 40u);
  EXPECT_EQ(sent, messages[1]["tool_call_id"]);
  EXPECT_EQ(messages[1]["content"], Json("(nothing)"));
  EXPECT_TRUE(messages[0]["content"].is_null());
}

TEST(OpenAiChat, SendsTheKeyAsABearerToken) {
  HttpHeaders headers;
  openai_chat_provider(info(ModelApi::openai_chat))->authorize(headers, Secret("sk-1"));
  EXPECT_EQ(headers.get("Authorization"), "Bearer sk-1");
}

}  // namespace
}  // namespace patchbay
