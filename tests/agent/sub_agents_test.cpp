// Sub-agents: their own conversation, their parent's connections, what their definition leaves. G2.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

#include "agent/conversation/conversation.h"
#include "agent/conversation/record.h"
#include "agent_scene.h"
#include "base/scope.h"
#include "support/places.h"
#include "support/temp_tree.h"

namespace patchbay::test {
namespace {

using testing::AllOf;
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

// compat: B1.15
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

// R1, G2: what belongs to one agent is there for no other, resources included.
TEST_F(SubAgent, ItsOwnServersShowNobodyElseTheirResources) {
  define("own", "mcpServers:\n  - extra:\n      command: " + built("scenario-server") + "\n      args: []\n");
  model->then(calls({use("1", "agent", Json{{"prompt", "x"}, {"subagent_type", "own"}}),
                     use("2", "ListMcpResourcesTool", Json::object())}));
  std::size_t at_work = 0;
  Event begun, looked;
  // The parent looks while the other one is at work.
  model->then([&](const ModelRequest&) -> Task<ModelAnswer> {
    at_work = host->status().size();
    begun.notify_all();
    co_await looked.wait();
    co_return says("done");
  });
  model->then(says("ok"));
  run([&](Agent& agent) -> Task<void> {
    Scope scope(co_await asio::this_coro::executor);
    auto sending = [&]() -> Task<void> { (void)co_await agent.send({.text = "go"}); };
    scope.start(sending());
    co_await begun.wait();
    const auto& tools = agent.model_tools();
    for (const auto& tool : tools.tools()) EXPECT_NE(tool.name, "ReadMcpResourceTool");
    for (const auto* name : {"ListMcpResourcesTool", "ReadMcpResourceTool"}) {
      const auto answer =
          co_await agent.model_tools().call(name, Json{{"server", "extra"}, {"uri", "file:///greeting.txt"}});
      EXPECT_TRUE(answer.is_error);
      EXPECT_THAT(text_of(answer), HasSubstr("there is no server \"extra\""));
    }
    EXPECT_THAT(text_of(co_await agent.model_tools().call("ListMcpResourcesTool", Json::object())),
                Not(HasSubstr("extra")));
    EXPECT_THAT(text_of(co_await agent.model_tools().call("tool_search", Json{{"query", "echo"}})),
                Not(HasSubstr("mcp__extra__")));
    looked.notify_all();
    co_await scope.join();
  });
  EXPECT_EQ(at_work, 2u);
}

// ---- what they said is kept

class KeptSubAgent : public SubAgent {
 protected:
  KeptSubAgent() {
    agent_options.state_directory = (tree.path() / "state").string();
    agent_options.directory = (tree.path() / "repo").string();
  }
  // By file name, each as its directory has it.
  std::map<std::string, std::filesystem::path> files() const {
    std::map<std::string, std::filesystem::path> out;
    for (const auto& each : std::filesystem::recursive_directory_iterator(tree.path() / "state/conversations")) {
      if (each.is_regular_file()) out.emplace(each.path().stem().string(), each.path());
    }
    return out;
  }
  static ReadConversation read(const std::filesystem::path& path) {
    std::ifstream in(path);
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    auto read = read_conversation(text, 1'000);
    EXPECT_TRUE(read) << text;
    return read ? std::move(*read) : ReadConversation();
  }
  std::string id;
};

TEST_F(KeptSubAgent, IsFoundFromItsParentsConversation) {
  define("reviewer", "");
  model->then(gives("reviewer", "look at the sky"))
      .then(calls({use("a", "mcp__s__look", Json{{"at", "sky"}})}))
      .then(says("it is blue"))
      .then(says("blue, they say"));
  run([&](Agent& agent) -> Task<void> {
    (void)co_await agent.send({.text = "go"});
    id = agent.id();
    EXPECT_THAT(report(agent), AllOf(HasSubstr("it is blue"), HasSubstr("This was agent reviewer-1")));
  });
  const auto all = files();
  ASSERT_THAT(all, SizeIs(2));
  const auto parent = read(all.at(id));
  ASSERT_THAT(parent.state.subs, SizeIs(1));
  EXPECT_EQ(parent.state.subs[0].agent, "reviewer-1");
  EXPECT_EQ(parent.state.subs[0].definition, "reviewer");
  const auto file = all.at(parent.state.subs[0].id);
  EXPECT_EQ(file.parent_path(), all.at(id).parent_path() / (id + ".agents"));
  EXPECT_EQ(std::filesystem::status(file).permissions(), std::filesystem::perms(0600));
  EXPECT_EQ(std::filesystem::status(file.parent_path()).permissions(), std::filesystem::perms(0700));
  const auto theirs = read(file);
  EXPECT_EQ(broken_rule(theirs.state.messages), "");
  ASSERT_THAT(theirs.state.messages, SizeIs(4));
  EXPECT_EQ(text_of(*theirs.state.messages.back()), "it is blue");
  // It is nobody's conversation to go on with by itself.
  run_task([&]() -> Task<void> {
    const ConversationOptions options{.state_directory = agent_options.state_directory,
                                      .directory = agent_options.directory};
    EXPECT_THAT(co_await Conversation::list(options), SizeIs(1));
    EXPECT_FALSE(co_await as_result(Conversation::open(options, theirs.head.id)));
  });
}

TEST_F(KeptSubAgent, GoesOnAlsoWhenItsParentWasTakenUpAgain) {
  define("reviewer", "");
  model->then(gives("reviewer", "look at the sky")).then(says("it is blue")).then(says("blue, they say"));
  run([&](Agent& agent) -> Task<void> {
    (void)co_await agent.send({.text = "go"});
    id = agent.id();
  });
  agent_options.resume = id;
  host_options = empty_options();
  host_options.config->home = (tree.path() / "home").string();
  host_options.config->config_dir = (tree.path() / "home/.config/patchbay").string();
  host_options.config->cwd = (tree.path() / "repo").string();
  model->then(calls({use("2", "agent", Json{{"prompt", "are you sure?"}, {"resume", "reviewer-1"}}),
                     use("3", "agent", Json{{"prompt", "x"}, {"resume", "reviewer-7"}}),
                     use("4", "agent", Json{{"prompt", "y"}, {"subagent_type", "reviewer"}})}));
  const auto answering = [](const ModelRequest& request) -> Task<ModelAnswer> {
    co_return says(request.messages.size() > 1 ? "quite sure" : "a new one");
  };
  model->then(answering).then(answering).then(says("good"));
  run([&](Agent& agent) -> Task<void> {
    (void)co_await agent.send({.text = "and?"});
    const auto outcomes = outcomes_of(*agent.messages().at(6));
    EXPECT_THAT(outcomes, SizeIs(3));
    EXPECT_THAT(words(outcomes.at(0)), AllOf(HasSubstr("quite sure"), HasSubstr("reviewer-1")));
    EXPECT_THAT(words(outcomes.at(1)), HasSubstr("no agent 'reviewer-7'"));
    EXPECT_THAT(words(outcomes.at(2)), AllOf(HasSubstr("a new one"), HasSubstr("reviewer-2"))) << "no name twice";
    EXPECT_THAT(news_of(*agent.messages().at(4)), HasSubstr("can go on (\"resume\" of the tool agent)"));
    EXPECT_THAT(news_of(*agent.messages().at(4)), HasSubstr("reviewer-1"));
  });
  EXPECT_THAT(read(files().at(id)).state.subs, SizeIs(2));
}

TEST_F(KeptSubAgent, WhatItUsedIsCountedOnceHoweverOftenItGoesOn) {
  define("reviewer", "");
  const auto using_tokens = [](std::string text) {
    auto answer = says(std::move(text));
    answer.usage = {.input = 100, .cache_read = 30, .cache_written = 20, .output = 10, .cache_miss = "system_changed"};
    return answer;
  };
  const auto again = [](const char* call) {
    return calls({use(call, "agent", Json{{"prompt", "and?"}, {"resume", "reviewer-1"}})});
  };
  model->then(gives("reviewer", "look"))
      .then(using_tokens("one"))
      .then(again("2"))
      .then(using_tokens("two"))
      .then(again("3"))
      .then(using_tokens("three"))
      .then(says("ok"));
  run([&](Agent& agent) -> Task<void> {
    (void)co_await agent.send({.text = "go"});
    const ModelUsage thrice{
        .input = 300, .cache_read = 90, .cache_written = 60, .output = 30, .cache_miss = "system_changed"};
    EXPECT_EQ(agent.usage(), thrice);
  });
}

TEST_F(KeptSubAgent, ThatWasKilledBeforeItSaidAnythingBeginsAnewUnderItsName) {
  define("reviewer", "");
  model->then(gives("reviewer", "look at the sky")).then(says("it is blue")).then(says("ok"));
  run([&](Agent& agent) -> Task<void> {
    (void)co_await agent.send({.text = "go"});
    id = agent.id();
  });
  // The name of the file is kept before there is one.
  const auto lost = read(files().at(id)).state.subs.at(0).id;
  std::filesystem::remove(files().at(lost));
  agent_options.resume = id;
  host_options = empty_options();
  host_options.config->home = (tree.path() / "home").string();
  host_options.config->config_dir = (tree.path() / "home/.config/patchbay").string();
  host_options.config->cwd = (tree.path() / "repo").string();
  const auto again = [](const char* call) {
    return calls({use(call, "agent", Json{{"prompt", "and?"}, {"resume", "reviewer-1"}})});
  };
  const auto answering = [](const ModelRequest& request) -> Task<ModelAnswer> {
    co_return says(request.messages.size() > 1 ? "as I said" : "grey");
  };
  model->then(again("2")).then(answering).then(again("3")).then(answering).then(says("good"));
  run([&](Agent& agent) -> Task<void> {
    (void)co_await agent.send({.text = "and?"});
    EXPECT_THAT(words(outcomes_of(*agent.messages().at(6)).at(0)),
                AllOf(HasSubstr("grey"), HasSubstr("began anew"), HasSubstr("This was agent reviewer-1")));
    EXPECT_THAT(words(outcomes_of(*agent.messages().at(8)).at(0)),
                AllOf(HasSubstr("as I said"), Not(HasSubstr("began anew"))));
  });
  const auto subs = read(files().at(id)).state.subs;
  ASSERT_THAT(subs, SizeIs(1));
  EXPECT_NE(subs[0].id, lost);
  EXPECT_TRUE(files().contains(subs[0].id));
}

TEST_F(KeptSubAgent, ThatWasKilledAtWorkIsRepairedWhenItGoesOn) {
  define("reviewer", "");
  model->then(gives("reviewer", "do it")).then(calls({use("a", "mcp__s__hang"), use("b", "mcp__s__look")}));
  run([&](Agent& agent) -> Task<void> {
    Scope scope(co_await asio::this_coro::executor);
    auto sending = [&]() -> Task<void> { (void)co_await agent.send({.text = "go"}); };
    scope.start(sending());
    while (hanging == 0) co_await hangs.wait();
    id = agent.id();
    // What a process that dies now leaves of both.
    const auto all = files();
    EXPECT_THAT(all, SizeIs(2));
    std::filesystem::copy(tree.path() / "state", tree.path() / "left", std::filesystem::copy_options::recursive);
    agent.interrupt_turn();
    co_await scope.join();
  });
  agent_options.state_directory = (tree.path() / "left").string();
  agent_options.resume = id;
  host_options = empty_options();
  host_options.config->home = (tree.path() / "home").string();
  host_options.config->config_dir = (tree.path() / "home/.config/patchbay").string();
  host_options.config->cwd = (tree.path() / "repo").string();
  model->then(calls({use("2", "agent", Json{{"prompt", "go on"}, {"resume", "reviewer-1"}})}))
      .then([](const ModelRequest& request) -> Task<ModelAnswer> {
        EXPECT_EQ(broken_rule(request.messages), "");
        EXPECT_THAT(outcomes_of(*request.messages.at(2)), SizeIs(2));
        co_return says("done now");
      })
      .then(says("good"));
  run([&](Agent& agent) -> Task<void> {
    EXPECT_EQ((co_await agent.send({.text = "what happened?"})).text, "good");
    EXPECT_THAT(words(outcomes_of(*agent.messages().at(4)).at(0)), HasSubstr("done now"));
  });
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
