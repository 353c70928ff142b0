// A host that has the tools of an earlier run before it has started anything, and an edited entry that keeps its tools,
// on a loop whose time is in the test's hand. W5, L3, N3
#include <filesystem>
#include <map>
#include <vector>

#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <patchbay/host.h>

#include "base/runtime.h"
#include "base/timeout.h"
#include "host/make_host.h"
#include "protocol/methods.h"
#include "settings/settings_layers.h"
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
using testing::IsEmpty;

constexpr auto done = R"({"content":[{"type":"text","text":"done"}],"resultType":"complete"})";

std::string list_of(const std::vector<std::string>& tools) {
  Json list = Json::array();
  for (const auto& tool : tools) list.push_back(Json{{"name", tool}});
  return to_text(Json{{"resultType", "complete"}, {"tools", std::move(list)}});
}

std::vector<std::string> names_in(const Host& host) {
  std::vector<std::string> names;
  for (const auto& entry : host.catalog()->tools()) names.push_back(entry.name);
  return names;
}

// Servers "other" (tool c) and "s" (tools a and b), whose program is a file.
class WarmStart : public testing::Test {
 protected:
  WarmStart() {
    tree.file("program", "one");
    for (auto* server : {s.get(), other.get()}) server->on(std::string(method::call_tool), std::string(done));
    for (const auto* name : {"other", "s"}) {
      auto entry = named(name);
      entry.command = "/bin/sh";
      entry.args = {"program"};
      entry.env = {{"LEVEL", "${LEVEL:-1}"}};
      config.servers.push_back(std::move(entry));
    }
    config.cwd = tree.path().string();
    // Servers list something else here, and that is not what these tests are about.
    config.settings = settings_layers({parse_settings(R"({"pins":"off"})", SettingsSource::own, "config.json")});
  }

  ServerConfig& entry_of_s() { return config.servers.back(); }

  Host make() { return make(config); }
  Host make(const LoadedConfig& loaded) {
    HostOptions options;
    options.config = loaded;
    options.load.emplace();
    options.load->cwd = config.cwd;
    options.load->variables = [this](std::string_view name) -> std::optional<std::string> {
      const auto found = variables.find(std::string(name));
      return found == variables.end() ? std::nullopt : std::optional(found->second);
    };
    options.client = modern_client();
    options.state_directory = state;
    options.warm_start = warm;
    options.permission.disallowed_tools = denied;
    options.on_event = [this](const HostEvent& event) {
      if (std::holds_alternative<CatalogChange>(event)) ++catalogs;
    };
    Runtime runtime;
    runtime.limits.list_tries = 1;
    return make_host(std::move(options), runtime, "",
                     [this](const ServerConfig& entry) { return (entry.name == "s" ? s : other)->transport(); });
  }

  // A run that lists both servers; what comes after it is the run that matters.
  Task<void> earlier_run() {
    auto host = make();
    co_await host.start();
    EXPECT_THAT(names_in(host), ElementsAre("mcp__other__c", "mcp__s__a", "mcp__s__b"));
    co_await host.stop();
    opened_before = s->opens;
    catalogs = 0;
  }

  static ServerStatus status_of(const Host& host, const std::string& name) {
    for (auto& one : host.status()) {
      if (one.name == name) return one;
    }
    return {};
  }

  TempTree tree;
  ManualClock clock;
  std::string state = (tree.path() / "state").string();
  std::map<std::string, std::string> variables;
  std::vector<std::string> denied;
  bool warm = true;
  LoadedConfig config;
  std::unique_ptr<ScriptServer> s = tool_server({"a", "b"});
  std::unique_ptr<ScriptServer> other = tool_server({"c"});
  int opened_before = 0;
  int catalogs = 0;
};

TEST_F(WarmStart, TheFirstCatalogHasTheKeptToolsAndNothingIsStarted) {
  run_task(clock, [&]() -> Task<void> {
    co_await earlier_run();
    auto host = make();
    co_await host.prepare();
    EXPECT_THAT(names_in(host), ElementsAre("mcp__other__c", "mcp__s__a", "mcp__s__b"));
    EXPECT_EQ(catalogs, 1);
    EXPECT_EQ(s->opens, opened_before);
    EXPECT_EQ(reason_text(status_of(host, "s")), "not started");
    EXPECT_EQ(status_of(host, "s").tool_count, 2u);

    const auto before = host.catalog();
    EXPECT_EQ(text_of(co_await host.call("mcp__s__a")), "done");
    EXPECT_EQ(s->opens, opened_before + 1) << "the first call connects";
    EXPECT_EQ(other->opens, opened_before) << "and only the server that is meant";
    EXPECT_EQ(s->count(method::list_tools), 2u) << "which is asked what it has now";
    co_await clock.advance(1s);
    EXPECT_EQ(host.catalog(), before);
    EXPECT_EQ(catalogs, 1) << "what is the same is not announced";
    co_await host.stop();
  });
}

TEST_F(WarmStart, ADifferenceIsAnnouncedOnce) {
  run_task(clock, [&]() -> Task<void> {
    co_await earlier_run();
    s->on(std::string(method::list_tools), list_of({"a", "c"}));
    auto host = make();
    co_await host.prepare();
    EXPECT_EQ(text_of(co_await host.call("mcp__s__a")), "done");
    co_await clock.advance(1s);
    EXPECT_THAT(names_in(host), ElementsAre("mcp__other__c", "mcp__s__a", "mcp__s__c"));
    EXPECT_EQ(catalogs, 2) << "the kept one, and the one that differs";
    co_await host.stop();
  });
}

TEST_F(WarmStart, AToolThatIsGoneIsNotCalledAndTheErrorNamesWhatChanged) {
  for (const std::string name : {"mcp__s__b", "s/b"}) {
    run_task(clock, [&]() -> Task<void> {
      s->on(std::string(method::list_tools), list_of({"a", "b"}));
      co_await earlier_run();
      s->on(std::string(method::list_tools), list_of({"a", "new"}));
      auto host = make();
      co_await host.prepare();
      auto called = co_await as_result(host.call(name));
      EXPECT_THAT(called, FailsWith(Errc::invalid_argument,
                                    AllOf(HasSubstr("there is no tool called \"" + name),
                                          HasSubstr("(the tools of \"s\" have changed; new: new; gone: b)"))));
      if (!called) EXPECT_EQ(called.error().carried_out(), CarriedOut::no);
      EXPECT_EQ(s->count(method::call_tool), 0u);
      co_await host.stop();
    });
  }
}

TEST_F(WarmStart, WhatIsOldOrOfSomethingElseIsNotUsed) {
  struct Case {
    const char* what;
    std::function<void()> change;
  };
  const Case cases[] = {
      {"switched off", [&] { variables["MCP_DISCOVERY_CACHE"] = "0"; }},
      {"switched off by the program", [&] { warm = false; }},
      {"too old", [&] { clock.set_wall(clock.wall() + 900s); }},
      {"too old, as a variable says", [&] { variables["MCP_DISCOVERY_CACHE_TTL_S"] = "0"; }},
      {"from the future", [&] { clock.set_wall(clock.wall() - 10s); }},
      {"another program", [&] { tree.file("program", "another"); }},
      {"another value", [&] { variables["LEVEL"] = "2"; }},
      {"another entry",
       [&] {
         for (auto& entry : config.servers) entry.args.emplace_back("-v");
       }},
      {"another folder", [&] { state += "2"; }},
      {"no folder", [&] { state.clear(); }},
      {"a broken file",
       [&] {
         for (const auto& file : std::filesystem::directory_iterator(state + "/servers")) {
           tree.file(file.path().lexically_relative(tree.path()).string(), "{\"version\":1,");
         }
       }},
      {"a file of a newer version",
       [&] {
         for (const auto& file : std::filesystem::directory_iterator(state + "/servers")) {
           const auto name = file.path().lexically_relative(tree.path()).string();
           auto text = tree.read(name);
           tree.file(name, text.replace(text.find("\"version\":1"), 11, "\"version\":9"));
         }
       }},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.what);
    const auto saved = std::tuple(variables, warm, config, state, clock.wall());
    tree.file("program", "one");
    run_task(clock, [&]() -> Task<void> {
      co_await earlier_run();
      c.change();
      auto host = make();
      co_await host.prepare();
      EXPECT_THAT(names_in(host), IsEmpty());
      EXPECT_EQ(catalogs, 0);
      EXPECT_EQ(s->opens, opened_before);
      EXPECT_EQ(text_of(co_await host.call("mcp__s__a")), "done") << "it works without memory";
      co_await host.stop();
    });
    std::tie(variables, warm, config, state, std::ignore) = saved;
    clock.set_wall(std::get<4>(saved) + 1s);
    std::filesystem::remove_all(state);
  }
}

TEST_F(WarmStart, AServerThatMayNotBeStartedIsNeverListed) {
  using enum ServerStanding;
  for (const auto standing : {awaiting_approval, rejected, disabled, policy, duplicate, broken}) {
    SCOPED_TRACE(to_string(standing));
    run_task(clock, [&]() -> Task<void> {
      co_await earlier_run();
      entry_of_s().standing = standing;
      if (standing == awaiting_approval) entry_of_s().origin.trust = ConfigTrust::needs_approval;
      auto host = make();
      co_await host.prepare();
      EXPECT_THAT(names_in(host), ElementsAre("mcp__other__c"));
      co_await host.stop();
      entry_of_s().standing = active;
      entry_of_s().origin.trust = ConfigTrust::trusted;
    });
  }
  run_task(clock, [&]() -> Task<void> {
    co_await earlier_run();
    denied = {"mcp__s"};
    auto host = make();
    co_await host.prepare();
    EXPECT_THAT(names_in(host), ElementsAre("mcp__other__c"));
    EXPECT_EQ(status_of(host, "s").tool_count, 0u);
    co_await host.stop();
  });
}

// Entries that the program adds are held against the lists only when they are started.
TEST_F(WarmStart, AnOrganisationsListCountsForEntriesOfTheProgramAsWell) {
  run_task(clock, [&]() -> Task<void> {
    co_await earlier_run();
    for (const bool is_denied : {false, true}) {
      auto entry = entry_of_s();
      LoadedConfig without = config;
      without.servers.clear();
      if (is_denied) {
        without.settings =
            settings_layers({parse_settings(R"({"deniedMcpServers":[{"serverCommand":["/bin/sh","program"]}]})",
                                            SettingsSource::enterprise, "/etc/s.json")});
      }
      auto host = make(without);
      host.add_server(entry);
      co_await host.prepare();
      EXPECT_EQ(host.catalog()->size(), is_denied ? 0u : 2u);
      co_await host.stop();
    }
  });
}

TEST_F(WarmStart, ManyWhoBeginAtOnceShareOneConnection) {
  run_task(clock, [&]() -> Task<void> {
    co_await earlier_run();
    auto host = make();
    Scope scope(co_await asio::this_coro::executor);
    auto prepared = beside(scope, host.prepare());
    auto one = beside(scope, host.call("mcp__s__a"));
    auto two = beside(scope, host.call("s/b"));
    auto edited = config;
    edited.servers.front().args.emplace_back("-v");
    auto reloaded = beside(scope, host.reload(edited));
    auto late = beside(scope, host.call("mcp__other__c"));
    co_await scope.join();
    EXPECT_TRUE(prepared->result && *prepared->result);
    EXPECT_TRUE(one->result && *one->result);
    EXPECT_TRUE(two->result && *two->result);
    EXPECT_TRUE(reloaded->result && *reloaded->result);
    EXPECT_TRUE(late->result && *late->result);
    EXPECT_EQ(s->opens, opened_before + 1);
    EXPECT_THAT(names_in(host), ElementsAre("mcp__other__c", "mcp__s__a", "mcp__s__b"));
    co_await host.stop();
  });
}

TEST_F(WarmStart, StoppingWhileFilesAreReadStartsNothing) {
  for (int turns = 0; turns < 8; ++turns) {
    run_task(clock, [&]() -> Task<void> {
      if (turns == 0) co_await earlier_run();
      auto host = make();
      Scope scope(co_await asio::this_coro::executor);
      auto prepared = beside(scope, host.prepare());
      for (int i = 0; i < turns; ++i) co_await asio::post(asio::use_awaitable);
      co_await host.stop();
      co_await scope.join();
      if (prepared->result && !*prepared->result) EXPECT_EQ(failure_of(*prepared), Errc::closed);
      EXPECT_TRUE(host.catalog()->empty());
      EXPECT_EQ(s->opens, opened_before);
    });
  }
}

TEST_F(WarmStart, AServerThatFailsKeepsThem) {
  run_task(clock, [&]() -> Task<void> {
    co_await earlier_run();
    s->before_open = []() -> Task<void> { throw Error(Errc::connect, "nobody is there"); };
    auto host = make();
    co_await host.prepare();
    auto called = co_await as_result(host.call("mcp__s__a"));
    EXPECT_THAT(called, FailsWith(Errc::connect, HasSubstr("nobody is there")));
    if (!called) EXPECT_EQ(called.error().carried_out(), CarriedOut::no);
    EXPECT_THAT(names_in(host), ElementsAre("mcp__other__c", "mcp__s__a", "mcp__s__b"));
    EXPECT_EQ(catalogs, 1);
    co_await host.stop();
  });
}

// Whoever cannot list them may still be able to carry them out.
TEST_F(WarmStart, AListThatFailsDoesNotTakeThemAway) {
  run_task(clock, [&]() -> Task<void> {
    co_await earlier_run();
    s->on(std::string(method::list_tools), [](Request) -> Task<Payload> { throw Error::rpc(-32000, "not now"); });
    {
      auto host = make();
      co_await host.prepare();
      EXPECT_EQ(text_of(co_await host.call("mcp__s__a")), "done");
      EXPECT_EQ(text_of(co_await host.call("s/b")), "done");
      EXPECT_EQ(reason_text(status_of(host, "s")), "tools fetch failed");
      EXPECT_THAT(names_in(host), ElementsAre("mcp__other__c", "mcp__s__a", "mcp__s__b"));
      co_await host.stop();
    }
    // And they are as old as they were.
    clock.set_wall(clock.wall() + 900s);
    auto host = make();
    co_await host.prepare();
    EXPECT_THAT(names_in(host), IsEmpty());
    co_await host.stop();
  });
}

// L4: the first request of a conversation has the tools of servers that are still starting.
TEST_F(WarmStart, AConversationBeginsWithTheToolsOfServersThatAreLate) {
  run_task(clock, [&]() -> Task<void> {
    co_await earlier_run();
    s->before_open = [] { return sleep_for(20s); };
    auto host = make();
    co_await host.begin();
    EXPECT_THAT(names_in(host), ElementsAre("mcp__other__c", "mcp__s__a", "mcp__s__b"));
    EXPECT_NE(status_of(host, "s").state, ServerState::connected);
    co_await clock.advance(20s);
    EXPECT_EQ(status_of(host, "s").state, ServerState::connected);
    EXPECT_EQ(catalogs, 1);
    co_await host.stop();
  });
}

// Servers that are declared while the host runs, or switched on again.
TEST_F(WarmStart, AServerThatIsDeclaredLaterHasThemAsWell) {
  run_task(clock, [&]() -> Task<void> {
    co_await earlier_run();
    const auto both = config;
    config.servers.pop_back();
    auto host = make();
    co_await host.prepare();
    EXPECT_THAT(names_in(host), ElementsAre("mcp__other__c"));
    co_await host.reload(both);
    EXPECT_THAT(names_in(host), ElementsAre("mcp__other__c", "mcp__s__a", "mcp__s__b"));
    EXPECT_EQ(s->opens, opened_before);
    co_await host.stop();
  });
}

// ---- an edited entry

class EditedEntry : public WarmStart {
 protected:
  EditedEntry() { state.clear(); }
};

TEST_F(EditedEntry, KeepsItsToolsUntilItsNewConnectionHasListed) {
  run_task(clock, [&]() -> Task<void> {
    auto host = make();
    co_await host.start();
    const auto before = host.catalog();
    const auto told = catalogs;
    s->before_open = [] { return sleep_for(10s); };
    s->on(std::string(method::list_tools), list_of({"a", "new"}));
    entry_of_s().args.emplace_back("-v");
    co_await host.reload(config);
    EXPECT_EQ(host.catalog(), before);
    co_await clock.advance(5s);
    EXPECT_EQ(reason_text(status_of(host, "s")), "connecting");
    EXPECT_EQ(host.catalog(), before);
    EXPECT_EQ(catalogs, told);

    // A call waits for the new connection, and is made with what that one has.
    Scope scope(co_await asio::this_coro::executor);
    auto stays = beside(scope, host.call("mcp__s__a"));
    auto goes = beside(scope, host.call("mcp__s__b"));
    co_await clock.advance(5s);
    EXPECT_TRUE(stays->result && *stays->result);
    EXPECT_EQ(failure_of(*goes), Errc::invalid_argument);
    if (goes->result && !*goes->result) {
      EXPECT_EQ(goes->result->error().carried_out(), CarriedOut::no);
      EXPECT_THAT(goes->result->error().message(), HasSubstr("new: new; gone: b"));
    }
    co_await clock.advance(1s);
    EXPECT_THAT(names_in(host), ElementsAre("mcp__other__c", "mcp__s__a", "mcp__s__new"));
    EXPECT_EQ(catalogs, told + 1);
    co_await scope.join();
    co_await host.stop();
  });
}

TEST_F(EditedEntry, TwiceWithoutAConnectionInBetweenKeepsThem) {
  run_task(clock, [&]() -> Task<void> {
    auto host = make();
    co_await host.start();
    s->before_open = []() -> Task<void> { throw Error(Errc::connect, "nobody is there"); };
    for (const auto* argument : {"-v", "-w"}) {
      entry_of_s().args = {"program", argument};
      co_await host.reload(config);
      co_await clock.advance(1s);
      EXPECT_THAT(names_in(host), ElementsAre("mcp__other__c", "mcp__s__a", "mcp__s__b"));
    }
    co_await host.stop();
  });
}

TEST_F(EditedEntry, LosesThemAtOnceWhenItIsOffOrHidesThem) {
  struct Case {
    const char* what;
    std::function<void(LoadedConfig&)> edit;
    std::vector<std::string> left;
  };
  const std::vector<std::string> none{"mcp__other__c"};
  const Case cases[] = {
      {"disabled", [](LoadedConfig& c) { c.servers.back().standing = ServerStanding::disabled; }, none},
      {"rejected", [](LoadedConfig& c) { c.servers.back().standing = ServerStanding::rejected; }, none},
      {"forbidden", [](LoadedConfig& c) { c.servers.back().standing = ServerStanding::policy; }, none},
      {"to be approved",
       [](LoadedConfig& c) {
         c.servers.back().standing = ServerStanding::awaiting_approval;
         c.servers.back().origin.trust = ConfigTrust::needs_approval;
       },
       none},
      {"removed", [](LoadedConfig& c) { c.servers.pop_back(); }, none},
      {"hidden by disabledTools",
       [](LoadedConfig& c) { c.servers.back().disabled_tools = {"b"}; },
       {"mcp__other__c", "mcp__s__a"}},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.what);
    run_task(clock, [&]() -> Task<void> {
      auto host = make();
      co_await host.start();
      s->before_open = [] { return sleep_for(1h); };
      const auto told = catalogs;
      auto edited = config;
      c.edit(edited);
      co_await host.reload(edited);
      EXPECT_EQ(names_in(host), c.left);
      EXPECT_EQ(catalogs, told + 1);
      co_await host.stop();
      s->before_open = nullptr;
    });
  }
}

}  // namespace
}  // namespace patchbay::test
