// Messages of channels in a conversation: whoever sleeps is woken, the message is in the next request, and the host
// forgets it only once the conversation has it. And a server that wants its user to sign in. H1, A6. compat: B9.1
#include <fmt/format.h>

#include "base/scope.h"
#include "http/client/http_client.h"
#include "support/beside.h"
#include "support/script_server.h"
#include "support/sign_in_server.h"
#include "wire_scene.h"

namespace patchbay::test {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

class AgentChannelsWire : public WireScene {
 protected:
  AgentChannelsWire() {
    chat = ScriptServer::legacy(R"({"tools":{},"experimental":{"claude/channel":{}}})");
    chat->on("tools/list", R"({"tools":[{"name":"send","inputSchema":{"type":"object"}}]})");
    agent_options.directory = tree.path().string();
    agent_options.state_directory = (tree.path() / "state").string();
  }
  // What run() takes is used up by it.
  void begin() {
    host_options = empty_options();
    host_options.config->cwd = tree.path().string();
    host_options.channels.open = {"server:chat"};
    host_options.state_directory = (tree.path() / "state").string();
  }
  void with_chat(std::function<Task<void>(Agent&)> body) {
    begin();
    run([&, body = std::move(body)](Agent& agent) -> Task<void> {
      host->add_server(named("chat"), chat->transport());
      co_await host->start();
      co_await body(agent);
    });
  }
  void push(std::string content) {
    chat->notify("notifications/claude/channel", Json{{"content", std::move(content)}});
  }
  std::size_t waiting() const { return host->channels().at(0).waiting; }

  std::unique_ptr<ScriptServer> chat;
};

std::string element(std::string_view text) { return fmt::format(R"(<channel source=\"chat\">{}</channel>)", text); }

TEST_F(AgentChannelsWire, WhoSleepsIsWokenAndTheMessageIsInTheNextRequest) {
  then({.uses = {use("a1", "sleep", Json{{"seconds", 3000}})}});
  then({.text = "Ann writes."});
  with_chat([&](Agent& agent) -> Task<void> {
    Scope scope(co_await asio::this_coro::executor);
    const auto sent = beside(scope, agent.send({.text = "wait for Ann"}));
    co_await until([&] {
      return std::ranges::any_of(events,
                                 [](const auto& event) { return std::holds_alternative<AgentToolCall>(event.what); });
    });
    co_await settle();
    push("I am here");
    co_await scope.join();
    EXPECT_EQ((*sent->result)->text, "Ann writes.");
    EXPECT_EQ(waiting(), 0u);
  });
  EXPECT_TRUE(in_order(said(1), {"Woken: there is a message", element("I am here")})) << said(1);
}

// The program is told, and sends nothing but what came.
TEST_F(AgentChannelsWire, WhoHasNothingToDoIsToldAndGivenAllTogether) {
  then({.text = "Hello."}).then({.text = "Both noted."});
  with_chat([&](Agent& agent) -> Task<void> {
    (void)co_await agent.send({.text = "hi"});
    push("one");
    push("two");
    co_await agent.told();
    while (waiting() < 2) co_await settle();
    EXPECT_EQ((co_await agent.send({})).text, "Both noted.");
    EXPECT_EQ(waiting(), 0u);
  });
  EXPECT_TRUE(in_order(said(1), {"Hello.", element("one"), element("two")})) << said(1);
}

TEST_F(AgentChannelsWire, WhatNoConversationHasComesAgain) {
  then({.text = "I see."});
  with_chat([&](Agent& agent) -> Task<void> {
    push("do not lose me");
    co_await agent.told();
    EXPECT_EQ(waiting(), 1u) << "it is in no conversation yet";
  });
  std::string id;
  with_chat([&](Agent& agent) -> Task<void> {
    co_await agent.told();
    (void)co_await agent.send({});
    id = agent.id();
    EXPECT_EQ(waiting(), 0u);
  });
  EXPECT_THAT(said(0), HasSubstr(element("do not lose me")));
  // And never a third time.
  agent_options.resume = id;
  then({.text = "Nothing new."});
  with_chat([&](Agent& agent) -> Task<void> {
    (void)co_await agent.send({.text = "anything else?"});
    EXPECT_THAT(agent.messages(), SizeIs(4));
  });
  EXPECT_TRUE(in_order(said(1), {element("do not lose me"), "I see.", "anything else?"})) << said(1);
}

TEST_F(AgentChannelsWire, AnAgentThatDoesNotWantThemLeavesThemToTheProgram) {
  agent_options.channels = false;
  then({.text = "Hello."});
  with_chat([&](Agent& agent) -> Task<void> {
    push("for the program");
    const auto messages = co_await host->next_channel_messages();
    EXPECT_THAT(messages, SizeIs(1));
    (void)co_await agent.send({.text = "hi"});
  });
  EXPECT_THAT(said(0), Not(HasSubstr("for the program")));
}

// ---- signing in, for the providers of agent_wire_test.cpp

// What a browser does: goes there, and wherever it is sent on to.
Task<void> browse(std::string url) {
  HttpClientOptions options;
  options.proxy = "";
  HttpClient client(co_await asio::this_coro::executor, std::move(options));
  HttpRequest request{.method = "GET", .url = std::move(url), .headers = {}, .body = {}};
  auto exchange = co_await as_result(client.send(std::move(request)));
  if (exchange) (void)co_await as_result(read_all(**exchange, 1u << 20));
}

TEST_P(EachProvider, TheModelLetsThePersonSignInAndUsesWhatIsThereThen) {
  SignInServer guarded;
  ServerConfig entry = named("guarded");
  entry.kind = ServerKind::http;
  entry.url = guarded.url();
  entry.always_load = true;  // the first message waits for it
  servers.push_back(entry);
  std::vector<std::string> pages;
  Scope* browsers = nullptr;
  host_options.keep_connected = false;
  host_options.sign_in.show = [&](SignInPage page) -> Task<void> {
    pages.push_back(page.url);
    browsers->spawn(browse(page.url));
    co_return;
  };
  then({.uses = {use("a1", "mcp__guarded__hello")}});
  then({.uses = {use("a2", "mcp__guarded__authenticate")}});
  then({.uses = {use("a3", "mcp__guarded__hello")}});
  then({.text = "It let me in."});
  run([&](Agent& agent) -> Task<void> {
    Scope scope(co_await asio::this_coro::executor);
    browsers = &scope;
    EXPECT_EQ((co_await agent.send({.text = "say hello there"})).text, "It let me in.");
    co_await scope.join();
  });
  EXPECT_THAT(pages, SizeIs(1));
  EXPECT_THAT(testing::PrintToString(sent_tools().at(0).loaded), HasSubstr("mcp__guarded__authenticate"));
  EXPECT_THAT(said(0), HasSubstr("wants the person to sign in first"));
  EXPECT_THAT(said(1), HasSubstr("sign in")) << "the call says what would help";
  EXPECT_THAT(said(2), AllOf(HasSubstr("signed in"), HasSubstr("mcp__guarded__hello")));
  EXPECT_THAT(said(3), HasSubstr("signed-in user"));
  expect_stable_tools();
}

}  // namespace
}  // namespace patchbay::test
