// What a connection hears of its server after it was made: changes of the list of tools, and what calls met. L8, L9.
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "protocol/methods.h"
#include "support/beside.h"
#include "support/connection_bench.h"
#include "support/loop.h"

namespace patchbay {
namespace {

using test::Bench;
using test::beside;
using test::failure_of;
using test::names_of;
using test::run_task;
using test::ScriptServer;
using test::settle;
using testing::ElementsAre;
using testing::IsEmpty;

std::string m(std::string_view method) { return std::string(method); }

constexpr auto changing = R"({"tools":{"listChanged":true}})";

std::string list_of(std::vector<std::string> names) {
  Json tools = Json::array();
  for (auto& name : names) tools.push_back(Json{{"name", std::move(name)}});
  return to_text(Json{{"tools", tools}});
}

// Answers that wait until the test lets them go, in any order.
struct HeldAnswers {
  ScriptServer::Answer script(std::string result) {
    return [this, result](Request) -> Task<Payload> { return hold(this, result); };
  }
  static Task<Payload> hold(HeldAnswers* self, std::string result) {
    const auto mine = self->arrived++;
    self->changed.notify_all();
    while (!self->released.contains(mine)) co_await self->changed.wait();
    co_return *Payload::parse(result);
  }
  Task<void> wait_arrived(std::size_t count) {
    while (arrived < count) co_await changed.wait();
  }
  void release(std::size_t which) {
    released.insert(which);
    changed.notify_all();
  }

  std::size_t arrived = 0;
  std::set<std::size_t> released;
  Event changed;
};

// Of two lists on their way at once the older may come last; there is only one at a time.
TEST(ConnectionNews, AnOlderListNeverReplacesANewerOne) {
  run_task([]() -> Task<void> {
    Bench bench(co_await asio::this_coro::executor, ScriptServer::legacy(changing));
    bench.server->on(m(method::list_tools), list_of({"first"}));
    co_await bench.connection().ensure();
    HeldAnswers held;
    bench.server->on(m(method::list_tools), held.script(list_of({"older"})));
    bench.server->notify(method::tools_changed, {});
    co_await held.wait_arrived(1);
    // It changes again while the list of the first change is on its way.
    bench.server->on(m(method::list_tools), list_of({"newer"}));
    bench.server->notify(method::tools_changed, {});
    co_await settle();
    EXPECT_EQ(bench.server->count(method::list_tools), 2u) << "one at a time";
    held.release(0);
    co_await bench.server->wait_asked(method::list_tools, 3);
    while (bench.states.size() < 3) co_await bench.changed.wait();
    EXPECT_THAT(names_of(bench.connection()), ElementsAre("newer"));
    co_await bench.end();
  });
}

// What it listed is looked at once more, because somebody may have agreed to it, while another list comes.
TEST(ConnectionNews, AnOlderListThatIsLookedAtAgainNeverReplacesANewerOne) {
  run_task([]() -> Task<void> {
    Bench bench(co_await asio::this_coro::executor, ScriptServer::legacy(changing));
    bench.server->on(m(method::list_tools), list_of({"older"}));
    std::size_t looks = 0;
    bool released = false;
    Event happened;
    bench.parts.pin = [&](ServerDescription, std::vector<std::shared_ptr<const Tool>> listed) -> Task<PinnedTools> {
      const auto mine = ++looks;
      happened.notify_all();
      while (mine == 2 && !released) co_await happened.wait();
      co_return PinnedTools{.offered = std::move(listed), .changed = {}, .instructions = {}};
    };
    co_await bench.connection().ensure();
    bench.scope.spawn(bench.connection().pin_again());
    while (looks < 2) co_await happened.wait();
    bench.server->on(m(method::list_tools), list_of({"newer"}));
    bench.server->notify(method::tools_changed, {});
    co_await bench.server->wait_asked(method::list_tools, 2);
    co_await settle();
    released = true;
    happened.notify_all();
    while (looks < 3) co_await happened.wait();
    co_await bench.scope.join();
    co_await settle();
    EXPECT_THAT(names_of(bench.connection()), ElementsAre("newer"));
    co_await bench.end();
  });
}

// In either era a notice that comes while the list is on its way means that this list may be old.
TEST(ConnectionNews, AChangeWhileConnectingIsOneMoreListing) {
  for (bool legacy : {true, false}) {
    SCOPED_TRACE(legacy ? "legacy" : "modern");
    run_task([legacy]() -> Task<void> {
      Bench bench(co_await asio::this_coro::executor,
                  legacy ? ScriptServer::legacy(changing) : ScriptServer::modern(changing));
      auto& server = *bench.server;
      std::string listening;
      if (!legacy) {
        server.on(m(method::listen), [&](Request request) -> Task<Payload> {
          listening = fmt::format("{}", std::get<std::int64_t>(request.id));
          server.notify(
              method::listen_acknowledged,
              *Payload::parse(fmt::format(
                  R"({{"notifications":{{"toolsListChanged":true}},"_meta":{{"io.modelcontextprotocol/subscriptionId":{}}}}})",
                  listening)));
          Event never;
          co_await never.wait();
          co_return Payload();
        });
      }
      HeldAnswers held;
      server.on(m(method::list_tools), held.script(list_of({"older"})));
      auto asked = bench.ask();
      co_await held.wait_arrived(1);
      if (!legacy) {
        EXPECT_EQ(server.count(method::listen), 1u) << "listens before it lists";
      }
      server.on(m(method::list_tools), list_of({"newer"}));
      server.notify(method::tools_changed,
                    legacy ? Payload()
                           : *Payload::parse(fmt::format(
                                 R"({{"_meta":{{"io.modelcontextprotocol/subscriptionId":{}}}}})", listening)));
      co_await settle();
      held.release(0);
      co_await bench.scope.join();
      EXPECT_TRUE(asked->outcome->has_value());
      while (names_of(bench.connection()) != std::vector<std::string>{"newer"}) co_await bench.changed.wait();
      EXPECT_EQ(server.count(method::list_tools), 2u);
      co_await settle();
      EXPECT_EQ(server.count(method::list_tools), 2u) << "and no more than one";
      co_await bench.end();
    });
  }
}

// Subscriptions that are not answered, or refused, are not a reason not to use the server.
TEST(ConnectionNews, AServerThatDoesNotAnswerASubscriptionIsListedAllTheSame) {
  run_task([]() -> Task<void> {
    Bench bench(co_await asio::this_coro::executor, ScriptServer::modern(changing));
    bench.runtime.limits.silent_probe = std::chrono::milliseconds(20);
    bench.server->on(m(method::list_tools), list_of({"a"}));
    bench.server->on(m(method::listen), [](Request) -> Task<Payload> {
      Event never;
      co_await never.wait();
      co_return Payload();
    });
    co_await bench.connection().ensure();
    EXPECT_THAT(names_of(bench.connection()), ElementsAre("a"));
    co_await bench.end();
  });
}

constexpr auto done = R"({"content":[],"resultType":"complete"})";

// A call that is refused for its credentials says so in the status, and the next one tries again.
TEST(ConnectionNews, ARefusedCallIsSeenInTheStatusAndTheNextOneConnectsAnew) {
  run_task([]() -> Task<void> {
    Bench bench(co_await asio::this_coro::executor);
    auto& connection = bench.connection();
    auto session = co_await connection.ensure();
    bench.server->failing.emplace(m(method::call_tool), Error(Errc::unauthorized, "401"));
    EXPECT_FALSE(co_await as_result(session.call_tool("a", {})));
    EXPECT_EQ(connection.status().state, ServerState::needs_auth);
    EXPECT_EQ(to_string(connection.status().reason), "wants credentials");
    EXPECT_EQ(connection.status().tool_count, 2u) << "what it offers is still known";
    EXPECT_TRUE(connection.open());
    EXPECT_TRUE(connection.worth_trying());
    co_await connection.ensure();
    EXPECT_EQ(bench.server->opens, 2) << "credentials are fetched when a connection is made";
    EXPECT_EQ(connection.status().state, ServerState::connected);
    EXPECT_FALSE(connection.status().error);
    while (bench.server->connections() > 1) co_await bench.server->happened.wait();
    EXPECT_THAT(bench.states, ElementsAre("connected  2", "needs-auth wants credentials 2", "connected  2"));
    co_await bench.end();
  });
}

TEST(ConnectionNews, ASuccessAfterARefusalIsConnectedAgain) {
  run_task([]() -> Task<void> {
    Bench bench(co_await asio::this_coro::executor);
    auto& connection = bench.connection();
    auto session = co_await connection.ensure();
    bench.server->on(m(method::call_tool), std::string(done));
    bench.server->failing.emplace(m(method::call_tool), Error(Errc::unauthorized, "401"));
    EXPECT_FALSE(co_await as_result(session.call_tool("a", {})));
    EXPECT_FALSE(co_await as_result(session.call_tool("a", {})));
    bench.server->failing.clear();
    EXPECT_TRUE(co_await as_result(session.call_tool("a", {})));
    EXPECT_EQ(connection.status().state, ServerState::connected);
    EXPECT_EQ(bench.server->opens, 1);
    EXPECT_THAT(bench.states, ElementsAre("connected  2", "needs-auth wants credentials 2", "connected  2"));
    co_await bench.end();
  });
}

// Nobody listens there any more: the next call opens again, without taking the answer from calls that still run.
TEST(ConnectionNews, ARefusedConnectionIsLostAndMadeAnewBesideCallsThatRun) {
  run_task([]() -> Task<void> {
    Bench bench(co_await asio::this_coro::executor);
    auto& connection = bench.connection();
    auto session = co_await connection.ensure();
    HeldAnswers held;
    bench.server->on(m(method::call_tool), held.script(done));
    Scope scope(co_await asio::this_coro::executor);
    auto running = beside(scope, session.call_tool("a", {}));
    co_await held.wait_arrived(1);
    bench.server->failing.emplace(m(method::call_tool), Error(Errc::connect, "connection refused"));
    EXPECT_FALSE(co_await as_result(session.call_tool("b", {})));
    EXPECT_EQ(connection.status().state, ServerState::failed);
    EXPECT_EQ(to_string(connection.status().reason), "connection lost");
    EXPECT_FALSE(connection.open());
    EXPECT_EQ(names_of(connection).size(), 2u) << "what it offers is still known";
    co_await connection.ensure();
    EXPECT_EQ(bench.server->opens, 2);
    co_await settle();
    EXPECT_FALSE(session.closed()) << "a call still runs on it";
    // What another one meets there is not news of the connection that took its place.
    bench.server->failing.clear();
    bench.server->failing.emplace(m(method::call_tool), Error(Errc::unauthorized, "401"));
    EXPECT_FALSE(co_await as_result(session.call_tool("b", {})));
    EXPECT_EQ(connection.status().state, ServerState::connected);
    held.release(0);
    co_await scope.join();
    EXPECT_TRUE(running->result && *running->result);
    while (bench.server->connections() > 1) co_await bench.server->happened.wait();
    EXPECT_TRUE(session.closed());
    EXPECT_TRUE(connection.connected());
    co_await bench.end();
  });
}

TEST(ConnectionNews, ClosingEndsASessionThatWaitsForItsCalls) {
  run_task([]() -> Task<void> {
    Bench bench(co_await asio::this_coro::executor);
    auto& connection = bench.connection();
    auto session = co_await connection.ensure();
    bench.server->on(m(method::call_tool), [](Request) { return test::no_answer(); });
    Scope scope(co_await asio::this_coro::executor);
    auto running = beside(scope, session.call_tool("a", {}));
    co_await bench.server->wait_asked(method::call_tool);
    bench.server->failing.emplace(m(method::call_tool), Error(Errc::connect, "connection refused"));
    EXPECT_FALSE(co_await as_result(session.call_tool("b", {})));
    co_await connection.ensure();
    co_await bench.end();
    co_await scope.join();
    EXPECT_EQ(failure_of(*running), Errc::closed);
    EXPECT_THAT(connection.tools(), IsEmpty());
  });
}

}  // namespace
}  // namespace patchbay
