// The calls of one answer: which run at once, which are refused, and that each gets its outcome. G1, X5.
#include <set>

#include "agent_scene.h"
#include "base/scope.h"
#include "support/beside.h"
#include "support/fails_with.h"
#include "support/manual_clock.h"
#include "support/temp_tree.h"

namespace patchbay::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using End = AgentAnswer::End;
using Ended = AgentToolResult::End;

TEST_F(AgentScene, CallsThatOnlyReadRunAtOnceWithinTheBound) {
  agent_options.tools_at_once = 2;
  model->then(calls({use("1", "mcp__s__hang_reads"), use("2", "mcp__s__hang_reads"), use("3", "mcp__s__hang_reads")}))
      .then(says("done"));
  run([&](Agent& agent) -> Task<void> {
    Scope scope(co_await asio::this_coro::executor);
    const auto sent = beside(scope, agent.send({.text = "go"}));
    while (hanging < 2) co_await hangs.wait();
    co_await settle();
    EXPECT_EQ(most_hanging, 2);
    while (!sent->result) {
      release.notify_all();
      co_await settle();
    }
    EXPECT_EQ(most_hanging, 2);
    EXPECT_THAT(outcomes_of(*agent.messages().at(2)), SizeIs(3));
    co_await scope.join();
  });
}

TEST_F(AgentScene, OtherCallsWaitForEachOtherAndForReadsBeforeThem) {
  model
      ->then(calls({use("1", "mcp__s__hang_reads"), use("2", "mcp__s__change", Json{{"what", "a"}}),
                    use("3", "mcp__s__look", Json{{"at", "b"}}), use("4", "mcp__s__change", Json{{"what", "c"}})}))
      .then(says("done"));
  run([&](Agent& agent) -> Task<void> {
    Scope scope(co_await asio::this_coro::executor);
    const auto sent = beside(scope, agent.send({.text = "go"}));
    while (hanging < 1) co_await hangs.wait();
    co_await settle();
    EXPECT_THAT(order, IsEmpty());
    release.notify_all();
    co_await scope.join();
    EXPECT_THAT(order, ElementsAre("change a", "look b", "change c"));
    std::vector<std::string> ids;
    for (const auto& outcome : outcomes_of(*agent.messages().at(2))) ids.push_back(outcome.id);
    EXPECT_THAT(ids, ElementsAre("1", "2", "3", "4")) << "in the order of the calls";
  });
}

TEST_F(AgentScene, ACallThatARuleDeniesIsToldAndRecorded) {
  host_options.permission.disallowed_tools = {"mcp__s__change"};
  model->then(calls({use("1", "mcp__s__change", Json{{"what", "a"}})})).then(says("I may not"));
  run([&](Agent& agent) -> Task<void> {
    const auto answer = co_await agent.send({.text = "go"});
    EXPECT_EQ(answer.end, End::answered);
    EXPECT_THAT(answer.denied, SizeIs(1));
    EXPECT_EQ(answer.denied.at(0).use.id, "1");
    EXPECT_THAT(answer.denied.at(0).reason, HasSubstr("disallowed_tools"));
    EXPECT_THAT(order, IsEmpty());
    const auto outcome = outcomes_of(*agent.messages().at(2)).at(0);
    EXPECT_TRUE(outcome.is_error);
    EXPECT_THAT(words(outcome), HasSubstr("The call was not carried out."));
    EXPECT_EQ(results().at(0).end, Ended::denied);
  });
}

TEST_F(AgentScene, ThePersonIsAskedWithTheNumberOfTheCall) {
  std::uint64_t asked_about = 0;
  std::string principal;
  agent_options.principal = "helper";
  host_options.permission.ask = [&](PermissionQuestion question) -> Task<bool> {
    asked_about = question.context.call_id;
    principal = question.context.principal;
    co_return false;
  };
  model->then(calls({use("1", "mcp__s__change", Json{{"what", "a"}})})).then(says("no then"));
  run([&](Agent& agent) -> Task<void> {
    const auto answer = co_await agent.send({.text = "go"});
    EXPECT_THAT(answer.denied, SizeIs(1));
    std::uint64_t told = 0;
    for (const auto& event : events) {
      if (const auto* call = std::get_if<AgentToolCall>(&event.what)) told = call->call;
    }
    EXPECT_NE(told, 0u);
    EXPECT_EQ(told, asked_about);
    EXPECT_EQ(principal, "helper");
  });
}

TEST_F(AgentScene, WhatCannotBeCalledGetsAnOutcomeThatSaysSo) {
  ModelToolUse broken = use("2", "mcp__s__look");
  broken.broken = "{\"at\": ";
  model
      ->then(calls({use("1", "nothing_like_it"), broken, use("3", "mcp__s__nothing"), use("4", "mcp__nobody__x"),
                    use("5", "mcp__s__fails")}))
      .then(says("oh"));
  run([&](Agent& agent) -> Task<void> {
    (void)co_await agent.send({.text = "go"});
    const auto outcomes = outcomes_of(*agent.messages().at(2));
    EXPECT_THAT(outcomes, SizeIs(5));
    for (const auto& outcome : outcomes) EXPECT_TRUE(outcome.is_error) << outcome.id;
    EXPECT_THAT(words(outcomes.at(0)), HasSubstr("MCP error: unknown tool 'nothing_like_it'"));
    EXPECT_THAT(words(outcomes.at(1)), HasSubstr("not a JSON object"));
    EXPECT_THAT(words(outcomes.at(1)), HasSubstr("{\"at\":"));
    EXPECT_THAT(words(outcomes.at(2)), HasSubstr("mcp__s__nothing"));
    EXPECT_THAT(words(outcomes.at(4)), HasSubstr("the tool is broken"));
    EXPECT_THAT(order, IsEmpty());
  });
}

TEST_F(AgentScene, PlanModeCallsOnlyWhatOnlyReads) {
  agent_options.mode = AgentMode::plan;
  model->then(calls({use("1", "mcp__s__change", Json{{"what", "a"}}), use("2", "mcp__s__look", Json{{"at", "b"}})}))
      .then(says("the plan"))
      .then(calls({use("3", "mcp__s__change", Json{{"what", "c"}})}))
      .then(says("done"));
  run([&](Agent& agent) -> Task<void> {
    const auto answer = co_await agent.send({.text = "go"});
    EXPECT_THAT(order, ElementsAre("look b"));
    EXPECT_THAT(answer.denied, SizeIs(1));
    EXPECT_EQ(answer.denied.at(0).reason, "plan mode");
    EXPECT_THAT(model->requests.at(0).system, HasSubstr("Plan mode is on"));
    agent.set_mode(AgentMode::normal);
    (void)co_await agent.send({.text = "do it"});
    EXPECT_THAT(news_of(*agent.messages().at(4)), HasSubstr("Plan mode is off"));
    EXPECT_THAT(order, ElementsAre("look b", "change c"));
    EXPECT_EQ(model->prefixes.front(), model->prefixes.back());
    EXPECT_EQ(model->requests.front().system, model->requests.back().system);
  });
}

TEST_F(AgentScene, AToolOfTheProgramIsOneAmongOthers) {
  Tool mine{.name = "mine", .description = "The program's."};
  agent_options.tools.push_back(
      {.tool = mine, .only_reads = false, .call = [](Json arguments, CallOptions options) -> Task<CallToolResult> {
         if (options.on_progress) options.on_progress({.progress = 1, .message = "half"});
         if (arguments["throw"].to_bool().value_or(false)) throw Error(Errc::denied, "not today");
         co_return text("from the program");
       }});
  model->then(calls({use("1", "mine"), use("2", "mine", Json{{"throw", true}})})).then(says("done"));
  run([&](Agent& agent) -> Task<void> {
    const auto answer = co_await agent.send({.text = "go"});
    const auto outcomes = outcomes_of(*agent.messages().at(2));
    EXPECT_EQ(words(outcomes.at(0)), "from the program");
    EXPECT_THAT(words(outcomes.at(1)), HasSubstr("not today"));
    EXPECT_THAT(answer.denied, SizeIs(1));
    EXPECT_THAT(model->prefixes.at(0), HasSubstr("\"mine\""));
    bool progressed = false;
    for (const auto& event : events) progressed |= std::holds_alternative<AgentToolProgress>(event.what);
    EXPECT_TRUE(progressed);
  });
}

TEST_F(AgentScene, ALargeResultIsReadByItsHandle) {
  TempTree kept;
  host_options.state_directory = kept.path();
  model->then(calls({use("1", "mcp__s__big")}))
      .then([](const ModelRequest& request) -> Task<ModelAnswer> {
        const auto outcome = outcomes_of(*request.messages.back()).at(0);
        const auto text = words(outcome);
        EXPECT_LT(text.size(), 120'000u);
        const auto at = text.find("@result:");
        EXPECT_NE(at, std::string::npos) << text.substr(0, 500);
        const auto handle = text.substr(at, text.find_first_of(" \n,.;)\"'", at) - at);
        co_return calls({use("2", "result_read", Json{{"id", handle}, {"pattern", "line 4999[0-9]"}})});
      })
      .then(says("done"));
  run([&](Agent& agent) -> Task<void> {
    (void)co_await agent.send({.text = "go"});
    EXPECT_THAT(words(outcomes_of(*agent.messages().at(4)).at(0)), HasSubstr("line 49990"));
    EXPECT_FALSE(results().at(0).result.handle.empty());
  });
}

TEST_F(AgentScene, WhoSleepsIsWokenByAMessage) {
  model->then(calls({use("1", "sleep", Json{{"seconds", 3000}})})).then(says("done"));
  run([&](Agent& agent) -> Task<void> {
    Scope scope(co_await asio::this_coro::executor);
    const auto sent = beside(scope, agent.send({.text = "go"}));
    while (!agent.is_busy() || model->requests.empty()) co_await model->asked.wait();
    co_await settle();
    agent.tell("<channel source=\"phone\">come</channel>");
    co_await scope.join();
    EXPECT_TRUE(sent->result && *sent->result);
    const auto& message = *agent.messages().at(2);
    EXPECT_EQ(words(outcomes_of(message).at(0)), "Woken: there is a message.");
    EXPECT_THAT(text_of(message), HasSubstr("<channel source=\"phone\">"));
  });
}

TEST_F(AgentScene, WhatIsToldToAnIdleAgentIsGivenWithAnEmptyMessage) {
  model->then(says("I hear"));
  run([&](Agent& agent) -> Task<void> {
    EXPECT_THAT(co_await as_result(agent.send({})), FailsWith(Errc::invalid_argument));
    Scope scope(co_await asio::this_coro::executor);
    const auto told = beside(scope, [](Agent& a) -> Task<bool> {
      co_await a.told();
      co_return true;
    }(agent));
    co_await settle();
    EXPECT_FALSE(told->result);
    agent.tell("the door opened");
    co_await scope.join();
    EXPECT_TRUE(told->result && *told->result);
    const auto answer = co_await agent.send({});
    EXPECT_EQ(answer.text, "I hear");
    EXPECT_EQ(text_of(*agent.messages().at(0)), "the door opened");
  });
}

}  // namespace
}  // namespace patchbay::test
