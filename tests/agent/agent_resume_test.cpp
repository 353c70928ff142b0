// A conversation that goes on in another agent, and calls that a hook put off. G1, P3.
#include <fmt/format.h>

#include "agent_scene.h"
#include "settings/settings_file.h"
#include "support/temp_tree.h"

namespace patchbay::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using End = AgentAnswer::End;

class AgentResume : public AgentScene {
 protected:
  AgentResume() {
    agent_options.state_directory = kept.path();
    agent_options.directory = kept.path();
  }
  TempTree kept;
  std::string id;
};

TEST_F(AgentResume, AnotherAgentGoesOnWhereOneStopped) {
  model->then(calls({use("1", "mcp__s__look", Json{{"at", "x"}})})).then(says("seen")).then(says("as I said"));
  run([&](Agent& agent) -> Task<void> {
    (void)co_await agent.send({.text = "look"});
    id = agent.id();
  });
  agent_options.resume = id;
  run([&](Agent& agent) -> Task<void> {
    EXPECT_EQ(agent.id(), id);
    EXPECT_THAT(agent.messages(), SizeIs(4));
    (void)co_await agent.send({.text = "what was it?"});
    EXPECT_THAT(model->requests.back().messages, SizeIs(5));
    Agent second(*host, model, agent_options);
    EXPECT_EQ((co_await as_result(second.begin())).error().code(), Errc::config) << "it is in use";
    co_await second.stop();
  });
  agent_options.resume = "nothing-like-it";
  Host other(empty_options());
  Agent agent(other, model, agent_options);
  run_task([&]() -> Task<void> {
    EXPECT_EQ((co_await as_result(agent.begin())).error().code(), Errc::invalid_argument);
    co_await agent.stop();
    co_await other.stop();
  });
}

TEST_F(AgentResume, ACallThatAHookDefersIsMadeWhenTheConversationGoesOn) {
  // The hook is a tool, which says what the test says.
  std::string verdict = "defer";
  const auto guard = std::make_shared<Server>("guard", "1");
  guard->add_tool({.name = "check"}, [&](RequestContext&, Json) -> Task<CallToolResult> {
    co_return text(
        fmt::format(R"({{"hookSpecificOutput":{{"hookEventName":"PreToolUse","permissionDecision":"{}"}}}})", verdict));
  });
  const auto with_hook = [&] {
    host_options = empty_options();
    host_options.config->settings = settings_layers({parse_settings(
        R"({"hooks":{"PreToolUse":[{"matcher":"mcp__s__change","hooks":[{"type":"mcp_tool","server":"guard","tool":"check"}]}]}})",
        SettingsSource::user, "/s.json")});
  };
  start_first = false;
  const auto start = [&]() -> Task<void> {
    host->add_server("guard", guard);
    co_await host->start();
  };
  model->then(calls({use("1", "mcp__s__change", Json{{"what", "it"}}), use("2", "mcp__s__look", Json{{"at", "x"}})}));
  with_hook();
  run([&](Agent& agent) -> Task<void> {
    co_await start();
    const auto answer = co_await agent.send({.text = "go"});
    EXPECT_EQ(answer.end, End::deferred);
    EXPECT_THAT(order, ElementsAre("look x"));
    EXPECT_EQ(results().at(0).end, AgentToolResult::End::deferred);
    id = agent.id();
  });
  // Still not.
  agent_options.resume = id;
  with_hook();
  run([&](Agent& agent) -> Task<void> {
    co_await start();
    EXPECT_EQ((co_await agent.send({})).end, End::deferred);
    EXPECT_THAT(model->requests, SizeIs(1));
  });
  verdict = "allow";
  model->then(says("done at last"));
  with_hook();
  run([&](Agent& agent) -> Task<void> {
    co_await start();
    EXPECT_EQ((co_await agent.send({})).text, "done at last");
    EXPECT_THAT(order, ElementsAre("look x", "change it"));
    const auto outcomes = outcomes_of(*agent.messages().at(2));
    EXPECT_THAT(outcomes, SizeIs(2));
    for (const auto& outcome : outcomes) EXPECT_FALSE(outcome.is_error) << words(outcome);
    EXPECT_EQ((co_await as_result(agent.send({}))).error().code(), Errc::invalid_argument);
  });
}

}  // namespace
}  // namespace patchbay::test
