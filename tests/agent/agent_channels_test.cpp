// Messages of channels in a conversation: they wake whoever sleeps or waits, are given together to who was busy, and
// are acknowledged when the conversation has them. H1
#include <algorithm>
#include <functional>

#include <fmt/format.h>

#include "agent_scene.h"
#include "base/scope.h"
#include "support/beside.h"
#include "support/script_server.h"
#include "support/temp_tree.h"

namespace patchbay::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string element(std::string_view content) { return fmt::format("<channel source=\"chat\">{}</channel>", content); }

class AgentChannels : public AgentScene {
 protected:
  AgentChannels() {
    chat->on("tools/list", R"({"tools":[]})");
    host_options.channels.open = {"server:chat"};
    host_options.state_directory = (tree.path() / "state").string();
    agent_options.state_directory = host_options.state_directory;
    start_first = false;
  }
  // With the channel connected.
  void with_chat(std::function<Task<void>(Agent&)> body) {
    run([&, body](Agent& agent) -> Task<void> {
      host->add_server(named("chat"), chat->transport());
      co_await host->start();
      co_await body(agent);
    });
  }
  void push(std::string content) {
    chat->notify("notifications/claude/channel", Json{{"content", std::move(content)}});
  }
  std::size_t waiting() const { return host->channels().front().waiting; }
  static std::vector<std::string> parts_of(const ModelMessage& message) {
    std::vector<std::string> out;
    for (const auto& part : message.parts) {
      if (const auto* text = std::get_if<ModelText>(&part)) out.push_back(text->text);
    }
    return out;
  }

  TempTree tree;
  std::unique_ptr<ScriptServer> chat = ScriptServer::legacy(R"({"tools":{},"experimental":{"claude/channel":{}}})");
};

// H1
TEST_F(AgentChannels, AMessageWakesWhoWaits_AndIsAcknowledgedWhenTheConversationHasIt) {
  model->then([this](const ModelRequest&) -> Task<ModelAnswer> {
    EXPECT_EQ(waiting(), 0u);  // before the model is asked
    co_return says("I come");
  });
  with_chat([&](Agent& agent) -> Task<void> {
    Scope scope(co_await asio::this_coro::executor);
    const auto told = beside(scope, [](Agent& a) -> Task<bool> {
      co_await a.told();
      co_return true;
    }(agent));
    co_await settle();
    EXPECT_FALSE(told->result);
    push("come </channel>");
    co_await scope.join();
    EXPECT_EQ(waiting(), 1u);
    EXPECT_EQ((co_await agent.send({})).text, "I come");
    EXPECT_THAT(parts_of(*agent.messages().at(0)), ElementsAre(element("come &lt;/channel&gt;")));
  });
}

// H1
TEST_F(AgentChannels, WhoSleepsIsWoken_AndWhoIsBusyGetsThemAllInOrder) {
  // Goes on until the last message has come: between the inbox and the agent are turns of the loop.
  std::function<Task<ModelAnswer>(const ModelRequest&)> look_until_all_are_there =
      [&, calls_made = 2](const ModelRequest& request) mutable -> Task<ModelAnswer> {
    const auto newest = parts_of(*request.messages.back());
    if (std::ranges::find(newest, element("4")) != newest.end()) co_return says("done");
    model->then(look_until_all_are_there);
    co_await settle();
    co_return calls({use(fmt::format("{}", ++calls_made), "mcp__s__look", Json{{"at", "sky"}})});
  };
  model->then(calls({use("1", "sleep", Json{{"seconds", 3000}})}))
      .then([this](const ModelRequest&) -> Task<ModelAnswer> {
        for (int i = 0; i < 5; ++i) push(std::to_string(i));
        while (waiting() < 5) co_await settle();
        co_return calls({use("2", "mcp__s__look", Json{{"at", "sky"}})});
      })
      .then(look_until_all_are_there);
  with_chat([&](Agent& agent) -> Task<void> {
    Scope scope(co_await asio::this_coro::executor);
    const auto sent = beside(scope, agent.send({.text = "go"}));
    while (model->requests.empty()) co_await model->asked.wait();
    co_await settle();
    push("wake up");
    co_await scope.join();
    EXPECT_TRUE(sent->result && *sent->result);
    EXPECT_THAT(parts_of(*agent.messages().at(2)), ElementsAre(element("wake up")));
    std::vector<std::string> later;
    for (std::size_t at = 4; at < agent.messages().size(); ++at) {
      if (agent.messages()[at]->role != Role::user) continue;
      for (auto& text : parts_of(*agent.messages()[at])) later.push_back(std::move(text));
    }
    EXPECT_THAT(later, ElementsAre(element("0"), element("1"), element("2"), element("3"), element("4")));
    EXPECT_EQ(waiting(), 0u);
  });
}

// H1: nobody had it in a conversation, so the next one gets it.
TEST_F(AgentChannels, WhatNoConversationHasIsThereInTheNextRun) {
  const auto same = host_options;
  with_chat([&](Agent& agent) -> Task<void> {
    push("hello");
    co_await agent.told();
  });
  model->then(says("hello"));
  server = std::make_shared<Server>("s", "1");  // it belongs to the loop of before
  host_options = same;
  with_chat([&](Agent& agent) -> Task<void> {
    co_await agent.told();
    (void)co_await agent.send({});
    EXPECT_THAT(parts_of(*agent.messages().at(0)), ElementsAre(element("hello")));
    EXPECT_EQ(waiting(), 0u);
  });
}

}  // namespace
}  // namespace patchbay::test
