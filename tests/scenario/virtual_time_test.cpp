// A host and its servers on a loop whose time is in the test's hand: every limit, pause and retry happens when it
// should, to the moment, and nobody waits for it.
#include <map>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <patchbay/client.h>
#include <patchbay/host.h>

#include "base/runtime.h"
#include "base/timeout.h"
#include "client/connect.h"
#include "host/make_host.h"
#include "protocol/methods.h"
#include "protocol/wire.h"
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
using testing::HasSubstr;

std::string m(std::string_view method) { return std::string(method); }

Task<Payload> answer(std::string text) { co_return *Payload::parse(std::move(text)); }

TEST(VirtualTime, ACallEndsWithItsMinuteAndNoMomentEarlier) {
  auto server = ScriptServer::modern(R"({"tools":{}})");
  server->on(m(method::call_tool), [](Request) { return no_answer(); });
  ManualClock clock;
  run_task(clock, [&]() -> Task<void> {
    auto session = co_await connect(Client(modern_client()), server->transport(), Runtime{});
    Scope scope(co_await asio::this_coro::executor);
    auto called = beside(scope, session.call_tool("t", {}, {.total = 60s, .idle = {}, .on_progress = {}}));
    co_await clock.advance(60s - 1ns);
    EXPECT_FALSE(called->result);
    co_await clock.advance(1ns);
    EXPECT_TRUE(called->result);
    if (called->result) EXPECT_THAT(*called->result, FailsWith(Errc::timeout, HasSubstr("within 60 s")));
    co_await session.close();
    co_await scope.join();
  });
}

// Progress every 20 s keeps a call alive that may be silent for 30 s, until the server falls silent.
TEST(VirtualTime, ACallEndsWhenItsServerHasBeenSilentForTooLong) {
  auto server = ScriptServer::legacy(R"({"tools":{}})");
  ManualClock clock;
  server->on(m(method::call_tool), [&](Request request) -> Task<Payload> {
    for (int i = 1; i <= 3; ++i) {
      co_await sleep_for(20s);
      server->notify(method::progress,
                     Json{{"progressToken", request.params.value()["_meta"]["progressToken"]}, {"progress", i}});
    }
    co_return co_await no_answer();
  });
  run_task(clock, [&]() -> Task<void> {
    ClientOptions options;
    options.protocol = "legacy";
    auto session = co_await connect(Client(options), server->transport(), Runtime{});
    Scope scope(co_await asio::this_coro::executor);
    int heard = 0;
    auto called = beside(
        scope,
        session.call_tool("t", {}, {.total = 1h, .idle = 30s, .on_progress = [&](const Progress&) { ++heard; }}));
    co_await clock.advance(60s + 30s - 1ms);
    EXPECT_EQ(heard, 3);
    EXPECT_FALSE(called->result);
    co_await clock.advance(1ms);
    EXPECT_EQ(failure_of(*called), Errc::timeout);
    co_await session.close();
    co_await scope.join();
  });
}

TEST(VirtualTime, AListOfSlowPagesEndsWithItsFifteenSeconds) {
  auto server = ScriptServer::modern(R"({"tools":{}})");
  ManualClock clock;
  int pages = 0;
  server->on(m(method::list_tools), [&](Request) -> Task<Payload> {
    co_await sleep_for(6s);
    co_return *Payload::parse(fmt::format(R"({{"tools":[],"nextCursor":"{}","resultType":"complete"}})", ++pages));
  });
  run_task(clock, [&]() -> Task<void> {
    auto session = co_await connect(Client(modern_client()), server->transport(), Runtime{});
    Scope scope(co_await asio::this_coro::executor);
    auto listed = beside(scope, session.list_tools());
    co_await clock.advance(15s - 1ms);
    EXPECT_FALSE(listed->result);
    EXPECT_EQ(pages, 2);
    co_await clock.advance(1ms);
    EXPECT_EQ(failure_of(*listed), Errc::timeout);
    co_await session.close();
    co_await scope.join();
  });
}

// A server that does not answer the newest question is asked in the old way after three seconds, once.
TEST(VirtualTime, ASilentServerIsAskedInTheOldWayAfterThreeSeconds) {
  auto server = ScriptServer::legacy("{}");
  server->on(m(method::discover), [](Request) { return no_answer(); });
  ManualClock clock;
  run_task(clock, [&]() -> Task<void> {
    Scope scope(co_await asio::this_coro::executor);
    auto connected = beside(scope, connect(Client(ClientOptions{}), server->transport(), Runtime{}));
    co_await clock.advance(3s - 1ms);
    EXPECT_THAT(server->asked, ElementsAre(m(method::discover)));
    EXPECT_FALSE(connected->result);
    co_await clock.advance(1ms);
    EXPECT_THAT(server->asked, ElementsAre(m(method::discover), m(method::initialize)));
    EXPECT_TRUE(connected->result && *connected->result);
    if (connected->result && *connected->result) co_await (*connected->result)->close();
    co_await scope.join();
  });
}

// A list that fails is asked for again after a pause, and after twice that pause; then it is what it is.
TEST(VirtualTime, AListThatFailsIsAskedForAgainAfterLongerAndLongerPauses) {
  auto server = ScriptServer::modern(R"({"tools":{}})");
  ManualClock clock;
  std::vector<Duration> asked;
  run_task(clock, [&]() -> Task<void> {
    const auto begin = clock.now();
    server->on(m(method::list_tools), [&](Request) -> Task<Payload> {
      asked.push_back(clock.now() - begin);
      throw Error::rpc(-32603, "not now");
    });
    auto host = make_host(empty_options(), Runtime{});
    host.add_server(named("s"), server->transport());
    Scope scope(co_await asio::this_coro::executor);
    auto started = beside(scope, host.start());
    co_await clock.advance(1min);
    EXPECT_TRUE(started->result && *started->result);
    EXPECT_THAT(asked, ElementsAre(0ms, 100ms, 300ms));
    co_await host.stop();
    co_await scope.join();
  });
}

// Many at once: each at its own time, in order, though the test turns the clock only once.
TEST(VirtualTime, AnHourOfCallsTakesNoTime) {
  auto server = ScriptServer::modern(R"({"tools":{}})");
  server->on(m(method::call_tool), [](Request request) -> Task<Payload> {
    co_await sleep_for(std::chrono::seconds(request.params.value()["arguments"]["seconds"].as_int()));
    co_return co_await answer(R"({"content":[],"resultType":"complete"})");
  });
  ManualClock clock;
  run_task(clock, [&]() -> Task<void> {
    auto session = co_await connect(Client(modern_client()), server->transport(), Runtime{});
    const auto begin = clock.now();
    std::map<int, std::pair<bool, Duration>> ended;  // whether it succeeded, and when
    Scope scope(co_await asio::this_coro::executor);
    for (int seconds = 100; seconds <= 3500; seconds += 100) {
      scope.spawn([](Session s, int wait, Clock& by, Clock::TimePoint from, auto& out) -> Task<void> {
        auto called = co_await as_result(
            s.call_tool("t", Json{{"seconds", wait}}, {.total = 30min, .idle = {}, .on_progress = {}}));
        out[wait] = {called.has_value(), by.now() - from};
      }(session, seconds, clock, begin, ended));
    }
    co_await clock.advance(1h);
    EXPECT_EQ(ended.size(), 35u);
    for (const auto& [seconds, outcome] : ended) {
      // At half an hour both are due; the limit was there first.
      EXPECT_EQ(outcome.first, seconds < 1800) << seconds;
      EXPECT_EQ(outcome.second, std::min<Duration>(std::chrono::seconds(seconds), 30min)) << seconds;
    }
    co_await session.close();
    co_await scope.join();
  });
}

}  // namespace
}  // namespace patchbay::test
