// Ollama: what is sent, and what is made of the lines that come. G1.
#include "agent/models/ollama.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/models/known_models.h"

namespace patchbay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

std::shared_ptr<Provider> ollama(std::string model = "qwen3") {
  return ollama_provider(known_model(ModelProvider::ollama, model));
}

std::shared_ptr<const ModelMessage> message(Role role, std::vector<ModelPart> parts) {
  return std::make_shared<const ModelMessage>(ModelMessage{.role = role, .parts = std::move(parts)});
}

std::shared_ptr<const ToolPool> tool(Json schema) {
  ToolPool pool;
  pool.tools.push_back(
      {.name = "look", .description = "It looks.", .input_schema = std::make_shared<const Json>(std::move(schema))});
  return std::make_shared<const ToolPool>(std::move(pool));
}

Json parsed(std::string_view text) { return parse_json(text).value(); }

// ---- requests -----------------------------------------------------------------------------------------------------

TEST(OllamaRequest, SaysHowMuchTheModelShallRead) {
  const auto request = ollama()->request({.system = "Be brief.",
                                          .tools = tool({{"type", "object"}}),
                                          .messages = {message(Role::user, {ModelText{"hi"}})},
                                          .answer_schema = Json{{"type", "array"}}});
  EXPECT_EQ(request.path, "/api/chat");
  EXPECT_EQ(request.framing, AnswerFraming::lines);
  EXPECT_EQ(request.body, parsed(R"({"model": "qwen3",
    "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "hi"}],
    "stream": true, "truncate": false, "options": {"num_ctx": 32768, "num_predict": 8192},
    "tools": [{"type": "function", "function": {"name": "look", "description": "It looks.",
                                                "parameters": {"type": "object"}}}],
    "format": {"type": "array"}})"));
  HttpHeaders headers;
  ollama()->authorize(headers, Secret("k"));
  EXPECT_EQ(headers.get("Authorization"), "Bearer k");
}

TEST(OllamaRequest, WantsOneAnswerOfAnOldServerWhenThereAreTools) {
  const ProviderNow old{.without = {ApiExtra::streamed_calls}};
  EXPECT_EQ(ollama()->request({.tools = tool(Json::object())}, old).framing, AnswerFraming::whole);
  EXPECT_EQ(ollama()->request({.tools = tool(Json::object())}, old).body["stream"], Json(false));
  EXPECT_EQ(ollama()->request({}, old).framing, AnswerFraming::lines);
}

TEST(OllamaRequest, HasCallsOutcomesAndThoughts) {
  const auto conversation = [](std::string of) {
    return ModelRequest{
        .messages = {message(Role::assistant,
                             {ProviderBlock{.provider = "ollama", .value = {{"model", of}, {"thinking", "Hm."}}},
                              ModelText{"I look."}, ModelToolUse{.id = "1", .name = "look", .input = {{"at", "sky"}}}}),
                     message(Role::user, {ModelToolOutcome{.id = "1", .name = "look", .blocks = {ModelText{"blue"}}},
                                          ModelNews{.text = "A server has come."}, ModelText{"And now?"}}),
                     message(Role::assistant, {})}};
  };
  EXPECT_EQ(ollama()->request(conversation("qwen3")).body["messages"], parsed(R"([
    {"role": "assistant", "content": "I look.", "thinking": "Hm.",
     "tool_calls": [{"id": "1", "function": {"name": "look", "arguments": {"at": "sky"}}}]},
    {"role": "tool", "tool_name": "look", "tool_call_id": "1", "content": "blue"},
    {"role": "user", "content": "A server has come.\n\nAnd now?"}])"));
  EXPECT_THAT(to_text(ollama()->request(conversation("llama3")).body), Not(HasSubstr("Hm.")));
}

TEST(OllamaRequest, ShowsImagesToModelsThatTakeThem) {
  const ModelImage image{.data = "AAAA", .mime_type = "image/png", .width = 2, .height = 3};
  const ModelRequest request{
      .messages = {message(Role::user, {ModelToolOutcome{.id = "1", .name = "look", .blocks = {image}}, image})}};
  EXPECT_EQ(ollama("llava")->request(request).body["messages"], parsed(R"j([
    {"role": "tool", "tool_name": "look", "tool_call_id": "1", "content": ""},
    {"role": "user", "content": "(The images are from look.)", "images": ["AAAA", "AAAA"]}])j"));
  EXPECT_THAT(to_text(ollama()->request(request).body), Not(HasSubstr("AAAA")));
  EXPECT_THAT(to_text(ollama()->request(request).body), HasSubstr("2 x 3 pixels"));
}

// One schema that the server cannot read would be the end of every request.
TEST(OllamaRequest, HasSchemasThatTheServerCanRead) {
  const auto schema = parsed(R"({"type": "object", "required": ["a", 1], "properties": {
    "a": true, "b": {"description": 3, "type": ["string", "null"], "enum": "x"}, "c": {"anyOf": [true, {"type": 4}]},
    "d": {"type": "object", "properties": {"e": false, "f": {"const": 1}}}, "g": {"properties": []}}})");
  const auto request = ollama()->request({.tools = tool(schema)});
  EXPECT_EQ(request.body["tools"].items()[0]["function"]["parameters"], parsed(R"({
    "type": "object", "required": ["a"], "properties": {
    "a": {}, "b": {"type": ["string", "null"]}, "c": {"anyOf": [{}, {}]},
    "d": {"type": "object", "properties": {"e": {}, "f": {"const": 1}}}, "g": {}}})"));
}

// ---- answers ------------------------------------------------------------------------------------------------------

std::expected<ModelAnswer, ProviderFailure> read(const std::vector<std::string>& lines, std::string* heard = nullptr) {
  const auto reader = ollama()->reader({});
  const ModelEventSink tell = [&](const ModelEvent& event) {
    if (!heard) return;
    if (const auto* text = std::get_if<ModelTextDelta>(&event)) *heard += text->text;
    if (const auto* thought = std::get_if<ModelThinkingDelta>(&event)) *heard += "<" + thought->text + ">";
    if (const auto* call = std::get_if<ModelToolBegun>(&event)) *heard += "[" + call->name + "]";
  };
  for (const auto& line : lines) {
    if (auto taken = reader->take("", line, tell); !taken) return std::unexpected(taken.error());
  }
  return reader->finish();
}

TEST(OllamaAnswer, IsPutTogetherFromItsLines) {
  std::string heard;
  const auto answer = read(
      {R"({"model": "qwen3:8b", "message": {"role": "assistant", "content": "", "thinking": "Hm"}, "done": false})",
       R"({"model": "qwen3:8b", "message": {"content": "", "thinking": "."}, "done": false})",
       R"({"model": "qwen3:8b", "message": {"content": "I "}, "done": false})", "",
       R"({"message": {"content": "look.", "tool_calls": [{"function": {"name": "look", "arguments": {"at": "sky"}}}]}})",
       R"({"message": {"tool_calls": [{"id": "x", "function": {"name": "look", "arguments": "{\"at\": 1}"}},
                                      {"function": {"name": "look", "arguments": "nonsense"}}]}})",
       R"({"message": {"content": ""}, "done": true, "done_reason": "stop", "prompt_eval_count": 20, "eval_count": 5})"},
      &heard);
  ASSERT_TRUE(answer);
  EXPECT_EQ(heard, "<Hm><.>I look.[look][look][look]");
  EXPECT_EQ(answer->stop, ModelStop::tool_use);
  EXPECT_EQ(answer->model, "qwen3:8b");
  EXPECT_EQ(answer->usage, (ModelUsage{.input = 20, .output = 5}));
  EXPECT_THAT(
      answer->message.parts,
      ElementsAre(ModelPart{ProviderBlock{.provider = "ollama", .value = {{"model", "qwen3"}, {"thinking", "Hm."}}}},
                  ModelPart{ModelText{"I look."}},
                  ModelPart{ModelToolUse{.id = "call_1", .name = "look", .input = {{"at", "sky"}}}},
                  ModelPart{ModelToolUse{.id = "x", .name = "look", .input = {{"at", 1}}}},
                  ModelPart{ModelToolUse{.id = "call_2", .name = "look", .broken = "nonsense"}}));
}

TEST(OllamaAnswer, IsReadInOnePieceToo) {
  const auto answer = read({R"({"model": "a", "message": {"content": "", "tool_calls": [{"function": {"name": "look",
      "arguments": {}}}]}, "done": true, "done_reason": "stop"})"});
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->stop, ModelStop::tool_use);
}

TEST(OllamaAnswer, ACallThatIsLostInAStreamIsAFailureThatSaysSo) {
  struct Case {
    std::string content;
    bool lost = false;
    std::string more = R"("done_reason": "stop", "eval_count": 9)";
    std::string thinking = {};
  };
  for (const auto& one :
       std::vector<Case>{{.content = "", .lost = true},
                         {.content = R"({"name": "look", "parameters": {"at": "sky"}})", .lost = true},
                         {.content = R"( {"name": "look", "arguments": {}}
)",
                          .lost = true},
                         {.content = "<tool_call>\n{\"name\": \"look\"}\n</tool_call>", .lost = true},
                         {.content = "[TOOL_CALLS] [{\"name\": \"look\", \"arguments\": {}}]", .lost = true},
                         {.content = "<tool_call>\n{\"name\": \"looking\"}\n</tool_call>"},
                         {.content = "Write it so:\n<tool_call>\n{\"name\": \"look\"}\n</tool_call>"},
                         {.content = "<tool_call> is how look is called, mostly."},
                         // The end alone.
                         {.content = "", .more = R"("done_reason": "stop", "eval_count": 1)"},
                         {.content = "", .more = R"("done_reason": "stop", "eval_count": 0)"},
                         {.content = "", .more = R"("done_reason": "load")"},
                         {.content = "", .more = R"("done_reason": "length", "eval_count": 9)"},
                         {.content = "", .thinking = "Hm."},
                         {.content = "I look."},
                         {.content = R"({"name": "Ann", "parameters": {}})"},
                         {.content = R"({"name": "look"})"},
                         {.content = R"(Like so: {"name": "look", "parameters": {}})"}}) {
    const Json message{{"content", one.content}, {"thinking", one.thinking}};
    const auto line = "{\"message\": " + to_text(message) + ", \"done\": true, " + one.more + "}";
    const auto read = [&](const ModelRequest& request, const ProviderNow& now) {
      const auto reader = ollama()->reader(request, now);
      EXPECT_TRUE(reader->take("", line, {}));
      return reader->finish();
    };
    const ModelRequest request{.tools = tool(Json::object())};
    const auto answer = read(request, {});
    EXPECT_EQ(answer.has_value(), !one.lost) << line;
    if (!answer) {
      EXPECT_EQ(answer.error(), (ProviderFailure{.message = "a call of a tool seems to be lost, or came as text",
                                                 .suspected = ApiExtra::streamed_calls}));
    }
    // Nothing could be lost.
    EXPECT_TRUE(read({}, {})) << line;
    // Who wants an object is given one.
    auto shaped = request;
    shaped.answer_schema = Json::object();
    EXPECT_EQ(read(shaped, {}).has_value(), !one.lost || !one.content.empty()) << line;
    // A whole answer has lost nothing, and may be text all the same.
    const auto whole = read(request, {.without = {ApiExtra::streamed_calls}});
    ASSERT_TRUE(whole) << line;
    EXPECT_EQ(!whole->warnings.empty(), one.lost && !one.content.empty()) << line;
  }
}

TEST(OllamaAnswer, SaysWhyItEnded) {
  const std::vector<std::pair<std::string, ModelStop>> cases{
      {R"("done_reason": "stop")", ModelStop::end_turn},
      {R"("done_reason": "length")", ModelStop::max_tokens},
      {R"("done_reason": "load")", ModelStop::other},
      {R"("total_duration": 1)", ModelStop::end_turn},  // older servers
  };
  for (const auto& [how, stop] : cases) EXPECT_EQ(read({"{\"done\": true, " + how + "}"})->stop, stop) << how;
}

TEST(OllamaAnswer, FailsInsideOfAStream) {
  EXPECT_EQ(read({R"({"message": {"content": "I"}, "done": false})"}).error().status, 0);
  EXPECT_EQ(read({"nonsense"}).error().type, "malformed");
  EXPECT_EQ(read({R"({"error": "the runner has stopped"})"}).error(),
            (ProviderFailure{.status = 500, .message = "the runner has stopped"}));
  EXPECT_EQ(read({R"({"error": "slow down", "StatusCode": 429})"}).error().status, 429);
}

TEST(OllamaFailure, SaysWhatIsWrong) {
  const auto failure = [](int status, std::string_view body) { return ollama()->failure(status, body, {}); };
  EXPECT_EQ(failure(404, R"({"error": "model \"x\" not found, try pulling it first"})").message,
            "model \"x\" not found, try pulling it first");
  EXPECT_TRUE(failure(400, R"({"error": "the input length exceeds the context length"})").too_long);
  EXPECT_TRUE(failure(400, R"({"error": "prompt too long; exceeded max context length by 4 tokens"})").too_long);
  EXPECT_FALSE(failure(400, R"({"error": "x does not support tools"})").too_long);
  EXPECT_EQ(failure(502, "bad gateway").message, "bad gateway");
}

}  // namespace
}  // namespace patchbay
