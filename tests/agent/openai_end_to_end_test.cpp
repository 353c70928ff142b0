// OpenAI's two interfaces over real connections. G1, W3.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/models/http_model.h"
#include "agent/models/openai_chat.h"
#include "agent/models/openai_responses.h"
#include "base/as_result.h"
#include "support/loop.h"
#include "support/openai_replies.h"

namespace patchbay {
namespace {

using namespace std::chrono_literals;
using test::ModelApiReply;
using test::openai_error;
using test::OpenAiReply;
using test::run_task;

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

struct Spoken {
  const char* name;
  std::shared_ptr<Provider> provider;
  ModelApiReply (*reply)(const OpenAiReply&);
  std::vector<std::string> (*events)(const OpenAiReply&);
  const char* path;
};

void PrintTo(const Spoken& spoken, std::ostream* out) { *out << spoken.name; }

struct Asked {
  Result<ModelAnswer> answer = fail(Errc::internal, "not asked");
  std::string text;
  std::string thoughts;
  std::vector<std::string> begun;
  int retries = 0;
};

class OpenAiEndToEnd : public testing::TestWithParam<Spoken> {
 protected:
  std::shared_ptr<Model> model(const test::ModelApi& api) {
    HttpModelOptions options{.provider = GetParam().provider,
                             .base_url = api.url() + "/v1",
                             .key = Secret("sk-secret-1234"),
                             .key_name = "OPENAI_API_KEY"};
    // Nothing of the machine's own environment, and no real waiting.
    options.http.environment = [](std::string_view) { return std::optional<std::string>(); };
    options.retry.first = options.retry.most = 0ms;
    options.jitter = [] { return 0.0; };
    return make_http_model(std::move(options));
  }

  static Task<Asked> ask(std::shared_ptr<Model> model, ModelRequest request) {
    Asked asked;
    const auto tell = [&](const ModelEvent& event) {
      if (const auto* text = std::get_if<ModelTextDelta>(&event)) asked.text += text->text;
      if (const auto* thought = std::get_if<ModelThinkingDelta>(&event)) asked.thoughts += thought->text;
      if (const auto* begun = std::get_if<ModelToolBegun>(&event)) asked.begun.push_back(begun->id);
      if (std::holds_alternative<ModelRetry>(event)) {
        ++asked.retries;
        asked.text.clear();
      }
    };
    asked.answer = co_await as_result(model->ask(std::move(request), tell));
    co_return asked;
  }

  Asked ask_once(const test::ModelApi& api) {
    Asked asked;
    run_task([&]() -> Task<void> { asked = co_await ask(model(api), request()); });
    return asked;
  }

  static ModelRequest request() {
    auto pool = std::make_shared<ToolPool>();
    for (const auto* name : {"look", "smell"}) {
      pool->tools.push_back({.name = name,
                             .catalog_name = std::string("server/") + name,
                             .description = "Does.",
                             .input_schema = std::make_shared<const Json>(Json{{"type", "object"}})});
    }
    return {.system = "Be brief.", .tools = pool, .messages = {said({ModelText{"What is here?"}})}};
  }

  static std::shared_ptr<const ModelMessage> said(std::vector<ModelPart> parts, Role role = Role::user) {
    return std::make_shared<const ModelMessage>(ModelMessage{.role = role, .parts = std::move(parts)});
  }

  static ModelApiReply of_events(std::vector<std::string> events) { return {.chunks = std::move(events)}; }
};

INSTANTIATE_TEST_SUITE_P(
    , OpenAiEndToEnd,
    testing::Values(
        Spoken{"Chat",
               openai_chat_provider({.provider = "openai-chat", .model = "gpt-test", .api = ModelApi::openai_chat}),
               test::openai_chat_reply, test::openai_chat_events, "/v1/chat/completions"},
        Spoken{"Local", openai_chat_provider({.provider = "openai-chat", .model = "qwen", .api = ModelApi::local}),
               test::openai_chat_reply, test::openai_chat_events, "/v1/chat/completions"},
        Spoken{
            "Responses",
            openai_responses_provider({.provider = "openai", .model = "gpt-test", .api = ModelApi::openai_responses}),
            test::openai_responses_reply, test::openai_responses_events, "/v1/responses"}),
    [](const auto& spoken) { return std::string(spoken.param.name); });

TEST_P(OpenAiEndToEnd, CallsToolsAndGoesOnWithWhatTheyAnswered) {
  test::ModelApi api({GetParam().reply({.thinking = "Hm, hm.",
                                        .text = "I look.",
                                        .uses = {{.id = "a", .name = "look", .input = Json{{"at", "sky"}}},
                                                 {.id = "b", .name = "smell", .broken = "{\"what\":"}}}),
                      GetParam().reply({.text = "It is blue.", .usage = {.input = 5, .cache_read = 10, .output = 3}})});
  run_task([&]() -> Task<void> {
    auto asking = request();
    const auto model = this->model(api);
    const auto first = co_await ask(model, asking);
    EXPECT_TRUE(first.answer) << first.answer.error().message();
    if (!first.answer) co_return;
    EXPECT_EQ(first.answer->stop, ModelStop::tool_use);
    EXPECT_EQ(first.answer->model, "gpt-test");
    EXPECT_EQ(first.answer->usage, (ModelUsage{.input = 10, .output = 5}));
    EXPECT_EQ(first.text, "I look.");
    EXPECT_EQ(first.thoughts, "Hm, hm.");
    EXPECT_THAT(first.begun, ElementsAre("a", "b"));
    const auto& parts = first.answer->message.parts;
    EXPECT_THAT(parts, SizeIs(4));
    EXPECT_TRUE(std::holds_alternative<ProviderBlock>(parts[0]));
    EXPECT_EQ(std::get<ModelToolUse>(parts[2]),
              (ModelToolUse{.id = "a", .name = "look", .input = Json{{"at", "sky"}}}));
    EXPECT_EQ(std::get<ModelToolUse>(parts[3]), (ModelToolUse{.id = "b", .name = "smell", .broken = "{\"what\":"}));

    asking.messages.push_back(std::make_shared<const ModelMessage>(first.answer->message));
    asking.messages.push_back(
        said({ModelToolOutcome{.id = "a", .name = "look", .blocks = {ModelText{"blue"}}},
              ModelToolOutcome{.id = "b", .name = "smell", .blocks = {ModelText{"unreadable"}}, .is_error = true}}));
    const auto second = co_await ask(model, asking);
    EXPECT_TRUE(second.answer) << second.answer.error().message();
    if (!second.answer) co_return;
    EXPECT_EQ(second.answer->stop, ModelStop::end_turn);
    EXPECT_EQ(text_of(second.answer->message), "It is blue.");
    EXPECT_EQ(second.answer->usage, (ModelUsage{.input = 5, .cache_read = 10, .output = 3}));
  });
  const auto requests = api.requests();
  ASSERT_THAT(requests, SizeIs(2));
  for (const auto& one : requests) {
    EXPECT_EQ(one.method, "POST");
    EXPECT_EQ(one.path, GetParam().path);
    EXPECT_EQ(one.header("authorization"), "Bearer sk-secret-1234");
  }
  // What the provider caches begins as before.
  EXPECT_EQ(to_text(requests[0].json()["tools"]), to_text(requests[1].json()["tools"]));
  EXPECT_THAT(requests[1].body, HasSubstr("blue"));
  EXPECT_THAT(requests[1].body, HasSubstr("Error: unreadable"));
}

TEST_P(OpenAiEndToEnd, LeavesOutAToolThatTheApiRefuses) {
  test::ModelApi api({openai_error(400, "invalid_function_parameters", "Invalid schema for function 'smell'",
                                   "tools[1].function.parameters"),
                      GetParam().reply({.text = "Hello."})});
  const auto asked = ask_once(api);
  ASSERT_TRUE(asked.answer) << asked.answer.error().message();
  ASSERT_THAT(asked.answer->left_out, SizeIs(1));
  EXPECT_EQ(asked.answer->left_out[0].name, "server/smell");
  EXPECT_THAT(api.requests()[1].json()["tools"].items(), SizeIs(1));
}

TEST_P(OpenAiEndToEnd, FailsAtOnceWhereRepeatingIsOfNoUse) {
  const std::pair<ModelApiReply, Errc> cases[] = {
      {openai_error(400, "context_length_exceeded", "Too long."), Errc::limit},
      {openai_error(401, "invalid_api_key", "Incorrect API key provided: sk-secret-1234"), Errc::unauthorized},
      {openai_error(404, "model_not_found", "There is no such model."), Errc::http},
  };
  for (const auto& [reply, code] : cases) {
    test::ModelApi api({reply});
    const auto asked = ask_once(api);
    ASSERT_FALSE(asked.answer);
    EXPECT_EQ(asked.answer.error().code(), code) << asked.answer.error().message();
    EXPECT_THAT(asked.answer.error().message(), testing::Not(HasSubstr("sk-secret-1234")));
    EXPECT_THAT(api.requests(), SizeIs(1));
  }
}

TEST_P(OpenAiEndToEnd, AsksAgainWhenAnAnswerBreaksOff) {
  auto cut = GetParam().events({.text = "Never to the end"});
  cut.resize(3);
  auto failing = cut;
  failing.push_back("data: {\"type\": \"error\", \"error\": {\"message\": \"busy\", \"type\": \"server_error\"}}\n\n");
  auto not_json = cut;
  not_json.emplace_back("data: upstream error\n\n");
  ModelApiReply torn{.chunks = cut, .cut = true};
  test::ModelApi api({openai_error(429, "rate_limit_exceeded", "Slowly."), of_events(cut), std::move(torn),
                      of_events(failing), of_events(not_json), GetParam().reply({.text = "Hello."})});
  const auto asked = ask_once(api);
  ASSERT_TRUE(asked.answer) << asked.answer.error().message();
  EXPECT_EQ(text_of(asked.answer->message), "Hello.");
  EXPECT_EQ(asked.text, "Hello.");
  EXPECT_EQ(asked.retries, 5);
  EXPECT_EQ(api.replies_left(), 0u);
}

TEST_P(OpenAiEndToEnd, SaysWhenAnAnswerIsTooLongForTheModelOnlyInTheMiddle) {
  test::ModelApi api(
      {of_events({"data: {\"type\": \"error\", \"error\": {\"message\": \"too long\", \"type\": "
                  "\"invalid_request_error\", \"code\": \"context_length_exceeded\"}}\n\n"})});
  const auto asked = ask_once(api);
  ASSERT_FALSE(asked.answer);
  EXPECT_EQ(asked.answer.error().code(), Errc::limit);
}

TEST_P(OpenAiEndToEnd, ReadsAnAnswerThatComesAsOne) {
  const std::string_view chat = R"({"object": "chat.completion", "model": "gpt-test", "choices": [{"index": 0,
      "finish_reason": "stop", "message": {"role": "assistant", "content": "Hello."}}],
      "usage": {"prompt_tokens": 10, "completion_tokens": 5}})";
  const std::string_view response = R"({"object": "response", "status": "completed", "model": "gpt-test", "error": null,
      "output": [{"type": "message", "content": [{"type": "output_text", "text": "Hello."}]}],
      "usage": {"input_tokens": 10, "output_tokens": 5}})";
  const bool responses = std::string_view(GetParam().path) == "/v1/responses";
  test::ModelApi api({ModelApiReply{.headers = {{"Content-Type", "application/json"}},
                                    .chunks = {std::string(responses ? response : chat)}}});
  const auto asked = ask_once(api);
  ASSERT_TRUE(asked.answer) << asked.answer.error().message();
  EXPECT_EQ(asked.text, "Hello.");
  EXPECT_EQ(asked.answer->usage, (ModelUsage{.input = 10, .output = 5}));
}

}  // namespace
}  // namespace patchbay
