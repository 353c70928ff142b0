// Tools that change while a host runs, in both eras, on a loop whose time is in the test's hand. N5
#include <atomic>
#include <filesystem>
#include <fstream>
#include <latch>
#include <optional>

#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <patchbay/host.h>

#include "base/offload.h"
#include "base/runtime.h"
#include "base/scope.h"
#include "base/waiting.h"
#include "host/make_host.h"
#include "protocol/methods.h"
#include "support/beside.h"
#include "support/fails_with.h"
#include "support/host_parts.h"
#include "support/loop.h"
#include "support/manual_clock.h"
#include "support/script_server.h"
#include "support/temp_tree.h"

namespace patchbay::test {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

std::string list_of(const std::vector<std::pair<std::string, std::string>>& tools) {
  Json list = Json::array();
  for (const auto& [name, description] : tools) {
    list.push_back(Json{{"name", name}, {"description", description}, {"inputSchema", {{"type", "object"}}}});
  }
  return to_text(Json{{"resultType", "complete"}, {"tools", std::move(list)}});
}

class PinnedTools : public testing::TestWithParam<Era> {
 protected:
  PinnedTools() {
    server =
        GetParam() == Era::modern ? ScriptServer::modern(R"({"tools":{}})") : ScriptServer::legacy(R"({"tools":{}})");
    server->on(std::string(method::call_tool),
               R"({"content":[{"type":"text","text":"done"}],"resultType":"complete"})");
    lists({{"a", "1"}});
    auto entry = named("s");
    entry.command = "/bin/sh";
    config.servers.push_back(std::move(entry));
    config.cwd = tree.path().string();
  }

  void lists(const std::vector<std::pair<std::string, std::string>>& tools) {
    server->on(std::string(method::list_tools), list_of(tools));
  }

  Host make() {
    HostOptions options;
    options.config = config;
    options.load.emplace();
    options.load->cwd = config.cwd;
    options.load->trust_project = true;
    options.load->home = (tree.path() / "home").string();
    options.load->variables = [](std::string_view) { return std::optional<std::string>(); };
    options.state_directory = (tree.path() / "state").string();
    options.warm_start = false;
    options.follow_changes = false;
    options.keep_connected = false;
    options.trust_project = true;
    options.permission.ask = permission;
    if (GetParam() == Era::legacy) options.client.protocol = "legacy";
    if (answer) {
      options.approve_change = [this](ChangedToolQuestion question) -> Task<bool> {
        asked.push_back(question.changes);
        if (meanwhile) co_await meanwhile();
        co_return *answer;
      };
    }
    return make_host(std::move(options), Runtime{}, "", [this](const ServerConfig&) { return server->transport(); });
  }

  static std::vector<std::string> offered(const Host& host) {
    std::vector<std::string> out;
    for (const auto& one : host.catalog()->tools())
      out.push_back(one.tool->name + ":" + one.tool->description.value_or(""));
    return out;
  }

  TempTree tree;
  LoadedConfig config;
  std::unique_ptr<ScriptServer> server;
  std::optional<bool> answer;
  std::vector<std::vector<std::string>> asked;
  std::function<Task<void>()> meanwhile;  // while the person thinks about it
  std::function<Task<bool>(PermissionQuestion)> permission;
};
INSTANTIATE_TEST_SUITE_P(Eras, PinnedTools, testing::Values(Era::modern, Era::legacy),
                         [](const auto& era) { return std::string(to_string(era.param)); });

TEST_P(PinnedTools, AChangedToolStaysListedAndIsNotSent) {
  run_task([this]() -> Task<void> {
    auto first = make();
    EXPECT_EQ(text_of(co_await first.call("s/a")), "done");
    co_await first.stop();
    lists({{"a", "2"}, {"b", "1"}});
    auto host = make();
    co_await host.start();
    EXPECT_THAT(offered(host), ElementsAre("a:1"));
    EXPECT_EQ(host.status()[0].state, ServerState::connected);
    EXPECT_EQ(host.status()[0].reason, ServerReason::changed_tools);
    const auto calls = server->count(method::call_tool);
    for (const auto* name : {"mcp__s__a", "s/b", "a"}) {
      const auto called = co_await as_result(host.call(name));
      EXPECT_THAT(called, FailsWith(Errc::denied, HasSubstr("changed, awaiting approval")));
      if (called) continue;
      EXPECT_EQ(called.error().carried_out(), CarriedOut::no);
      EXPECT_EQ(called.error().remedy(), (Remedy{Remedy::Kind::approve_changes, "s", {}}));
    }
    EXPECT_EQ(server->count(method::call_tool), calls);
    co_await host.stop();
  });
}

TEST_P(PinnedTools, AYesIsKeptAndThePersonIsAskedOnce) {
  run_task([this]() -> Task<void> {
    auto first = make();
    co_await first.start();
    co_await first.stop();
    lists({{"a", "2"}, {"b", "1"}});
    answer = true;
    auto host = make();
    EXPECT_EQ(text_of(co_await host.call("s/a")), "done");
    EXPECT_EQ(text_of(co_await host.call("s/a")), "done");
    EXPECT_THAT(offered(host), ElementsAre("a:2"));
    EXPECT_EQ(text_of(co_await host.call("s/b")), "done");
    EXPECT_THAT(offered(host), ElementsAre("a:2", "b:1"));
    EXPECT_EQ(host.status()[0].reason, ServerReason::none);
    EXPECT_THAT(asked, ElementsAre(ElementsAre("its description is another one"), ElementsAre("it is new")));
    co_await host.stop();
    answer.reset();
    auto later = make();
    EXPECT_EQ(text_of(co_await later.call("s/a")), "done");
    co_await later.stop();
  });
}

TEST_P(PinnedTools, AStopEndsTheQuestionAndTheCall) {
  run_task([this]() -> Task<void> {
    auto first = make();
    co_await first.start();
    co_await first.stop();
    lists({{"a", "2"}});
    answer = true;
    Event began, never;
    meanwhile = [&]() -> Task<void> {
      began.notify_all();
      co_await never.wait();
    };
    auto host = make();
    std::optional<Result<CallToolResult>> called;
    Scope scope(co_await asio::this_coro::executor);
    scope.spawn([](Host& h, std::optional<Result<CallToolResult>>& out) -> Task<void> {
      out = co_await as_result(h.call("s/a"));
    }(host, called));
    co_await began.wait();
    co_await host.stop();
    co_await scope.join();
    EXPECT_TRUE(called && !*called && called->error().code() == Errc::closed);
    EXPECT_FALSE(never.has_waiters());
  });
}

TEST_P(PinnedTools, WhatAnotherProcessAgreedToCountsAtTheNextCall) {
  run_task([this]() -> Task<void> {
    auto first = make();
    co_await first.start();
    co_await first.stop();
    lists({{"a", "2"}});
    auto waiting = make();
    EXPECT_THAT(co_await as_result(waiting.call("s/a")), FailsWith(Errc::denied, HasSubstr("awaiting")));
    answer = true;
    auto other = make();
    EXPECT_EQ(text_of(co_await other.call("s/a")), "done");
    co_await other.stop();
    EXPECT_EQ(text_of(co_await waiting.call("s/a")), "done");
    co_await waiting.stop();
  });
}

TEST_P(PinnedTools, ANoIsForThisCall) {
  run_task([this]() -> Task<void> {
    auto first = make();
    co_await first.start();
    co_await first.stop();
    lists({{"a", "2"}});
    answer = false;
    auto host = make();
    for (int i = 0; i < 2; ++i) {
      EXPECT_THAT(co_await as_result(host.call("s/a")), FailsWith(Errc::denied, HasSubstr("awaiting")));
    }
    EXPECT_EQ(asked.size(), 2u);
    EXPECT_THAT(offered(host), ElementsAre("a:1"));
    co_await host.stop();
  });
}

// Who was asked about the tool as it was has not agreed to another one.
TEST_P(PinnedTools, WhatChangesWhileThePersonIsAskedIsNotSent) {
  run_task([this]() -> Task<void> {
    Host* used = nullptr;
    bool changes = false;
    permission = [&](PermissionQuestion) -> Task<bool> {
      if (changes) {
        lists({{"a", "2"}});
        co_await used->reconnect("s");
      }
      co_return true;
    };
    auto host = make();
    used = &host;
    EXPECT_EQ(text_of(co_await host.call("s/a")), "done");
    changes = true;
    const auto called = co_await as_result(host.call("s/a"));
    EXPECT_THAT(called, FailsWith(Errc::denied, HasSubstr("changed, awaiting approval")));
    EXPECT_EQ(server->count(method::call_tool), 1u);
    co_await host.stop();
  });
}

TEST_P(PinnedTools, AServerThatComesBackWithAnotherToolIsNotSentTheCall) {
  run_task([this]() -> Task<void> {
    auto host = make();
    EXPECT_EQ(text_of(co_await host.call("s/a")), "done");
    lists({{"a", "2"}});
    co_await server->die();
    const auto called = co_await as_result(host.call("s/a"));
    EXPECT_THAT(called, FailsWith(Errc::denied, HasSubstr("changed, awaiting approval")));
    EXPECT_EQ(server->count(method::call_tool), 1u);
    co_await host.stop();
  });
}

// What this run has seen does not depend on the disk any more; whoever wants it forgotten removes the file.
TEST_P(PinnedTools, AFileThatCannotBeReadAnyMoreIsNoFirstSight) {
  run_task([this]() -> Task<void> {
    auto host = make();
    EXPECT_EQ(text_of(co_await host.call("s/a")), "done");
    std::filesystem::path file;
    for (const auto& one : std::filesystem::directory_iterator(tree.path() / "state/pins")) {
      if (one.path().extension() == ".json") file = one.path();
    }
    for (const auto* text : {"{", R"({"version":2})"}) {
      std::ofstream(file, std::ios::trunc) << text;
      lists({{"a", "2"}});
      for (int i = 0; i < 2; ++i) {
        co_await host.reconnect("s");
        EXPECT_THAT(co_await as_result(host.call("s/a")), FailsWith(Errc::denied, HasSubstr("awaiting"))) << text;
      }
      EXPECT_THAT(offered(host), ElementsAre("a:1"));
      lists({{"a", "1"}});
      co_await host.reconnect("s");
      EXPECT_EQ(text_of(co_await host.call("s/a")), "done");
    }
    lists({{"a", "2"}});
    std::filesystem::remove(file);
    co_await host.reconnect("s");
    EXPECT_EQ(text_of(co_await host.call("s/a")), "done");
    co_await host.stop();
  });
}

TEST_P(PinnedTools, ADiskThatDoesNotAnswerIsNoFirstSight) {
  ManualClock clock;
  run_task(clock, [&]() -> Task<void> {
    const auto executor = co_await asio::this_coro::executor;
    auto host = make();
    EXPECT_EQ(text_of(co_await host.call("s/a")), "done");
    std::latch released(1);
    std::atomic<int> held = 0;
    constexpr int threads = 8;  // of Pool::slow
    for (int i = 0; i < threads; ++i) {
      asio::post(offload_pool(Pool::slow), [&] {
        ++held;
        released.wait();
        --held;
      });
    }
    while (held < threads) co_await asio::post(asio::use_awaitable);
    lists({{"a", "2"}});
    Scope scope(executor);
    const auto called = beside(scope, [](Host& of) -> Task<std::string> {
      co_await of.reconnect("s");
      co_return text_of(co_await of.call("s/a"));
    }(host));
    for (int second = 0; second < 20 && !called->result; ++second) co_await clock.advance(1s);
    EXPECT_TRUE(called->result) << "still waits";
    if (called->result) EXPECT_THAT(*called->result, FailsWith(Errc::denied, HasSubstr("awaiting")));
    EXPECT_EQ(server->count(method::call_tool), 1u);
    released.count_down();
    while (held > 0) co_await asio::post(asio::use_awaitable);
    co_await host.stop();
  });
}

// The entry is edited while the person thinks about a change: the yes is for the server that was, and the one that has
// its name now has a change of its own.
TEST_P(PinnedTools, AYesForAServerThatWasReplacedMeanwhileIsNotForTheNewOne) {
  run_task([this]() -> Task<void> {
    tree.file(".mcp.json", R"({"mcpServers":{"s":{"command":"/bin/true"}}})");
    for (const auto* command : {"/bin/true", "/bin/sh"}) {
      config.servers.front().command = command;
      auto before = make();
      co_await before.start();
      co_await before.stop();
    }
    lists({{"a", "2"}});
    answer = true;
    auto host = make();
    meanwhile = [&]() -> Task<void> {
      co_await host.reload();
      co_await host.start();
    };
    EXPECT_THAT(co_await as_result(host.call("s/a")), FailsWith(Errc::denied, HasSubstr("changed, awaiting approval")));
    meanwhile = nullptr;
    answer = false;
    EXPECT_THAT(co_await as_result(host.call("s/a")), FailsWith(Errc::denied, HasSubstr("changed, awaiting approval")));
    EXPECT_EQ(asked.size(), 2u);
    EXPECT_EQ(server->count(method::call_tool), 0u);
    EXPECT_EQ(host.config().servers.at(0).command, "/bin/true");
    co_await host.stop();
  });
}

}  // namespace
}  // namespace patchbay::test
