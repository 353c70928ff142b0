// One server's life inside a Host, and the Host around it. Connections are played by scripts,
// so that how many open at once is counted, not timed.
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <patchbay/host.h>
#include <patchbay/server.h>

#include "base/as_result.h"
#include "base/scope.h"
#include "protocol/methods.h"
#include "support/connection_bench.h"
#include "support/fails_with.h"
#include "support/host_parts.h"
#include "support/loop.h"
#include "support/script_server.h"

namespace patchbay {
namespace {

using namespace std::chrono_literals;
using test::Bench;
using test::empty_options;
using test::FailsWith;
using test::names_of;
using test::run_task;
using test::ScriptServer;
using test::settle;
using test::tool_server;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

std::string m(std::string_view method) { return std::string(method); }

// L1
TEST(HostConnection, NothingIsOpenedUntilSomebodyAsks) {
  run_task([]() -> Task<void> {
    Bench bench(co_await asio::this_coro::executor);
    auto before = bench.connection().status();
    EXPECT_EQ(before.state, ServerState::pending);
    EXPECT_EQ(to_string(before.reason), "not started");
    EXPECT_EQ(before.transport, "a script");
    co_await settle();
    EXPECT_EQ(bench.server->opens, 0);
    auto session = co_await bench.connection().ensure();
    EXPECT_EQ(bench.server->opens, 1);
    auto after = bench.connection().status();
    EXPECT_EQ(after.state, ServerState::connected);
    EXPECT_EQ(to_string(after.reason), "");
    EXPECT_EQ(after.era, Era::modern);
    EXPECT_EQ(after.tool_count, 2u);
    EXPECT_FALSE(after.error);
    EXPECT_THAT(names_of(bench.connection()), ElementsAre("a", "b"));
    // Once more is the same connection.
    co_await bench.connection().ensure();
    EXPECT_EQ(bench.server->opens, 1);
    EXPECT_THAT(bench.states, ElementsAre("connected  2"));
    co_await bench.end();
    EXPECT_EQ(bench.connection().status().state, ServerState::pending);
    EXPECT_EQ(to_string(bench.connection().status().reason), "closed");
  });
}

// L10
TEST(HostConnection, HoweverManyAskAtOnceThereIsOneConnection) {
  run_task([]() -> Task<void> {
    Bench bench(co_await asio::this_coro::executor);
    Event go;
    bench.server->before_open = [&]() -> Task<void> { co_await go.wait(); };
    std::vector<std::shared_ptr<Bench::Asked>> all;
    for (int i = 0; i < 20; ++i) all.push_back(bench.ask());
    while (bench.server->opens == 0) co_await bench.server->happened.wait();
    co_await settle();
    // Whoever stops waiting does not stop the others.
    all[0]->running.cancel();
    all[7]->running.cancel();
    co_await settle();
    EXPECT_EQ(all[0]->outcome->error().code(), Errc::cancelled);
    go.notify_all();
    co_await bench.scope.join();
    EXPECT_EQ(bench.server->opens, 1);
    int connected = 0;
    for (auto& one : all) connected += one->outcome && *one->outcome ? 1 : 0;
    EXPECT_EQ(connected, 18);
    co_await bench.end();
  });
}

// L2
TEST(HostConnection, ThreeStartAtOnceAndAFreePlaceIsTakenAtOnce) {
  run_task([]() -> Task<void> {
    auto executor = co_await asio::this_coro::executor;
    auto server = tool_server({"a"});
    Event one_may;
    int allowed = 0;
    server->before_open = [&]() -> Task<void> {
      while (allowed == 0) co_await one_may.wait();
      --allowed;
    };
    Semaphore slots(3);
    std::vector<std::unique_ptr<Connection>> connections;
    Scope scope(executor);
    int connected = 0;
    for (int i = 0; i < 10; ++i) {
      Connection::Parts parts;
      parts.config.name = fmt::format("s{}", i);
      parts.transport = server->transport();
      connections.push_back(
          std::make_unique<Connection>(executor, Runtime{}, ClientOptions{}, slots, std::move(parts)));
      scope.spawn([](Connection& one, int& count) -> Task<void> {
        co_await one.ensure();
        ++count;
      }(*connections.back(), connected));
    }
    for (int opened = 3; opened <= 10; ++opened) {
      while (server->opens < opened) co_await server->happened.wait();
      co_await settle();
      EXPECT_EQ(server->opens, opened);  // not one more
      EXPECT_EQ(opened - connected, std::min(3, 10 - connected));
      ++allowed;
      one_may.notify_all();
    }
    while (connected < 10) {
      allowed = 3;
      one_may.notify_all();
      co_await settle();
    }
    co_await scope.join();
    EXPECT_EQ(slots.free(), 3u);
    for (auto& one : connections) co_await one->close(CloseMode::quick);
    EXPECT_EQ(server->connections(), 0u);
  });
}

// L5
TEST(HostConnection, AStartThatFailsIsCleanedUpAndMayBeTriedAgain) {
  run_task([]() -> Task<void> {
    Bench bench(co_await asio::this_coro::executor, std::make_unique<ScriptServer>());
    bench.runtime.limits.connect = 1s;  // also for the second start, which has to succeed
    bench.runtime.limits.silent_probe = 1ms;
    auto hang = [](Request) -> Task<Payload> {
      Event never;
      co_await never.wait();
      co_return Payload();
    };
    bench.server->on(m(method::discover), hang);
    bench.server->on(m(method::initialize), hang);
    auto failed = co_await as_result(bench.connection().ensure());
    EXPECT_THAT(failed, FailsWith(Errc::timeout));
    EXPECT_EQ(bench.server->connections(), 0u);
    EXPECT_EQ(bench.slots.free(), 3u);
    auto status = bench.connection().status();
    EXPECT_EQ(status.state, ServerState::failed);
    EXPECT_EQ(to_string(status.reason), "connect failed");
    EXPECT_THAT(failed, FailsWith(status.error->within("server \"s\"")));
    EXPECT_FALSE(bench.connection().worth_trying());

    bench.server->on(m(method::discover), R"({"supportedVersions":["2026-07-28"],"capabilities":{}})");
    co_await bench.connection().ensure();
    EXPECT_TRUE(bench.connection().connected());
    EXPECT_FALSE(bench.connection().status().error);
    EXPECT_TRUE(bench.connection().worth_trying());
    co_await bench.end();
  });
}

TEST(HostConnection, AnErrorOfTheTransportReachesEveryoneWhoAsked) {
  run_task([]() -> Task<void> {
    Bench bench(co_await asio::this_coro::executor);
    bench.server->before_open = []() -> Task<void> {
      co_await asio::post(asio::use_awaitable);
      throw Error(Errc::connect, "no such command").with_detail("stderr");
    };
    auto one = bench.ask();
    auto two = bench.ask();
    co_await bench.scope.join();
    EXPECT_EQ(one->outcome->error(), Error(Errc::connect, "server \"s\": no such command"));
    EXPECT_EQ(two->outcome->error().detail(), "stderr");
    EXPECT_EQ(bench.server->opens, 1);
    co_await bench.end();
  });
}

// L4: three short tries, then stay connected and show it.
TEST(HostConnection, AListThatCannotBeHadLeavesTheServerConnected) {
  run_task([]() -> Task<void> {
    Bench bench(co_await asio::this_coro::executor, ScriptServer::modern(R"({"tools":{}})"));
    auto session = co_await bench.connection().ensure();
    EXPECT_EQ(bench.server->count(method::list_tools), 3u);
    auto status = bench.connection().status();
    EXPECT_EQ(status.state, ServerState::connected);
    EXPECT_EQ(to_string(status.reason), "tools fetch failed");
    EXPECT_EQ(status.error->rpc_code(), -32601);
    co_await session.ping();
    co_await bench.end();
  });
}

// L8
TEST(HostConnection, ListsAreOnlyAskedOfServersThatHaveThem) {
  run_task([]() -> Task<void> {
    Bench bench(co_await asio::this_coro::executor, ScriptServer::modern(R"({"prompts":{}})"));
    co_await bench.connection().ensure();
    EXPECT_THAT(bench.server->asked, ElementsAre(method::discover));
    EXPECT_EQ(to_string(bench.connection().status().reason), "");
    co_await bench.end();
  });
}

TEST(HostConnection, EntriesLetOnlyTheirToolsThrough) {
  run_task([]() -> Task<void> {
    Bench bench(co_await asio::this_coro::executor, tool_server({"read", "write", "list"}));
    bench.parts.config.enabled_tools = {{"read", "w*"}};
    bench.parts.config.disabled_tools = {"write"};
    co_await bench.connection().ensure();
    EXPECT_THAT(names_of(bench.connection()), ElementsAre("read"));
    EXPECT_EQ(bench.connection().status().tool_count, 1u);
    co_await bench.end();
  });
}

TEST(HostConnection, ADisabledOrUnusableServerIsNeverOpened) {
  run_task([]() -> Task<void> {
    auto executor = co_await asio::this_coro::executor;
    {
      Bench bench(executor);
      bench.parts.config.disabled = true;
      bench.parts.config.origin.file = "/x/.mcp.json";
      auto refused = co_await as_result(bench.connection().ensure());
      EXPECT_THAT(refused, FailsWith(Error(Errc::config, "server \"s\" is disabled in /x/.mcp.json")));
      EXPECT_EQ(bench.connection().status().state, ServerState::disabled);
      EXPECT_FALSE(bench.connection().worth_trying());
      EXPECT_EQ(bench.server->opens, 0);
      co_await bench.end();
      EXPECT_EQ(bench.connection().status().state, ServerState::disabled);
    }
    Bench bench(executor);
    bench.parts.unusable = Error(Errc::unsupported, "not this kind");
    bench.parts.transport = nullptr;
    EXPECT_EQ(bench.connection().status().state, ServerState::failed);
    auto refused = co_await as_result(bench.connection().ensure());
    EXPECT_THAT(refused, FailsWith(Error(Errc::unsupported, "not this kind")));
    co_await bench.end();
  });
}

TEST(HostConnection, AServerNobodyApprovedIsNotOpened) {
  run_task([]() -> Task<void> {
    auto executor = co_await asio::this_coro::executor;
    {
      Bench bench(executor);
      bench.parts.approved = false;
      EXPECT_EQ(to_string(bench.connection().status().reason), "awaiting approval");
      auto refused = co_await as_result(bench.connection().ensure());
      EXPECT_THAT(refused, FailsWith(Errc::denied, HasSubstr("awaits approval")));
      if (!refused) EXPECT_EQ(refused.error().remedy(), (Remedy{Remedy::Kind::approve_server, "s"}));
      EXPECT_EQ(bench.connection().status().state, ServerState::pending);
      EXPECT_EQ(to_string(bench.connection().status().reason), "awaiting approval");
      EXPECT_EQ(bench.server->opens, 0);
      co_await bench.end();
    }
    Bench bench(executor);
    bench.parts.approved = false;
    int asked = 0;
    bench.parts.approve = [&](ApprovalQuestion question) -> Task<bool> {
      EXPECT_EQ(question.server.name, "s");
      EXPECT_EQ(question.context, CallContext{.server = "s"});
      return [](bool yes) -> Task<bool> { co_return yes; }(++asked > 1);
    };
    auto refused = co_await as_result(bench.connection().ensure());
    EXPECT_THAT(refused, FailsWith(Errc::denied));
    auto one = bench.ask();
    auto two = bench.ask();
    co_await bench.scope.join();
    EXPECT_TRUE(*one->outcome && *two->outcome);
    EXPECT_EQ(asked, 2);  // the two were asked about once
    co_await bench.end();
  });
}

TEST(HostConnection, ARejectedServerIsDisabledAndNotAskedAboutAgain) {
  run_task([]() -> Task<void> {
    Bench bench(co_await asio::this_coro::executor);
    bench.parts.approved = false;
    int asked = 0;
    const auto rejection =
        Error(Errc::denied, "you rejected the server \"s\"").with_remedy({Remedy::Kind::undo_rejection, "s"});
    bench.parts.approve = [&](const ApprovalQuestion&) -> Task<bool> {
      ++asked;
      return [](Error why) -> Task<bool> {
        throw why;
        co_return false;
      }(rejection);
    };
    for (int i = 0; i < 2; ++i) {
      auto refused = co_await as_result(bench.connection().ensure());
      EXPECT_THAT(refused, FailsWith(rejection));
      EXPECT_EQ(bench.connection().status().state, ServerState::disabled);
      EXPECT_EQ(bench.connection().status().reason, ServerReason::rejected);
    }
    EXPECT_EQ(asked, 1);
    EXPECT_EQ(bench.server->opens, 0);
    co_await bench.end();
  });
}

// L9
TEST(HostConnection, AConnectionThatIsLostIsCleanedUpAndMadeAgainWhenNeeded) {
  run_task([]() -> Task<void> {
    Bench bench(co_await asio::this_coro::executor);
    int lost = 0;
    bench.client.on_lost = [&](const Error&) { ++lost; };
    auto session = co_await bench.connection().ensure();
    co_await bench.server->die();
    while (bench.connection().connected()) co_await bench.changed.wait();
    auto status = bench.connection().status();
    EXPECT_EQ(status.state, ServerState::failed);
    EXPECT_EQ(to_string(status.reason), "connection lost");
    EXPECT_EQ(status.error->code(), Errc::closed);
    EXPECT_THAT(names_of(bench.connection()), ElementsAre("a", "b")) << "N3: what it offers stays";
    EXPECT_EQ(lost, 1);
    while (bench.server->connections() > 0) co_await bench.server->happened.wait();
    EXPECT_TRUE(bench.connection().worth_trying());
    co_await bench.connection().ensure();
    EXPECT_EQ(bench.server->opens, 2);
    EXPECT_THAT(names_of(bench.connection()), ElementsAre("a", "b"));
    co_await bench.end();
  });
}

// A server that dies as soon as it has answered must not be started over and over.
TEST(HostConnection, AServerThatEndsRightAfterItsListIsAnErrorNotALoop) {
  run_task([]() -> Task<void> {
    auto executor = co_await asio::this_coro::executor;
    Bench bench(executor, ScriptServer::modern(R"({"tools":{}})"));
    Scope dying(executor);
    bench.server->on(m(method::list_tools), [&](Request) -> Task<Payload> {
      return [](Scope& scope, ScriptServer& server) -> Task<Payload> {
        // Sent at once, so that the answer and the end arrive together.
        scope.spawn([](ScriptServer& s) -> Task<void> {
          co_await asio::post(asio::use_awaitable);
          co_await s.die();
        }(server));
        co_return *Payload::parse(R"({"tools":[]})");
      }(dying, *bench.server);
    });
    auto asked = bench.ask();
    co_await bench.scope.join();
    if (!*asked->outcome) EXPECT_EQ(asked->outcome->error().code(), Errc::closed);
    co_await dying.join();
    co_await settle();
    EXPECT_FALSE(bench.connection().connected());
    EXPECT_EQ(to_string(bench.connection().status().reason), "connection lost");
    EXPECT_TRUE(bench.connection().status().error);
    EXPECT_EQ(bench.server->opens, 1);
    co_await bench.end();
  });
}

TEST(HostConnection, ClosedWhileOpeningOrListingLeavesNothingAndTellsWhoWaited) {
  for (auto where : {"opening", "discovering", "listing", "approving", "waiting for a place"}) {
    SCOPED_TRACE(where);
    run_task([where = std::string_view(where)]() -> Task<void> {
      Bench bench(co_await asio::this_coro::executor);
      Event never;
      Event there;
      bool arrived = false;
      auto stay = [&]() -> Task<void> {
        arrived = true;
        there.notify_all();
        co_await never.wait();
      };
      ScriptServer::Answer hang = [&](Request) -> Task<Payload> {
        co_await stay();
        co_return Payload();
      };
      std::vector<Semaphore::Permit> taken;
      if (where == "opening") bench.server->before_open = stay;
      if (where == "discovering") bench.server->on(m(method::discover), hang);
      if (where == "listing") bench.server->on(m(method::list_tools), hang);
      if (where == "approving") {
        bench.parts.approved = false;
        bench.parts.approve = [&](ApprovalQuestion) -> Task<bool> {
          co_await stay();
          co_return true;
        };
      }
      if (where == "waiting for a place") {
        for (int i = 0; i < 3; ++i) taken.push_back(co_await bench.slots.acquire());
        arrived = true;
      }
      auto asked = bench.ask();
      while (!arrived) co_await there.wait();
      co_await settle();
      co_await bench.connection().close(CloseMode::graceful);
      EXPECT_EQ(bench.server->connections(), 0u);
      EXPECT_EQ(bench.server->open_now, 0);
      co_await bench.scope.join();
      EXPECT_EQ(asked->outcome->error(), Error(Errc::closed, "server \"s\" is being closed"));
      auto status = bench.connection().status();
      EXPECT_EQ(status.state, ServerState::pending);
      EXPECT_EQ(to_string(status.reason), "closed");
      EXPECT_THAT(bench.states, IsEmpty());
      auto after = co_await as_result(bench.connection().ensure());
      EXPECT_THAT(after, FailsWith(Errc::closed));
      co_await bench.connection().close(CloseMode::quick);
      taken.clear();
      EXPECT_EQ(bench.slots.free(), 3u);
    });
  }
}

TEST(HostConnection, ClosedAtAnyMomentLeavesNothing) {
  for (int turns = 0; turns < 40; ++turns) {
    run_task([turns]() -> Task<void> {
      Bench bench(co_await asio::this_coro::executor, turns % 2 ? tool_server({"a"}) : ScriptServer::legacy("{}"));
      auto asked = bench.ask();
      for (int i = 0; i < turns; ++i) co_await asio::post(asio::use_awaitable);
      co_await bench.end();
      if (!*asked->outcome) EXPECT_EQ(asked->outcome->error().code(), Errc::closed);
      EXPECT_EQ(bench.server->open_now, 0);
    });
  }
}

// L8
TEST(HostConnection, ABurstOfChangesIsOneRefreshAndAFailedOneKeepsTheOldList) {
  run_task([]() -> Task<void> {
    Bench bench(co_await asio::this_coro::executor, ScriptServer::legacy(R"({"tools":{"listChanged":true}})"));
    bench.server->on(m(method::list_tools), R"({"tools":[{"name":"a"}]})");
    co_await bench.connection().ensure();
    bench.server->on(m(method::list_tools), R"({"tools":[{"name":"a"},{"name":"b"}]})");
    for (int i = 0; i < 10; ++i) bench.server->notify(method::tools_changed, {});
    while (bench.states.size() < 2) co_await bench.changed.wait();
    EXPECT_EQ(bench.server->count(method::list_tools), 2u);
    EXPECT_THAT(names_of(bench.connection()), ElementsAre("a", "b"));

    bench.server->on(m(method::list_tools), [](Request) -> Task<Payload> {
      throw Error::rpc(-32603, "broken now");
      co_return Payload();
    });
    bench.server->notify(method::tools_changed, {});
    co_await bench.server->wait_asked(method::list_tools, 5);
    co_await settle();
    EXPECT_THAT(names_of(bench.connection()), ElementsAre("a", "b"));
    EXPECT_TRUE(bench.connection().connected());
    EXPECT_THAT(bench.states, SizeIs(2));
    co_await bench.end();
  });
}

// The host ---------------------------------------------------------------------------------

std::shared_ptr<Server> server_with(std::vector<std::string> tools) {
  ServerOptions options;
  options.info = {.name = "in-process", .version = "1"};
  auto server = std::make_shared<Server>(std::move(options));
  for (auto& name : tools) {
    Tool tool;
    tool.name = name;
    server->add_tool(tool, [name](RequestContext&, Json) -> Task<CallToolResult> {
      return [](std::string text) -> Task<CallToolResult> {
        CallToolResult result;
        result.content.push_back(TextContent{.text = std::move(text)});
        co_return result;
      }("this is " + name);
    });
  }
  return server;
}

ServerConfig missing_command(std::string name) {
  ServerConfig config;
  config.name = std::move(name);
  config.command = "/nonexistent/patchbay-test-command";
  return config;
}

std::vector<std::string> names_of(const Catalog& catalog) {
  std::vector<std::string> names;
  for (const auto& entry : catalog.tools()) names.push_back(entry.name);
  return names;
}

std::string states_of(const Host& host) {
  std::string text;
  for (const auto& status : host.status()) {
    text += fmt::format("{}={}/{} ", status.name, to_string(status.state), to_string(status.reason));
  }
  return text;
}

// W1, X5
TEST(Host, CallsAreRoutedByTheCatalogNeverByTakingNamesApart) {
  run_task([]() -> Task<void> {
    Host host(empty_options());
    host.add_server("a", server_with({"b__c", "same"}));
    host.add_server("a__b", server_with({"c", "same"}));
    host.add_server("bare", server_with({"plain"}), NamePrefix::none);
    co_await host.start();
    EXPECT_EQ(names_of(*host.catalog()).size(), 5u);
    // Both would be mcp__a__b__c; each keeps a name of its own and is found by the others.
    auto left = co_await host.call("a/b__c");
    EXPECT_EQ(text_of(left), "this is b__c");
    auto right = co_await host.call("a__b/c");
    EXPECT_EQ(text_of(right), "this is c");
    for (const auto& entry : host.catalog()->tools()) {
      EXPECT_EQ(text_of(co_await host.call(entry.name)), "this is " + entry.tool->name);
    }
    EXPECT_EQ(text_of(co_await host.call("plain")), "this is plain");
    auto ambiguous = co_await as_result(host.call("same"));
    EXPECT_THAT(ambiguous, FailsWith(Errc::invalid_argument, HasSubstr("a__b/same")));
    auto unknown = co_await as_result(host.call("nonesuch"));
    EXPECT_THAT(unknown, FailsWith(Errc::invalid_argument));
    co_await host.stop();
  });
}

// L1
TEST(Host, OnlyTheServersThatCanBeMeantAreStarted) {
  run_task([]() -> Task<void> {
    Host host(empty_options());
    host.add_server("one", server_with({"x"}));
    host.add_server("two", server_with({"y"}));
    EXPECT_EQ(states_of(host), "one=pending/not started two=pending/not started ");
    EXPECT_TRUE(host.catalog()->empty());
    EXPECT_EQ(text_of(co_await host.call("two/y")), "this is y");
    EXPECT_EQ(states_of(host), "one=pending/not started two=connected/ ");
    EXPECT_EQ(text_of(co_await host.call("mcp__two__y")), "this is y");
    EXPECT_EQ(states_of(host), "one=pending/not started two=connected/ ");
    auto wrong = co_await as_result(host.call("two/z"));
    EXPECT_THAT(wrong, FailsWith(Errc::invalid_argument));
    EXPECT_EQ(states_of(host), "one=pending/not started two=connected/ ");
    // A bare name may be anybody's.
    EXPECT_EQ(text_of(co_await host.call("y")), "this is y");
    EXPECT_EQ(states_of(host), "one=connected/ two=connected/ ");
    co_await host.stop();
  });
}

// Which servers happen to be connected does not decide what a bare name means.
TEST(Host, ABareNameIsAmbiguousWhoeverIsConnected) {
  run_task([]() -> Task<void> {
    Host host(empty_options());
    host.add_server("one", server_with({"same"}));
    host.add_server("two", server_with({"same"}));
    co_await host.start({"one"});
    auto found = co_await as_result(host.call("same"));
    EXPECT_THAT(found, FailsWith(Errc::invalid_argument));
    co_await host.stop();
  });
}

// L5
TEST(Host, OneBadServerDoesNotHurtTheOthers) {
  run_task([]() -> Task<void> {
    auto options = empty_options();
    std::vector<std::string> told;
    options.on_event = [&](const HostEvent& event) {
      const auto* status = std::get_if<ServerStatus>(&event);
      if (status) told.push_back(fmt::format("{}={}", status->name, to_string(status->state)));
    };
    Host host(options);
    host.add_server("good", server_with({"x"}));
    host.add_server(missing_command("bad"));
    ServerConfig remote;
    remote.name = "remote";
    remote.kind = ServerKind::websocket;
    remote.url = "";  // declared, but not configured
    host.add_server(remote);
    auto off = missing_command("off");
    off.disabled = true;
    host.add_server(off);
    co_await host.start();
    EXPECT_EQ(states_of(host),
              "bad=failed/connect failed good=connected/ off=disabled/disabled remote=failed/not usable ");
    EXPECT_THAT(told, testing::UnorderedElementsAre("good=connected", "bad=failed"));
    EXPECT_THAT(names_of(*host.catalog()), ElementsAre("mcp__good__x"));
    EXPECT_EQ(text_of(co_await host.call("x")), "this is x");
    auto bad = co_await as_result(host.call("bad/x"));
    EXPECT_THAT(bad, FailsWith(Errc::connect));
    auto disabled = co_await as_result(host.call("off/x"));
    EXPECT_THAT(disabled, FailsWith(Errc::config));
    // An unknown tool may be one of a server that did not start, so that is said.
    auto unknown = co_await as_result(host.call("nonesuch"));
    EXPECT_THAT(unknown, FailsWith(Errc::invalid_argument, HasSubstr("\"bad\"")));
    co_await host.stop();
  });
}

TEST(Host, ANameNobodyConfiguredIsNamed) {
  run_task([]() -> Task<void> {
    Host host(empty_options());
    host.add_server("github", server_with({"x"}));
    auto typo = co_await as_result(host.start({"githb"}));
    EXPECT_THAT(typo, FailsWith(Error(Errc::invalid_argument,
                                      "there is no server called \"githb\"; did you mean \"github\"?")));
    auto session = co_await as_result(host.session("zzz"));
    EXPECT_THAT(session, FailsWith(Errc::invalid_argument));
    EXPECT_EQ(states_of(host), "github=pending/not started ");
    co_await host.stop();
  });
}

TEST(Host, ServersOfAProjectWaitForApproval) {
  for (bool trusted : {false, true}) {
    run_task([trusted]() -> Task<void> {
      auto options = empty_options();
      auto config = missing_command("project");
      config.origin.trust = ConfigTrust::needs_approval;
      options.config->servers.push_back(config);
      options.trust_project = trusted;
      Host host(options);
      EXPECT_EQ(to_string(host.status().at(0).reason), trusted ? "not started" : "awaiting approval");
      co_await host.start();
      EXPECT_EQ(states_of(host), trusted ? "project=failed/connect failed " : "project=pending/awaiting approval ");
      co_await host.stop();
    });
  }
}

// L8
TEST(Host, AChangeOfToolsIsANewCatalogAndTheOldOneStays) {
  run_task([]() -> Task<void> {
    auto options = empty_options();
    Event replaced;
    int catalogs = 0;
    options.on_event = [&](const HostEvent& event) {
      if (!std::holds_alternative<CatalogChange>(event)) return;
      ++catalogs;
      replaced.notify_all();
    };
    Host host(options);
    auto server = server_with({"x"});
    host.add_server("s", server);
    co_await host.start();
    auto before = host.catalog();
    const auto seen = catalogs;
    Tool tool;
    tool.name = "y";
    server->add_tool(tool, [](RequestContext&, Json) -> Task<CallToolResult> { co_return CallToolResult{}; });
    while (catalogs == seen) co_await replaced.wait();
    EXPECT_THAT(names_of(*host.catalog()), ElementsAre("mcp__s__x", "mcp__s__y"));
    EXPECT_THAT(names_of(*before), ElementsAre("mcp__s__x"));
    co_await host.stop();
    EXPECT_TRUE(host.catalog()->empty());
  });
}

TEST(Host, ServersCanBeAddedWhileRunningAndNotAfterTheEnd) {
  run_task([]() -> Task<void> {
    Host host(empty_options());
    host.add_server("one", server_with({"x"}));
    co_await host.start();
    host.add_server("two", server_with({"y"}));
    EXPECT_EQ(states_of(host), "one=connected/ two=pending/not started ");
    EXPECT_EQ(text_of(co_await host.call("two/y")), "this is y");
    EXPECT_EQ(text_of(co_await host.call("one/x")), "this is x");
    co_await host.stop();
    host.add_server("three", server_with({"z"}));
    for (auto name : {"three/z", "one/x", "anything"}) {
      auto late = co_await as_result(host.call(name));
      EXPECT_THAT(late, FailsWith(Errc::closed)) << name;
    }
    auto again = co_await as_result(host.start());
    EXPECT_THAT(again, FailsWith(Errc::closed));
    co_await host.stop();
    co_await host.stop_quickly();
  });
}

TEST(Host, ACancelledStartReturnsAtOnceAndTheServersGoOnStarting) {
  run_task([]() -> Task<void> {
    auto options = empty_options();
    auto config = missing_command("slow");
    config.origin.trust = ConfigTrust::needs_approval;
    options.config->servers.push_back(config);
    Event may_answer;
    Event asked;
    bool is_asked = false;
    options.approve = [&](ApprovalQuestion) -> Task<bool> {
      is_asked = true;
      asked.notify_all();
      co_await may_answer.wait();
      co_return false;
    };
    Host host(options);
    Scope scope(co_await asio::this_coro::executor);
    std::optional<Error> error;
    auto starting = scope.spawn([](Host& h, std::optional<Error>& out) -> Task<void> {
      auto started = co_await as_result(h.start());
      if (!started) out = started.error();
    }(host, error));
    while (!is_asked) co_await asked.wait();
    starting.cancel();
    co_await scope.join();  // nobody has answered
    EXPECT_TRUE(error);
    EXPECT_EQ(error->code(), Errc::cancelled);
    co_await host.stop();
  });
}

TEST(Host, StoppedAtAnyMomentOfItsStartLeavesNothing) {
  for (int turns = 0; turns < 40; ++turns) {
    run_task([turns]() -> Task<void> {
      Host host(empty_options());
      host.add_server("one", server_with({"x"}));
      host.add_server("two", server_with({"y"}));
      Scope scope(co_await asio::this_coro::executor);
      scope.spawn([](Host& h) -> Task<void> { (void)co_await as_result(h.start()); }(host));
      for (int i = 0; i < turns; ++i) co_await asio::post(asio::use_awaitable);
      co_await host.stop();
      EXPECT_TRUE(host.catalog()->empty());
      co_await scope.join();
      for (const auto& status : host.status()) EXPECT_NE(status.state, ServerState::connected);
    });
  }
}

// run_task fails when something keeps running.
TEST(Host, AHostThatIsDroppedEndsItsConnections) {
  for (int turns : {0, 1, 3, 10, 100}) {
    run_task([turns]() -> Task<void> {
      auto host = std::make_unique<Host>(empty_options());
      host->add_server("one", server_with({"x"}));
      Scope scope(co_await asio::this_coro::executor);
      scope.spawn([](Host& h) -> Task<void> { (void)co_await as_result(h.start()); }(*host));
      for (int i = 0; i < turns; ++i) co_await asio::post(asio::use_awaitable);
      scope.cancel();
      co_await scope.join();
      host.reset();
    });
  }
}

TEST(Host, AHostThatWasNeverUsedNeedsNoLoop) {
  Host host(empty_options());
  host.add_server("one", server_with({"x"}));
  EXPECT_EQ(states_of(host), "one=pending/not started ");
}

TEST(Host, PendingCallsFailWhenTheHostStops) {
  run_task([]() -> Task<void> {
    Host host(empty_options());
    auto server = server_with({});
    Event begun;
    bool running = false;
    Tool tool;
    tool.name = "hang";
    server->add_tool(tool, [&](RequestContext&, Json) -> Task<CallToolResult> {
      running = true;
      begun.notify_all();
      Event never;
      co_await never.wait();
      co_return CallToolResult{};
    });
    host.add_server("s", server);
    Scope scope(co_await asio::this_coro::executor);
    std::optional<Error> error;
    scope.spawn([](Host& h, std::optional<Error>& out) -> Task<void> {
      auto result = co_await as_result(h.call("s/hang"));
      out = test::failure_of(result);
    }(host, error));
    while (!running) co_await begun.wait();
    co_await host.stop();
    co_await scope.join();
    EXPECT_EQ(error->code(), Errc::closed);
  });
}

TEST(Host, ACallsLimitReachesItsServer) {
  run_task([]() -> Task<void> {
    Host host(empty_options());
    auto server = server_with({});
    Tool tool;
    tool.name = "hang";
    server->add_tool(tool, [](RequestContext&, Json) -> Task<CallToolResult> {
      Event never;
      co_await never.wait();
      co_return CallToolResult{};
    });
    host.add_server("s", server);
    auto result = co_await as_result(host.call("s/hang", {}, {.total = 10ms, .idle = {}, .on_progress = {}}));
    EXPECT_THAT(result, FailsWith(Errc::timeout));
    co_await host.stop();
  });
}

}  // namespace
}  // namespace patchbay
