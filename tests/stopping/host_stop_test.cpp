// Every coroutine of a Host against stop() at every point where it can be: nothing hangs, nothing is used after it is
// gone, and what did not succeed says that the host was stopped. L9.
#include <functional>

#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <patchbay/host.h>

#include "base/as_result.h"
#include "protocol/methods.h"
#include "settings/settings_layers.h"
#include "support/host_parts.h"
#include "support/script_server.h"
#include "support/stop_at_every_step.h"
#include "support/temp_tree.h"

namespace patchbay::test {
namespace {

using namespace std::chrono_literals;

std::string m(std::string_view method) { return std::string(method); }

constexpr auto capabilities = R"({"tools":{"listChanged":true}})";

std::unique_ptr<ScriptServer> scripted(bool legacy) {
  auto server = legacy ? ScriptServer::legacy(capabilities) : ScriptServer::modern(capabilities);
  server->on(m(method::list_tools), R"({"tools":[{"name":"a"},{"name":"b"}],"resultType":"complete"})");
  server->on(m(method::call_tool), R"({"content":[],"resultType":"complete"})");
  if (legacy) return server;
  // The tool "b" asks first.
  server->on(m(method::call_tool), [](Request request) -> Task<Payload> {
    const auto& params = request.params.value();
    const bool asks = params["name"] == Json("b") && params.find("inputResponses") == nullptr;
    co_return *Payload::parse(
        asks ? R"({"resultType":"input_required","inputRequests":{"q":{"method":"elicitation/create","params":{
                   "message":"who?","requestedSchema":{"type":"object","properties":{}}}}}})"
             : R"({"content":[],"resultType":"complete"})");
  });
  return server;
}

LoadedConfig denying(std::string_view server) {
  LoadedConfig config;
  config.settings =
      settings_layers({parse_settings(fmt::format(R"({{"deniedMcpServers":[{{"serverName":"{}"}}]}})", server),
                                      SettingsSource::enterprise, "/etc/s.json")});
  return config;
}

struct Case {
  std::string name;
  std::function<Task<void>(Host&)> operate;
  bool started = false;  // before it begins
};

// A host with two servers, one of either era.
class HostWorld : public SteppedWorld {
 public:
  explicit HostWorld(const Case& c) : case_(c) {
    HostOptions options;
    options.config = LoadedConfig{};
    options.permission.ask = [](const PermissionQuestion&) -> Task<bool> {
      for (int i = 0; i < 3; ++i) co_await asio::post(asio::use_awaitable);
      co_return true;
    };
    options.asking.person = [](ElicitRequest, CallContext) -> Task<ElicitResult> {
      for (int i = 0; i < 3; ++i) co_await asio::post(asio::use_awaitable);
      co_return ElicitResult{.action = ElicitResult::Action::accept, .content = Json::object()};
    };
    options.on_event = [this](const HostEvent&) {
      (void)host_->catalog();
      (void)host_->status();
    };
    host_ = std::make_unique<Host>(std::move(options));
    host_->add_server(named("old"), old_->transport());
    host_->add_server(named("new"), new_->transport());
  }
  Task<void> prepare() override {
    if (case_.started) co_await host_->start();
  }
  Task<void> operate() override {
    auto done = co_await as_result(case_.operate(*host_));
    if (done) co_return;
    if (stopped_) EXPECT_EQ(done.error().code(), Errc::closed) << done.error().message();
    throw std::move(done).error();
  }
  Task<void> stop() override {
    stopped_ = true;
    co_await host_->stop();
    EXPECT_EQ(old_->open_now, 0);
    EXPECT_EQ(new_->open_now, 0);
    EXPECT_TRUE(host_->catalog()->empty());
  }
  Task<void> finish() override {
    co_await host_->stop();
    auto late = co_await as_result(host_->call("old/a"));
    EXPECT_FALSE(late);
    if (!late) EXPECT_EQ(late.error().code(), Errc::closed);
    EXPECT_EQ(old_->open_now, 0);
    EXPECT_EQ(new_->open_now, 0);
  }

 private:
  const Case& case_;
  std::unique_ptr<ScriptServer> old_ = scripted(true);
  std::unique_ptr<ScriptServer> new_ = scripted(false);
  std::unique_ptr<Host> host_;
  bool stopped_ = false;
};

std::vector<Case> cases() {
  std::vector<Case> all;
  auto add = [&](std::string name, std::function<Task<void>(Host&)> operate, bool started = false) {
    all.push_back({std::move(name), std::move(operate), started});
  };
  add("start", [](Host& host) -> Task<void> { co_await host.start(); });
  add("start some", [](Host& host) -> Task<void> { co_await host.start({"new"}); });
  for (bool started : {false, true}) {
    add("call", [](Host& host) -> Task<void> { (void)co_await host.call("old/a"); }, started);
    add(
        "call by a bare name",
        [](Host& host) -> Task<void> {
          auto called = co_await as_result(host.call("b"));
          if (!called && called.error().code() != Errc::invalid_argument) throw std::move(called).error();
        },
        started);
    add(
        "call in the background",
        [](Host& host) -> Task<void> {
          auto call = co_await host.start_call("old/a");
          auto other = co_await host.start_call("new/b");
          (void)co_await as_result(other.result());
          (void)co_await call.result();
        },
        started);
    // E1: one of the two questions waits for the other.
    add(
        "calls that ask at once",
        [](Host& host) -> Task<void> {
          auto first = co_await host.start_call("new/b");
          auto second = co_await as_result(host.call("new/b"));
          (void)co_await as_result(first.result());
          (void)value_or_throw(std::move(second));
        },
        started);
    add("find_tool", [](Host& host) -> Task<void> { (void)co_await host.find_tool("new/b"); }, started);
    add("decide", [](Host& host) -> Task<void> { (void)co_await host.decide("mcp__new__a"); }, started);
    add("session", [](Host& host) -> Task<void> { (void)co_await host.session("old"); }, started);
    add("reload", [](Host& host) -> Task<void> { (void)co_await host.reload(denying("old")); }, started);
  }
  add("reload beside a call", [](Host& host) -> Task<void> {
    auto session = co_await host.session("old");
    (void)co_await host.reload(denying("old"));
    (void)co_await host.reload(denying("new"));
    (void)co_await host.call("old/a");
  });
  return all;
}

TEST(HostStopping, EveryCallEndsWhereverItIsStopped) {
  for (const auto& one : cases()) {
    SCOPED_TRACE(one.name + (one.started ? ", started" : ""));
    const auto report = stop_at_every_step([&](auto) { return std::make_unique<HostWorld>(one); }, {.quiet = 5ms});
    EXPECT_GE(report.runs, 2u);
    EXPECT_EQ(report.runs,
              report.succeeded + (report.failed.contains(Errc::closed) ? report.failed.at(Errc::closed) : 0));
  }
}

// Whoever gives up waiting leaves a host that works and can be stopped.
TEST(HostStopping, EveryCallMayBeGivenUpAnywhere) {
  for (const auto& one : cases()) {
    SCOPED_TRACE(one.name + (one.started ? ", started" : ""));
    cancel_at_every_step([&](auto) { return std::make_unique<HostWorld>(one); }, {.quiet = 5ms});
  }
}

// stop() itself is the operation: however it is cancelled, and with another beside it.
TEST(HostStopping, StoppingReachesItsEndWhoeverGivesUp) {
  const Case stop{"stop", [](Host& host) -> Task<void> { co_await host.stop(); }, true};
  const Case quick{"stop quickly", [](Host& host) -> Task<void> { co_await host.stop_quickly(); }, true};
  for (const auto* one : {&stop, &quick}) {
    SCOPED_TRACE(one->name);
    cancel_at_every_step([&](auto) { return std::make_unique<HostWorld>(*one); });
    stop_at_every_step([&](auto) { return std::make_unique<HostWorld>(*one); });
  }
}

// Files that are read on another thread, of servers that are processes.
class ReloadWorld : public SteppedWorld {
 public:
  ReloadWorld() {
    tree_.directory("work");
    declare(R"("s":{"command":"cat"})");
    HostOptions options;
    options.load.emplace();
    options.load->cwd = (tree_.path() / "work").string();
    options.load->home = (tree_.path() / "home").string();
    options.load->enterprise_dir = (tree_.path() / "etc").string();
    options.load->variables = [](std::string_view) { return std::nullopt; };
    host_ = std::make_unique<Host>(std::move(options));
    declare(R"("t":{"command":"/nonexistent/patchbay-test-command"})");
  }
  Task<void> operate() override {
    Scope scope(co_await asio::this_coro::executor);
    scope.spawn([](Host& host) -> Task<void> { (void)co_await as_result(host.start()); }(*host_));
    auto read = co_await as_result(host_->reload());
    const bool throws = co_await asio::this_coro::throw_if_cancelled();
    co_await asio::this_coro::throw_if_cancelled(false);
    co_await host_->stop_quickly();
    co_await scope.join();
    co_await asio::this_coro::throw_if_cancelled(throws);
    value_or_throw(std::move(read));
  }
  Task<void> stop() override { co_await host_->stop_quickly(); }
  Task<void> finish() override { co_await host_->stop_quickly(); }

 private:
  void declare(const std::string& entries) const {
    tree_.file("home/.claude.json", R"({"mcpServers":{)" + entries + "}}");
  }
  TempTree tree_;
  std::unique_ptr<Host> host_;
};

TEST(HostStopping, FilesMayBeReadMeanwhile) {
  stop_at_every_step([](auto) { return std::make_unique<ReloadWorld>(); }, {.stride = 3, .quiet = 50ms});
  cancel_at_every_step([](auto) { return std::make_unique<ReloadWorld>(); }, {.stride = 5, .quiet = 50ms});
}

}  // namespace
}  // namespace patchbay::test
