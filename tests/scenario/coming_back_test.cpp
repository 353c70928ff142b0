// A host whose servers go away and come back, on a loop whose time is in the test's hand. L3, L6, L8, N2, N3, X5
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <patchbay/host.h>

#include "base/runtime.h"
#include "base/timeout.h"
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
using testing::HasSubstr;
using testing::StartsWith;

std::string m(std::string_view method) { return std::string(method); }

constexpr auto done = R"({"content":[{"type":"text","text":"done"}],"resultType":"complete"})";

// The catalog as a model would get it, byte for byte.
std::string bytes_of(const Host& host) {
  std::string text;
  for (const auto& entry : host.catalog()->tools()) {
    text += fmt::format("{} {} {}\n", entry.name, entry.server, entry.tool->name);
  }
  return text;
}

// A host with servers "s" (which goes away) and "other" (which does not).
struct House {
  explicit House(bool keep_connected = true) : host(make_host(options(keep_connected), runtime(), "")) {
    for (auto* server : {s.get(), other.get()}) server->on(m(method::call_tool), std::string(done));
    host.add_server(named("s"), s->transport());
    host.add_server(named("other"), other->transport());
  }

  HostOptions options(bool keep_connected) {
    auto options = empty_options();
    options.client = modern_client();
    options.keep_connected = keep_connected;
    options.on_event = [this](const HostEvent& event) {
      if (const auto* status = std::get_if<ServerStatus>(&event); status && status->name == "s") {
        told.push_back(fmt::format("{} {}", to_string(status->state), reason_text(*status)));
      }
      if (std::holds_alternative<CatalogChange>(event)) ++catalogs;
    };
    return options;
  }

  // Pauses without chance: the middle of what they may be.
  static Runtime runtime() {
    Runtime runtime;
    runtime.random = [](std::span<std::uint8_t> bytes) {
      std::ranges::fill(bytes, std::uint8_t{0});
      bytes[0] = 128;
    };
    return runtime;
  }

  ServerStatus status() const {
    for (auto& one : host.status()) {
      if (one.name == "s") return one;
    }
    return {};
  }

  std::unique_ptr<ScriptServer> s = tool_server({"a", "b"});
  std::unique_ptr<ScriptServer> other = tool_server({"c"});
  std::vector<std::string> told;
  int catalogs = 0;
  Host host;
};

TEST(ComingBack, ALostServerIsOpenedAgainAfterASecondAndItsToolsStay) {
  House house;
  ManualClock clock;
  run_task(clock, [&]() -> Task<void> {
    co_await house.host.start();
    const auto before = bytes_of(house.host);
    const auto catalogs = house.catalogs;
    co_await house.s->die();
    co_await settle();
    EXPECT_EQ(reason_text(house.status()), "reconnecting 1/5");
    EXPECT_EQ(house.status().state, ServerState::pending);
    EXPECT_EQ(house.status().tool_count, 2u);
    EXPECT_EQ(bytes_of(house.host), before);
    co_await clock.advance(1s - 1ms);
    EXPECT_EQ(house.s->opens, 1);
    co_await clock.advance(1ms);
    EXPECT_EQ(house.s->opens, 2);
    EXPECT_EQ(house.status().state, ServerState::connected);
    EXPECT_EQ(house.s->count(method::list_tools), 2u) << "what it offers may be something else";
    EXPECT_EQ(bytes_of(house.host), before);
    EXPECT_EQ(house.catalogs, catalogs) << "and nobody is told of a change that is none";
    EXPECT_THAT(house.told, ElementsAre("connected ", "pending reconnecting 1/5", "connected "));
    auto called = co_await house.host.call("s/a");
    EXPECT_EQ(text_of(called), "done");
    co_await house.host.stop();
  });
  EXPECT_EQ(house.s->connections(), 0u);
}

TEST(ComingBack, ACallWaitsForItsServerWithinItsOwnLimit) {
  House house;
  ManualClock clock;
  run_task(clock, [&]() -> Task<void> {
    co_await house.host.start();
    co_await house.s->die();
    co_await settle();
    Scope scope(co_await asio::this_coro::executor);
    auto hasty = beside(scope, house.host.call("s/a", {}, {.total = 500ms, .idle = {}, .on_progress = {}}));
    auto patient = beside(scope, house.host.call("s/a", {}, {.total = 1min, .idle = {}, .on_progress = {}}));
    auto elsewhere = beside(scope, house.host.call("other/c"));
    co_await clock.advance(500ms);
    EXPECT_TRUE(elsewhere->result && *elsewhere->result) << "other servers do not wait";
    EXPECT_EQ(failure_of(*hasty), Errc::timeout);
    if (hasty->result && !*hasty->result) EXPECT_EQ(hasty->result->error().carried_out(), CarriedOut::no);
    EXPECT_FALSE(patient->result);
    EXPECT_EQ(house.s->count(method::call_tool), 0u);
    co_await clock.advance(500ms);
    EXPECT_TRUE(patient->result && *patient->result);
    EXPECT_EQ(house.s->count(method::call_tool), 1u) << "the one that gave up was not sent";
    co_await scope.join();
    co_await house.host.stop();
  });
}

TEST(ComingBack, ACallThatRanIsNotRepeated) {
  House house;
  ManualClock clock;
  run_task(clock, [&]() -> Task<void> {
    house.s->on(m(method::call_tool), [](Request) { return no_answer(); });
    co_await house.host.start();
    Scope scope(co_await asio::this_coro::executor);
    auto running = beside(scope, house.host.call("s/a"));
    co_await house.s->wait_asked(method::call_tool);
    co_await house.s->die();
    co_await settle();
    EXPECT_EQ(failure_of(*running), Errc::closed) << "it fails at once";
    if (running->result && !*running->result) EXPECT_EQ(running->result->error().carried_out(), CarriedOut::unknown);
    co_await clock.advance(5min);
    EXPECT_EQ(house.s->count(method::call_tool), 1u);
    co_await scope.join();
    co_await house.host.stop();
  });
}

TEST(ComingBack, AfterFiveAttemptsItHasFailedAndUseTriesAgain) {
  House house;
  ManualClock clock;
  run_task(clock, [&]() -> Task<void> {
    co_await house.host.start();
    const auto before = bytes_of(house.host);
    bool away = true;
    house.s->before_open = [&]() -> Task<void> {
      if (away) throw Error(Errc::connect, "nobody is there");
      co_return;
    };
    co_await house.s->die();
    Scope scope(co_await asio::this_coro::executor);
    auto waiting = beside(scope, house.host.call("s/a"));
    co_await clock.advance(30s);
    EXPECT_FALSE(waiting->result);
    co_await clock.advance(1s);
    EXPECT_EQ(reason_text(house.status()), "gave up");
    EXPECT_THAT(house.status().error.value_or(Error(Errc::internal, "none")).message(),
                StartsWith("5 attempts to connect again failed; the last one: "));
    EXPECT_EQ(house.s->opens, 6);
    EXPECT_EQ(failure_of(*waiting), Errc::connect);
    if (waiting->result && !*waiting->result) EXPECT_EQ(waiting->result->error().carried_out(), CarriedOut::no);
    EXPECT_EQ(bytes_of(house.host), before) << "N3: a server that failed keeps its tools";
    co_await clock.advance(1h);
    EXPECT_EQ(house.s->opens, 6) << "a local server is not tried again by itself";
    EXPECT_THAT(co_await as_result(house.host.call("s/a")), FailsWith(Errc::connect, HasSubstr("nobody is there")));
    EXPECT_EQ(house.s->opens, 7);
    away = false;
    EXPECT_EQ(text_of(co_await house.host.call("s/a")), "done");
    co_await scope.join();
    co_await house.host.stop();
  });
}

TEST(ComingBack, ReconnectMakesANewConnectionAtOnce) {
  House house;
  ManualClock clock;
  run_task(clock, [&]() -> Task<void> {
    co_await house.host.reconnect("s");
    EXPECT_EQ(house.s->opens, 1) << "also the first";
    co_await house.host.reconnect("s");
    EXPECT_EQ(house.s->opens, 2);
    co_await house.s->die();
    co_await settle();
    co_await house.host.reconnect("s");
    EXPECT_EQ(house.s->opens, 3) << "it does not wait for the pause";
    EXPECT_EQ(house.status().state, ServerState::connected);
    EXPECT_THAT(co_await as_result(house.host.reconnect("nobody")), FailsWith(Errc::invalid_argument));
    auto off = named("off");
    off.disabled = true;
    house.host.add_server(off);
    EXPECT_THAT(co_await as_result(house.host.reconnect("off")), FailsWith(Errc::config));
    co_await house.host.stop();
    EXPECT_THAT(co_await as_result(house.host.reconnect("s")), FailsWith(Errc::closed));
  });
}

// The serialised list is the same for a minute while the server dies every second, and others are called.
TEST(ComingBack, AServerThatDiesEverySecondDoesNotChangeTheList) {
  House house;
  ManualClock clock;
  run_task(clock, [&]() -> Task<void> {
    co_await house.host.start();
    const auto before = bytes_of(house.host);
    const auto catalogs = house.catalogs;
    for (int second = 0; second < 60; ++second) {
      co_await house.s->die();
      co_await clock.advance(1s);
      EXPECT_EQ(text_of(co_await house.host.call("other/c")), "done");
      EXPECT_EQ(bytes_of(house.host), before);
    }
    EXPECT_EQ(house.catalogs, catalogs);
    EXPECT_EQ(reason_text(house.status()), "keeps ending");
    EXPECT_EQ(house.s->opens, 6) << "it is not started for ever";
    EXPECT_EQ(text_of(co_await house.host.call("s/a")), "done") << "use starts it";
    co_await house.host.stop();
  });
}

// What somebody watches, and the log level somebody chose, are the same after it came back.
TEST(ComingBack, WatchesAndTheLogLevelAreRestored) {
  House house;
  ManualClock clock;
  auto capable = ScriptServer::legacy(R"({"tools":{},"logging":{},"resources":{"subscribe":true}})");
  capable->on(m(method::list_tools), R"({"tools":[]})");
  capable->on(m(method::subscribe), "{}");
  capable->on(m(method::unsubscribe), "{}");
  capable->on(m(method::set_log_level), "{}");
  run_task(clock, [&]() -> Task<void> {
    auto config = named("capable");
    config.protocol = "legacy";
    house.host.add_server(config, capable->transport());
    auto session = co_await house.host.session("capable");
    co_await session.set_log_level(LoggingLevel::warning);
    SubscriptionFilter filter;
    filter.resource_subscriptions = {"file:///a", "file:///b"};
    auto watch = co_await session.watch(filter);
    auto given_up = co_await session.watch({.resource_subscriptions = {"file:///c"}});
    co_await given_up.stop();
    co_await capable->die();
    co_await clock.advance(1s);
    EXPECT_EQ(capable->opens, 2);
    EXPECT_EQ(capable->count(method::set_log_level), 2u);
    EXPECT_EQ(capable->count(method::subscribe), 5u) << "three, and again the two that are still watched";
    EXPECT_THAT(watch.honoured().resource_subscriptions, ElementsAre("file:///a", "file:///b"));
    co_await capable->die();
    co_await clock.advance(2s);
    EXPECT_EQ(capable->opens, 3);
    EXPECT_EQ(capable->count(method::subscribe), 7u) << "and once more";
    co_await watch.stop();
    EXPECT_EQ(capable->count(method::unsubscribe), 3u);
    co_await house.host.stop();
  });
}

TEST(ComingBack, WithoutKeepingConnectedNothingHappensByItself) {
  House house(false);
  ManualClock clock;
  run_task(clock, [&]() -> Task<void> {
    co_await house.host.start();
    const auto before = bytes_of(house.host);
    co_await house.s->die();
    co_await clock.advance(1h);
    EXPECT_EQ(house.s->opens, 1);
    EXPECT_EQ(reason_text(house.status()), "connection lost");
    EXPECT_EQ(bytes_of(house.host), before);
    EXPECT_EQ(text_of(co_await house.host.call("s/a")), "done");
    EXPECT_EQ(house.s->opens, 2);
    co_await house.host.stop();
  });
}

// A conversation waits for servers it needs from the beginning, and not for long. L4, compat: B3.25
TEST(ComingBack, AConversationBeginsWithoutServersThatAreLate) {
  House house;
  ManualClock clock;
  auto late = tool_server({"d"});
  late->before_open = [] { return sleep_for(20s); };
  run_task(clock, [&]() -> Task<void> {
    auto config = named("late");
    config.always_load = true;
    house.host.add_server(config, late->transport());
    Scope scope(co_await asio::this_coro::executor);
    auto begun = beside(scope, house.host.begin());
    co_await clock.advance(5s - 1ms);
    EXPECT_FALSE(begun->result);
    co_await clock.advance(1ms);
    EXPECT_TRUE(begun->result && *begun->result);
    EXPECT_EQ(house.host.catalog()->size(), 3u) << "the others are there";
    co_await clock.advance(15s);
    EXPECT_EQ(house.host.catalog()->size(), 4u) << "and this one when it has come";
    co_await scope.join();
    co_await house.host.stop();
  });
}

TEST(ComingBack, AConversationDoesNotBeginWithoutARequiredServer) {
  House house;
  ManualClock clock;
  auto gone = tool_server({"d"});
  gone->before_open = []() -> Task<void> { throw Error(Errc::connect, "nobody is there"); };
  run_task(clock, [&]() -> Task<void> {
    auto config = named("needed");
    config.required = true;
    house.host.add_server(config, gone->transport());
    EXPECT_THAT(co_await as_result(house.host.begin()), FailsWith(Errc::connect, HasSubstr("\"needed\"")));
    co_await house.host.stop();
  });
}

// Stopped while it waits for the next attempt, or in the middle of one.
// A server of a file, lost and not back yet, with a call that waits for it. What becomes of both when the file changes?
struct Waited {
  Waited() {
    config.servers.push_back(named("s"));
    config.servers.back().command = "program";
    s->on(m(method::call_tool), std::string(done));
  }
  Host make() {
    HostOptions options;
    options.config = config;
    options.client = modern_client();
    options.keep_connected = true;
    return make_host(std::move(options), House::runtime(), "",
                     [this](const ServerConfig& entry) { return (entry.args.empty() ? s : edited)->transport(); });
  }
  // Leaves it coming back, in vain.
  Task<void> lose() {
    co_await s->die();
    co_await settle();
    s->before_open = []() -> Task<void> { throw Error(Errc::connect, "nobody is there"); };
  }

  LoadedConfig config;
  std::unique_ptr<ScriptServer> s = tool_server({"a"});
  std::unique_ptr<ScriptServer> edited = tool_server({"a"});
};

TEST(ComingBack, AServerThatIsTurnedOffMeanwhileIsNotOpenedForACallThatWaits) {
  Waited house;
  ManualClock clock;
  run_task(clock, [&]() -> Task<void> {
    auto host = house.make();
    co_await host.start();
    co_await house.lose();
    Scope scope(co_await asio::this_coro::executor);
    auto waiting = beside(scope, host.call("mcp__s__a"));
    co_await settle();
    const auto opens = house.s->opens;
    auto off = house.config;
    off.servers.back().standing = ServerStanding::disabled;
    co_await host.reload(off);
    co_await clock.advance(5min);
    EXPECT_EQ(house.s->opens, opens);
    EXPECT_EQ(failure_of(*waiting), Errc::config);
    if (waiting->result && !*waiting->result) EXPECT_EQ(waiting->result->error().carried_out(), CarriedOut::no);
    co_await scope.join();
    co_await host.stop();
  });
}

TEST(ComingBack, ACallThatWaitsGoesToTheServerOfTheEditedEntry) {
  Waited house;
  house.edited->on(m(method::call_tool), std::string(done));
  ManualClock clock;
  run_task(clock, [&]() -> Task<void> {
    auto host = house.make();
    co_await host.start();
    co_await house.lose();
    Scope scope(co_await asio::this_coro::executor);
    auto waiting = beside(scope, host.call("mcp__s__a"));
    co_await settle();
    const auto opens = house.s->opens;
    auto corrected = house.config;
    corrected.servers.back().args = {"-v"};
    co_await host.reload(corrected);
    co_await clock.advance(1s);
    EXPECT_TRUE(waiting->result && *waiting->result);
    EXPECT_EQ(house.s->opens, opens);
    EXPECT_EQ(house.edited->count(method::call_tool), 1u);
    co_await scope.join();
    co_await host.stop();
  });
}

TEST(ComingBack, StoppingMeanwhileLeavesNothing) {
  for (const auto after : {0ms, 500ms, 1000ms, 1500ms}) {
    House house;
    ManualClock clock;
    run_task(clock, [&]() -> Task<void> {
      co_await house.host.start();
      house.s->before_open = [] { return sleep_for(1h); };
      co_await house.s->die();
      Scope scope(co_await asio::this_coro::executor);
      auto waiting = beside(scope, house.host.call("s/a"));
      co_await clock.advance(after);
      co_await house.host.stop();
      co_await scope.join();
      EXPECT_EQ(failure_of(*waiting), Errc::closed);
    });
    EXPECT_EQ(house.s->connections(), 0u);
  }
}

}  // namespace
}  // namespace patchbay::test
