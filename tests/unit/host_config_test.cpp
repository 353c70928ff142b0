// Rows of docs/requirements.md: C6, C7, C10, L3.
// What a host makes of entries and of what was decided about them.
#include <stdlib.h>

#include <map>

#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <patchbay/host.h>
#include <patchbay/server.h>

#include "base/as_result.h"
#include "base/scope.h"
#include "settings/settings_layers.h"
#include "support/fails_with.h"
#include "support/loop.h"
#include "support/temp_tree.h"

namespace patchbay {
namespace {

using namespace std::chrono_literals;
using test::FailsWith;
using test::run_task;
using testing::HasSubstr;

std::shared_ptr<Server> server_in_process() {
  ServerOptions options;
  options.info = {.name = "in-process", .version = "1"};
  auto server = std::make_shared<Server>(std::move(options));
  Tool tool;
  tool.name = "x";
  server->add_tool(tool, [](RequestContext&, Json) -> Task<CallToolResult> { co_return CallToolResult{}; });
  return server;
}

ServerConfig declared(std::string name, ServerStanding standing, std::string reason = "because") {
  ServerConfig config;
  config.name = std::move(name);
  config.command = "/nonexistent/patchbay-test-command";
  config.standing = standing;
  config.reason = std::move(reason);
  config.origin.file = "/f";
  return config;
}

TEST(HostConfig, AConstructorReadsNoFiles) {
  test::TempTree tree;
  tree.file("home/.claude.json", R"({"mcpServers":{"one":{"command":"/nonexistent/patchbay-test-command"}}})");
  HostOptions options;
  options.load.emplace();
  options.load->cwd = tree.path().string();
  options.load->home = (tree.path() / "home").string();
  options.load->variables = [](std::string_view) { return std::optional<std::string>(); };
  run_task([&]() -> Task<void> {
    Host host(options);
    EXPECT_TRUE(host.status().empty());
    EXPECT_TRUE(host.config().servers.empty());
    // What is written now is what the first use finds.
    tree.file("home/.claude.json", R"({"mcpServers":{"two":{"command":"/nonexistent/patchbay-test-command"}}})");
    co_await host.start();
    EXPECT_EQ(host.status().size(), 1u);
    EXPECT_EQ(host.status().at(0).name, "two");
    co_await host.stop();
  });
}

// compat: B7.12
TEST(HostConfig, AStandingBecomesAStateAndAReason) {
  HostOptions options;
  options.config.emplace();
  using enum ServerStanding;
  for (auto standing : {active, awaiting_approval, rejected, disabled, policy, duplicate, not_configured, broken}) {
    auto config = declared(std::string(to_string(standing)), standing);
    if (standing == awaiting_approval) config.origin.trust = ConfigTrust::needs_approval;
    options.config->servers.push_back(config);
  }
  run_task([&]() -> Task<void> {
    Host host(options);
    co_await host.start();
    std::map<std::string, std::string> states;
    for (const auto& status : host.status()) {
      states[status.name] = fmt::format("{}/{}", to_string(status.state), to_string(status.reason));
    }
    EXPECT_EQ(states, (std::map<std::string, std::string>{{"active", "failed/connect failed"},
                                                          {"awaiting approval", "pending/awaiting approval"},
                                                          {"rejected", "disabled/rejected"},
                                                          {"disabled", "disabled/disabled"},
                                                          {"policy", "disabled/policy"},
                                                          {"duplicate", "disabled/duplicate"},
                                                          {"not configured", "disabled/not configured"},
                                                          {"broken", "failed/broken"}}));
    auto refused = co_await as_result(host.session("policy"));
    EXPECT_THAT(refused, FailsWith(Error(Errc::config, "server \"policy\" is not used (policy): because")));
    auto broken_one = co_await as_result(host.session("broken"));
    EXPECT_THAT(broken_one,
                FailsWith(Error(Errc::config, "server \"broken\" cannot be used: because (declared in /f)")));
    co_await host.stop();
  });
}

// compat: C10.b
TEST(HostConfig, AServerCanBeAddedWhileOthersRun) {
  run_task([]() -> Task<void> {
    HostOptions options;
    options.config.emplace();
    Host host(options);
    host.add_server("early", server_in_process());
    co_await host.start();
    host.add_server("late", server_in_process());
    co_await host.start({"late"});
    EXPECT_EQ(host.status().size(), 2u);
    co_await host.call("mcp__late__x");
    co_await host.call("early/x");
    co_await host.stop();
  });
}

// compat: C7.c, C10.b
TEST(HostConfig, PolicyAlsoBindsServersOfTheProgram) {
  HostOptions options;
  options.config.emplace();
  options.config->settings =
      settings_layers({parse_settings(R"({"deniedMcpServers":[{"serverName":"bad"},{"serverCommand":["/bin/late"]}]})",
                                      SettingsSource::enterprise, "/etc/s.json")});
  run_task([&]() -> Task<void> {
    Host host(options);
    host.add_server("good", server_in_process());
    host.add_server("bad", server_in_process());
    auto late = declared("late", ServerStanding::active);
    late.command = "/bin/late";
    host.add_server(late);
    co_await host.start();
    std::string states;
    for (const auto& status : host.status()) {
      states += fmt::format("{}={}/{} ", status.name, to_string(status.state), to_string(status.reason));
    }
    EXPECT_EQ(states, "bad=disabled/policy good=connected/ late=disabled/policy ");
    auto refused = co_await as_result(host.call("late/x"));
    EXPECT_FALSE(refused);
    if (!refused) EXPECT_THAT(refused.error().message(), HasSubstr("/etc/s.json"));
    co_await host.stop();
  });
}

// Whatever the replaced connection comes to at that moment: every moment of a start is tried.
TEST(HostConfig, AServerThatWasReplacedIsNotHeardOfAgain) {
  LoadedConfig denied;
  denied.settings = settings_layers(
      {parse_settings(R"({"deniedMcpServers":[{"serverName":"s"}]})", SettingsSource::enterprise, "/etc/s.json")});
  bool connected_before = false;
  bool replaced_before = false;
  for (int turns = 0; turns < 60; ++turns) {
    run_task([&]() -> Task<void> {
      HostOptions options;
      options.config.emplace();
      bool replaced = false;
      options.on_event = [&](const HostEvent& event) {
        if (std::holds_alternative<ConfigChange>(event)) replaced = true;
        const auto* status = std::get_if<ServerStatus>(&event);
        if (!status || status->state != ServerState::connected) return;
        EXPECT_FALSE(replaced) << turns;
        connected_before = true;
      };
      Host host(options);
      host.add_server("s", server_in_process());
      Scope scope(co_await asio::this_coro::executor);
      scope.spawn([](Host& starting) -> Task<void> { (void)co_await as_result(starting.start()); }(host));
      for (int i = 0; i < turns; ++i) co_await asio::post(asio::use_awaitable);
      replaced_before |= host.status().at(0).state == ServerState::pending;
      co_await host.reload(denied);
      EXPECT_TRUE(host.catalog()->empty()) << turns;
      co_await test::settle();
      EXPECT_TRUE(host.catalog()->empty()) << turns;
      EXPECT_EQ(host.status().at(0).reason, ServerReason::policy) << turns;
      co_await scope.join();
      co_await host.stop();
    });
  }
  EXPECT_TRUE(replaced_before && connected_before) << "the turns cover the start";
}

// compat: B6.10
TEST(HostConfig, TheProtocolCanBeChosenForAllServers) {
  for (bool legacy : {false, true}) {
    if (legacy) ::setenv("MCP_PROTOCOL_NEGOTIATION", "legacy", 1);
    run_task([&]() -> Task<void> {
      HostOptions options;
      options.config.emplace();
      Host host(options);
      host.add_server("s", server_in_process());
      co_await host.start();
      EXPECT_EQ(host.status().at(0).era, legacy ? Era::legacy : Era::modern);
      co_await host.stop();
    });
    ::unsetenv("MCP_PROTOCOL_NEGOTIATION");
  }
}

TEST(HostConfig, TheProtocolOfSettingsEndsWithThem) {
  run_task([&]() -> Task<void> {
    HostOptions options;
    options.config.emplace();
    options.config->environment.push_back({.name = "MCP_PROTOCOL_NEGOTIATION", .value = "legacy"});
    Host host(options);
    host.add_server("before", server_in_process());
    co_await host.start();
    EXPECT_EQ(host.status().at(0).era, Era::legacy);
    co_await host.reload(LoadedConfig());
    host.add_server("later", server_in_process());
    co_await host.start();
    for (const auto& status : host.status()) {
      if (status.name == "later") EXPECT_EQ(status.era, Era::modern);
    }
    EXPECT_EQ(host.status().size(), 2u);
    co_await host.stop();
  });
}

// They begin one after the other: each would find the lock of the other.
TEST(HostConfig, SettingsThatAreReadLateSayHowManyServersStartAtOnce) {
  test::TempTree tree;
  const auto place = tree.path().string();
  const std::string script = "cd '" + place +
                             "'; echo x >> started; mkdir lock || touch both; i=0; while [ $i -lt 20000 ]; do "
                             "i=$((i+1)); done; rmdir lock; exit 1";
  Json servers = Json::object();
  for (const std::string name : {"a", "b", "c"}) {
    servers[name] = Json{{"command", "/bin/sh"}, {"args", Json::array({"-c", script + " # " + name})}};
  }
  tree.file("home/.claude.json", to_text(Json{{"mcpServers", servers}}));
  tree.file("home/.claude/settings.json", R"({"env": {"MCP_SERVER_CONNECTION_BATCH_SIZE": "1"}})");
  HostOptions options;
  options.load.emplace();
  options.load->cwd = place;
  options.load->home = place + "/home";
  options.load->variables = [](std::string_view) { return std::optional<std::string>(); };
  run_task([&]() -> Task<void> {
    Host host(options);
    co_await host.start();
    co_await host.stop();
  });
  EXPECT_GE(tree.read("started").size(), 6u);
  EXPECT_FALSE(tree.has("both"));
}

TEST(HostConfig, AnApprovedEntryIsStartedWithoutAsking) {
  HostOptions options;
  options.config.emplace();
  auto config = declared("s", ServerStanding::active);
  config.origin.trust = ConfigTrust::needs_approval;
  options.config->servers = {config};
  std::size_t asked = 0;
  options.approve = [&](ApprovalQuestion) -> Task<bool> {
    ++asked;
    co_return false;
  };
  run_task([&]() -> Task<void> {
    Host host(options);
    co_await host.start();
    EXPECT_EQ(asked, 1u);
    EXPECT_EQ(to_string(host.status().at(0).reason), "awaiting approval");
    co_await host.stop();
  });
  options.config->servers[0].approved = true;
  run_task([&]() -> Task<void> {
    Host host(options);
    co_await host.start();
    EXPECT_EQ(asked, 1u);
    EXPECT_EQ(to_string(host.status().at(0).reason), "connect failed");
    co_await host.stop();
  });
}

}  // namespace
}  // namespace patchbay
