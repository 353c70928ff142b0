// A host that is stopped while it is at work: nothing is used after it is gone, stopping reaches its end, and what
// comes later is told. tests/stopping tries every moment of every call; here are the moments that were wrong.
#include <atomic>
#include <future>

#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <patchbay/host.h>
#include <patchbay/server.h>

#include "base/as_result.h"
#include "base/scope.h"
#include "base/timeout.h"
#include "protocol/methods.h"
#include "settings/settings_layers.h"
#include "support/beside.h"
#include "support/host_parts.h"
#include "support/loop.h"
#include "support/manual_clock.h"
#include "support/script_server.h"
#include "support/temp_tree.h"

namespace patchbay {
namespace {

using test::beside;
using test::empty_options;
using test::failure_of;
using test::ManualClock;
using test::named;
using test::run_task;
using test::settle;
using test::tool_server;

std::string m(std::string_view method) { return std::string(method); }

// A directory with one declared server, and a reading of it that waits until it is let go on.
struct SlowFiles {
  SlowFiles() {
    tree.directory("home");
    tree.directory("work");
    declare(R"("s":{"command":"sleep","args":["1000"]})");
  }
  void declare(const std::string& entries) const {
    tree.file("home/.claude.json", R"({"mcpServers":{)" + entries + "}}");
  }
  HostOptions options() {
    HostOptions options;
    options.load.emplace();
    options.load->cwd = (tree.path() / "work").string();
    options.load->home = (tree.path() / "home").string();
    options.load->enterprise_dir = (tree.path() / "etc").string();
    options.load->variables = [this](std::string_view) -> std::optional<std::string> {
      if (held.exchange(false)) {
        reading.set_value();
        go_on.get_future().wait();
      }
      return std::nullopt;
    };
    return options;
  }

  test::TempTree tree;
  std::atomic<bool> held = false;
  std::promise<void> reading, go_on;
};

// C11, L9: the entry is gone when the files are read, its connection is being closed.
TEST(HostStop, FilesThatAreReadWhileItStopsChangeNothingMore) {
  SlowFiles files;
  run_task([&]() -> Task<void> {
    Host host(files.options());
    Scope scope(co_await asio::this_coro::executor);
    auto starting = beside(scope, host.start());
    while (host.config().servers.empty()) co_await asio::post(asio::use_awaitable);
    co_await settle();
    files.declare("");
    files.held = true;
    auto reload = beside(scope, host.reload());
    co_await settle();
    files.reading.get_future().wait();
    auto stop = beside(scope, host.stop());
    co_await settle();
    files.go_on.set_value();
    co_await scope.join();
    EXPECT_TRUE(stop->result->has_value());
    EXPECT_FALSE(reload->result->has_value());
    if (!*reload->result) EXPECT_EQ(reload->result->error().code(), Errc::closed);
    EXPECT_FALSE(starting->result->has_value());
    if (!*starting->result) EXPECT_EQ(starting->result->error().code(), Errc::closed);
  });
}

// A connection that was replaced just now has not even begun to end.
TEST(HostStop, WhatWasReplacedJustBeforeIsEnded) {
  for (int turns = 0; turns < 20; ++turns) {
    run_task([turns]() -> Task<void> {
      auto server = tool_server({"a"});
      server->on(m(method::call_tool), [](Request) -> Task<Payload> {
        Event never;
        co_await never.wait();
        co_return Payload();
      });
      Host host(empty_options());
      host.add_server(named("s"), server->transport());
      co_await host.start();
      Scope scope(co_await asio::this_coro::executor);
      auto call = beside(scope, host.call("s/a"));
      co_await server->wait_asked(method::call_tool);
      // Policy does not want it any more.
      LoadedConfig next;
      next.settings = settings_layers(
          {parse_settings(R"({"deniedMcpServers":[{"serverName":"s"}]})", SettingsSource::enterprise, "/etc/s.json")});
      auto reload = beside(scope, host.reload(std::move(next)));
      for (int i = 0; i < turns; ++i) co_await asio::post(asio::use_awaitable);
      co_await host.stop();
      EXPECT_EQ(server->connections(), 0u);
      EXPECT_EQ(server->open_now, 0);
      co_await scope.join();
      EXPECT_FALSE(call->result->has_value());
      if (!*call->result) EXPECT_EQ(call->result->error().code(), Errc::closed);
    });
  }
}

TEST(HostStop, CancelledStop_EndsEverythingAllTheSame) {
  for (int turns = 0; turns < 20; ++turns) {
    run_task([turns]() -> Task<void> {
      auto server = tool_server({"a"});
      Host host(empty_options());
      host.add_server(named("s"), server->transport());
      co_await host.start();
      Scope scope(co_await asio::this_coro::executor);
      auto stop = beside(scope, host.stop());
      co_await asio::post(asio::use_awaitable);
      co_await asio::post(asio::use_awaitable);
      for (int i = 0; i < turns; ++i) co_await asio::post(asio::use_awaitable);
      stop->running.cancel();
      co_await scope.join();
      EXPECT_EQ(server->open_now, 0);
      EXPECT_TRUE(host.catalog()->empty());
      auto late = co_await as_result(host.call("s/a"));
      EXPECT_FALSE(late);
      if (!late) EXPECT_EQ(late.error(), Error(Errc::closed, "the host was stopped"));
    });
  }
}

// A second one that returned at once would let its caller go on with children that still run.
TEST(HostStop, ASecondStopWaitsForTheFirst) {
  run_task([]() -> Task<void> {
    auto server = tool_server({"a"});
    Host host(empty_options());
    Event go;
    bool may = false;
    host.add_server(named("s"), server->transport());
    co_await host.start();
    server->before_close = [&]() -> Task<void> {
      while (!may) co_await go.wait();
    };
    Scope scope(co_await asio::this_coro::executor);
    auto first = beside(scope, host.stop());
    co_await settle();
    auto second = beside(scope, host.stop_quickly());
    co_await settle();
    EXPECT_FALSE(first->result);
    EXPECT_FALSE(second->result);
    may = true;
    go.notify_all();
    co_await scope.join();
    EXPECT_TRUE(first->result->has_value());
    EXPECT_TRUE(second->result->has_value());
    EXPECT_EQ(server->open_now, 0);
  });
}

// Whoever answers a question may find that it is time to go.
TEST(HostStop, MayBeCalledByWhoeverIsAsked) {
  run_task([]() -> Task<void> {
    Host* asking = nullptr;
    auto options = empty_options();
    options.permission.ask = [&](const PermissionQuestion&) -> Task<bool> {
      co_await asking->stop();
      co_return true;
    };
    Host host(options);
    asking = &host;
    auto server = tool_server({"t"});
    host.add_server(named("s"), server->transport());
    auto called = co_await as_result(host.call("s/t"));
    EXPECT_FALSE(called);
    if (!called) EXPECT_EQ(called.error().code(), Errc::closed);
    co_await host.stop();
  });
}

TEST(HostStop, DoesNotWaitForAnAnswerThatIgnoresItsEnd) {
  run_task([]() -> Task<void> {
    bool let_go = false, answered = false;
    Event changed, asked;
    auto options = empty_options();
    options.permission.ask = [&](const PermissionQuestion& question) -> Task<bool> {
      co_await asio::this_coro::throw_if_cancelled(false);
      asked.notify_all();
      while (!let_go) (void)co_await as_result(changed.wait());
      answered = question.tool.name == "mcp__s__t";  // what it was asked about is still there
      changed.notify_all();
      co_return true;
    };
    auto server = tool_server({"t"});
    {
      Host host(options);
      host.add_server(named("s"), server->transport());
      Scope scope(co_await asio::this_coro::executor);
      auto called = beside(scope, host.call("s/t"));
      co_await asked.wait();
      co_await host.stop();
      co_await scope.join();
      EXPECT_EQ(failure_of(*called), Errc::closed);
    }
    let_go = true;
    changed.notify_all();
    co_await settle();
    EXPECT_TRUE(answered);
  });
}

// Whoever answers may use what goes with the host; stop() gives them the moment they need, and not much more.
TEST(HostStop, WaitsForAnAnswerThatNoticesItsEnd) {
  ManualClock clock;
  run_task(clock, [&]() -> Task<void> {
    bool noticed = false;
    Event never, asked;
    auto options = empty_options();
    options.permission.ask = [&](const PermissionQuestion&) -> Task<bool> {
      co_await asio::this_coro::throw_if_cancelled(false);
      asked.notify_all();
      (void)co_await as_result(never.wait());
      const auto end = clock.now() + std::chrono::milliseconds(500);
      while (clock.now() < end) (void)co_await as_result(sleep_for(end - clock.now()));
      noticed = true;
      co_return false;
    };
    auto server = tool_server({"t"});
    Host host(options);
    host.add_server(named("s"), server->transport());
    Scope scope(co_await asio::this_coro::executor);
    auto called = beside(scope, host.call("s/t"));
    co_await asked.wait();
    auto stopped = beside(scope, host.stop());
    co_await clock.advance(std::chrono::milliseconds(499));
    EXPECT_EQ(failure_of(*called), Errc::closed) << "the call does not wait for it";
    EXPECT_FALSE(stopped->result);
    EXPECT_FALSE(noticed);
    co_await clock.advance(std::chrono::milliseconds(1));
    EXPECT_TRUE(noticed);
    EXPECT_TRUE(stopped->result);
    co_await scope.join();
  });
}

TEST(HostStop, EverythingAskedLaterIsClosed) {
  run_task([]() -> Task<void> {
    auto server = tool_server({"a"});
    Host host(empty_options());
    host.add_server(named("s"), server->transport());
    co_await host.start();
    co_await host.stop();
    const Error expected(Errc::closed, "the host was stopped");
    auto told = [&](const auto& result) {
      EXPECT_FALSE(result.has_value());
      if (!result) EXPECT_EQ(result.error(), expected);
    };
    told(co_await as_result(host.start()));
    told(co_await as_result(host.start({"s"})));
    told(co_await as_result(host.call("s/a")));
    told(co_await as_result(host.find_tool("s/a")));
    told(co_await as_result(host.decide("s/a")));
    told(co_await as_result(host.session("s")));
    told(co_await as_result(host.reload()));
    told(co_await as_result(host.reload(LoadedConfig{})));
    EXPECT_EQ(server->opens, 1);
  });
}

}  // namespace
}  // namespace patchbay
