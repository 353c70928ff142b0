// Every provider over real HTTP, in its own words: storms, streams that are cut, errors behind a good status, calls
// that cannot be read, refusals, pauses, and what goes back as it came. G1.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/as_result.h"
#include "base/scope.h"
#include "base/waiting.h"
#include "spoken.h"
#include "support/beside.h"
#include "support/loop.h"

namespace patchbay::test {
namespace {

using namespace std::chrono_literals;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

struct Asked {
  Result<ModelAnswer> answer = fail(Errc::internal, "not asked");
  std::string text = {};                 // of the pieces since the last retry
  std::vector<std::string> voided = {};  // texts that a retry made void
  std::vector<ModelRetry> retries = {};
};

Task<Asked> ask(std::shared_ptr<Model> model, ModelRequest request) {
  Asked asked;
  asked.answer = co_await as_result(model->ask(std::move(request), [&](const ModelEvent& event) {
    if (const auto* text = std::get_if<ModelTextDelta>(&event)) asked.text += text->text;
    if (const auto* retry = std::get_if<ModelRetry>(&event)) {
      asked.retries.push_back(*retry);
      asked.voided.push_back(std::exchange(asked.text, {}));
    }
  }));
  co_return asked;
}

std::shared_ptr<const ModelMessage> message(Role role, std::vector<ModelPart> parts) {
  return std::make_shared<const ModelMessage>(ModelMessage{.role = role, .parts = std::move(parts)});
}

ModelRequest hello() {
  auto pool = std::make_shared<ToolPool>();
  for (const auto* name : {"look", "smell"}) {
    pool->tools.push_back({.name = name,
                           .catalog_name = std::string("server/") + name,
                           .description = "Does.",
                           .input_schema = std::make_shared<const Json>(Json{{"type", "object"}})});
  }
  return {.tools = std::move(pool), .messages = {message(Role::user, {ModelText{"Hello"}})}};
}

class EachModel : public testing::TestWithParam<Spoken> {
 protected:
  static MakeModelOptions quickly() {
    MakeModelOptions options;
    options.retry.first = options.retry.most = 0ms;
    return options;
  }
  Asked ask_once(const ModelApi& api) {
    Asked asked;
    run_task([&]() -> Task<void> { asked = co_await ask(model_of(spoken, api.url(), {}, quickly()), hello()); });
    return asked;
  }
  ModelApiReply reply(const Said& said) const { return reply_of(spoken, said); }
  ModelApiReply failure(int status, std::map<std::string, std::string> headers = {}) const {
    return failure_of(spoken, status, "Not now", std::move(headers));
  }

  const Spoken spoken = GetParam();
};

INSTANTIATE_TEST_SUITE_P(, EachModel, every_provider(), testing::PrintToStringParamName());

TEST_P(EachModel, GetsThroughAStormOfFailuresAndWaitsAsLongAsItIsAsked) {
  ModelApi api({failure(529), failure(503, {{"retry-after-ms", "3"}}), failure(429, {{"retry-after", "0.004"}}),
                failure(408), failure(409), failure(500, {{"retry-after-ms", "2"}, {"retry-after", "50"}}),
                failure(418, {{"x-should-retry", "true"}}), reply({.text = "Here I am."})});
  const auto asked = ask_once(api);
  ASSERT_TRUE(asked.answer) << asked.answer.error().message();
  EXPECT_EQ(text_of(asked.answer->message), "Here I am.");
  EXPECT_EQ(asked.text, "Here I am.");
  std::vector<std::chrono::milliseconds> pauses;
  for (const auto& retry : asked.retries) {
    pauses.push_back(retry.pause);
    EXPECT_EQ(retry.of, 8);
    EXPECT_THAT(retry.reason, HasSubstr("Not now"));
  }
  EXPECT_THAT(pauses, ElementsAre(0ms, 3ms, 4ms, 0ms, 0ms, 2ms, 0ms));
  EXPECT_EQ(asked.retries.at(0).attempt, 2);
  EXPECT_THAT(asked.retries.at(0).reason, HasSubstr("529"));
  EXPECT_THAT(api.requests(), SizeIs(8));
  for (const auto& request : api.requests()) EXPECT_EQ(request.body, api.requests().front().body);
}

TEST_P(EachModel, GivesUpWhenItIsToldToOrAfterEightAttempts) {
  struct Case {
    ModelApiReply reply;
    std::size_t requests;
    int status;
    std::string words;
  };
  auto always = failure(529);
  always.repeat = true;
  for (const auto& one : {Case{failure(529, {{"x-should-retry", "false"}}), 1, 529, "answered 529"},
                          Case{failure(429, {{"retry-after", "3600"}}), 1, 429, "it asks to wait 3600 s"},
                          Case{failure(429, {{"retry-after-ms", "60001"}}), 1, 429, "it asks to wait 61 s"},
                          Case{always, 8, 529, "tried 8 times"}}) {
    ModelApi api({one.reply});
    const auto asked = ask_once(api);
    ASSERT_FALSE(asked.answer);
    EXPECT_EQ(asked.answer.error().code(), Errc::http);
    EXPECT_EQ(asked.answer.error().http_status(), one.status);
    EXPECT_THAT(asked.answer.error().message(), HasSubstr(one.words));
    EXPECT_THAT(api.requests(), SizeIs(one.requests));
  }
}

TEST_P(EachModel, AsksAgainWhereverAnAnswerIsCut) {
  const auto frames = frames_of(spoken, {.text = "Void this."});
  const auto cut_behind = [&](std::vector<std::string> some, bool torn) {
    auto cut = streamed(spoken, some);
    cut.cut = torn;
    return cut;
  };
  auto in_the_middle = streamed(spoken, frames_up_to(frames, "this."));
  in_the_middle.chunks.pop_back();
  in_the_middle.cut = true;
  // Without a head, without a body, before something is said, behind the beginning of it, in the middle of an event,
  // and with a proper end of the body.
  ModelApi api({{.status = 0, .cut = true},
                {.chunks = {}, .cut = true},
                cut_behind({frames.front().substr(0, 9)}, true),
                cut_behind(frames_up_to(frames, "Void "), true),
                in_the_middle,
                cut_behind(frames_up_to(frames, "Void "), false),
                cut_behind({}, false),
                reply({.text = "This counts."})});
  const auto asked = ask_once(api);
  ASSERT_TRUE(asked.answer) << asked.answer.error().message();
  EXPECT_EQ(asked.text, "This counts.");
  EXPECT_EQ(text_of(asked.answer->message), "This counts.");
  EXPECT_THAT(asked.voided, ElementsAre("", "", "", "Void ", "Void ", "Void ", ""));
  EXPECT_EQ(api.replies_left(), 0u);
}

TEST_P(EachModel, AnErrorBehindAGoodStatusCountsLikeItsStatus) {
  auto failing = frames_up_to(frames_of(spoken, {.text = "Void this."}), "Void ");
  failing.push_back(error_frame(spoken, 529, "Too busy"));
  auto denied = failing;
  denied.back() = error_frame(spoken, 403, "Not for you");
  ModelApi api({streamed(spoken, failing), streamed(spoken, {error_frame(spoken, 429, "Slowly")}),
                reply({.text = "This counts."}), streamed(spoken, denied)});
  auto asked = ask_once(api);
  ASSERT_TRUE(asked.answer) << asked.answer.error().message();
  EXPECT_EQ(asked.text, "This counts.");
  EXPECT_THAT(asked.voided, ElementsAre("Void ", ""));
  EXPECT_THAT(asked.retries.at(0).reason, HasSubstr("Too busy"));
  asked = ask_once(api);
  ASSERT_FALSE(asked.answer);
  EXPECT_EQ(asked.answer.error().code(), Errc::unauthorized) << asked.answer.error().message();
  EXPECT_THAT(asked.answer.error().message(), HasSubstr("Not for you"));
  EXPECT_THAT(api.requests(), SizeIs(4));
}

TEST_P(EachModel, ArgumentsThatAreNoJsonAreKeptAndGoBackAsSuchThatAre) {
  ModelApi api({reply({.text = "I look.",
                       .uses = {{.id = "a", .name = "look", .broken = "{\"at\": "},
                                {.id = "b", .name = "smell", .input = Json{{"what", "smoke"}}}}}),
                reply({.text = "Once more."})});
  run_task([&]() -> Task<void> {
    const auto model = model_of(spoken, api.url(), {}, quickly());
    auto request = hello();
    auto asked = co_await ask(model, request);
    EXPECT_TRUE(asked.answer) << asked.answer.error().message();
    if (!asked.answer) co_return;
    EXPECT_EQ(asked.answer->stop, ModelStop::tool_use);
    std::vector<ModelToolUse> uses;
    for (const auto& part : asked.answer->message.parts) {
      if (const auto* use = std::get_if<ModelToolUse>(&part)) uses.push_back(*use);
    }
    EXPECT_THAT(uses, SizeIs(2));
    EXPECT_THAT(uses.at(0).broken, HasSubstr("at"));
    EXPECT_EQ(uses.at(0).input, Json::object());
    EXPECT_EQ(uses.at(1), (ModelToolUse{.id = "b", .name = "smell", .input = Json{{"what", "smoke"}}}));
    request.messages.push_back(message(Role::assistant, asked.answer->message.parts));
    request.messages.push_back(message(
        Role::user, {ModelToolOutcome{.id = "a", .name = "look", .blocks = {ModelText{"not JSON"}}, .is_error = true},
                     ModelToolOutcome{.id = "b", .name = "smell", .blocks = {ModelText{"yes"}}}}));
    EXPECT_EQ((co_await ask(model, request)).text, "Once more.");
  });
  const auto sent = api.requests().at(1);
  EXPECT_TRUE(sent.json().is_object());
  EXPECT_THAT(sent.body, HasSubstr("not JSON"));
  EXPECT_THAT(sent.body, Not(HasSubstr("\\\"at\\\"")));
}

// A refusal is an answer, and no failure that may pass.
TEST_P(EachModel, ARefusalIsOneWhateverWasSaidBefore) {
  ModelApi api({reply({.text = "I will not.", .refuses = true})});
  const auto asked = ask_once(api);
  ASSERT_TRUE(asked.answer) << asked.answer.error().message();
  // Ollama has no word for it.
  EXPECT_EQ(asked.answer->stop, spoken == Spoken::ollama ? ModelStop::end_turn : ModelStop::refusal);
  EXPECT_THAT(asked.answer->stop_text, Not(IsEmpty()));
  EXPECT_THAT(api.requests(), SizeIs(1));
}

TEST_P(EachModel, WhatOnlyTheProviderUnderstandsGoesBackAsItCameAndToNoOther) {
  const Said said{.text = "I look.", .uses = {{.id = "a", .name = "look"}}, .own = "own-1234"};
  ModelApi api({reply(said), reply({.text = "Seen."})});
  ModelRequest request = hello();
  run_task([&]() -> Task<void> {
    const auto model = model_of(spoken, api.url(), {}, quickly());
    const auto asked = co_await ask(model, request);
    EXPECT_TRUE(asked.answer) << asked.answer.error().message();
    if (!asked.answer) co_return;
    request.messages.push_back(message(Role::assistant, asked.answer->message.parts));
    request.messages.push_back(
        message(Role::user, {ModelToolOutcome{.id = "a", .name = "look", .blocks = {ModelText{"seen"}}}}));
    EXPECT_EQ((co_await ask(model, request)).text, "Seen.");
  });
  EXPECT_THAT(api.requests().at(1).body, HasSubstr("own-1234"));
  for (const auto other : {Spoken::anthropic, Spoken::responses, Spoken::chat, Spoken::gemini, Spoken::ollama}) {
    if (other == spoken) continue;
    ModelApi others({reply_of(other, Said{.text = "I see."})});
    run_task([&]() -> Task<void> {
      const auto asked = co_await ask(model_of(other, others.url(), {}, quickly()), request);
      EXPECT_EQ(asked.text, "I see.");
    });
    EXPECT_THAT(others.requests().at(0).body, Not(HasSubstr("own-1234"))) << testing::PrintToString(other);
    EXPECT_THAT(others.requests().at(0).body, HasSubstr("I look."));
  }
}

TEST_P(EachModel, CancellingEndsItInTheMiddleOfAnAnswer) {
  auto hanging = streamed(spoken, frames_up_to(frames_of(spoken, {.text = "Void this."}), "Void "));
  hanging.hang = true;
  ModelApi api({hanging, reply({.text = "And on."})});
  run_task([&]() -> Task<void> {
    const auto model = model_of(spoken, api.url(), {}, quickly());
    Scope scope(co_await asio::this_coro::executor);
    Event said;
    const auto asked = beside(scope, model->ask(hello(), [&](const ModelEvent& event) {
      if (std::holds_alternative<ModelTextDelta>(event)) said.notify_all();
    }));
    co_await said.wait();
    asked->running.cancel();
    co_await scope.join();
    EXPECT_EQ(failure_of(*asked), Errc::cancelled);
    EXPECT_EQ((co_await ask(model, hello())).text, "And on.");
  });
}

// Nobody but Anthropic has it; the agent asks again with what was said (AgentWire).
TEST(AnthropicModel, APauseIsToldFromAnEnd) {
  ModelApi api({anthropic_reply({.text = "Searching", .stop = "pause_turn"})});
  run_task([&]() -> Task<void> {
    const auto asked = co_await ask(model_of(Spoken::anthropic, api.url()), hello());
    EXPECT_EQ(asked.answer.value().stop, ModelStop::pause);
  });
}

}  // namespace
}  // namespace patchbay::test
