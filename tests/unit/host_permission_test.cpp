// Host::call as the only door: what rules deny is not sent, what they leave open is asked, and tools
// denied by name are not shown. P1 P2 C7.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <patchbay/host.h>
#include <patchbay/server.h>

#include "base/as_result.h"
#include "base/waiting.h"
#include "permission/decide.h"
#include "settings/settings_layers.h"
#include "support/loop.h"
#include "support/temp_tree.h"

namespace patchbay {
namespace {

using test::run_task;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// A server whose tools write down that they were called.
struct Recorder {
  std::vector<std::string> called;

  std::shared_ptr<Server> server(std::vector<std::string> names) {
    auto made = std::make_shared<Server>(ServerOptions{});
    for (const auto& name : names) {
      Tool tool;
      tool.name = name;
      made->add_tool(tool, [this, name](RequestContext&, Json) -> Task<CallToolResult> {
        called.push_back(name);
        co_return CallToolResult{};
      });
    }
    return made;
  }
};

LoadedConfig with_settings(std::string_view text, SettingsSource source = SettingsSource::user) {
  LoadedConfig config;
  config.cwd = "/home/me/project";
  config.home = "/home/me";
  config.settings = settings_layers({parse_settings(text, source, "/home/me/.claude/settings.json")});
  return config;
}

std::vector<std::string> shown(const Host& host) {
  std::vector<std::string> names;
  for (const auto& entry : host.catalog()->tools()) names.push_back(entry.name);
  return names;
}

// compat: P2.a, B7.6
TEST(HostPermission, WhatIsDeniedIsNotSentAndNotShown) {
  run_task([]() -> Task<void> {
    Recorder recorder;
    HostOptions options;
    options.config = with_settings("{\"permissions\": {\n\"deny\": [\"mcp__s__drop\", \"mcp__s__query(sql: /;/)\"]}}");
    Host host(std::move(options));
    host.add_server("s", recorder.server({"drop", "query", "read"}));
    co_await host.start();
    EXPECT_THAT(shown(host), ElementsAre("mcp__s__query", "mcp__s__read"));

    for (const auto* name : {"mcp__s__drop", "s/drop", "drop"}) {
      auto denied = co_await as_result(host.call(name));
      EXPECT_FALSE(denied);
      if (denied) continue;
      EXPECT_EQ(denied.error().code(), Errc::denied);
      EXPECT_THAT(denied.error().message(),
                  AllOf(HasSubstr("\"mcp__s__drop\""), HasSubstr("/home/me/.claude/settings.json:2"),
                        HasSubstr("to call it, change")));
    }
    auto semicolon = co_await as_result(host.call("mcp__s__query", Json{{"sql", "a;b"}}));
    EXPECT_FALSE(semicolon);
    EXPECT_THAT(recorder.called, IsEmpty());
    co_await host.call("mcp__s__query", Json{{"sql", "a"}});
    co_await host.call("mcp__s__read");
    EXPECT_THAT(recorder.called, ElementsAre("query", "read"));

    const auto why = co_await host.decide("mcp__s__drop");
    EXPECT_EQ(why.outcome, PermissionOutcome::deny);
    EXPECT_EQ(why.line, 2u);
    EXPECT_EQ((co_await host.decide("read")).outcome, PermissionOutcome::ask);
    co_await host.stop();
  });
}

// What a denied server keeps besides tools is behind the same door.
TEST(HostPermission, ADeniedServersResourcesAndPromptsAreNobodys) {
  for (const auto* rule : {"mcp__s", "mcp__s__*", "MCPTool(mcp__s__*)", "s/*"}) {
    run_task([denied_by = std::string(rule)]() -> Task<void> {
      Recorder recorder;
      int read = 0;
      auto server = recorder.server({"read"});
      Resource resource;
      resource.uri = "file:///secret";
      resource.name = "secret";
      server->add_resource(resource, [&read](RequestContext&, std::string uri) -> Task<std::vector<ResourceContents>> {
        ++read;
        std::vector<ResourceContents> contents(1);
        contents.front().uri = std::move(uri);
        co_return contents;
      });
      HostOptions options;
      options.config =
          with_settings(R"({"permissions": {"deny": [)" + to_text(Json(denied_by)) + R"(, "mcp__t__read"]}})");
      Host host(std::move(options));
      host.add_server("s", server);
      host.add_server("t", recorder.server({"read"}));
      auto session = co_await as_result(host.session("s"));
      EXPECT_FALSE(session) << denied_by;
      if (!session) {
        EXPECT_EQ(session.error().code(), Errc::denied);
        EXPECT_THAT(session.error().message(),
                    AllOf(HasSubstr("the server \"s\" may not be used"), HasSubstr(to_text(Json(denied_by))),
                          HasSubstr("to use it, change /home/me/.claude/settings.json:1")));
      }
      // It is refused without being started; one tool is not a server.
      for (const auto& status : host.status()) {
        if (status.name == "s") EXPECT_EQ(status.state, ServerState::pending);
      }
      EXPECT_TRUE(co_await as_result(host.session("t")));
      auto unknown = co_await as_result(host.session("nobody"));
      EXPECT_EQ(unknown.error().code(), Errc::invalid_argument);
      EXPECT_EQ(read, 0);
      co_await host.stop();
    });
  }
}

TEST(HostPermission, AServerOfWhichEverythingIsDeniedIsNotStartedWithTheOthers) {
  run_task([]() -> Task<void> {
    Recorder recorder;
    HostOptions options;
    options.config = with_settings(R"({"permissions": {"deny": ["mcp__s"]}})");
    Event changed;
    options.on_event = [&](const HostEvent&) { changed.notify_all(); };
    Host host(std::move(options));
    host.add_server("s", recorder.server({"read"}));
    host.add_server("t", recorder.server({"read"}));
    auto reason_of = [&](std::string_view name) {
      const auto all = host.status();
      return std::ranges::find(all, name, &ServerStatus::name)->reason;
    };
    co_await host.start();
    EXPECT_EQ(reason_of("s"), ServerReason::not_started);
    EXPECT_EQ(reason_of("t"), ServerReason::none);
    // Once no rule denies it, it is one of those that were wanted.
    (void)co_await host.reload(LoadedConfig{});
    while (reason_of("s") != ServerReason::none) co_await changed.wait();
    EXPECT_EQ(host.catalog()->size(), 2u);
    co_await host.stop();
  });
}

TEST(HostPermission, TheUserIsAskedWhenSomebodyCanAsk) {
  run_task([]() -> Task<void> {
    Recorder recorder;
    std::vector<std::string> asked;
    bool answer = false;
    HostOptions options;
    options.config = with_settings(R"({"permissions": {"allow": ["mcp__s__read"]}})");
    options.permission.ask = [&](const PermissionQuestion& question) -> Task<bool> {
      asked.push_back(question.tool.name + " " + std::string(question.arguments.text()) + ": " +
                      question.decision.reason);
      co_return answer;
    };
    Host host(std::move(options));
    host.add_server("s", recorder.server({"read", "write"}));
    co_await host.call("mcp__s__read");
    EXPECT_THAT(asked, IsEmpty());
    auto refused = co_await as_result(host.call("mcp__s__write", Json{{"x", 1}}));
    EXPECT_FALSE(refused);
    if (!refused) {
      EXPECT_EQ(refused.error().code(), Errc::denied);
      EXPECT_THAT(refused.error().message(), HasSubstr("was no"));
    }
    EXPECT_THAT(asked, ElementsAre("mcp__s__write {\"x\":1}: no rule allows it"));
    EXPECT_THAT(recorder.called, ElementsAre("read"));
    answer = true;
    co_await host.call("mcp__s__write");
    EXPECT_THAT(recorder.called, ElementsAre("read", "write"));
    co_await host.stop();
  });
}

// compat: P2.b
TEST(HostPermission, FlagsJoinTheRulesOfFiles) {
  run_task([]() -> Task<void> {
    Recorder recorder;
    int asked = 0;
    HostOptions options;
    options.config = with_settings("{}");
    options.permission.allowed_tools = {"mcp__s__a"};
    options.permission.disallowed_tools = {"mcp__s__b", "mcp__nobody__x"};
    options.permission.mode = PermissionMode::bypass;
    options.permission.ask = [&](const PermissionQuestion&) -> Task<bool> {
      ++asked;
      co_return false;
    };
    Host host(std::move(options));
    host.add_server("s", recorder.server({"a", "b", "c"}));
    co_await host.call("mcp__s__a");
    co_await host.call("mcp__s__c");
    auto denied = co_await as_result(host.call("mcp__s__b"));
    EXPECT_FALSE(denied);
    if (!denied) EXPECT_THAT(denied.error().message(), HasSubstr("disallowed_tools \"mcp__s__b\""));
    EXPECT_EQ(asked, 0);
    EXPECT_THAT(recorder.called, ElementsAre("a", "c"));
    const auto problems = host.permission_problems();
    EXPECT_EQ(problems.size(), 1u);
    if (!problems.empty()) EXPECT_THAT(problems[0].text(), HasSubstr("mcp__nobody__x"));
    co_await host.stop();
  });
}

TEST(HostPermission, ArgumentsThatTwoReadersTakeDifferentlyAreNotSent) {
  run_task([]() -> Task<void> {
    Recorder recorder;
    HostOptions options;
    options.config = with_settings(R"q({"permissions": {"deny": ["mcp__s__t(x: 1)"]}})q");
    Host host(std::move(options));
    host.add_server("s", recorder.server({"t"}));
    auto block = std::make_shared<const std::string>(R"({"x":2,"x":1})");
    auto twice = co_await as_result(host.call("mcp__s__t", Payload::from_validated(block, *block)));
    EXPECT_FALSE(twice);
    if (!twice) EXPECT_EQ(twice.error().code(), Errc::invalid_argument);
    EXPECT_THAT(recorder.called, IsEmpty());
    co_await host.stop();
  });
}

TEST(HostPermission, RelativeArgumentsBelongToTheServersDirectory) {
  ServerConfig server;
  EXPECT_EQ(argument_directory(server, "/here", process_environment()), "/here");
  server.cwd = "/srv";
  EXPECT_EQ(argument_directory(server, "/here", process_environment()), "/srv");
  server.cwd = "sub";
  EXPECT_EQ(argument_directory(server, "/here", process_environment()), "/here/sub");
  EXPECT_EQ(argument_directory(server, "", process_environment()), "");
  server.cwd = "${PATCHBAY_TEST_NOT_SET}/x";
  EXPECT_EQ(argument_directory(server, "/here", process_environment()), "");
  server.kind = ServerKind::http;
  EXPECT_EQ(argument_directory(server, "/here", process_environment()), "") << "it runs elsewhere";
}

// Servers that are given a directory take relative paths to be below it, whatever they were started in.
TEST(HostPermission, DirectoriesOfTheEntryMayBeWhatAPathIsRelativeTo) {
  test::TempTree tree;
  tree.directory("home/.ssh");
  tree.directory("work");
  const auto home = (tree.path() / "home").string(), work = (tree.path() / "work").string();
  ServerConfig server;
  server.args = {"serve", "--root", home, "--also=" + home, "plain", work, "../home/.ssh"};
  server.env = {{"DATA", home + "/.ssh"}, {"NAME", "x"}};
  EXPECT_THAT(argument_roots(server, work, process_environment()),
              ElementsAre(home, work + "/../home/.ssh", home + "/.ssh"));
  server.kind = ServerKind::http;
  EXPECT_THAT(argument_roots(server, work, process_environment()), IsEmpty());

  // Of too many nothing is known, which never allows and always denies.
  server = {};
  for (int i = 0; i < 50; ++i) {
    tree.directory("many/" + std::to_string(i));
    server.args.push_back((tree.path() / "many" / std::to_string(i)).string());
  }
  const auto roots = argument_roots(server, work, process_environment());
  EXPECT_EQ(roots.size(), 33u);
  EXPECT_EQ(roots.back(), "");
}

}  // namespace
}  // namespace patchbay
