// Gemini: what is sent, and what is made of the parts that come. G1.
#include "agent/models/gemini.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/models/known_models.h"

namespace patchbay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

std::shared_ptr<Provider> gemini(std::string model = "gemini-3.5-flash") {
  return gemini_provider(known_model(ModelProvider::gemini, model));
}

std::shared_ptr<const ModelMessage> message(Role role, std::vector<ModelPart> parts) {
  return std::make_shared<const ModelMessage>(ModelMessage{.role = role, .parts = std::move(parts)});
}
std::shared_ptr<const ModelMessage> user(std::vector<ModelPart> parts) { return message(Role::user, std::move(parts)); }
std::shared_ptr<const ModelMessage> model(std::vector<ModelPart> parts) {
  return message(Role::assistant, std::move(parts));
}

std::shared_ptr<const ToolPool> tools(std::vector<std::string> names) {
  ToolPool pool;
  for (auto& name : names) {
    pool.tools.push_back({.name = std::move(name),
                          .description = "It looks.",
                          .input_schema = std::make_shared<const Json>(Json{{"type", "object"}})});
  }
  return std::make_shared<const ToolPool>(std::move(pool));
}

Json parsed(std::string_view text) { return parse_json(text).value(); }

Json contents(const Provider& provider, const ModelRequest& request) {
  return provider.request(request).body["contents"];
}

ProviderBlock block(std::string of, Json value) {
  value["model"] = of;
  return {.provider = "gemini", .value = std::move(value)};
}

// ---- requests -----------------------------------------------------------------------------------------------------

TEST(GeminiRequest, HasTheConversationTheToolsAndTheSystemText) {
  const auto request =
      gemini()->request({.system = "Be brief.", .tools = tools({"look"}), .messages = {user({ModelText{"hi"}})}});
  EXPECT_EQ(request.path, "/v1beta/models/gemini-3.5-flash:streamGenerateContent?alt=sse");
  EXPECT_EQ(request.framing, AnswerFraming::events);
  EXPECT_EQ(request.body, parsed(R"({
    "contents": [{"role": "user", "parts": [{"text": "hi"}]}],
    "systemInstruction": {"parts": [{"text": "Be brief."}]},
    "tools": [{"functionDeclarations": [
      {"name": "look", "description": "It looks.", "parametersJsonSchema": {"type": "object"}}]}],
    "generationConfig": {"maxOutputTokens": 65536, "thinkingConfig": {"includeThoughts": true}}})"));
  HttpHeaders headers;
  gemini()->authorize(headers, Secret("k"));
  EXPECT_EQ(headers.get("x-goog-api-key"), "k");
}

TEST(GeminiRequest, AsksOnlyForWhatAModelHas) {
  const auto config = [](std::string name, ModelRequest request = {}) {
    return gemini(std::move(name))->request(request).body["generationConfig"];
  };
  EXPECT_EQ(config("gemini-2.0-flash", {.max_tokens = 7}), parsed(R"({"maxOutputTokens": 7})"));
  EXPECT_EQ(config("gemini-2.5-flash-image"), parsed(R"({"maxOutputTokens": 65536})"));
  EXPECT_TRUE(config("gemini-2.5-pro").find("thinkingConfig"));
  EXPECT_TRUE(config("gemini-flash-latest").find("thinkingConfig"));
  EXPECT_EQ(gemini("tunedModels/mine")->request({}).path, "/v1beta/tunedModels/mine:streamGenerateContent?alt=sse");
  EXPECT_EQ(gemini("a?b")->request({}).path, "/v1beta/models/a%3Fb:streamGenerateContent?alt=sse");
}

TEST(GeminiRequest, WantsAnAnswerInAForm) {
  const Json schema{{"type", "object"}};
  const auto with_tools = ModelRequest{.tools = tools({"look"}), .answer_schema = schema};
  const auto newer = gemini()->request(with_tools).body;
  EXPECT_EQ(newer["generationConfig"]["responseMimeType"], Json("application/json"));
  EXPECT_EQ(newer["generationConfig"]["responseJsonSchema"], schema);
  // Older models refuse both at once.
  const auto older = gemini("gemini-2.5-pro")->request(with_tools).body;
  EXPECT_FALSE(older["generationConfig"].find("responseMimeType"));
  EXPECT_THAT(std::string(older["systemInstruction"]["parts"].items()[0]["text"].as_text()),
              HasSubstr(R"({"type":"object"})"));
  const auto alone = gemini("gemini-2.5-pro")->request({.answer_schema = schema}).body;
  EXPECT_EQ(alone["generationConfig"]["responseJsonSchema"], schema);
}

TEST(GeminiRequest, PutsOutcomesDirectlyBehindCallsAndTheRestBehindThem) {
  const std::vector<std::shared_ptr<const ModelMessage>> messages{
      model({ModelText{"I look."}, ModelToolUse{.id = "1", .name = "look", .input = {{"at", "sky"}}},
             ModelToolUse{.id = "2", .name = "look"}}),
      user({ModelNews{.text = "A server has come."},
            ModelToolOutcome{.id = "1", .name = "look", .blocks = {ModelText{"blue"}, ModelText{"clear"}}},
            ModelToolOutcome{.id = "2", .name = "look", .blocks = {ModelText{"no"}}, .is_error = true},
            ModelText{"And now?"}}),
      model({})};
  EXPECT_EQ(contents(*gemini("gemini-2.5-pro"), {.messages = messages}), parsed(R"([
    {"role": "model", "parts": [{"text": "I look."},
      {"functionCall": {"id": "1", "name": "look", "args": {"at": "sky"}}},
      {"functionCall": {"id": "2", "name": "look", "args": {}}}]},
    {"role": "user", "parts": [
      {"functionResponse": {"id": "1", "name": "look", "response": {"output": "blue\n\nclear"}}},
      {"functionResponse": {"id": "2", "name": "look", "response": {"error": "no"}}}]},
    {"role": "user", "parts": [{"text": "A server has come."}, {"text": "And now?"}]}])"));
}

TEST(GeminiRequest, ShowsImagesWhereTheModelTakesThem) {
  const ModelImage image{.data = "AAAA", .mime_type = "image/png", .width = 2, .height = 3};
  const ModelRequest request{
      .messages = {user({image}), user({ModelToolOutcome{.id = "1", .name = "look", .blocks = {image}}})}};
  EXPECT_EQ(contents(*gemini(), request), parsed(R"j([
    {"role": "user", "parts": [{"inlineData": {"mimeType": "image/png", "data": "AAAA"}}]},
    {"role": "user", "parts": [{"functionResponse": {"id": "1", "name": "look", "response": {"output": "(an image)"},
      "parts": [{"inlineData": {"mimeType": "image/png", "data": "AAAA"}}]}}]}])j"));
  EXPECT_EQ(contents(*gemini("gemini-2.5-pro"), request).items()[2], parsed(R"(
    {"role": "user", "parts": [{"text": "From look:"}, {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}]})"));
  auto info = gemini()->info();
  info.takes_images = false;
  EXPECT_THAT(to_text(contents(*gemini_provider(info), request)), Not(HasSubstr("AAAA")));
}

TEST(GeminiRequest, GivesThoughtsAndSignaturesBackToTheModelThatMadeThemAlone) {
  const std::string name = "gemini-3.5-flash";
  const auto conversation = [](std::string of) {
    return ModelRequest{
        .messages = {
            model({block(of, {{"part", Json{{"text", "Hm."}, {"thought", true}}}}), block(of, {{"signature", "S1"}}),
                   ModelText{"I look."}, block(of, {{"signature", "S2"}}), ModelToolUse{.id = "1", .name = "look"},
                   ModelToolUse{.id = "2", .name = "look"},
                   ProviderBlock{.provider = "anthropic", .value = {{"model", of}, {"part", Json::object()}}}})}};
  };
  EXPECT_EQ(contents(*gemini(name), conversation(name)).items()[0]["parts"], parsed(R"([
    {"text": "Hm.", "thought": true},
    {"text": "I look.", "thoughtSignature": "S1"},
    {"functionCall": {"id": "1", "name": "look", "args": {}}, "thoughtSignature": "S2"},
    {"functionCall": {"id": "2", "name": "look", "args": {}}}])"));
  // The calls of another model have none, which newer models accept only with this word.
  EXPECT_EQ(contents(*gemini(name), conversation("gemini-2.5-pro")).items()[0]["parts"], parsed(R"([
    {"text": "I look."},
    {"functionCall": {"id": "1", "name": "look", "args": {}}, "thoughtSignature": "skip_thought_signature_validator"},
    {"functionCall": {"id": "2", "name": "look", "args": {}}}])"));
  EXPECT_THAT(to_text(contents(*gemini("gemini-2.5-pro"), conversation(name))), Not(HasSubstr("ignature")));
}

TEST(GeminiRequest, RepairsANameThatAModelMadeUp) {
  const ModelRequest request{.messages = {model({ModelToolUse{.id = "1", .name = "1 look"}, ModelToolUse{.id = "2"}})}};
  const auto all = contents(*gemini("gemini-2.5-pro"), request);
  EXPECT_EQ(all.items()[0]["parts"].items()[0]["functionCall"]["name"], Json("_1_look"));
  EXPECT_EQ(all.items()[0]["parts"].items()[1]["functionCall"]["name"], Json("_unknown"));
}

// ---- answers ------------------------------------------------------------------------------------------------------

struct Heard {
  std::string text;
  std::string thinking;
  std::vector<std::string> calls;
};

std::expected<ModelAnswer, ProviderFailure> read(const std::vector<std::string>& events, Heard* heard = nullptr,
                                                 const ModelRequest& request = {}) {
  const auto reader = gemini()->reader(request);
  const ModelEventSink tell = [&](const ModelEvent& event) {
    if (!heard) return;
    if (const auto* text = std::get_if<ModelTextDelta>(&event)) heard->text += text->text;
    if (const auto* thought = std::get_if<ModelThinkingDelta>(&event)) heard->thinking += thought->text;
    if (const auto* call = std::get_if<ModelToolBegun>(&event)) heard->calls.push_back(call->name);
  };
  for (const auto& event : events) {
    if (auto taken = reader->take("", event, tell); !taken) return std::unexpected(taken.error());
  }
  return reader->finish();
}

TEST(GeminiAnswer, IsPutTogetherFromItsParts) {
  Heard heard;
  const auto answer =
      read({R"({"candidates": [{"content": {"role": "model", "parts": [{"text": "Let me", "thought": true}]}}]})",
            R"({"candidates": [{"content": {"parts": [{"text": " see.", "thought": true}]}}]})",
            R"({"candidates": [{"content": {"parts": [{"text": "I "}]}}], "modelVersion": "gemini-3.5-flash-001"})",
            R"({"candidates": [{"content": {"parts": [{"text": "look."},
            {"functionCall": {"id": "a", "name": "look", "args": {"at": "sky"}}, "thoughtSignature": "S"},
            {"functionCall": {"name": "look"}}]}}]})",
            R"({"candidates": [{"content": {"parts": [{"text": ""}]}, "finishReason": "STOP"}],
           "usageMetadata": {"promptTokenCount": 100, "cachedContentTokenCount": 60, "candidatesTokenCount": 5,
                             "thoughtsTokenCount": 7}})"},
           &heard);
  ASSERT_TRUE(answer);
  EXPECT_EQ(heard.thinking, "Let me see.");
  EXPECT_EQ(heard.text, "I look.");
  EXPECT_THAT(heard.calls, ElementsAre("look", "look"));
  EXPECT_EQ(answer->stop, ModelStop::tool_use);
  EXPECT_EQ(answer->model, "gemini-3.5-flash-001");
  EXPECT_EQ(answer->usage, (ModelUsage{.input = 40, .cache_read = 60, .output = 12}));
  const auto name = "gemini-3.5-flash";
  EXPECT_THAT(answer->message.parts,
              ElementsAre(ModelPart{block(name, {{"part", Json{{"text", "Let me see."}, {"thought", true}}}})},
                          ModelPart{ModelText{"I look."}}, ModelPart{block(name, {{"signature", "S"}})},
                          ModelPart{ModelToolUse{.id = "a", .name = "look", .input = {{"at", "sky"}}}},
                          ModelPart{ModelToolUse{.id = "call_1", .name = "look"}}));
  // What came goes back as it came.
  const auto back = contents(*gemini(), {.messages = {model(answer->message.parts)}});
  EXPECT_EQ(back.items()[0]["parts"], parsed(R"([
    {"text": "Let me see.", "thought": true}, {"text": "I look."},
    {"functionCall": {"id": "a", "name": "look", "args": {"at": "sky"}}, "thoughtSignature": "S"},
    {"functionCall": {"id": "call_1", "name": "look", "args": {}}}])"));
}

TEST(GeminiAnswer, NeverJoinsATextWithASignatureToAnother) {
  const auto answer =
      read({R"({"candidates": [{"content": {"parts": [{"text": "a"}, {"text": "b", "thoughtSignature": "S"},
      {"text": "c"}, {"text": "", "thoughtSignature": "T"}, {"executableCode": {"code": "1"}}]},
      "finishReason": "STOP"}], "usageMetadata": {}})"});
  ASSERT_TRUE(answer);
  EXPECT_EQ(contents(*gemini(), {.messages = {model(answer->message.parts)}}).items()[0]["parts"], parsed(R"([
    {"text": "a"}, {"text": "b", "thoughtSignature": "S"}, {"text": "c"}, {"text": "", "thoughtSignature": "T"},
    {"executableCode": {"code": "1"}}])"));
  EXPECT_EQ(text_of(answer->message), "a\nb\nc");
}

TEST(GeminiAnswer, SaysWhyItEnded) {
  const std::vector<std::pair<std::string, ModelStop>> cases{
      {"STOP", ModelStop::end_turn},
      {"MAX_TOKENS", ModelStop::max_tokens},
      {"MALFORMED_FUNCTION_CALL", ModelStop::malformed},
      {"UNEXPECTED_TOOL_CALL", ModelStop::malformed},
      {"SAFETY", ModelStop::refusal},
      {"PROHIBITED_CONTENT", ModelStop::refusal},
      {"RECITATION", ModelStop::refusal},
      {"OTHER", ModelStop::other},
      {"SOMETHING_NEW", ModelStop::other},
  };
  for (const auto& [reason, stop] : cases) {
    const auto answer = read({R"({"candidates": [{"finishReason": ")" + reason + R"("}]})"});
    ASSERT_TRUE(answer) << reason;
    EXPECT_EQ(answer->stop, stop) << reason;
    EXPECT_EQ(answer->stop_text, reason);
    EXPECT_THAT(answer->message.parts, IsEmpty());
  }
  const auto explained =
      read({R"({"candidates": [{"finishReason": "MALFORMED_FUNCTION_CALL", "finishMessage": "look("}]})"});
  EXPECT_EQ(explained->stop_text, "MALFORMED_FUNCTION_CALL: look(");
  const auto blocked = read({R"({"promptFeedback": {"blockReason": "BLOCKLIST"}})"});
  EXPECT_EQ(blocked->stop, ModelStop::refusal);
  EXPECT_EQ(blocked->stop_text, "BLOCKLIST");
}

TEST(GeminiAnswer, CountsInAChunkBehindTheLastPart) {
  const auto reader = gemini()->reader({});
  ASSERT_TRUE(
      reader->take("", R"({"candidates": [{"content": {"parts": [{"text": "a"}]}, "finishReason": "STOP"}]})", {}));
  EXPECT_FALSE(reader->complete());
  ASSERT_TRUE(reader->take("", R"({"usageMetadata": {"promptTokenCount": 3}})", {}));
  EXPECT_TRUE(reader->complete());
  EXPECT_EQ(reader->finish()->usage.input, 3u);
}

TEST(GeminiAnswer, KeepsArgumentsThatAreNoObject) {
  const auto answer =
      read({R"({"candidates": [{"content": {"parts": [{"functionCall": {"name": "look", "args": "sky"}}]},
                               "finishReason": "STOP"}]})"});
  EXPECT_EQ(std::get<ModelToolUse>(answer->message.parts.front()).broken, "\"sky\"");
}

TEST(GeminiAnswer, MakesUpAnIdThatTheConversationHasNot) {
  const ModelRequest request{.messages = {model({ModelToolUse{.id = "call_2", .name = "look"}})}};
  const auto answer = read({R"({"candidates": [{"content": {"parts": [{"functionCall": {"name": "look"}},
      {"functionCall": {"id": "call_2", "name": "look"}}]}, "finishReason": "STOP"}]})"},
                           nullptr, request);
  const auto first = std::get<ModelToolUse>(answer->message.parts[0]).id;
  const auto second = std::get<ModelToolUse>(answer->message.parts[1]).id;
  EXPECT_NE(first, "call_2");
  EXPECT_NE(second, "call_2");
  EXPECT_NE(first, second);
}

TEST(GeminiAnswer, FailsInsideOfAStream) {
  const auto cut = read({R"({"candidates": [{"content": {"parts": [{"text": "I"}]}}]})"});
  EXPECT_EQ(cut.error().status, 0);
  EXPECT_EQ(read({}).error().status, 0);
  EXPECT_EQ(read({"nonsense"}).error().type, "malformed");
  const auto overloaded =
      read({R"({"error": {"code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE"}})"});
  EXPECT_EQ(overloaded.error(),
            (ProviderFailure{.status = 503, .type = "UNAVAILABLE", .message = "The model is overloaded."}));
  EXPECT_EQ(read({R"({"error": {"status": "RESOURCE_EXHAUSTED"}})"}).error().status, 429);
}

// ---- errors -------------------------------------------------------------------------------------------------------

TEST(GeminiFailure, SaysWhatIsWrong) {
  const ModelRequest request{.tools = tools({"first", "second"})};
  const auto failure = [&](int status, std::string_view body) { return gemini()->failure(status, body, request); };

  const auto named = failure(400, R"([{"error": {"code": 400, "status": "INVALID_ARGUMENT", "message":
      "* GenerateContentRequest.tools[0].function_declarations[1].parameters.required[0]: property is not defined"}}])");
  EXPECT_EQ(named.tool, "second");
  EXPECT_EQ(named.type, "INVALID_ARGUMENT");
  EXPECT_EQ(failure(400, R"({"error": {"details": [{"fieldViolations":
      [{"field": "tools[0].function_declarations[0].name"}]}]}})")
                .tool,
            "first");
  EXPECT_EQ(failure(400, R"({"error": {"message": "function_declarations[9]"}})").tool, "");
  EXPECT_EQ(failure(500, R"({"error": {"message": "function_declarations[1]"}})").tool, "");

  EXPECT_TRUE(failure(400, R"({"error": {"message":
      "The input token count (2000000) exceeds the maximum number of tokens allowed (1048576)."}})")
                  .too_long);
  EXPECT_FALSE(failure(429, R"({"error": {"message": "exceeds the maximum number of tokens"}})").too_long);
  EXPECT_TRUE(failure(413, "").too_long);
  EXPECT_EQ(failure(400, R"({"error": {"message": "API key not valid.", "status": "INVALID_ARGUMENT",
      "details": [{"reason": "API_KEY_INVALID"}]}})")
                .status,
            401);
  EXPECT_EQ(failure(502, "<html>bad gateway</html>").message, "<html>bad gateway</html>");
}

TEST(GeminiModel, KnowsItsGeneration) {
  EXPECT_EQ(gemini_generation("gemini-2.5-pro"), 2);
  EXPECT_EQ(gemini_generation("models/gemini-3.1-pro-preview"), 3);
  EXPECT_EQ(gemini_generation("gemini-pro-latest"), 3);
  EXPECT_EQ(gemini_generation("gemma-3"), 0);
}

}  // namespace
}  // namespace patchbay
