// Sub-agents: their own conversation, their parent's connections, what their definition leaves. G2.
#include <cstdlib>

#include "agent_scene.h"
#include "base/scope.h"
#include "support/places.h"
#include "support/temp_tree.h"

namespace patchbay::test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

class SubAgent : public AgentScene {
 protected:
  SubAgent() {
    tree.directory("home/.claude/agents");
    tree.directory("repo");
    ::unsetenv("CLAUDE_CONFIG_DIR");  // what ./test gives its tests is not the home of this one
    host_options.config->home = (tree.path() / "home").string();
    host_options.config->config_dir = (tree.path() / "home/.config/patchbay").string();
    host_options.config->cwd = (tree.path() / "repo").string();
  }
  void define(const std::string& name, const std::string& more,
              const std::string& folder = "home/.claude/agents") const {
    tree.file(folder + "/" + name + ".md",
              "---\nname: " + name + "\ndescription: does it\n" + more + "---\nYou are " + name + ".\n");
  }
  static ModelAnswer gives(const std::string& agent, const std::string& task) {
    return calls({use("1", "agent", Json{{"prompt", task}, {"subagent_type", agent}})});
  }
  // The tools of servers that this request of the model had.
  std::vector<std::string> offered(std::size_t request) const {
    std::vector<std::string> names;
    for (const auto& tool : model->requests.at(request).tools->tools) names.push_back(tool.name);
    return names;
  }
  // What the parent was told of it.
  static std::string report(Agent& agent) { return words(outcomes_of(*agent.messages().at(2)).at(0)); }

  std::string mode_server(const std::string& name) const {
    return "mcpServers:\n  - " + name + ":\n      command: " + built("mode-server") + "\n      args: [ok]\n";
  }

  TempTree tree;
};

TEST_F(SubAgent, ThatIsAtWorkPlansAsSoonAsItsParentDoes) {
  model->then(gives("general-purpose", "change it"));
  run([&](Agent& agent) -> Task<void> {
    model->then([&](const ModelRequest&) -> Task<ModelAnswer> {
      agent.set_mode(AgentMode::plan);
      co_return calls({use("a", "mcp__s__change", Json{{"what", "it"}})});
    });
    model->then(says("I may not")).then(says("well"));
    (void)co_await agent.send({.text = "go"});
    EXPECT_THAT(order, IsEmpty());
    EXPECT_EQ(report(agent), "I may not");
  });
}

TEST_F(SubAgent, WorksByItselfAndReports) {
  define("reviewer", "");
  model->then(gives("reviewer", "look at the sky"))
      .then(calls({use("a", "mcp__s__look", Json{{"at", "sky"}})}))
      .then(says("it is blue"))
      .then(says("blue, they say"));
  run([&](Agent& agent) -> Task<void> {
    const auto answer = co_await agent.send({.text = "go"});
    EXPECT_EQ(answer.text, "blue, they say");
    EXPECT_EQ(report(agent), "it is blue");
    EXPECT_THAT(order, ElementsAre("look sky"));
  });
  ASSERT_THAT(model->requests, SizeIs(4));
  EXPECT_THAT(model->requests[1].system, HasSubstr("You are reviewer."));
  EXPECT_THAT(model->requests[1].messages, SizeIs(1));  // nothing of its parent's
  EXPECT_THAT(offered(0), Contains("agent"));
  EXPECT_THAT(offered(0), Contains("connect_mcp"));
  EXPECT_THAT(offered(1), Not(Contains("agent")));
  EXPECT_THAT(offered(1), Not(Contains("connect_mcp")));
  EXPECT_THAT(offered(1), Contains("mcp__s__look"));
  // Everything it did was told, with its name.
  bool begun = false, called = false, ended = false;
  for (const auto& event : events) {
    if (event.sub_agent != "reviewer-1") continue;
    begun |= std::holds_alternative<SubAgentBegun>(event.what);
    called |= std::holds_alternative<AgentToolResult>(event.what);
    if (const auto* end = std::get_if<SubAgentEnded>(&event.what)) ended = !end->failed;
  }
  EXPECT_TRUE(begun && called && ended);
}

TEST_F(SubAgent, CallsUnderItsOwnName) {
  std::vector<std::string> asked;
  host_options.permission.ask = [&](PermissionQuestion question) -> Task<bool> {
    asked.push_back(question.context.principal);
    co_return true;
  };
  model->then(gives("general-purpose", "change it"))
      .then(calls({use("a", "mcp__s__change")}))
      .then(says("done"))
      .then(says("ok"));
  run([&](Agent& agent) -> Task<void> { (void)co_await agent.send({.text = "go"}); });
  EXPECT_THAT(asked, ElementsAre("general-purpose-1"));
}

TEST_F(SubAgent, SeesWhatItsDefinitionLeaves) {
  define("narrow", "tools: mcp__s__look\n");
  define("none", "mcpServers: []\n");
  model->then(gives("narrow", "x"))
      .then(calls({use("a", "mcp__s__change"), use("b", "s/change"), use("c", "mcp__s__look", Json{{"at", "x"}})}))
      .then(says("tried"))
      .then(gives("none", "y"))
      .then(calls({use("d", "mcp__s__look"), use("e", "tool_search", Json{{"query", "look"}})}))
      .then(says("tried"))
      .then(says("ok"));
  run([&](Agent& agent) -> Task<void> { (void)co_await agent.send({.text = "go"}); });
  ASSERT_THAT(model->requests, SizeIs(7));
  EXPECT_THAT(offered(1), Contains("mcp__s__look"));
  EXPECT_THAT(offered(1), Not(Contains("mcp__s__change")));
  const auto first = outcomes_of(*model->requests[2].messages.back());
  ASSERT_THAT(first, SizeIs(3));
  EXPECT_THAT(words(first[0]), HasSubstr("unknown tool"));
  EXPECT_THAT(words(first[1]), HasSubstr("unknown tool"));
  EXPECT_EQ(words(first[2]), "seen x");
  EXPECT_THAT(order, ElementsAre("look x"));
  for (const auto& name : offered(4)) EXPECT_THAT(name, Not(testing::StartsWith("mcp__")));
  for (const auto& outcome : outcomes_of(*model->requests[5].messages.back())) {
    EXPECT_THAT(words(outcome), HasSubstr("unknown tool"));
  }
}

TEST_F(SubAgent, HasServersOfItsOwn) {
  define("own", mode_server("extra") + "tools: Read\n");
  std::size_t meanwhile = 0;
  model->then(gives("own", "x"))
      .then([&](const ModelRequest&) -> Task<ModelAnswer> {
        meanwhile = host->status().size();
        co_return calls({use("a", "mcp__extra__echo", Json{{"text", "hi"}}), use("b", "mcp__s__look")});
      })
      .then(says("done"))
      .then(calls({use("2", "mcp__extra__echo", Json{{"text", "hi"}})}))
      .then(says("ok"));
  run([&](Agent& agent) -> Task<void> {
    (void)co_await agent.send({.text = "go"});
    EXPECT_THAT(host->status(), SizeIs(1));  // it ended with it
    for (const auto& message : agent.messages()) EXPECT_THAT(news_of(*message), Not(HasSubstr("extra")));
  });
  ASSERT_THAT(model->requests, SizeIs(5));
  EXPECT_EQ(meanwhile, 2u);
  EXPECT_THAT(offered(1), Contains("mcp__extra__echo"));
  const auto outcomes = outcomes_of(*model->requests[2].messages.back());
  ASSERT_THAT(outcomes, SizeIs(2));
  EXPECT_FALSE(outcomes[0].is_error) << words(outcomes[0]);
  EXPECT_TRUE(outcomes[1].is_error);
  EXPECT_TRUE(outcomes_of(*model->requests[4].messages.back()).at(0).is_error);  // nobody else's
}

TEST_F(SubAgent, OfARepositoryAsksAboutItsServers) {
  define("theirs", mode_server("extra"), "repo/.claude/agents");
  host_options.config->project_trusted = true;
  std::vector<std::string> asked;
  host_options.approve = [&](ApprovalQuestion question) -> Task<bool> {
    asked.push_back(question.server.name + " for " + question.context.principal);
    co_return false;
  };
  model->then(gives("theirs", "x")).then(says("I have no server")).then(says("ok"));
  run([&](Agent& agent) -> Task<void> {
    (void)co_await agent.send({.text = "go"});
    EXPECT_EQ(report(agent), "I have no server");
  });
  EXPECT_THAT(asked, ElementsAre("extra for theirs-1"));
  EXPECT_THAT(offered(1), Not(Contains("mcp__extra__echo")));
  std::string notices;
  for (const auto& event : events) {
    if (const auto* notice = std::get_if<AgentNotice>(&event.what)) notices += notice->text;
  }
  EXPECT_THAT(notices, HasSubstr("its server \"extra\" could not be used"));
}

TEST_F(SubAgent, OfARepositoryIsThereOnlyWhereItIsTrusted) {
  define("theirs", "", "repo/.claude/agents");
  model->then(gives("theirs", "x")).then(says("ok"));
  run([&](Agent& agent) -> Task<void> {
    (void)co_await agent.send({.text = "go"});
    EXPECT_THAT(report(agent), HasSubstr("there is no agent 'theirs'"));
  });
}

TEST_F(SubAgent, EndsWithTheTurnOfItsParent) {
  define("own", mode_server("extra") + "  - s\n");
  model->then(gives("own", "x")).then(calls({use("a", "mcp__s__hang")}));
  run([&](Agent& agent) -> Task<void> {
    Scope scope(co_await asio::this_coro::executor);
    AgentAnswer answer;
    auto sending = [&]() -> Task<void> { answer = co_await agent.send({.text = "go"}); };
    scope.start(sending());
    while (hanging == 0) co_await hangs.wait();
    agent.interrupt_turn();
    co_await scope.join();
    EXPECT_EQ(answer.end, AgentAnswer::End::interrupted);
    while (hanging > 0 || host->status().size() > 1) co_await happened.wait();
  });
  EXPECT_EQ(hanging, 0);
}

TEST_F(SubAgent, WorksBesideOthersWithinABound) {
  agent_options.sub_agents_at_once = 2;
  std::vector<ModelToolUse> three;
  for (const auto* id : {"1", "2", "3"}) {
    three.push_back(use(id, "agent", Json{{"prompt", std::string("task ") + id}}));
  }
  int at_work = 0, most = 0, begun = 0;
  Event two;
  const auto working = [&](const ModelRequest&) -> Task<ModelAnswer> {
    most = std::max(most, ++at_work);
    if (++begun == 2) two.notify_all();
    while (begun < 2) co_await two.wait();
    co_await settle();  // a third one would come now
    --at_work;
    co_return says("done");
  };
  model->then(calls(three)).then(working).then(working).then(working).then(says("ok"));
  run([&](Agent& agent) -> Task<void> {
    (void)co_await agent.send({.text = "go"});
    EXPECT_THAT(outcomes_of(*agent.messages().at(2)), SizeIs(3));
  });
  EXPECT_EQ(most, 2);
}

TEST_F(SubAgent, MayConnectServersWhereItWasGranted) {
  define("connects", "tools: connect_mcp, mcp__s__look\n");
  model->then(gives("connects", "x"))
      .then(calls({use("a", "connect_mcp", Json{{"name", "s"}})}))
      .then(says("done"))
      .then(says("ok"));
  run([&](Agent& agent) -> Task<void> { (void)co_await agent.send({.text = "go"}); });
  ASSERT_THAT(model->requests, SizeIs(4));
  EXPECT_EQ(words(outcomes_of(*model->requests[2].messages.back()).at(0)), "MCP server 's' already connected");
}

TEST_F(AgentScene, AServerThatTheModelConnectsIsInItsNextRequest) {
  agent_options.approve_server = [](ApprovalQuestion question) -> Task<bool> {
    EXPECT_EQ(question.server.command, built("mode-server"));
    co_return true;
  };
  model
      ->then(calls({use("1", "connect_mcp",
                        Json{{"name", "new"}, {"command", built("mode-server")}, {"args", Json::array({"ok"})}})}))
      .then(calls({use("2", "mcp__new__echo", Json{{"text", "hi"}})}))
      .then(says("ok"));
  run([&](Agent& agent) -> Task<void> {
    (void)co_await agent.send({.text = "go"});
    EXPECT_THAT(words(outcomes_of(*agent.messages().at(2)).at(0)),
                HasSubstr("Connected to 'new'. Discovered: mcp__new__"));
    EXPECT_THAT(news_of(*agent.messages().at(2)), HasSubstr("mcp__new__echo"));
    EXPECT_FALSE(outcomes_of(*agent.messages().at(4)).at(0).is_error);
  });
}

}  // namespace
}  // namespace patchbay::test
