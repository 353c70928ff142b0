// What Anthropic's Messages API is sent. Pure. G1, G2.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/models/anthropic.h"

namespace patchbay {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

ModelTool tool(std::string name) {
  static const auto any = std::make_shared<const Json>(Json{{"type", "object"}});
  return {.name = name, .catalog_name = "server/" + name, .description = "Does " + name + ".", .input_schema = any};
}

std::shared_ptr<const ToolPool> pool(std::vector<ModelTool> tools, std::size_t own = 0) {
  auto made = std::make_shared<ToolPool>();
  made->tools = std::move(tools);
  made->own = own;
  return made;
}

std::shared_ptr<const ModelMessage> message(Role role, std::vector<ModelPart> parts) {
  return std::make_shared<const ModelMessage>(ModelMessage{.role = role, .parts = std::move(parts)});
}
std::shared_ptr<const ModelMessage> user(std::string text) { return message(Role::user, {ModelText{std::move(text)}}); }

AnthropicOptions options() {
  AnthropicOptions made;
  made.info.model = "claude-test";
  made.info.max_output = 1000;
  made.info.holds_deferred = true;
  return made;
}

Json body_of(const ModelRequest& request, const AnthropicOptions& with = options()) {
  return anthropic_provider(with)->request(request).body;
}

Json json(std::string_view text) {
  auto value = parse_json(text);
  if (!value) throw std::move(value).error();
  return std::move(*value);
}

// Where the breakpoints are: "system", "tools.0", "messages.2.1".
std::vector<std::string> breakpoints(const Json& body) {
  std::vector<std::string> found;
  const auto look = [&](const Json& list, const std::string& place) {
    int at = 0;
    for (const auto& each : list.items()) {
      if (each["cache_control"] == Json{{"type", "ephemeral"}}) found.push_back(place + std::to_string(at));
      ++at;
    }
  };
  look(body["tools"], "tools.");
  look(body["system"], "system.");
  int at = 0;
  for (const auto& each : body["messages"].items()) look(each["content"], "messages." + std::to_string(at++) + ".");
  return found;
}

TEST(AnthropicRequest, SmallestOneHasNothingThatIsNotNeeded) {
  const auto made = anthropic_provider(options())->request({.messages = {user("Hello")}});
  EXPECT_EQ(made.path, "/v1/messages");
  EXPECT_EQ(made.headers, (HttpHeaders{{"anthropic-version", "2023-06-01"}}));
  EXPECT_EQ(made.framing, AnswerFraming::events);
  EXPECT_EQ(to_text(made.body),
            R"({"model":"claude-test","max_tokens":1000,"stream":true,"messages":[{"role":"user","content":[)"
            R"({"type":"text","text":"Hello","cache_control":{"type":"ephemeral"}}]}]})");
}

TEST(AnthropicRequest, HasTheKeyInOneHeader) {
  auto with = options();
  HttpHeaders headers;
  anthropic_provider(with)->authorize(headers, Secret("sk-1"));
  EXPECT_EQ(headers, (HttpHeaders{{"x-api-key", "sk-1"}}));
  with.credential = AnthropicOptions::Credential::token;
  headers.clear();
  anthropic_provider(with)->authorize(headers, Secret("t-1"));
  EXPECT_EQ(headers, (HttpHeaders{{"Authorization", "Bearer t-1"}}));
}

TEST(AnthropicRequest, HasToolsAndWhatIsAskedFor) {
  auto with = options();
  with.show_thinking = true;
  with.effort = "high";
  with.betas = {"a-1", "b-2"};
  const ModelRequest request{.system = "Be brief.",
                             .tools = pool({tool("bash"), tool("read"), tool("mcp__a__x")}, 2),
                             .deferred = pool({tool("mcp__b__y"), tool("mcp__b__z")}),
                             .messages = {user("Hello")},
                             .max_tokens = 50,
                             .answer_schema = Json{{"type", "object"}}};
  const auto made = anthropic_provider(with)->request(request);
  EXPECT_EQ(made.headers.get("anthropic-beta"), "a-1,b-2");
  EXPECT_EQ(made.body, json(R"({
    "model": "claude-test", "max_tokens": 50, "stream": true,
    "tools": [
      {"name": "bash", "description": "Does bash.", "input_schema": {"type": "object"}},
      {"name": "read", "description": "Does read.", "input_schema": {"type": "object"},
       "cache_control": {"type": "ephemeral"}},
      {"name": "mcp__a__x", "description": "Does mcp__a__x.", "input_schema": {"type": "object"}},
      {"name": "mcp__b__y", "description": "Does mcp__b__y.", "input_schema": {"type": "object"},
       "defer_loading": true},
      {"name": "mcp__b__z", "description": "Does mcp__b__z.", "input_schema": {"type": "object"},
       "defer_loading": true}],
    "system": [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}],
    "thinking": {"type": "adaptive", "display": "summarized"},
    "output_config": {"effort": "high", "format": {"type": "json_schema", "schema": {"type": "object"}}},
    "messages": [{"role": "user", "content": [
      {"type": "text", "text": "Hello", "cache_control": {"type": "ephemeral"}}]}]})"));
}

TEST(AnthropicRequest, LeavesDeferredToolsOutWhereTheyCannotBe) {
  auto with = options();
  with.info.holds_deferred = false;
  const ModelRequest request{.tools = pool({tool("a")}), .deferred = pool({tool("b")}), .messages = {user("Hello")}};
  EXPECT_EQ(body_of(request, with)["tools"].size(), 1u);
  // The API refuses a request all of whose tools are deferred.
  EXPECT_TRUE(body_of({.deferred = pool({tool("b")}), .messages = {user("Hello")}})["tools"].is_null());
}

TEST(AnthropicRequest, TellsAConversationAsTheApiWantsIt) {
  const Json thinking{{"type", "thinking"}, {"thinking", "hm"}, {"signature", "s"}};
  ModelRequest request{.tools = pool({tool("tool_search")}), .deferred = pool({tool("later")})};
  request.messages = {
      user("Go"),
      message(Role::assistant,
              {ProviderBlock{.provider = "anthropic", .value = thinking},
               ProviderBlock{.provider = "gemini", .value = Json{{"thoughtSignature", "x"}}}, ModelText{"I look."},
               ModelToolUse{.id = "call|1", .name = "look", .input = Json{{"at", 1}}},
               ModelToolUse{.id = "t2", .name = "no good name", .broken = "{\"a\":"}}),
      message(Role::user,
              {ModelText{"Also this."},
               ModelToolOutcome{.id = "call|1",
                                .name = "look",
                                .blocks = {ModelText{"seen"}, ModelImage{.data = "AAA=", .mime_type = "image/png"}}},
               ModelToolOutcome{.id = "t2", .name = "x", .blocks = {ModelText{"bad JSON"}}, .is_error = true},
               ModelToolOutcome{.id = "t3", .name = "x"},
               ModelToolOutcome{
                   .id = "t4", .name = "tool_search", .blocks = {ModelText{"found later"}}, .found = {"later", "gone"}},
               ModelToolOutcome{
                   .id = "t5", .name = "tool_search", .blocks = {ModelText{"found another"}}, .found = {"gone"}},
               ModelNews{.text = "A server came.", .added = {tool("new")}}, ModelText{" \n"}}),
      message(Role::assistant, {ProviderBlock{.provider = "openai", .value = Json::object()}}),
  };
  EXPECT_EQ(body_of(request)["messages"], json(R"([
    {"role": "user", "content": [{"type": "text", "text": "Go"}]},
    {"role": "assistant", "content": [
      {"type": "thinking", "thinking": "hm", "signature": "s"},
      {"type": "text", "text": "I look."},
      {"type": "tool_use", "id": "call_1_c26e9779d73a23c7", "name": "look", "input": {"at": 1}},
      {"type": "tool_use", "id": "t2", "name": "no_good_name", "input": {}}]},
    {"role": "user", "content": [
      {"type": "tool_result", "tool_use_id": "call_1_c26e9779d73a23c7", "content": [
        {"type": "text", "text": "seen"},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAA="}}]},
      {"type": "tool_result", "tool_use_id": "t2", "is_error": true, "content": [{"type": "text", "text": "bad JSON"}]},
      {"type": "tool_result", "tool_use_id": "t3"},
      {"type": "tool_result", "tool_use_id": "t4", "content": [{"type": "tool_reference", "tool_name": "later"}]},
      {"type": "tool_result", "tool_use_id": "t5", "content": [{"type": "text", "text": "found another"}]},
      {"type": "text", "text": "Also this."},
      {"type": "text", "text": "A server came.", "cache_control": {"type": "ephemeral"}}]}])"));
}

TEST(AnthropicRequest, PutsAWordInPlaceOfAnImageThatTheModelCannotSee) {
  auto with = options();
  with.info.takes_images = false;
  const auto body =
      body_of({.messages = {message(Role::user,
                                    {ModelImage{.data = "AA", .mime_type = "image/png", .width = 2, .height = 3}})}},
              with);
  EXPECT_THAT(to_text(body["messages"]), testing::AllOf(HasSubstr("2 x 3"), testing::Not(HasSubstr("base64"))));
}

TEST(AnthropicRequest, HasAtMostFourBreakpoints) {
  ModelRequest request{.system = "Be brief.", .tools = pool({tool("bash"), tool("x")}, 1)};
  const auto turn = [&](std::size_t calls) {
    std::vector<ModelPart> uses;
    std::vector<ModelPart> outcomes;
    for (std::size_t at = 0; at < calls; ++at) {
      uses.emplace_back(ModelToolUse{.id = "t" + std::to_string(at), .name = "x"});
      outcomes.emplace_back(ModelToolOutcome{.id = "t" + std::to_string(at), .name = "x", .blocks = {ModelText{"ok"}}});
    }
    request.messages.push_back(message(Role::assistant, std::move(uses)));
    request.messages.push_back(message(Role::user, std::move(outcomes)));
  };
  request.messages.push_back(user("Go"));
  EXPECT_THAT(breakpoints(body_of(request)), ElementsAre("tools.0", "system.0", "messages.0.0"));
  turn(1);
  // The one before is near enough to be found.
  EXPECT_THAT(breakpoints(body_of(request)), ElementsAre("tools.0", "system.0", "messages.2.0"));
  turn(10);
  // What the newest turn adds is more than a breakpoint looks back.
  EXPECT_THAT(breakpoints(body_of(request)), ElementsAre("tools.0", "system.0", "messages.2.0", "messages.4.9"));
  turn(10);
  EXPECT_THAT(breakpoints(body_of(request)), ElementsAre("tools.0", "system.0", "messages.4.9", "messages.6.9"));
  request.system.clear();
  request.tools = pool({tool("x")});
  EXPECT_THAT(breakpoints(body_of(request)), ElementsAre("messages.2.0", "messages.4.9", "messages.6.9"));
}

TEST(AnthropicRequest, KeepsEveryByteBeforeTheNewestTurn) {
  const auto tools = pool({tool("bash"), tool("x")}, 1);
  ModelRequest request{.system = "Be brief.", .tools = tools, .messages = {user("Go")}};
  const auto first = to_text(body_of(request)["tools"]);
  request.messages.push_back(message(Role::assistant, {ModelText{"Done."}}));
  request.messages.push_back(user("More"));
  EXPECT_EQ(to_text(body_of(request)["tools"]), first);
}

// ---- what not every API has
// ------------------------------------------------------------------------------------------

std::vector<std::string> names_of(const Json& tools) {
  std::vector<std::string> out;
  for (const auto& one : tools.items()) {
    out.push_back(std::string(one["name"].as_text()) + (one["defer_loading"] == Json(true) ? " (deferred)" : ""));
  }
  return out;
}

// "b" came and went, "c" was found by a search, "a" went and came back; "d" nobody has come upon.
ModelRequest changing() {
  return {.tools = pool({tool("a"), tool("z")}),
          .deferred = pool({tool("b"), tool("c"), tool("d")}),
          .messages = {user("Go"), message(Role::assistant, {ModelToolUse{.id = "1", .name = "tool_search"}}),
                       message(Role::user, {ModelToolOutcome{.id = "1", .blocks = {ModelText{"c"}}, .found = {"c"}},
                                            ModelNews{.text = "b is new.", .added = {tool("b")}, .removed = {"a"}}}),
                       message(Role::assistant, {ModelText{"Well."}}),
                       message(Role::user, {ModelText{"On"}, ModelNews{.text = "a is back.",
                                                                       .added = {tool("a"), tool("c"), tool("gone")},
                                                                       .removed = {"b", "nothing"}}})}};
}

TEST(AnthropicRequest, ToolsComeAndGoInBlocksBehindTheUsersMessage) {
  auto with = options();
  with.tool_changes = true;
  const auto made = anthropic_provider(with)->request(changing());
  EXPECT_EQ(made.headers.get("anthropic-beta"), "mid-conversation-tool-changes-2026-07-01");
  EXPECT_THAT(made.extras, ElementsAre(ApiExtra::deferred_tools, ApiExtra::tool_changes));
  EXPECT_THAT(names_of(made.body["tools"]), ElementsAre("a", "z", "b (deferred)", "c (deferred)", "d (deferred)"));
  std::vector<std::string> roles;
  for (const auto& one : made.body["messages"].items()) roles.emplace_back(one["role"].as_text());
  EXPECT_THAT(roles, ElementsAre("user", "assistant", "user", "system", "assistant", "user", "system"));
  EXPECT_EQ(made.body["messages"].items()[3]["content"],
            json(R"([{"type":"tool_removal","tool":{"type":"tool_reference","name":"a"}},)"
                 R"({"type":"tool_addition","tool":{"type":"tool_reference","name":"b"}}])"));
  EXPECT_EQ(made.body["messages"].items()[6]["content"],
            json(R"([{"type":"tool_removal","tool":{"type":"tool_reference","name":"b"}},)"
                 R"({"type":"tool_addition","tool":{"type":"tool_reference","name":"a"}}])"));
  EXPECT_THAT(to_text(made.body), testing::Not(HasSubstr("select:NAME")));
  // The newest breakpoint is the user's.
  EXPECT_THAT(breakpoints(made.body), testing::Contains("messages.5.1"));
}

TEST(AnthropicRequest, WithoutSuchBlocksAToolThatIsHeldBackIsLoadedByASearch) {
  auto with = options();
  with.tool_changes = true;
  const auto made = anthropic_provider(with)->request(changing(), {.without = {ApiExtra::tool_changes}});
  EXPECT_THAT(made.extras, ElementsAre(ApiExtra::deferred_tools));
  EXPECT_EQ(made.headers.get("anthropic-beta"), "");
  EXPECT_THAT(to_text(made.body), AllOf(HasSubstr("b is new.\\nBefore you call one of them, load it: tool_search"),
                                        testing::Not(HasSubstr("tool_addition"))));
  EXPECT_EQ(made.body["tools"], anthropic_provider(with)->request(changing()).body["tools"]);
}

TEST(AnthropicRequest, WhereNothingIsHeldBackTheListGrowsAtItsEnd) {
  auto with = options();
  with.tool_changes = true;
  const ProviderNow without{.without = {ApiExtra::deferred_tools}};
  auto request = changing();
  const auto whole = anthropic_provider(with)->request(request, without);
  EXPECT_THAT(whole.extras, testing::IsEmpty());
  EXPECT_THAT(names_of(whole.body["tools"]), ElementsAre("a", "z", "c", "b"));
  EXPECT_THAT(to_text(whole.body),
              AllOf(testing::Not(HasSubstr("tool_reference")), testing::Not(HasSubstr("select:NAME"))));
  request.messages.resize(1);
  const auto first = to_text(anthropic_provider(with)->request(request, without).body["tools"]);
  EXPECT_TRUE(to_text(whole.body["tools"]).starts_with(first.substr(0, first.size() - 1))) << first;
}

TEST(AnthropicRequest, AsksWhyTheCacheWasOfNoUse) {
  auto with = options();
  with.cache_diagnosis = true;
  with.betas = {"other-1"};
  const auto first = anthropic_provider(with)->request({.messages = {user("Hello")}});
  EXPECT_EQ(first.headers.get("anthropic-beta"), "other-1,cache-diagnosis-2026-04-07");
  EXPECT_EQ(to_text(first.body["diagnostics"]), R"({"previous_message_id":null})");
  EXPECT_THAT(first.extras, ElementsAre(ApiExtra::cache_diagnosis));
  const auto next = anthropic_provider(with)->request({.messages = {user("Hello")}}, {.previous = "msg_1"});
  EXPECT_EQ(to_text(next.body["diagnostics"]), R"({"previous_message_id":"msg_1"})");
  const auto without =
      anthropic_provider(with)->request({.messages = {user("Hello")}}, {.without = {ApiExtra::cache_diagnosis}});
  EXPECT_EQ(without.headers.get("anthropic-beta"), "other-1");
  EXPECT_EQ(without.body.find("diagnostics"), nullptr);
}

// ---- what is wrong ----------------------------------------------------------------------------------------------

TEST(AnthropicFailure, IsReadFromTheBody) {
  const auto provider = anthropic_provider(options());
  const ModelRequest request{.tools = pool({tool("a"), tool("b")}), .deferred = pool({tool("c")})};
  const auto failure = [&](int status, std::string type, std::string message) {
    return provider->failure(
        status,
        to_text(Json{{"type", "error"}, {"error", {{"type", std::move(type)}, {"message", std::move(message)}}}}),
        request);
  };
  EXPECT_EQ(failure(529, "overloaded_error", "Overloaded"),
            (ProviderFailure{.status = 529, .type = "overloaded_error", .message = "Overloaded"}));
  EXPECT_TRUE(failure(413, "request_too_large", "Request exceeds the maximum size").too_long);
  EXPECT_TRUE(failure(400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum").too_long);
  EXPECT_FALSE(failure(400, "invalid_request_error", "messages: at least one message is required").too_long);

  EXPECT_EQ(failure(400, "invalid_request_error", "tools.1.custom.input_schema: JSON schema is invalid").tool, "b");
  EXPECT_EQ(failure(400, "invalid_request_error", "tools.2.custom.name: String should match pattern").tool, "c");
  EXPECT_EQ(failure(400, "invalid_request_error", "tools.3.custom.name: String should match pattern").tool, "");
  EXPECT_EQ(failure(400, "invalid_request_error", "tools: too many, see tools.x and tools.0.name").tool, "a");
  EXPECT_EQ(failure(400, "invalid_request_error", "gateway: tools.1.custom.name: no").tool, "b");
  EXPECT_EQ(failure(400, "invalid_request_error", "tools.99999999999999999999999: no").tool, "");
  EXPECT_EQ(failure(500, "api_error", "tools.1: Internal server error").tool, "");

  const auto extra = [&](std::string message) {
    return failure(400, "invalid_request_error", std::move(message)).extra;
  };
  EXPECT_EQ(extra("diagnostics: Extra inputs are not permitted"), ApiExtra::cache_diagnosis);
  EXPECT_EQ(extra("Unexpected value(s) `mid-conversation-tool-changes-2026-07-01` for the `anthropic-beta` header"),
            ApiExtra::tool_changes);
  EXPECT_EQ(extra("messages.3.content.0.tool_addition.tool.tool_reference: not found"), ApiExtra::tool_changes);
  EXPECT_EQ(extra("messages: Unexpected role \"system\""), ApiExtra::tool_changes);
  EXPECT_EQ(extra("tools.2.custom.defer_loading: Extra inputs are not permitted"), ApiExtra::deferred_tools);
  EXPECT_EQ(extra("tools.2.defer_loading: Extra inputs are not permitted"), ApiExtra::deferred_tools);
  EXPECT_EQ(extra("Unexpected value(s) `cache-diagnosis-2026-04-07` for the `anthropic-beta` header"),
            ApiExtra::cache_diagnosis);
  EXPECT_EQ(extra("messages.3.role: Input should be 'user' or 'assistant'"), ApiExtra::tool_changes);
  EXPECT_EQ(extra("messages.3.content.0: Input tag 'tool_removal' found using 'type' does not match any of the "
                  "expected tags: 'text', 'tool_reference'"),
            ApiExtra::tool_changes);
  EXPECT_EQ(extra("messages.3.content.0.content.0: Input tag 'tool_reference' found using 'type'"),
            ApiExtra::deferred_tools);
  EXPECT_EQ(extra("messages.1.content.0: Tool reference 'mcp__a__x' has no tool"), ApiExtra::deferred_tools);
  EXPECT_EQ(extra("Tool reference 'mcp__a__x' not found in available tools"), ApiExtra::deferred_tools);
  EXPECT_EQ(extra("messages: at least one message is required"), std::nullopt);
  // Names and words of others, wherever they are read.
  for (const auto* words :
       {"Tool 'mcp__doctor__diagnostics' not found in provided tools", "tool_choice: no tool mcp__doctor__diagnostics",
        "messages.2.content.0.tool_use.name: 'mcp__a__tool_reference' should be shorter",
        "messages.2.content.0.tool_use.input: mcp__a__tool_addition",
        "messages.2.content.0.tool_use.input: a value for role \"system\"",
        "messages.2.content.0.text: 'tools.0.custom.name: no'", "system: the text says diagnostics: on",
        "messages.2.content.0: Input tag 'new' found using 'type' does not match any of the expected tags: "
        "'tool_reference'",
        "tool_choice: 'use-mid-conversation-tool-changes-2026-07-01' is no tool", "diagnostics"}) {
    EXPECT_EQ(extra(words), std::nullopt) << words;
    EXPECT_EQ(failure(400, "invalid_request_error", words).tool, "") << words;
  }
  EXPECT_FALSE(failure(400, "invalid_request_error", "tools.1.custom.description: 'prompt is too long'").too_long);
  // Words of a server's in what is said about its tool.
  for (const auto* words :
       {"tools.1.custom.name: 'run diagnostics' should match pattern",
        "tools.1.custom.input_schema.properties.defer_loading: Input should be an object",
        "tools.1.custom.input_schema: unknown keyword 'tool_reference' near 'tools.1.custom.defer_loading: '",
        "tools.1.custom.defer_loading_too: role \"system\""}) {
    EXPECT_EQ(extra(words), std::nullopt) << words;
    EXPECT_EQ(failure(400, "invalid_request_error", words).tool, "b") << words;
  }
  EXPECT_EQ(failure(500, "api_error", "diagnostics").extra, std::nullopt);

  EXPECT_EQ(provider->failure(502, "<html>Bad gateway", request),
            (ProviderFailure{.status = 502, .message = "<html>Bad gateway"}));
  EXPECT_EQ(provider->failure(400, "[]", request), (ProviderFailure{.status = 400}));
}

}  // namespace
}  // namespace patchbay
