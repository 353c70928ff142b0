// A model of a choice, over real connections: Gemini and Ollama, and that every provider finds its way. G1.
#include "agent/models/make_model.h"

#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/as_result.h"
#include "support/loop.h"
#include "support/model_api.h"
#include "support/temp_tree.h"

namespace patchbay {
namespace {

using namespace std::chrono_literals;
using test::ModelApi;
using test::ModelApiReply;
using test::run_task;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

using Texts = std::map<std::string, std::string, std::less<>>;

VariableLookup variables(Texts texts) {
  return [texts = std::move(texts)](std::string_view name) -> std::optional<std::string> {
    const auto found = texts.find(name);
    return found == texts.end() ? std::nullopt : std::optional(found->second);
  };
}

std::shared_ptr<Model> made(std::string words, Texts set) {
  auto choice = choose_model({.words = std::move(words), .variables = variables(std::move(set))});
  if (!choice) throw choice.error().error;
  MakeModelOptions options;
  // Nothing of the machine's own environment, and no real waiting.
  options.http.environment = [](std::string_view) { return std::optional<std::string>(); };
  options.retry.first = options.retry.most = 0ms;
  return make_model(*choice, std::move(options));
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

ModelRequest hello() {
  return {.tools = tools({"look", "broken"}),
          .messages = {
              std::make_shared<const ModelMessage>(ModelMessage{.role = Role::user, .parts = {ModelText{"Hello"}}})}};
}

struct Asked {
  Result<ModelAnswer> answer = fail(Errc::internal, "not asked");
  std::string text;
  ModelInfo info = {};
};

// The model belongs to the loop. Asked again as long as it fails, up to so many times.
Asked ask(std::function<std::shared_ptr<Model>()> make, int most = 1) {
  Asked asked;
  run_task([&]() -> Task<void> {
    const auto model = make();
    asked.info = model->info();
    for (int time = 0; time < most && !asked.answer; ++time) {
      asked.text.clear();
      asked.answer = co_await as_result(model->ask(hello(), [&](const ModelEvent& event) {
        if (const auto* text = std::get_if<ModelTextDelta>(&event)) asked.text += text->text;
        if (std::holds_alternative<ModelRetry>(event)) asked.text.clear();
      }));
    }
  });
  return asked;
}

Asked ask(std::string words, Texts set) {
  return ask([&] { return made(words, set); });
}

// Cut in the middle of an event.
ModelApiReply stream(const std::vector<std::string>& events) {
  std::string all;
  for (const auto& event : events) all += "data: " + event + "\r\n\r\n";
  return {.chunks = {all.substr(0, all.size() / 2), all.substr(all.size() / 2)}};
}

ModelApiReply lines(const std::vector<std::string>& each) {
  std::string all;
  for (const auto& line : each) all += line + "\n";
  return {.headers = {{"Content-Type", "application/x-ndjson"}},
          .chunks = {all.substr(0, all.size() / 2), all.substr(all.size() / 2)}};
}

const std::string gemini_end = R"({"candidates": [{"content": {"parts": [{"text": "look."},
  {"functionCall": {"name": "look", "args": {"at": "sky"}}}]}, "finishReason": "STOP"}],
  "usageMetadata": {"promptTokenCount": 9, "candidatesTokenCount": 3}})";
const std::string gemini_begin = R"({"candidates": [{"content": {"parts": [{"text": "I "}]}}]})";

std::string on_one_line(std::string text) {
  std::erase(text, '\n');
  return text;
}

Texts gemini_at(const ModelApi& api) { return {{"GEMINI_API_KEY", "k"}, {"GOOGLE_GEMINI_BASE_URL", api.url()}}; }

TEST(MadeModel, StreamsAnAnswerOfGemini) {
  ModelApi api({stream({gemini_begin, on_one_line(gemini_end)})});
  const auto asked = ask("gemini:gemini-3.5-flash", gemini_at(api));
  ASSERT_TRUE(asked.answer) << asked.answer.error().message();
  EXPECT_EQ(asked.text, "I look.");
  EXPECT_EQ(asked.answer->stop, ModelStop::tool_use);
  EXPECT_EQ(asked.answer->usage.input, 9u);
  ASSERT_THAT(api.requests(), SizeIs(1));
  const auto sent = api.requests().front();
  EXPECT_EQ(sent.path, "/v1beta/models/gemini-3.5-flash:streamGenerateContent?alt=sse");
  EXPECT_EQ(sent.header("x-goog-api-key"), "k");
  EXPECT_EQ(sent.header("content-type"), "application/json");
  EXPECT_THAT(sent.path, Not(HasSubstr("key=")));
}

TEST(MadeModel, AsksGeminiAgainAfterWhatMayPass) {
  const std::string overloaded = R"({"error": {"code": 503, "message": "overloaded", "status": "UNAVAILABLE"}})";
  auto cut = stream({gemini_begin, gemini_begin});
  cut.cut = true;
  // As a status, inside of a stream, by an end without a reason, by a lost connection.
  ModelApi api({{.status = 503, .chunks = {overloaded}},
                stream({gemini_begin, overloaded}),
                stream({gemini_begin}),
                cut,
                stream({gemini_begin, on_one_line(gemini_end)})});
  // So many in a row are too much for one question.
  const auto asked = ask([&] { return made("gemini:gemini-3.5-flash", gemini_at(api)); }, 5);
  ASSERT_TRUE(asked.answer) << asked.answer.error().message();
  EXPECT_EQ(asked.text, "I look.");
}

TEST(MadeModel, GoesOnWithoutAToolThatGeminiRefuses) {
  ModelApi api({{.status = 400, .chunks = {R"({"error": {"code": 400, "status": "INVALID_ARGUMENT",
                   "message": "* GenerateContentRequest.tools[0].function_declarations[1].parameters: wrong"}})"}},
                stream({gemini_begin, on_one_line(gemini_end)})});
  const auto asked = ask("gemini:gemini-3.5-flash", gemini_at(api));
  ASSERT_TRUE(asked.answer) << asked.answer.error().message();
  ASSERT_THAT(asked.answer->left_out, SizeIs(1));
  EXPECT_THAT(api.requests().back().body, Not(HasSubstr("broken")));
}

TEST(MadeModel, SaysWhichKeyGeminiRefuses) {
  ModelApi api({{.status = 400, .chunks = {R"({"error": {"message": "API key not valid.", "status": "INVALID_ARGUMENT",
                                          "details": [{"reason": "API_KEY_INVALID"}]}})"}}});
  const auto asked = ask("gemini:gemini-3.5-flash", gemini_at(api));
  ASSERT_FALSE(asked.answer);
  EXPECT_EQ(asked.answer.error().code(), Errc::unauthorized);
  EXPECT_THAT(asked.answer.error().message(), HasSubstr("GEMINI_API_KEY"));
}

TEST(MadeModel, ReadsOllamaLineByLine) {
  ModelApi api(
      {lines({R"({"model": "qwen3", "message": {"content": "I "}, "done": false})",
              R"({"message": {"content": "look.", "tool_calls": [{"function": {"name": "look", "arguments": {}}}]}})",
              R"({"done": true, "done_reason": "stop", "prompt_eval_count": 9, "eval_count": 3})"})});
  const auto asked = ask("ollama:qwen3", {{"OLLAMA_HOST", "127.0.0.1:" + std::to_string(api.port())}});
  ASSERT_TRUE(asked.answer) << asked.answer.error().message();
  EXPECT_EQ(asked.text, "I look.");
  EXPECT_EQ(asked.answer->stop, ModelStop::tool_use);
  const auto sent = api.requests().front();
  EXPECT_EQ(sent.path, "/api/chat");
  EXPECT_EQ(sent.header("authorization"), "");
  EXPECT_EQ(sent.json()["options"]["num_ctx"], Json(32'768));
}

// Servers before 0.8: what they lose in a stream is asked for in one piece, and so is all that comes.
TEST(MadeModel, AsksAnOllamaThatLosesCallsForWholeAnswers) {
  const ModelApiReply whole{
      .headers = {{"Content-Type", "application/json"}},
      .chunks = {R"({"message": {"content": "I look.", )",
                 R"("tool_calls": [{"function": {"name": "look", "arguments": {}}}]}, "done": true})"}};
  for (const std::string said : {"", R"({\"name\": \"look\", \"parameters\": {}})"}) {
    ModelApi api({lines({R"({"message": {"content": ")" + said + R"("}, "done": false})",
                         R"({"message": {"content": ""}, "done": true, "done_reason": "stop", "eval_count": 9})"}),
                  whole, whole});
    std::vector<std::string> told;
    run_task([&]() -> Task<void> {
      const auto model = made("ollama:qwen3", {{"OLLAMA_HOST", api.url()}});
      for (int time = 0; time < 2; ++time) {
        const auto answer = co_await as_result(model->ask(hello(), [&](const ModelEvent& event) {
          if (std::holds_alternative<ModelTextDelta>(event)) told.emplace_back("text");
          if (std::holds_alternative<ModelRetry>(event)) told.emplace_back("void");
        }));
        EXPECT_TRUE(answer);
        if (!answer) co_return;
        EXPECT_EQ(answer->stop, ModelStop::tool_use);
        EXPECT_EQ(text_of(answer->message), "I look.");
        EXPECT_THAT(answer->warnings, SizeIs(time == 0 ? 1 : 0));
      }
    });
    if (said.empty()) EXPECT_THAT(told, ElementsAre("void", "text", "text"));
    if (!said.empty()) EXPECT_THAT(told, ElementsAre("text", "void", "text", "text"));
    const auto requests = api.requests();
    ASSERT_THAT(requests, SizeIs(3));
    EXPECT_EQ(requests[0].json()["stream"], Json(true));
    EXPECT_EQ(requests[1].json()["stream"], Json(false));
    EXPECT_EQ(requests[2].json()["stream"], Json(false));
  }
}

// An answer that only looked so: nothing is remembered, and nothing is said that may not be true.
TEST(MadeModel, DoesNotHoldASuspicionAgainstAnOllamaThatHasLostNothing) {
  const ModelApiReply whole{.headers = {{"Content-Type", "application/json"}},
                            .chunks = {R"({"message": {"content": "Nothing more."}, "done": true})"}};
  ModelApi api({lines({R"({"message": {"content": ""}, "done": true, "done_reason": "stop", "eval_count": 9})"}), whole,
                lines({R"({"message": {"content": "Hello."}, "done": true})"})});
  run_task([&]() -> Task<void> {
    const auto model = made("ollama:qwen3", {{"OLLAMA_HOST", api.url()}});
    std::vector<std::string> reasons;
    for (const std::string text : {"Nothing more.", "Hello."}) {
      const auto answer = co_await as_result(model->ask(hello(), [&](const ModelEvent& event) {
        if (const auto* retry = std::get_if<ModelRetry>(&event)) reasons.push_back(retry->reason);
      }));
      EXPECT_TRUE(answer);
      if (!answer) co_return;
      EXPECT_EQ(text_of(answer->message), text);
      EXPECT_THAT(answer->warnings, IsEmpty());
    }
    EXPECT_THAT(reasons, ElementsAre("a call of a tool seems to be lost, or came as text"));
  });
  const auto requests = api.requests();
  ASSERT_THAT(requests, SizeIs(3));
  EXPECT_EQ(requests[1].json()["stream"], Json(false));
  EXPECT_EQ(requests[2].json()["stream"], Json(true));
}

TEST(MadeModel, SaysThatAModelIsNotThere) {
  ModelApi api({{.status = 404, .chunks = {R"({"error": "model \"qwen3\" not found, try pulling it first"})"}}});
  const auto asked = ask("ollama:qwen3", {{"OLLAMA_HOST", api.url()}});
  ASSERT_FALSE(asked.answer);
  EXPECT_THAT(asked.answer.error().message(), HasSubstr("try pulling it first"));
}

TEST(MadeModel, FindsTheWayOfEachProvider) {
  struct Way {
    std::string words;
    std::string base;
    std::string key;
    std::string path;
    std::string header;
    std::string value;
  };
  for (const auto& way : std::vector<Way>{
           {"anthropic:claude-x", "ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY", "/v1/messages", "x-api-key", "k"},
           {"anthropic:claude-x", "ANTHROPIC_BASE_URL", "ANTHROPIC_AUTH_TOKEN", "/v1/messages", "authorization",
            "Bearer k"},
           {"openai:gpt-x", "OPENAI_BASE_URL", "OPENAI_API_KEY", "/responses", "authorization", "Bearer k"},
           {"openai-chat:x", "OPENAI_BASE_URL", "OPENAI_API_KEY", "/chat/completions", "authorization", "Bearer k"},
           {"gemini:x", "GOOGLE_GEMINI_BASE_URL", "GEMINI_API_KEY", "/v1beta/models/x:streamGenerateContent?alt=sse",
            "x-goog-api-key", "k"},
       }) {
    ModelApi api({{.status = 403, .chunks = {"{}"}}});
    const auto asked = ask(way.words, {{way.base, api.url()}, {way.key, "k"}});
    EXPECT_FALSE(asked.answer);
    EXPECT_EQ(asked.info.provider, way.words.substr(0, way.words.find(':')));
    ASSERT_THAT(api.requests(), SizeIs(1)) << way.words;
    EXPECT_EQ(api.requests().front().path, way.path);
    EXPECT_EQ(api.requests().front().header(way.header), way.value);
  }
}

TEST(MadeModel, IsAskedForByItsName) {
  const test::TempTree files;
  files.file("demo.json", R"({"turns": [{"text": "Hello."}]})");
  const auto asked = ask([&] { return make_model("script:" + (files.path() / "demo.json").string()); });
  EXPECT_EQ(text_of(asked.answer->message), "Hello.");
  EXPECT_EQ(make_model("claude-x", variables({{"ANTHROPIC_API_KEY", "k"}}))->info().model, "claude-x");
  for (const auto& words : {"", "what", "anthropic", "script:/nowhere/demo.json"}) {
    try {
      make_model(words, variables({}));
      ADD_FAILURE() << words;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Errc::config) << words;
    }
  }
}

}  // namespace
}  // namespace patchbay
