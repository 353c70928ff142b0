// The tools of a conversation: the same bytes in every request, and news of what comes and goes. W5, W6, G1.
#include "agent_scene.h"
#include "base/scope.h"
#include "support/beside.h"
#include "support/script_server.h"
#include "support/temp_tree.h"

namespace patchbay::test {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

std::vector<std::string> names(const std::shared_ptr<const ToolPool>& pool) {
  std::vector<std::string> out;
  if (!pool) return out;
  for (const auto& tool : pool->tools) out.push_back(tool.name);
  return out;
}

class AgentTools : public AgentScene {
 protected:
  // The host has another catalog than this one.
  Task<void> catalog_after(std::shared_ptr<const Catalog> before) {
    while (host->catalog() == before) co_await happened.wait();
  }
  // The model's answer comes when the server's tools have changed.
  RecordingModel::Answering when_changed(std::function<void()> change, ModelAnswer answer) {
    return [this, change = std::move(change), answer](const ModelRequest&) -> Task<ModelAnswer> {
      const auto before = host->catalog();
      change();
      co_await catalog_after(before);
      co_return answer;
    };
  }
  ServerState state_of(const std::string& name) const {
    for (const auto& status : host->status()) {
      if (status.name == name) return status.state;
    }
    return ServerState::disabled;
  }
  void add(const std::string& name) {
    server->add_tool({.name = name}, [](RequestContext&, Json) -> Task<CallToolResult> { co_return text("new"); });
  }
};

TEST_F(AgentTools, ToolsThatComeDuringATurnAreToldInItsNextRequest) {
  model->info_.holds_deferred = true;
  model->then(when_changed([&] { add("fresh"); }, calls({use("1", "mcp__s__look", Json{{"at", "x"}})})))
      .then(calls({use("2", "mcp__s__fresh")}))
      .then(says("done"));
  run([&](Agent& agent) -> Task<void> {
    (void)co_await agent.send({.text = "go"});
    EXPECT_THAT(news_of(*agent.messages().at(2)), HasSubstr("mcp__s__fresh"));
    EXPECT_EQ(words(outcomes_of(*agent.messages().at(4)).at(0)), "new");
    EXPECT_THAT(model->prefixes, Each(model->prefixes.front()));
    EXPECT_EQ(model->requests.at(0).tools, model->requests.at(2).tools) << "the very same";
    EXPECT_THAT(names(model->requests.at(1).deferred), ElementsAre("mcp__s__fresh"));
  });
}

TEST_F(AgentTools, AToolThatCameLaterIsLoadedByASearch) {
  model->info_.holds_deferred = true;
  model->then(when_changed([&] { add("fresh"); }, calls({use("1", "mcp__s__look", Json{{"at", "x"}})})))
      .then(calls({use("2", "tool_search", Json{{"query", "select:mcp__s__fresh,mcp__s__look"}})}))
      .then(says("done"));
  run([&](Agent& agent) -> Task<void> {
    (void)co_await agent.send({.text = "go"});
    EXPECT_THAT(names(model->requests.at(0).tools), Contains("tool_search")) << "few tools, and more may come";
    EXPECT_THAT(outcomes_of(*agent.messages().at(4)).at(0).found, ElementsAre("mcp__s__fresh"))
        << "the other one is in every request";
    EXPECT_THAT(model->prefixes, Each(model->prefixes.front()));
  });
}

TEST_F(AgentTools, WhereTheApiHoldsNoneTheyComeAtTheEnd) {
  model->then(when_changed([&] { add("aaa"); }, calls({use("1", "mcp__s__look")}))).then(says("done"));
  run([&](Agent& agent) -> Task<void> {
    (void)co_await agent.send({.text = "go"});
    EXPECT_EQ(names(model->requests.at(1).tools).back(), "mcp__s__aaa");
    const auto& first = model->prefixes.at(0);
    EXPECT_TRUE(model->prefixes.at(1).starts_with(first.substr(0, first.size() - 1)));
    EXPECT_EQ(model->requests.at(1).deferred, nullptr);
  });
}

TEST_F(AgentTools, BetweenTurnsToolsComeGoAndComeBack) {
  model->info_.holds_deferred = true;
  for (int i = 0; i < 4; ++i) model->then(says("ok"));
  run([&](Agent& agent) -> Task<void> {
    (void)co_await agent.send({.text = "one"});
    auto before = host->catalog();
    server->remove_tool("look");
    co_await catalog_after(before);
    (void)co_await agent.send({.text = "two"});
    before = host->catalog();
    add("look");
    co_await catalog_after(before);
    (void)co_await agent.send({.text = "three"});
    (void)co_await agent.send({.text = "four"});
    EXPECT_THAT(news_of(*agent.messages().at(2)), HasSubstr("These tools are gone: mcp__s__look"));
    EXPECT_THAT(news_of(*agent.messages().at(4)), HasSubstr("mcp__s__look"));
    EXPECT_EQ(news_of(*agent.messages().at(6)), "");
    EXPECT_THAT(model->prefixes, Each(model->prefixes.front()));
  });
}

TEST_F(AgentTools, AServerThatFlapsChangesNothingInTheBeginning) {
  auto shaky = ScriptServer::modern(R"({"tools":{"listChanged":true}})");
  shaky->on("tools/list", R"({"tools":[{"name":"a"}],"resultType":"complete"})");
  for (int i = 0; i < 6; ++i) model->then(says("ok"));
  start_first = false;
  run([&](Agent& agent) -> Task<void> {
    host->add_server(named("shaky"), shaky->transport());
    co_await host->start();
    for (int i = 0; i < 6; ++i) {
      (void)co_await agent.send({.text = "again"});
      co_await shaky->die();
      co_await settle();
    }
    EXPECT_THAT(names(model->requests.at(0).tools), Contains("mcp__shaky__a"));
    EXPECT_THAT(model->prefixes, Each(model->prefixes.front()));
  });
}

TEST_F(AgentTools, AServerThatIsLateHoldsNothingUpAndIsNamed) {
  auto slow = ScriptServer::modern(R"({"tools":{}})");
  Event gate;
  slow->on("tools/list", R"({"tools":[{"name":"a"}],"resultType":"complete"})");
  slow->before_open = [&]() -> Task<void> { co_await gate.wait(); };
  auto broken = ScriptServer::modern(R"({"tools":{}})");
  broken->before_open = []() -> Task<void> {
    throw Error(Errc::connect, "nobody is there");
    co_return;
  };
  model->then(says("hello")).then(says("and again"));
  start_first = false;
  run([&](Agent& agent) -> Task<void> {
    host->add_server(named("slow"), slow->transport());
    host->add_server(named("broken"), broken->transport());
    (void)co_await agent.send({.text = "hi"});
    EXPECT_THAT(news_of(*agent.messages().at(0)), HasSubstr("Server \"slow\" is still starting"));
    const auto before = host->catalog();
    gate.notify_all();
    co_await catalog_after(before);
    while (state_of("slow") != ServerState::connected || state_of("broken") != ServerState::failed) {
      co_await happened.wait();
    }
    (void)co_await agent.send({.text = "and now?"});
    const auto news = news_of(*agent.messages().at(0)) + news_of(*agent.messages().at(2));
    EXPECT_THAT(news, AllOf(HasSubstr("Server \"slow\" is connected"), HasSubstr("mcp__slow__a"),
                            HasSubstr("Server \"broken\" could not be used: ")));
  });
}

TEST_F(AgentTools, FoundToolsAreLoadedAndTheSearchIsNoNews) {
  agent_options.model_tools.tool_search = "true";
  for (const bool holds : {true, false}) {
    SCOPED_TRACE(holds);
    model = std::make_shared<RecordingModel>();
    model->info_.holds_deferred = holds;
    model->then(calls({use("1", "tool_search", Json{{"query", "select:mcp__s__look"}})}))
        .then(calls({use("2", "mcp__s__look", Json{{"at", "it"}})}))
        .then(says("done"));
    run([&](Agent& agent) -> Task<void> {
      (void)co_await agent.send({.text = "go"});
      EXPECT_THAT(names(model->requests.at(0).tools), AllOf(Contains("tool_search"), Not(Contains("mcp__s__look"))));
      const auto outcome = outcomes_of(*agent.messages().at(2)).at(0);
      EXPECT_THAT(outcome.found, ElementsAre("mcp__s__look"));
      EXPECT_EQ(news_of(*agent.messages().at(2)), "");
      EXPECT_EQ(words(outcomes_of(*agent.messages().at(4)).at(0)), "seen it");
      if (holds) {
        EXPECT_THAT(model->prefixes, Each(model->prefixes.front()));
        EXPECT_THAT(names(model->requests.at(0).deferred), Contains("mcp__s__look"));
        EXPECT_THAT(names(model->requests.at(2).deferred), Contains("mcp__s__look"));
      } else {
        EXPECT_EQ(names(model->requests.at(1).tools).back(), "mcp__s__look");
      }
    });
  }
}

// R1: what is hidden takes nobody's place.
TEST_F(AgentTools, ASearchFindsWhatItsAgentSeesHoweverMuchIsHidden) {
  const auto hidden = std::make_shared<Server>("hidden", "1");
  for (int i = 0; i < 8; ++i) {
    hidden->add_tool({.name = "look_" + std::to_string(i), .description = "look look look"},
                     [](RequestContext&, Json) -> Task<CallToolResult> { co_return text("no"); });
  }
  agent_options.sees_server = [](const std::string& server) { return server != "hidden"; };
  run([&](Agent& agent) -> Task<void> {
    host->add_server("hidden", hidden);
    co_await host->begin(BeginWait::all);
    const auto search = [&](Json arguments) -> Task<std::string> {
      co_return text_of(co_await agent.model_tools().call("tool_search", std::move(arguments)));
    };
    const auto found = co_await search(Json{{"query", "look"}, {"max_results", 1}});
    EXPECT_THAT(found, AllOf(HasSubstr("mcp__s__look"), Not(HasSubstr("mcp__hidden__"))));
    EXPECT_THAT(co_await search(Json{{"query", "select:mcp__hidden__look_1"}}),
                AllOf(HasSubstr("mcp__hidden__look_1"), Not(HasSubstr("look look"))));
  });
}

TEST_F(AgentTools, AnotherModelIsAnsweredInItsOwnSpellingAndEachHasItsOwnPrefix) {
  agent_options.model_tools.tool_search = "true";
  model->then(calls({use("1", "tool_search", Json{{"query", "select:mcp__s__look"}})}))
      .then(says("one"))
      .then(says("two"));
  const auto other = std::make_shared<RecordingModel>();
  other->info_.api = ModelApi::openai_chat;
  other->info_.holds_deferred = false;
  other->then(calls({use("2", "tool_search", Json{{"query", "select:mcp__s__look"}})})).then(says("three"));
  model->info_.holds_deferred = true;
  run([&](Agent& agent) -> Task<void> {
    (void)co_await agent.send({.text = "go"});
    (void)co_await agent.send({.text = "go on"});
    agent.set_model(other);
    (void)co_await agent.send({.text = "and you?"});
    std::vector<std::string> found;
    for (const auto& message : agent.messages()) {
      for (const auto& outcome : outcomes_of(*message)) found.push_back(words(outcome));
    }
    EXPECT_THAT(found, ElementsAre(AllOf(HasSubstr("\"input_schema\""), Not(HasSubstr("\"parameters\""))),
                                   AllOf(HasSubstr("\"parameters\""), Not(HasSubstr("\"input_schema\"")))));
    EXPECT_THAT(model->prefixes, AllOf(SizeIs(3), Each(model->prefixes.front())));
    EXPECT_THAT(other->prefixes, AllOf(SizeIs(2), Each(other->prefixes.front())));
  });
}

// Messages say it to every model that comes, whatever its own beginning says.
TEST_F(AgentTools, EveryModelReadsLastWhichModeItIs) {
  const auto other = std::make_shared<RecordingModel>();
  other->info_.model = "other";
  for (int time = 0; time < 4; ++time) model->then(says("one"));
  for (int time = 0; time < 3; ++time) other->then(says("two"));
  run([&](Agent& agent) -> Task<void> {
    const auto news = [&]() -> Task<std::string> {
      const auto at = agent.messages().size();
      (void)co_await agent.send({.text = "go"});
      co_return news_of(*agent.messages().at(at));
    };
    EXPECT_EQ(co_await news(), "");
    // The other one begins in plan mode; who comes back was never told, also when it is chosen twice.
    agent.set_mode(AgentMode::plan);
    agent.set_model(other);
    EXPECT_EQ(co_await news(), "");
    EXPECT_THAT(other->requests.back().system, HasSubstr("Plan mode is on"));
    agent.set_model(model);
    agent.set_model(model);
    EXPECT_THAT(co_await news(), HasSubstr("Plan mode is on"));
    // A message says that it is on now.
    agent.set_mode(AgentMode::normal);
    agent.set_model(other);
    EXPECT_THAT(co_await news(), HasSubstr("Plan mode is off"));
    agent.set_model(model);
    EXPECT_EQ(co_await news(), "");
    agent.set_mode(AgentMode::plan);
    EXPECT_THAT(co_await news(), HasSubstr("Plan mode is on"));
    // One that begins only now.
    agent.set_mode(AgentMode::normal);
    const auto third = std::make_shared<RecordingModel>();
    third->info_.model = "third";
    third->then(says("three"));
    agent.set_model(third);
    EXPECT_THAT(co_await news(), HasSubstr("Plan mode is off"));
    EXPECT_THAT(third->requests.back().system, Not(HasSubstr("Plan mode")));
    EXPECT_EQ(model->requests.front().system, model->requests.back().system);
  });
}

TEST_F(AgentTools, AConversationThatIsTakenUpAgainIsToldThatTheModeIsAnotherOne) {
  const TempTree tree;
  agent_options.state_directory = (tree.path() / "state").string();
  for (int time = 0; time < 3; ++time) model->then(says("one"));
  run([&](Agent& agent) -> Task<void> {
    (void)co_await agent.send({.text = "go"});
    agent.set_mode(AgentMode::plan);
    (void)co_await agent.send({.text = "plan"});
    EXPECT_THAT(news_of(*agent.messages().at(2)), HasSubstr("Plan mode is on"));
    agent_options.resume = agent.id();
  });
  host_options = empty_options();
  run([&](Agent& agent) -> Task<void> {
    (void)co_await agent.send({.text = "do it"});
    EXPECT_THAT(news_of(*agent.messages().at(4)), HasSubstr("Plan mode is off"));
  });
}

// Of the models that a conversation comes back to, those that were used last begin as before.
TEST_F(AgentTools, TheBeginningThatWasNotUsedForLongestIsForgotten) {
  std::vector<std::shared_ptr<RecordingModel>> models;
  for (char name = 'z'; name >= 'q'; --name) {
    models.push_back(std::make_shared<RecordingModel>());
    models.back()->info_.model = name;
    for (int time = 0; time < 3; ++time) models.back()->then(says("x"));
  }
  run([&](Agent& agent) -> Task<void> {
    for (const auto& one : models) {
      agent.set_model(one);
      (void)co_await agent.send({.text = "go"});
    }
    // A tool that comes is at the end of a beginning that stays, and in its place in a new one.
    const auto before = host->catalog();
    add("aaa");
    co_await catalog_after(before);
    for (const auto& one : {models.at(8), models.at(0)}) {
      agent.set_model(one);
      (void)co_await agent.send({.text = "go"});
    }
    const auto stays = names(models.at(8)->requests.back().tools), anew = names(models.at(0)->requests.back().tools);
    EXPECT_EQ(stays.back(), "mcp__s__aaa");
    EXPECT_NE(anew.back(), "mcp__s__aaa");
  });
}

TEST_F(AgentTools, WhatAnAgentDoesNotSeeIsNotThereForIt) {
  agent_options.sees = [](const CatalogEntry& entry) { return entry.tool->name == "look"; };
  agent_options.resource_tools = false;
  model->then(calls({use("1", "mcp__s__change"), use("2", "mcp__s__look", Json{{"at", "x"}})})).then(says("done"));
  run([&](Agent& agent) -> Task<void> {
    (void)co_await agent.send({.text = "go"});
    EXPECT_THAT(names(model->requests.at(0).tools), AllOf(Contains("mcp__s__look"), Not(Contains("mcp__s__change"))));
    EXPECT_THAT(words(outcomes_of(*agent.messages().at(2)).at(0)), HasSubstr("unknown tool"));
    EXPECT_THAT(order, ElementsAre("look x"));
  });
}

TEST_F(AgentTools, AToolThatTheProviderRefusesIsInNoLaterRequest) {
  auto answer = says("one");
  answer.left_out = {{.name = "mcp__s__look", .reason = "its schema"}};
  model->then(answer).then(says("two"));
  run([&](Agent& agent) -> Task<void> {
    (void)co_await agent.send({.text = "go"});
    (void)co_await agent.send({.text = "go on"});
    EXPECT_THAT(names(model->requests.at(1).tools), Not(Contains("mcp__s__look")));
    EXPECT_EQ(news_of(*agent.messages().at(2)), "");
  });
}

TEST_F(AgentTools, BuiltInToolsComeFirstAndThenThoseOfServers) {
  auto built_in = std::make_shared<Server>("files", "1");
  for (const auto* name : {"write", "read", "zip"}) {
    built_in->add_tool({.name = name}, [](RequestContext&, Json) -> Task<CallToolResult> { co_return text("x"); });
  }
  agent_options.sub_agents = agent_options.connect_tool = false;
  model->then(says("hello"));
  start_first = false;
  run([&](Agent& agent) -> Task<void> {
    host->add_server("files", built_in, NamePrefix::none);
    co_await host->start();
    (void)co_await agent.send({.text = "hi"});
    const auto& pool = *model->requests.at(0).tools;
    const auto all = names(model->requests.at(0).tools);
    EXPECT_THAT(std::vector(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(pool.own)),
                ElementsAre("read", "result_read", "sleep", "write", "zip"));
    EXPECT_EQ(all.at(pool.own), "mcp__s__big");
    EXPECT_TRUE(std::is_sorted(all.begin() + static_cast<std::ptrdiff_t>(pool.own), all.end()));
  });
}

TEST_F(AgentTools, TheContextIsCountedByServerAndTool) {
  model->then(says("hello"));
  agent_options.directory = "/somewhere";
  run([&](Agent& agent) -> Task<void> {
    (void)co_await agent.send({.text = "hi"});
    const auto context = agent.context();
    EXPECT_GT(context.system, 0u);
    EXPECT_GT(context.messages, 0u);
    EXPECT_THAT(context.tools, SizeIs(2));
    EXPECT_EQ(context.tools.at(1).server, "s");
    EXPECT_THAT(model->requests.at(0).system, AllOf(HasSubstr("/somewhere"), HasSubstr("- s: 6 tools")));
  });
}

}  // namespace
}  // namespace patchbay::test
