// How a turn ends before the model is content, and that the conversation is valid all the same. G1.
#include "agent/sampling.h"
#include "agent_scene.h"
#include "base/scope.h"
#include "support/beside.h"
#include "support/fails_with.h"
#include "support/stop_at_every_step.h"

namespace patchbay::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using End = AgentAnswer::End;
using Ended = AgentToolResult::End;

TEST_F(AgentScene, AnInterruptEndsTheCallAndTheModelGoesOn) {
  model->then(calls({use("1", "mcp__s__hang"), use("2", "mcp__s__change")})).then(says("I see"));
  run([&](Agent& agent) -> Task<void> {
    Scope scope(co_await asio::this_coro::executor);
    const auto sent = beside(scope, agent.send({.text = "go"}));
    while (hanging == 0) co_await hangs.wait();
    agent.interrupt();
    co_await scope.join();
    EXPECT_EQ((*sent->result)->end, End::answered);
    EXPECT_EQ((*sent->result)->text, "I see");
    const auto outcomes = outcomes_of(*agent.messages().at(2));
    EXPECT_THAT(words(outcomes.at(0)), HasSubstr("interrupted by the person"));
    EXPECT_THAT(words(outcomes.at(0)), HasSubstr("may have been carried out"));
    EXPECT_THAT(words(outcomes.at(1)), HasSubstr("Not called"));
    EXPECT_THAT(order, IsEmpty());
    while (hanging > 0) co_await settle();
    EXPECT_EQ(results().at(0).end, Ended::interrupted);
  });
}

TEST_F(AgentScene, ASecondInterruptEndsTheTurn) {
  model->then(calls({use("1", "mcp__s__hang")})).then(says("later"));
  run([&](Agent& agent) -> Task<void> {
    Scope scope(co_await asio::this_coro::executor);
    const auto sent = beside(scope, agent.send({.text = "go"}));
    while (hanging == 0) co_await hangs.wait();
    agent.interrupt();
    agent.interrupt();
    co_await scope.join();
    EXPECT_EQ((*sent->result)->end, End::interrupted);
    EXPECT_THAT(agent.messages(), SizeIs(3));
    EXPECT_EQ((co_await agent.send({.text = "and now"})).text, "later");
  });
}

TEST_F(AgentScene, AnInterruptOfTheModelEndsTheTurnAndKeepsWhatItSaid) {
  Event never;
  model->then([&](const ModelRequest&) -> Task<ModelAnswer> {
    co_await never.wait();
    co_return says("never");
  });
  model->then(says("again"));
  run([&](Agent& agent) -> Task<void> {
    Scope scope(co_await asio::this_coro::executor);
    const auto sent = beside(scope, agent.send({.text = "go"}));
    while (model->requests.empty()) co_await model->asked.wait();
    agent.interrupt();
    co_await scope.join();
    EXPECT_EQ((*sent->result)->end, End::interrupted);
    EXPECT_THAT(agent.messages(), SizeIs(1));
    EXPECT_EQ((co_await agent.send({.text = "on"})).text, "again");
  });
}

TEST_F(AgentScene, ACallerWhoLeavesLeavesAValidConversation) {
  model->then(calls({use("1", "mcp__s__hang_reads"), use("2", "mcp__s__hang_reads")})).then(says("later"));
  run([&](Agent& agent) -> Task<void> {
    Scope scope(co_await asio::this_coro::executor);
    const auto sent = beside(scope, agent.send({.text = "go"}));
    while (hanging < 2) co_await hangs.wait();
    EXPECT_THAT(co_await as_result(agent.send({.text = "me too"})), FailsWith(Errc::invalid_argument));
    EXPECT_THAT(co_await as_result(agent.compact()), FailsWith(Errc::invalid_argument));
    sent->running.cancel();
    co_await scope.join();
    EXPECT_EQ(failure_of(*sent), Errc::cancelled);
    EXPECT_FALSE(agent.is_busy());
    EXPECT_THAT(outcomes_of(*agent.messages().at(2)), SizeIs(2));
    EXPECT_EQ((co_await agent.send({.text = "and now"})).text, "later");
  });
}

TEST_F(AgentScene, WhatTheModelThrowsIsThrownAndTheConversationGoesOn) {
  model->then([](const ModelRequest&) -> Task<ModelAnswer> {
    throw Error(Errc::http, "overloaded");
    co_return ModelAnswer{};
  });
  model->then(says("here"));
  run([&](Agent& agent) -> Task<void> {
    const auto failed = co_await as_result(agent.send({.text = "go"}));
    EXPECT_EQ(failed.error().message(), "overloaded");
    EXPECT_EQ((co_await agent.send({.text = "again"})).text, "here");
  });
}

TEST_F(AgentScene, TurnsAreBounded) {
  agent_options.max_turns = 2;
  for (int i = 0; i < 3; ++i) model->then(calls({use(std::to_string(i), "mcp__s__look")}));
  run([&](Agent& agent) -> Task<void> {
    const auto answer = co_await agent.send({.text = "go"});
    EXPECT_EQ(answer.end, End::max_turns);
    EXPECT_EQ(answer.turns, 2u);
    EXPECT_THAT(outcomes_of(*agent.messages().back()), SizeIs(1));
  });
}

TEST_F(AgentScene, AnswersThatAreNoEndAreAskedForAgainWithinBounds) {
  model->then(says("so ", ModelStop::pause))
      .then(says("far and", ModelStop::max_tokens))
      .then(says(" further", ModelStop::max_tokens));
  run([&](Agent& agent) -> Task<void> {
    const auto answer = co_await agent.send({.text = "go"});
    EXPECT_EQ(answer.end, End::answered);
    EXPECT_EQ(answer.text, "far and further");
    EXPECT_EQ(answer.turns, 3u);
  });
}

TEST_F(AgentScene, ANonsenseCallIsToldAndARefusalEnds) {
  model->then(says("", ModelStop::malformed)).then(says("no", ModelStop::refusal));
  run([&](Agent& agent) -> Task<void> {
    const auto answer = co_await agent.send({.text = "go"});
    EXPECT_EQ(answer.end, End::refused);
    EXPECT_THAT(text_of(*model->requests.at(1).messages.back()), HasSubstr("could not be read"));
  });
}

TEST_F(AgentScene, AnAnswerOfASchemaIsReadAndAskedForAgain) {
  agent_options.answer_schema = Json{{"type", "object"}, {"required", Json::array({"n"})}};
  model->then(says("here you are")).then(says("{}")).then(says("{\"n\": 1}"));
  run([&](Agent& agent) -> Task<void> {
    const auto answer = co_await agent.send({.text = "go"});
    EXPECT_EQ(answer.structured, (Json{{"n", 1}}));
    EXPECT_EQ(answer.turns, 3u);
  });
}

TEST_F(AgentScene, AFullContextMakesTheConversationShorter) {
  for (int i = 0; i < 4; ++i) {
    model->then(calls({use(std::to_string(i), "mcp__s__look", Json{{"at", std::string(20'000, 'x')}})}))
        .then(says("ok"));
  }
  const auto full = says("", ModelStop::context_full);
  auto summary = says("we looked four times");
  summary.warnings = {"the parser is switched off"};
  model->then(full).then(full).then(summary).then(says("going on"));
  run([&](Agent& agent) -> Task<void> {
    for (int i = 0; i < 4; ++i) (void)co_await agent.send({.text = "look"});
    const auto before = agent.messages().size();
    const auto answer = co_await agent.send({.text = "what did we do?"});
    EXPECT_EQ(answer.text, "going on");
    EXPECT_LT(agent.messages().size(), before);
    EXPECT_THAT(text_of(*agent.messages().front()), HasSubstr("we looked four times"));
    EXPECT_THAT(text_of(*model->requests.back().messages.back()), HasSubstr("what did we do?"));
    bool told = false, warned = false;
    for (const auto& event : events) {
      told |= std::holds_alternative<AgentCompacted>(event.what);
      const auto* notice = std::get_if<AgentNotice>(&event.what);
      warned |= notice != nullptr && notice->text == "the parser is switched off";
    }
    EXPECT_TRUE(told);
    EXPECT_TRUE(warned);
  });
}

TEST_F(AgentScene, AConversationThatFillsTheContextBecomesShorterByItself) {
  model->info_.context_tokens = 10'000;
  for (int i = 0; i < 12; ++i) model->then(says(std::string(4000, 'a')));
  run([&](Agent& agent) -> Task<void> {
    for (int i = 0; i < 9; ++i) (void)co_await agent.send({.text = std::string(1000, 'q')});
    bool told = false;
    for (const auto& event : events) told |= std::holds_alternative<AgentCompacted>(event.what);
    EXPECT_TRUE(told);
    EXPECT_LT(agent.messages().size(), 18u);
  });
}

TEST_F(AgentScene, AShortConversationIsNotMadeLongerBySummary) {
  model->then(says("hello"));
  run([&](Agent& agent) -> Task<void> {
    (void)co_await agent.send({.text = "hi"});
    const auto before = agent.messages();
    co_await agent.compact();
    EXPECT_EQ(agent.messages(), before);
    // Nobody was asked for a summary.
    EXPECT_THAT(model->requests, testing::SizeIs(1));
    // A summary that is as long as what it would replace changes nothing either.
    model->then(says(std::string(4000, 'a'))).then(says(std::string(40'000, 's')));
    (void)co_await agent.send({.text = "more"});
    const auto longer = agent.messages();
    co_await agent.compact();
    EXPECT_EQ(agent.messages(), longer);
    for (const auto& event : events) EXPECT_FALSE(std::holds_alternative<AgentCompacted>(event.what));
  });
}

TEST_F(AgentScene, WhatShorteningGainedIsToldInTokensOfTheProvider) {
  auto counted = says(std::string(8000, 'a'));
  counted.usage.input = 3000;
  model->then(counted).then(counted).then(says("a summary"));
  run([&](Agent& agent) -> Task<void> {
    (void)co_await agent.send({.text = "one"});
    (void)co_await agent.send({.text = "two"});
    co_await agent.compact();
    const auto* told = std::get_if<AgentCompacted>(&events.back().what);
    EXPECT_NE(told, nullptr);
    if (told == nullptr) co_return;
    EXPECT_EQ(told->tokens_before, 3000u);
    EXPECT_LT(told->tokens_after, 1100u);
    EXPECT_GT(told->tokens_after, 0u);
  });
}

// ---- stop() and cancelling at every point

class AgentWorld : public SteppedWorld {
 public:
  enum class What { send, compact, begin, told, interrupt, sample, interrupt_sample };
  AgentWorld(What what, bool stops_first) : what_(what), stops_first_(stops_first) {
    server_->add_tool({.name = "a"}, [](RequestContext&, Json) -> Task<CallToolResult> { co_return text("x"); });
    server_->add_tool({.name = "asks"}, [](RequestContext& context, Json) -> Task<CallToolResult> {
      CreateMessageRequest request;
      request.max_tokens = 10;
      request.messages.push_back({.role = Role::user, .content = {TextContent{.text = "say it"}}});
      const auto answer = co_await context.sample(std::move(request));
      co_return text(std::get<TextContent>(answer.content.at(0)).text);
    });
    host_.add_server("s", server_);
    const bool samples = what_ == What::sample || what_ == What::interrupt_sample;
    if (samples) model_->then(calls({use("0", "mcp__s__asks")})).then(says("text for a server"));
    model_
        ->then(calls({use("1", "mcp__s__a"), use("2", "result_read", Json{{"id", "x"}}),
                      use("3", "sleep", Json{{"seconds", 0}})}))
        .then(says("done"));
    agent_ = std::make_unique<Agent>(host_, model_, AgentOptions{});
  }
  Task<void> prepare() override {
    co_await host_.start();
    if (what_ != What::begin) co_await agent_->begin();
    if (what_ == What::compact) {
      (void)co_await agent_->send({.text = std::string(4000, 'q')});
      model_->then(says("a summary"));
    }
  }
  Task<void> operate() override {
    switch (what_) {
      case What::send:
      case What::sample:
      case What::interrupt:
      case What::interrupt_sample:
        (void)co_await agent_->send({.text = "go"});
        co_return;
      case What::compact:
        co_return co_await agent_->compact();
      case What::begin:
        co_return co_await agent_->begin();
      case What::told: {
        co_return co_await agent_->told();
      }
    }
  }
  Task<void> stop() override {
    if (what_ != What::interrupt && what_ != What::interrupt_sample) co_return co_await agent_->stop();
    agent_->interrupt();
  }
  Task<void> finish() override {
    EXPECT_FALSE(agent_->is_busy());
    EXPECT_EQ(broken_rule(agent_->messages()), "");
    if (stops_first_) co_await agent_->stop();
    co_await host_.stop();
  }

 private:
  What what_;
  bool stops_first_;
  std::shared_ptr<Server> server_ = std::make_shared<Server>("s", "1");
  std::shared_ptr<RecordingModel> model_ = std::make_shared<RecordingModel>();
  Host host_{answering_with(model_)};
  std::unique_ptr<Agent> agent_;

  // Servers have text of the model.
  static HostOptions answering_with(std::shared_ptr<Model> model) {
    auto options = empty_options();
    options.asking.sampling = [](SamplingQuestion) -> Task<bool> { co_return true; };
    options.client.sample = [model](CreateMessageRequest request, const CallContext&) {
      return answer_sampling(model, std::move(request), {});
    };
    return options;
  }
};

TEST(AgentStopping, StopEndsWhateverIsUnderWay) {
  for (const auto what :
       {AgentWorld::What::send, AgentWorld::What::compact, AgentWorld::What::begin, AgentWorld::What::sample}) {
    SCOPED_TRACE(static_cast<int>(what));
    const auto report = stop_at_every_step([&](auto) { return std::make_unique<AgentWorld>(what, false); },
                                           {.quiet = std::chrono::milliseconds(200)});
    EXPECT_GE(report.succeeded, 1u);
    for (const auto& [code, times] : report.failed) EXPECT_EQ(code, Errc::closed) << to_string(code) << times;
  }
}

TEST(AgentStopping, StopEndsWhoWaitsToBeTold) {
  const auto report = stop_at_every_step(
      [&](auto) { return std::make_unique<AgentWorld>(AgentWorld::What::told, false); }, {.endless = true});
  EXPECT_GE(report.failed.at(Errc::closed), 1u);
}

TEST(AgentStopping, AnInterruptAtAnyPointLeavesAValidConversation) {
  for (const auto what : {AgentWorld::What::interrupt, AgentWorld::What::interrupt_sample}) {
    const auto report = stop_at_every_step([&](auto) { return std::make_unique<AgentWorld>(what, true); },
                                           {.quiet = std::chrono::milliseconds(200)});
    EXPECT_EQ(report.succeeded, report.runs) << "it is an answer, and no error";
  }
}

TEST(AgentStopping, CancellingLeavesAValidConversation) {
  for (const auto what : {AgentWorld::What::send, AgentWorld::What::compact, AgentWorld::What::sample}) {
    SCOPED_TRACE(static_cast<int>(what));
    const auto report = cancel_at_every_step([&](auto) { return std::make_unique<AgentWorld>(what, true); },
                                             {.quiet = std::chrono::milliseconds(200)});
    EXPECT_GE(report.succeeded, 1u);
    for (const auto& [code, times] : report.failed) EXPECT_EQ(code, Errc::cancelled) << to_string(code) << times;
  }
}

TEST_F(AgentScene, ACallWhoseArgumentsWereCutOffIsNotMade) {
  auto cut = calls({use("1", "mcp__s__look", Json{{"at", "x"}}), use("2", "mcp__s__change")});
  cut.stop = ModelStop::max_tokens;
  model->then(cut).then(says("again"));
  run([&](Agent& agent) -> Task<void> {
    (void)co_await agent.send({.text = "go"});
    EXPECT_EQ(order, (std::vector<std::string>{"look x"}));
    EXPECT_THAT(outcomes_of(*agent.messages().at(2)), testing::SizeIs(2));
  });
}

}  // namespace
}  // namespace patchbay::test
