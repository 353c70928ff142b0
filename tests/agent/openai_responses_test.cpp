// What Responses is asked, whole. G1, W3.
#include "agent/models/openai_responses.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace patchbay {
namespace {

std::shared_ptr<const ModelMessage> message(Role role, std::vector<ModelPart> parts) {
  return std::make_shared<const ModelMessage>(ModelMessage{.role = role, .parts = std::move(parts)});
}

ModelTool tool(std::string name) {
  return {.name = std::move(name),
          .description = "Looks.",
          .input_schema = std::make_shared<const Json>(Json{{"type", "object"}})};
}

std::shared_ptr<const ToolPool> pool(std::vector<ModelTool> tools) {
  auto made = std::make_shared<ToolPool>();
  made->tools = std::move(tools);
  return made;
}

ModelInfo info() {
  return {.provider = "openai", .model = "gpt-5.5", .api = ModelApi::openai_responses, .max_output = 500};
}

Json wanted(std::string_view text) { return parse_json(text).value(); }

ProviderBlock thought(std::string id) {
  return {
      .provider = "openai",
      .value = Json{{"type", "reasoning"}, {"id", id}, {"summary", Json::array()}, {"encrypted_content", "x" + id}}};
}

// A conversation with everything that can be in one.
ModelRequest everything() {
  return {
      .system = "Be brief.",
      .tools = pool({tool("look")}),
      .deferred = pool({tool("find"), tool("hear"), tool("smell")}),
      .messages =
          {
              message(Role::user, {ModelText{"What is here?"}, ModelImage{.data = "AAAA", .mime_type = "image/png"}}),
              message(Role::assistant,
                      {thought("r1"), ProviderBlock{.provider = "anthropic", .value = Json{{"type", "thinking"}}},
                       ProviderBlock{.provider = "openai", .value = Json{{"phase", "commentary"}}},
                       ModelText{"I look."}, ModelToolUse{.id = "c1", .name = "look", .input = Json{{"at", "sky"}}},
                       ProviderBlock{.provider = "openai", .value = Json{{"type", "compaction"}, {"id", "k"}}},
                       ModelToolUse{.id = "c2", .name = "look out", .broken = "{\"at\":"}}),
              message(Role::user, {ModelText{"Go on."},
                                   ModelToolOutcome{.id = "c1",
                                                    .name = "look",
                                                    .blocks = {ModelText{"blue"},
                                                               ModelImage{.data = "BBBB", .mime_type = "image/gif"}},
                                                    .found = {"find", "look", "nowhere"}},
                                   ModelToolOutcome{.id = "c2",
                                                    .name = "look out",
                                                    .blocks = {ModelText{"no"}, ModelText{"such tool"}},
                                                    .is_error = true},
                                   ModelNews{.text = "There is a tool.", .added = {tool("hear"), tool("find")}}}),
          },
      .conversation = "abc",
  };
}

constexpr std::string_view items_before_tools = R"json(
      {"type": "message", "role": "user", "content": [
        {"type": "input_text", "text": "What is here?"},
        {"type": "input_image", "image_url": "data:image/png;base64,AAAA"}]},
      {"type": "reasoning", "id": "r1", "summary": [], "encrypted_content": "xr1"},
      {"type": "message", "role": "assistant", "content": "I look.", "phase": "commentary"},
      {"type": "function_call", "call_id": "c1", "name": "look", "arguments": "{\"at\":\"sky\"}"},
      {"type": "compaction", "id": "k"},
      {"type": "function_call", "call_id": "c2", "name": "look_out", "arguments": "{}"},
      {"type": "function_call_output", "call_id": "c1", "output": [
        {"type": "input_text", "text": "blue"},
        {"type": "input_image", "image_url": "data:image/gif;base64,BBBB"}]},
      {"type": "function_call_output", "call_id": "c2", "output": "Error: no\n\nsuch tool"},)json";
constexpr std::string_view last_item = R"json(
      {"type": "message", "role": "user", "content": [
        {"type": "input_text", "text": "Go on."},
        {"type": "input_text", "text": "There is a tool."}]})json";

TEST(OpenAiResponses, WritesAConversationWithEverythingInIt) {
  const auto request = openai_responses_provider(info())->request(everything());
  EXPECT_EQ(request.path, "/responses");
  EXPECT_EQ(request.framing, AnswerFraming::events);
  EXPECT_EQ(to_pretty_text(request.body),
            to_pretty_text(wanted(R"json({"model": "gpt-5.5", "instructions": "Be brief.", "input": [)json" +
                                  std::string(items_before_tools) + std::string(last_item) + R"json(],
    "tools": [{"type": "function", "name": "look", "description": "Looks.", "parameters": {"type": "object"},
               "strict": false}],
    "parallel_tool_calls": true,
    "stream": true,
    "store": false,
    "include": ["reasoning.encrypted_content"],
    "max_output_tokens": 500,
    "prompt_cache_key": "abc"
  })json")));
}

TEST(OpenAiResponses, AnnouncesToolsOnceWhereTheModelHoldsThem) {
  auto holding = info();
  holding.holds_deferred = true;
  const auto body = openai_responses_provider(holding)->request(everything()).body;
  EXPECT_EQ(to_pretty_text(body["input"]), to_pretty_text(wanted("[" + std::string(items_before_tools) + R"json(
      {"type": "additional_tools", "role": "developer", "tools": [
        {"type": "function", "name": "find", "description": "Looks.", "parameters": {"type": "object"}, "strict": false},
        {"type": "function", "name": "hear", "description": "Looks.", "parameters": {"type": "object"}, "strict": false}
      ]},)json" + std::string(last_item) + "]")));
  // What is cached stays as it is.
  EXPECT_EQ(body["tools"], openai_responses_provider(info())->request(everything()).body["tools"]);
}

TEST(OpenAiResponses, ToolsThatCameLaterStandAtTheEndWhereTheirAnnouncementIsRefused) {
  auto holding = info();
  holding.holds_deferred = true;
  const auto provider = openai_responses_provider(holding);
  const auto request = everything();
  EXPECT_THAT(provider->request(request).extras, testing::ElementsAre(ApiExtra::tool_changes));
  EXPECT_THAT(provider->request({.messages = {message(Role::user, {ModelText{"Hi."}})}}).extras, testing::IsEmpty());
  const auto made = provider->request(request, {.without = {ApiExtra::tool_changes}});
  EXPECT_THAT(made.extras, testing::IsEmpty());
  EXPECT_EQ(made.body["input"], openai_responses_provider(info())->request(request).body["input"]);
  std::vector<std::string> names;
  for (const auto& one : made.body["tools"].items()) names.emplace_back(one["name"].as_text());
  EXPECT_THAT(names, testing::ElementsAre("look", "find", "hear"));
  EXPECT_EQ(made.body["tools"].items()[0], provider->request(request).body["tools"].items()[0]);
}

TEST(OpenAiResponses, AToolThatIsNotThereAnyMoreIsNotAnnounced) {
  auto holding = info();
  holding.holds_deferred = true;
  auto request = everything();
  request.deferred = pool({tool("find")});
  const auto body = openai_responses_provider(holding)->request(request).body;
  EXPECT_THAT(to_text(body), testing::Not(testing::HasSubstr("\"hear\"")));
}

TEST(OpenAiResponses, ARefusalSaysWhatItIsAbout) {
  auto holding = info();
  holding.holds_deferred = true;
  const auto provider = openai_responses_provider(holding);
  const auto refused = [&](std::string message, std::string param) {
    const Json error{{"message", std::move(message)}, {"type", "invalid_request_error"}, {"param", std::move(param)}};
    return provider->failure(400, to_text(Json{{"error", error}}), everything());
  };
  EXPECT_EQ(refused("Invalid value: 'additional_tools'.", "input[8].type").extra, ApiExtra::tool_changes);
  EXPECT_EQ(refused("Invalid schema for function 'find'.", "tools[0].parameters").tool, "look");
  EXPECT_EQ(refused("Invalid schema in additional_tools.", "input[8].tools[1].parameters").tool, "hear");
  EXPECT_EQ(refused("Invalid schema in additional_tools.", "input[8].tools[1].parameters").extra, std::nullopt);
  EXPECT_EQ(refused("Something is wrong.", "input[0]").extra, std::nullopt);
  EXPECT_EQ(refused("Invalid name 'mcp__a__additional_tools'.", "input[2].name").extra, std::nullopt);
}

TEST(OpenAiResponses, KeepsThoughtsAwayThatLeadNowhere) {
  auto unencrypted = thought("r3");
  unencrypted.value.erase("encrypted_content");
  const auto body =
      openai_responses_provider(info())
          ->request({.messages = {message(Role::assistant, {thought("r1"), thought("r2"), ModelText{"So."}}),
                                  message(Role::assistant, {unencrypted, ModelText{"Yes."}}),
                                  message(Role::assistant, {thought("r4")})}})
          .body;
  EXPECT_EQ(body["input"], wanted(R"([
    {"type": "reasoning", "id": "r1", "summary": [], "encrypted_content": "xr1"},
    {"type": "reasoning", "id": "r2", "summary": [], "encrypted_content": "xr2"},
    {"type": "message", "role": "assistant", "content": "So."},
    {"type": "message", "role": "assistant", "content": "Yes."}])"));
}

TEST(OpenAiResponses, AsksForAnAnswerOfASchema) {
  const auto body = openai_responses_provider(info())
                        ->request({.messages = {message(Role::user, {ModelText{"Go."}})},
                                   .max_tokens = 7,
                                   .answer_schema = Json{{"type", "object"}}})
                        .body;
  EXPECT_EQ(body["text"], wanted(R"({"format": {"type": "json_schema", "name": "answer", "schema": {"type": "object"},
                                                "strict": false}})"));
  EXPECT_EQ(body["max_output_tokens"], Json(7));
  EXPECT_TRUE(body["tools"].is_null());
  EXPECT_TRUE(body["parallel_tool_calls"].is_null());
  EXPECT_TRUE(body["prompt_cache_key"].is_null());
  EXPECT_TRUE(body["instructions"].is_null());
}

TEST(OpenAiResponses, TellsAModelWithoutEyesOfImages) {
  auto blind = info();
  blind.takes_images = false;
  const auto body =
      openai_responses_provider(blind)
          ->request({.messages = {message(Role::user, {ModelToolOutcome{.id = "c1", .blocks = {ModelImage{}}},
                                                       ModelImage{.width = 8, .height = 9}})}})
          .body;
  EXPECT_EQ(body["input"], wanted(R"json([
    {"type": "function_call_output", "call_id": "c1",
     "output": "(an image of 0 x 0 pixels; this model is not given images)"},
    {"type": "message", "role": "user", "content": [
      {"type": "input_text", "text": "(an image of 8 x 9 pixels; this model is not given images)"}]}])json"));
}

TEST(OpenAiResponses, AsksForThoughtsOfModelsThatHaveThem) {
  for (const auto* model : {"gpt-5.5", "o3-mini", "codex-mini-latest", "openai/gpt-6", "something-new"}) {
    EXPECT_TRUE(openai_model_thinks(model)) << model;
  }
  for (const auto* model : {"gpt-4.1", "gpt-4o-mini", "openai/gpt-4.1", "chatgpt-4o-latest", "gpt-5-chat-latest"}) {
    EXPECT_FALSE(openai_model_thinks(model)) << model;
  }
  auto silent = info();
  silent.model = "gpt-4.1";
  EXPECT_TRUE(openai_responses_provider(silent)->request({}).body["include"].is_null());
}

TEST(OpenAiResponses, SendsTheKeyAsABearerToken) {
  HttpHeaders headers;
  openai_responses_provider(info())->authorize(headers, Secret("sk-1"));
  EXPECT_EQ(headers.get("Authorization"), "Bearer sk-1");
}

}  // namespace
}  // namespace patchbay
