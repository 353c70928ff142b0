// A conversation that goes on in another agent, and calls that a hook put off. G1, P3.
#include <filesystem>
#include <fstream>
#include <set>

#include <fmt/format.h>

#include "agent/conversation/record.h"
#include "agent/models/script.h"
#include "agent_scene.h"
#include "settings/settings_layers.h"
#include "support/fails_with.h"
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
    EXPECT_THAT(co_await as_result(second.begin()), FailsWith(Errc::config)) << "it is in use";
    co_await second.stop();
  });
  agent_options.resume = "nothing-like-it";
  Host other(empty_options());
  Agent agent(other, model, agent_options);
  run_task([&]() -> Task<void> {
    EXPECT_THAT(co_await as_result(agent.begin()), FailsWith(Errc::invalid_argument));
    co_await agent.stop();
    co_await other.stop();
  });
}

// What was taken out of a conversation can be had again, in whatever process it is taken out.
TEST_F(AgentResume, HandlesOfOldResultsAreKnownWhenTheConversationIsMadeShorterLater) {
  host_options.state_directory = (kept.path() / "state").string();
  model->then(calls({use("1", "mcp__s__big")})).then(says("seen"));
  std::string handle;
  run([&](Agent& agent) -> Task<void> {
    (void)co_await agent.send({.text = "look"});
    id = agent.id();
    handle = results().at(0).result.handle;
    EXPECT_THAT(handle, testing::StartsWith("@result:"));
  });
  agent_options.resume = id;
  host_options = empty_options();
  host_options.state_directory = (kept.path() / "state").string();
  for (int i = 0; i < 4; ++i) model->then(says("and on " + std::to_string(i)));
  model->then(says("the summary"));
  run([&](Agent& agent) -> Task<void> {
    for (int i = 0; i < 4; ++i) (void)co_await agent.send({.text = "go on"});
    co_await agent.compact();
    // In what is asked for the summary, or in what is left.
    std::string all;
    for (const ModelMessages& messages : {model->requests.back().messages, agent.messages()}) {
      for (const auto& message : messages) {
        for (const auto& outcome : outcomes_of(*message)) all += words(outcome);
      }
    }
    EXPECT_THAT(all, HasSubstr("was taken out of the conversation; it is kept as " + handle));
  });
}

TEST_F(AgentResume, AScriptsCallsHaveIdsThatTheConversationHasNotSeen) {
  const auto script = [] {
    return make_script_model("demo", R"({"turns": [
      {"calls": [{"name": "mcp__s__look", "input": {"at": "x"}}, {"name": "mcp__s__look", "input": {"at": "y"}}]},
      {"text": "done"}]})");
  };
  std::set<std::string> ids;
  std::size_t uses = 0;
  for (int life = 0; life < 3; ++life) {
    Host own(empty_options());
    own.add_server("s", server);
    Agent agent(own, script(), agent_options);
    run_task([&]() -> Task<void> {
      co_await own.start();
      co_await agent.begin();
      (void)co_await agent.send({.text = "look"});
      agent_options.resume = agent.id();
      ids.clear();
      uses = 0;
      for (const auto& message : agent.messages()) {
        for (const auto& part : message->parts) {
          const auto* use = std::get_if<ModelToolUse>(&part);
          if (!use) continue;
          ids.insert(use->id);
          ++uses;
        }
      }
      co_await agent.stop();
      co_await own.stop();
    });
  }
  EXPECT_EQ(uses, 6u);
  EXPECT_THAT(ids, SizeIs(6));
}

// A hook that is a tool, which says what the test says.
class DeferringHook : public AgentResume {
 protected:
  DeferringHook() {
    start_first = false;
    guard->add_tool({.name = "check"}, [this](RequestContext&, Json) -> Task<CallToolResult> {
      co_return text(fmt::format(
          R"({{"hookSpecificOutput":{{"hookEventName":"PreToolUse","permissionDecision":"{}"}}}})", verdict));
    });
  }
  void with_hook() {
    host_options = empty_options();
    host_options.config->settings = settings_layers({parse_settings(
        R"({"hooks":{"PreToolUse":[{"matcher":"mcp__s__change","hooks":[{"type":"mcp_tool","server":"guard","tool":"check"}]}]}})",
        SettingsSource::user, "/s.json")});
  }
  Task<void> start() {
    host->add_server("guard", guard);
    co_await host->start();
  }
  // A conversation with one call that is put off.
  void put_one_off() {
    model->then(calls({use("1", "mcp__s__change", Json{{"what", "it"}})}));
    with_hook();
    run([&](Agent& agent) -> Task<void> {
      co_await start();
      EXPECT_EQ((co_await agent.send({.text = "go"})).end, End::deferred);
      id = agent.id();
    });
    agent_options.resume = id;
    with_hook();
  }
  std::string file() const {
    for (const auto& each : std::filesystem::recursive_directory_iterator(kept.path())) {
      if (each.path().filename() == id + ".jsonl") return each.path().string();
    }
    return {};
  }
  std::string verdict = "defer";
  std::shared_ptr<Server> guard = std::make_shared<Server>("guard", "1");
};

TEST_F(DeferringHook, WhatThePersonSaysIsNotLostWhileACallIsPutOff) {
  put_one_off();
  model->then(says("as you like"));
  run([&](Agent& agent) -> Task<void> {
    co_await start();
    const auto answer = co_await agent.send({.text = "never mind"});
    EXPECT_EQ(answer.end, End::answered);
    EXPECT_THAT(text_of(*agent.messages().at(2)), HasSubstr("never mind"));
    EXPECT_THAT(outcomes_of(*agent.messages().at(2)), SizeIs(1));
    EXPECT_THAT(order, IsEmpty());
    EXPECT_THAT(co_await as_result(agent.send({})), FailsWith(Errc::invalid_argument));
  });
}

TEST_F(DeferringHook, ACallThatWasPutOffIsNotMadeTwiceWhoeverIsKilledDuringIt) {
  put_one_off();
  std::string kept_then;
  server->add_tool({.name = "change"}, [&](RequestContext&, Json) -> Task<CallToolResult> {
    std::ifstream in(file());
    kept_then.assign(std::istreambuf_iterator<char>(in), {});
    co_return text("changed");
  });
  verdict = "allow";
  model->then(says("done"));
  run([&](Agent& agent) -> Task<void> {
    co_await start();
    EXPECT_EQ((co_await agent.send({})).text, "done");
  });
  // What a process that is killed now leaves.
  const auto read = read_conversation(kept_then, 100);
  EXPECT_TRUE(read) << kept_then;
  EXPECT_THAT(read->state.deferred, IsEmpty());
  EXPECT_EQ(broken_rule(read->state.messages), "");
}

TEST_F(DeferringHook, ACallIsMadeWhenTheConversationGoesOn) {
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
    EXPECT_THAT(co_await as_result(agent.send({})), FailsWith(Errc::invalid_argument));
  });
}

}  // namespace
}  // namespace patchbay::test
