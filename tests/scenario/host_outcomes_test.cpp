// What requests meet tells a host how their server is, whoever makes them: calls, reads, prompts, lists. L3, L6, N2
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <patchbay/host.h>

#include "base/as_result.h"
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

namespace patchbay::test {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;

std::string m(std::string_view method) { return std::string(method); }

Error refused() { return Error(Errc::unauthorized, "401"); }
Error nobody() { return Error(Errc::connect, "connection refused"); }
Error broken() { return Error(Errc::closed, "the answer was cut off"); }

// A host with one server "s" that has something of everything.
struct House {
  House() : host(make_host(options(), Runtime(), "")) {
    s->on(m(method::list_tools), R"({"tools":[{"name":"a"},{"name":"b"}]})");
    s->on(m(method::call_tool), R"({"content":[]})");
    s->on(m(method::read_resource), R"({"contents":[]})");
    s->on(m(method::get_prompt), R"({"messages":[]})");
    s->on(m(method::complete), R"({"completion":{"values":[]}})");
    s->on(m(method::list_prompts), R"({"prompts":[]})");
    s->on(m(method::subscribe), "{}");
    s->on(m(method::unsubscribe), "{}");
    auto config = named("s");
    config.protocol = "legacy";
    host.add_server(config, s->transport());
  }
  static HostOptions options() {
    auto options = empty_options();
    options.client.protocol = "legacy";
    return options;
  }

  ServerStatus status() const { return host.status().front(); }
  std::string reason() const { return reason_text(status()); }

  std::unique_ptr<ScriptServer> s =
      ScriptServer::legacy(R"({"tools":{},"prompts":{},"completions":{},"resources":{"subscribe":true}})");
  Host host;
};

TEST(HostOutcomes, AListOfToolsThatWantsCredentialsNeedsAuth) {
  House house;
  ManualClock clock;
  run_task(clock, [&]() -> Task<void> {
    house.s->failing.emplace(m(method::list_tools), refused());
    Scope scope(co_await asio::this_coro::executor);
    auto started = beside(scope, house.host.start());
    co_await clock.advance(5s);
    EXPECT_TRUE(started->result);
    EXPECT_EQ(house.status().state, ServerState::needs_auth);
    EXPECT_EQ(house.reason(), "wants credentials");
    auto called = beside(scope, house.host.call("s/a"));
    co_await clock.advance(5s);
    EXPECT_EQ(failure_of(*called), Errc::unauthorized);
    house.s->failing.clear();
    EXPECT_TRUE(co_await as_result(house.host.call("s/a"))) << "the next use connects anew";
    EXPECT_EQ(house.status().state, ServerState::connected);
    EXPECT_EQ(house.status().tool_count, 2u);
    co_await scope.join();
    co_await house.host.stop();
  });
}

TEST(HostOutcomes, ToolsStayWhenTheirServerComesBackAndWantsCredentials) {
  House house;
  ManualClock clock;
  run_task(clock, [&]() -> Task<void> {
    co_await house.host.start();
    house.s->failing.emplace(m(method::list_tools), refused());
    co_await house.s->die();
    co_await clock.advance(10s);
    EXPECT_EQ(house.s->opens, 2);
    EXPECT_EQ(house.status().state, ServerState::needs_auth);
    EXPECT_EQ(house.status().tool_count, 2u);
    EXPECT_EQ(house.host.catalog()->size(), 2u);
    co_await house.host.stop();
  });
}

// One request of each kind, made on a session that the host gave out.
struct Made {
  const char* name;
  std::string_view method;
  Task<void> (*make)(Session);
};

const Made made[] = {
    {"a read", method::read_resource,
     [](Session session) -> Task<void> { (void)co_await session.read_resource("file:///a"); }},
    {"a prompt", method::get_prompt, [](Session session) -> Task<void> { (void)co_await session.get_prompt("p", {}); }},
    {"a completion", method::complete,
     [](Session session) -> Task<void> { (void)co_await session.complete(CompleteRequest{}); }},
    {"a list", method::list_prompts, [](Session session) -> Task<void> { (void)co_await session.list_prompts(); }},
    {"a call", method::call_tool, [](Session session) -> Task<void> { (void)co_await session.call_tool("a", {}); }},
};

TEST(HostOutcomes, EveryRequestThatIsRefusedForItsCredentialsTellsSoAndASuccessTakesItBack) {
  for (const auto& one : made) {
    SCOPED_TRACE(one.name);
    House house;
    run_task([&]() -> Task<void> {
      auto session = co_await house.host.session("s");
      house.s->failing.emplace(m(one.method), refused());
      EXPECT_THAT(co_await as_result(one.make(session)), FailsWith(Errc::unauthorized));
      EXPECT_EQ(house.status().state, ServerState::needs_auth);
      house.s->failing.clear();
      EXPECT_TRUE(co_await as_result(one.make(session)));
      EXPECT_EQ(house.status().state, ServerState::connected);
      EXPECT_EQ(house.s->opens, 1);
      co_await house.host.stop();
    });
  }
}

TEST(HostOutcomes, EveryRequestThatFindsNobodyIsALoss) {
  for (const auto& one : made) {
    SCOPED_TRACE(one.name);
    House house;
    ManualClock clock;
    run_task(clock, [&]() -> Task<void> {
      auto session = co_await house.host.session("s");
      house.s->failing.emplace(m(one.method), nobody());
      EXPECT_THAT(co_await as_result(one.make(session)), FailsWith(Errc::connect));
      EXPECT_EQ(house.reason(), "reconnecting 1/5");
      house.s->failing.clear();
      co_await clock.advance(2s);
      EXPECT_EQ(house.s->opens, 2);
      EXPECT_EQ(house.status().state, ServerState::connected);
      co_await house.host.stop();
    });
  }
}

TEST(HostOutcomes, ThreeBrokenRequestsInARowAreALossWhateverTheyWere) {
  House house;
  ManualClock clock;
  run_task(clock, [&]() -> Task<void> {
    auto session = co_await house.host.session("s");
    for (const auto& one : made) house.s->failing.emplace(m(one.method), broken());
    EXPECT_FALSE(co_await as_result(made[0].make(session)));
    EXPECT_FALSE(co_await as_result(made[1].make(session)));
    house.s->failing.erase(m(made[4].method));
    EXPECT_TRUE(co_await as_result(made[4].make(session)));
    EXPECT_FALSE(co_await as_result(made[2].make(session)));
    EXPECT_FALSE(co_await as_result(made[3].make(session)));
    EXPECT_EQ(house.status().state, ServerState::connected) << "a success makes the count begin again";
    EXPECT_FALSE(co_await as_result(house.host.session("nobody")));
    EXPECT_FALSE(co_await as_result(made[0].make(session)));
    EXPECT_EQ(house.reason(), "reconnecting 1/5");
    co_await house.host.stop();
  });
}

// What runs on a session beside the request that found nobody goes on to its end.
TEST(HostOutcomes, ReadsThatRunOnASessionThatIsReplacedFinish) {
  House house;
  ManualClock clock;
  run_task(clock, [&]() -> Task<void> {
    auto session = co_await house.host.session("s");
    Event let;
    house.s->on(m(method::read_resource), [&let](Request) -> Task<Payload> {
      co_await let.wait();
      co_return *Payload::parse(R"({"contents":[]})");
    });
    Scope scope(co_await asio::this_coro::executor);
    auto running = beside(scope, session.read_resource("file:///slow"));
    co_await house.s->wait_asked(method::read_resource);
    house.s->failing.emplace(m(method::get_prompt), nobody());
    EXPECT_FALSE(co_await as_result(session.get_prompt("p", {})));
    co_await clock.advance(2s);
    EXPECT_EQ(house.s->opens, 2);
    EXPECT_FALSE(running->result);
    let.notify_all();
    co_await scope.join();
    EXPECT_TRUE(running->result && *running->result);
    co_await clock.advance(1s);
    EXPECT_EQ(house.s->connections(), 1u);
    co_await house.host.stop();
  });
}

// ---- watches -----------------------------------------------------------------------------------

TEST(HostOutcomes, AWatchSurvivesTwoLossesWhileACallStillRunsOnTheFirstSession) {
  House house;
  ManualClock clock;
  run_task(clock, [&]() -> Task<void> {
    auto session = co_await house.host.session("s");
    auto watch = co_await session.watch({.resource_subscriptions = {"file:///a"}});
    Event let;
    house.s->on(m(method::call_tool), [&let](Request) -> Task<Payload> {
      co_await let.wait();
      co_return *Payload::parse(R"({"content":[]})");
    });
    Scope scope(co_await asio::this_coro::executor);
    auto running = beside(scope, house.host.call("s/a"));
    co_await house.s->wait_asked(method::call_tool);
    for (int loss = 1; loss <= 2; ++loss) {
      house.s->failing.emplace(m(method::call_tool), nobody());
      EXPECT_FALSE(co_await as_result(house.host.call("s/b")));
      house.s->failing.clear();
      co_await clock.advance(5s);
      EXPECT_EQ(house.s->opens, 1 + loss);
    }
    EXPECT_FALSE(running->result);
    EXPECT_EQ(house.s->count(method::subscribe), 1u) << "it is still watched on the first";
    let.notify_all();
    co_await scope.join();
    EXPECT_TRUE(running->result && *running->result);
    co_await clock.advance(1s);
    EXPECT_EQ(house.s->connections(), 1u);
    EXPECT_EQ(house.s->count(method::subscribe), 2u) << "and then on the one there is";
    EXPECT_THAT(watch.honoured().resource_subscriptions, ElementsAre("file:///a"));
    co_await watch.stop();
    EXPECT_EQ(house.s->count(method::unsubscribe), 1u);
    co_await house.host.stop();
  });
}

TEST(HostOutcomes, AWatchThatIsStoppedWhileItIsRestoredLeavesNoSubscription) {
  House house;
  ManualClock clock;
  run_task(clock, [&]() -> Task<void> {
    auto session = co_await house.host.session("s");
    auto watch = co_await session.watch({.resource_subscriptions = {"file:///a", "file:///b"}});
    EXPECT_EQ(house.s->count(method::subscribe), 2u);
    Event let;
    house.s->on(m(method::subscribe), [&let](Request) -> Task<Payload> {
      co_await let.wait();
      co_return *Payload::parse("{}");
    });
    co_await house.s->die();
    co_await clock.advance(2s);
    EXPECT_EQ(house.s->count(method::subscribe), 3u) << "the first of the two is on its way";
    Scope scope(co_await asio::this_coro::executor);
    auto stopped = beside(scope, watch.stop());
    co_await settle();
    let.notify_all();
    co_await settle();
    co_await scope.join();
    co_await clock.advance(1s);
    EXPECT_EQ(house.s->count(method::subscribe), 3u) << "the second is not wanted any more";
    EXPECT_EQ(house.s->count(method::unsubscribe), 1u);
    co_await house.host.stop();
  });
}

}  // namespace
}  // namespace patchbay::test
