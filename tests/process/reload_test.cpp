// Rows of docs/requirements.md: C11.
// A host that follows its configuration files while servers run: real files, real children.
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <patchbay/host.h>

#include "base/as_result.h"
#include "base/scope.h"
#include "base/waiting.h"
#include "support/loop.h"
#include "support/places.h"
#include "support/temp_tree.h"

namespace patchbay {
namespace {

using test::run_task;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class Reload : public testing::Test {
 protected:
  Reload() {
    tree.directory("home");
    tree.directory("work");
    options.load.emplace();
    options.load->cwd = path("work");
    options.load->home = path("home");
    options.load->enterprise_dir = path("etc");
    options.load->variables = [](std::string_view) { return std::nullopt; };
    options.on_event = [this](const HostEvent& event) {
      const auto* change = std::get_if<ConfigChange>(&event);
      if (!change) return;
      changes.push_back(*change);
      told.notify_all();
    };
  }
  std::string path(std::string_view name) const { return (tree.path() / name).string(); }

  // An entry that starts the built-in server with a root of its own.
  std::string entry(std::string_view root) const {
    tree.directory(root);
    return R"({"command":")" + test::built("patchbay") + R"(","args":["serve","--allow-run","--root",")" + path(root) +
           R"("]})";
  }
  // Replaced in one step, as editors do.
  void write(std::string_view name, std::string_view text) const {
    tree.file(std::string(name) + ".new", text);
    std::filesystem::rename(path(std::string(name) + ".new"), path(name));
  }
  void servers(const std::string& entries) const { write("home/.claude.json", R"({"mcpServers":{)" + entries + "}}"); }

  // Waits for a reading of the files for which this holds.
  Task<void> until(std::function<bool(const ConfigChange&)> holds) {
    for (;;) {
      for (const auto& change : changes) {
        if (holds(change)) {
          changes.clear();
          co_return;
        }
      }
      co_await told.wait();
    }
  }
  // The process of a server, which is the parent of the warden of what it runs. It is another one when the server was
  // started anew.
  static Task<std::string> process_of(Host& host, std::string server) {
    auto result =
        co_await host.call(server + "/run_command",
                           Json{{"command", "sh"}, {"args", Json::array({"-c", "cut -d' ' -f4 /proc/$PPID/stat"})}});
    co_return result.structured_content ? (*result.structured_content)["stdout"].as_text() : std::string();
  }

  test::TempTree tree;
  HostOptions options;
  std::vector<ConfigChange> changes;
  Event told;
};

// compat: C11.a
TEST_F(Reload, OnlyWhatChangedIsStartedAnew) {
  servers(R"("a":)" + entry("a") + R"(,"b":)" + entry("b"));
  options.follow_config = true;
  run_task([&]() -> Task<void> {
    Host host(options);
    co_await host.start();
    const auto a = co_await process_of(host, "a");
    const auto b = co_await process_of(host, "b");
    co_await until([](const auto&) { return true; });

    servers(R"("c":)" + entry("c") + R"(,"b":)" + entry("b2") + R"(,"a":)" + entry("a"));
    co_await until([](const auto& change) { return !change.added.empty(); });
    EXPECT_EQ(co_await process_of(host, "a"), a);
    EXPECT_NE(co_await process_of(host, "b"), b);
    EXPECT_NE(co_await process_of(host, "c"), "");

    servers(R"("a":)" + entry("a"));
    co_await until([](const auto& change) { return change.removed.size() == 2; });
    auto gone = co_await as_result(host.call("b/list_dir"));
    EXPECT_FALSE(gone);
    EXPECT_EQ(host.status().size(), 1u);
    EXPECT_EQ(co_await process_of(host, "a"), a);
    co_await host.stop();
  });
}

// compat: C11.b
TEST_F(Reload, AFileThatBreaksKeepsItsLastGoodContent) {
  servers(R"("a":)" + entry("a"));
  options.follow_config = true;
  run_task([&]() -> Task<void> {
    Host host(options);
    co_await host.start();
    const auto a = co_await process_of(host, "a");
    write("home/.claude.json", R"({"mcpServers": {"a": )");
    co_await until([](const auto& change) { return !change.problems.empty(); });
    EXPECT_EQ(host.status().size(), 1u);
    EXPECT_THAT(host.config().problems.at(0).text(), HasSubstr("its previous content stays in use"));
    EXPECT_EQ(co_await process_of(host, "a"), a);
    servers(R"("a":)" + entry("a"));
    co_await until([](const auto& change) { return change.problems.empty(); });
    EXPECT_EQ(co_await process_of(host, "a"), a);
    co_await host.stop();
  });
}

// What the program read itself is followed like what the host read.
TEST_F(Reload, AHostThatWasGivenWhatTheFilesSayFollowsThemToo) {
  servers(R"("a":)" + entry("a"));
  options.follow_config = true;
  options.config = load_servers(*options.load);
  run_task([&]() -> Task<void> {
    Host host(options);
    co_await host.start();
    const auto a = co_await process_of(host, "a");
    co_await until([](const auto&) { return true; });
    EXPECT_EQ(co_await process_of(host, "a"), a);
    servers(R"("b":)" + entry("b"));
    co_await until([](const auto& change) { return !change.added.empty(); });
    EXPECT_FALSE(co_await as_result(host.call("a/list_dir")));
    EXPECT_NE(co_await process_of(host, "b"), "");
    co_await host.stop();
  });
}

// While somebody was asked, the entry became another one, and a call kept the old connection open. What a hook made of
// the arguments was for the old one, and is not given to it again.
TEST_F(Reload, ACallThatWasAskedAboutGoesToWhatHasTheNameThen) {
  servers(R"("a":)" + entry("a"));
  const auto hook =
      R"x(sed -n 's/.*"path":"\([^"]*\)".*/{"hookSpecificOutput":{"hookEventName":"PreToolUse","updatedInput":{"path":"in\/\1"}}}/p')x";
  const Json command{{"type", "command"}, {"command", hook}};
  const Json before{{"matcher", "mcp__a__list_dir"}, {"hooks", Json::array({command})}};
  tree.file("home/.claude/settings.json", to_text(Json{{"hooks", {{"PreToolUse", Json::array({before})}}}}));
  Host* current = nullptr;
  bool changes_it = false;
  int asked = 0;
  options.permission.ask = [&](PermissionQuestion question) -> Task<bool> {
    if (question.tool.tool->name != "list_dir") co_return true;
    ++asked;
    if (std::exchange(changes_it, false)) {
      servers(R"("a":)" + entry("other"));
      tree.file("other/in/x/of_the_new_one", "");
      (void)co_await current->reload();
    }
    co_return true;
  };
  run_task([&]() -> Task<void> {
    Host host(options);
    current = &host;
    co_await host.start();
    Scope scope(co_await asio::this_coro::executor);
    scope.spawn([](Host& h) -> Task<void> {
      (void)co_await h.call(
          "a/run_command",
          Json{{"command", "sh"}, {"args", Json::array({"-c", "mkfifo gate; touch running; read -r go < gate"})}});
    }(host));
    for (bool running = false; !running;) {
      auto listed = co_await host.call("a/glob", Json{{"pattern", "running"}});
      running = text_of(listed).find("running") != std::string::npos && tree.has("a/running");
    }
    changes_it = true;
    EXPECT_THAT(text_of(co_await host.call("a/list_dir", Json{{"path", "x"}})), HasSubstr("of_the_new_one"));
    EXPECT_EQ(asked, 2);  // about either entry
    std::ofstream(path("a/gate")) << "go\n";
    co_await scope.join();
    co_await host.stop();
  });
}

// compat: C11.c
TEST_F(Reload, ACallInFlightFinishesOnTheOldConnection) {
  servers(R"("a":)" + entry("a"));
  run_task([&]() -> Task<void> {
    Host host(options);
    co_await host.start();
    const auto old = co_await process_of(host, "a");
    std::string answer;
    Scope scope(co_await asio::this_coro::executor);
    scope.spawn([](Host& h, std::string& out) -> Task<void> {
      auto result = co_await h.call(
          "a/run_command",
          Json{{"command", "sh"},
               {"args",
                Json::array(
                    {"-c", "touch running; until [ -e go ]; do sleep 0.02; done; cut -d' ' -f4 /proc/$PPID/stat"})}});
      out = (*result.structured_content)["stdout"].as_text();
    }(host, answer));
    // A call of our own shows that the first one has begun.
    for (bool running = false; !running;) {
      auto listed = co_await host.call("a/glob", Json{{"pattern", "running"}});
      running = text_of(listed).find("running") != std::string::npos && tree.has("a/running");
    }
    servers(R"("a":)" + entry("other"));
    auto change = co_await host.reload();
    EXPECT_THAT(change.changed, ElementsAre("a"));
    EXPECT_NE(co_await process_of(host, "a"), old);
    EXPECT_EQ(answer, "");
    tree.file("a/go", "");
    co_await scope.join();
    EXPECT_EQ(answer, old);
    co_await host.stop();
  });
}

TEST_F(Reload, AServerThatIsSwitchedOffEndsAndComesBack) {
  servers(R"("a":)" + entry("a"));
  run_task([&]() -> Task<void> {
    Host host(options);
    co_await host.start();
    tree.file("home/.config/patchbay/config.json", R"({"disabledServers":["a"]})");
    auto off = co_await host.reload();
    EXPECT_THAT(off.changed, ElementsAre("a"));
    EXPECT_EQ(host.status().at(0).state, ServerState::disabled);
    EXPECT_THAT(host.catalog()->tools(), IsEmpty());
    auto refused = co_await as_result(host.call("a/list_dir"));
    EXPECT_FALSE(refused);
    if (!refused) EXPECT_THAT(refused.error().message(), HasSubstr("disabled in"));
    tree.file("home/.config/patchbay/config.json", "{}");
    (void)co_await host.reload();
    EXPECT_NE(co_await process_of(host, "a"), "");
    co_await host.stop();
  });
}

TEST_F(Reload, AHostThatWasGivenItsServersCannotReadAgain) {
  run_task([]() -> Task<void> {
    HostOptions given;
    given.config.emplace();
    Host host(given);
    auto change = co_await as_result(host.reload());
    EXPECT_FALSE(change);
    auto taken = co_await host.reload(LoadedConfig{});
    EXPECT_THAT(taken.added, IsEmpty());
    co_await host.stop();
  });
}

}  // namespace
}  // namespace patchbay
