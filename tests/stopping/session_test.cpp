// X4, L9: a session that is closed at any moment ends every call with one outcome and leaves nothing behind, whatever
// the program's own handlers do meanwhile; and so does one whose connecting is cancelled at any moment.
#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <patchbay/client.h>
#include <patchbay/server.h>

#include "base/as_result.h"
#include "base/runtime.h"
#include "base/scope.h"
#include "base/waiting.h"
#include "client/connect.h"
#include "protocol/wire.h"
#include "support/fixture_server.h"
#include "support/script_server.h"
#include "support/stop_at_every_step.h"

namespace patchbay::test {
namespace {

using namespace std::chrono_literals;

ClientOptions client_of(Era era) {
  ClientOptions options;
  options.protocol = era == Era::modern ? std::string(modern_versions().front()) : "legacy";
  return options;
}

// Waits end soon: nobody here is worth waiting for.
Runtime short_waits() {
  Runtime runtime;
  runtime.limits.exit_after_eof = 2ms;
  runtime.limits.task_poll = runtime.limits.task_poll_least = 1ms;
  return runtime;
}

// A session with the server of the scenarios in this process.
class SessionWorld : public SteppedWorld {
 public:
  using Operation = std::function<Task<void>(Session)>;
  SessionWorld(ClientOptions options, Operation operation)
      : options_(std::move(options)), operation_(std::move(operation)) {}

  Task<void> prepare() override {
    session = co_await connect(Client(options_), memory_transport(make_fixture_server()), short_waits());
  }
  Task<void> operate() override { co_await operation_(session); }
  Task<void> stop() override { co_await session.close(); }
  Task<void> finish() override {
    session = Session();
    co_return;
  }

  Session session;

 protected:
  ClientOptions options_;
  Operation operation_;
};

struct Row {
  std::string name;
  SessionWorld::Operation operation;
  std::size_t least_runs = 4;
  std::set<Errc> own = {};  // what it fails with by itself
  bool endless = false;     // it looks again and again

  SteppingOptions stepping() const { return {.most_steps = endless ? 200u : 3000u, .endless = endless, .quiet = 5ms}; }
};

CallOptions as_task() {
  CallOptions options;
  options.task = TaskUse::prefer;
  return options;
}

// Every public coroutine of Session.
std::vector<Row> all_operations() {
  return {
      {"list_tools", [](Session s) -> Task<void> { (void)co_await s.list_tools(); }},
      {"list_resources", [](Session s) -> Task<void> { (void)co_await s.list_resources(); }},
      {"list_resource_templates", [](Session s) -> Task<void> { (void)co_await s.list_resource_templates(); }},
      {"list_prompts", [](Session s) -> Task<void> { (void)co_await s.list_prompts(); }},
      {"list_tools_page", [](Session s) -> Task<void> { (void)co_await s.list_tools_page({}); }},
      {"call_tool", [](Session s) -> Task<void> { (void)co_await s.call_tool("echo", Json{{"a", 1}}); }},
      {"call_tool that hangs", [](Session s) -> Task<void> { (void)co_await s.call_tool("hang", {}); }},
      {"call_tool after list_tools",
       [](Session s) -> Task<void> {
         (void)co_await s.list_tools();
         (void)co_await s.call_tool("echo", Json{{"a", 1}});
       }},
      {"call_tool as a task",
       [](Session s) -> Task<void> { (void)co_await s.call_tool("task_held", Json::object(), as_task()); },
       4,
       {},
       true},
      {"start_tool, get_task, await_task",
       [](Session s) -> Task<void> {
         auto started = co_await s.start_tool("task_held", Json::object());
         const auto id = std::get<RemoteTask>(started).id;
         (void)co_await s.get_task(id);
         (void)co_await s.await_task(id);
       },
       4,
       {},
       true},
      {"start_tool, cancel_task",
       [](Session s) -> Task<void> {
         auto started = co_await s.start_tool("task_held", Json::object());
         co_await s.cancel_task(std::get<RemoteTask>(started).id);
       }},
      {"list_tasks", [](Session s) -> Task<void> { (void)co_await s.list_tasks(); }, 1, {Errc::unsupported}},
      {"read_resource", [](Session s) -> Task<void> { (void)co_await s.read_resource("file:///a"); }},
      {"list_skills, get_skill, read_skill",
       [](Session s) -> Task<void> {
         auto listed = co_await s.list_skills();
         auto skill = co_await s.get_skill(listed.items.at(0).uri);
         (void)co_await s.read_skill(skill);
       }},
      {"read_directory", [](Session s) -> Task<void> { (void)co_await s.read_directory("skill://office/pdf"); }},
      {"get_prompt", [](Session s) -> Task<void> { (void)co_await s.get_prompt("plain", {}); }},
      {"complete",
       [](Session s) -> Task<void> { (void)co_await s.complete({}); },
       1,
       {Errc::rpc, Errc::invalid_argument}},
      {"set_log_level", [](Session s) -> Task<void> { co_await s.set_log_level(LoggingLevel::error); }, 1},
      {"ping", [](Session s) -> Task<void> { co_await s.ping(); }},
      {"watch, stop",
       [](Session s) -> Task<void> {
         SubscriptionFilter filter;
         filter.tools_list_changed = true;
         filter.resource_subscriptions.emplace_back("file:///a");
         auto watch = co_await s.watch(filter);
         co_await watch.stop();
       }},
      {"close", [](Session s) -> Task<void> { co_await s.close(); }},
      {"close_quickly", [](Session s) -> Task<void> { co_await s.close_quickly(); }},
  };
}

void expect_outcomes(const Row& row, const SteppingReport& report) {
  EXPECT_GE(report.runs, row.least_runs);
  for (const auto& [code, times] : report.failed) {
    EXPECT_TRUE(code == Errc::closed || row.own.contains(code)) << to_string(code) << " " << times << " times";
  }
}

class StoppedSession : public testing::TestWithParam<Era> {};
INSTANTIATE_TEST_SUITE_P(Eras, StoppedSession, testing::Values(Era::legacy, Era::modern),
                         [](const auto& era) { return era.param == Era::modern ? "modern" : "legacy"; });

TEST_P(StoppedSession, EveryCallEndsOnceWhereverItIsClosed) {
  for (const auto& row : all_operations()) {
    SCOPED_TRACE(row.name);
    const auto report = stop_at_every_step(
        [&](auto) { return std::make_unique<SessionWorld>(client_of(GetParam()), row.operation); }, row.stepping());
    expect_outcomes(row, report);
  }
}

TEST_P(StoppedSession, EveryCallEndsOnceWhereverItIsCancelled) {
  class World : public SessionWorld {
   public:
    using SessionWorld::SessionWorld;
    // The server goes with the last handle, and a task that began there with the server.
    Task<void> finish() override {
      co_await session.close();
      session = Session();
    }
  };
  for (const auto& row : all_operations()) {
    SCOPED_TRACE(row.name);
    const auto report = cancel_at_every_step(
        [&](auto) { return std::make_unique<World>(client_of(GetParam()), row.operation); }, row.stepping());
    EXPECT_GE(report.runs, row.least_runs);
  }
}

// What a handler of the program may do while a server waits for its answer.
enum class Handling { answers, waits, is_deaf, closes, calls_back };

class AskedWorld : public SessionWorld {
 public:
  AskedWorld(Era era, Handling handling, std::string tool)
      : SessionWorld(client_of(era),
                     [tool](Session s) -> Task<void> { (void)co_await s.call_tool(tool, Json::object()); }),
        handling_(handling) {
    options_.elicit = [this](ElicitRequest, CallContext) -> Task<ElicitResult> {
      co_await handle();
      co_return ElicitResult{.action = ElicitResult::Action::accept};
    };
    options_.sample = [this](CreateMessageRequest, CallContext) -> Task<CreateMessageResult> {
      co_await handle();
      CreateMessageResult result;
      result.role = Role::assistant;
      result.model = "m";
      result.content.push_back(TextContent{.text = "t"});
      co_return result;
    };
    options_.roots = [this](CallContext) -> Task<std::vector<Root>> {
      co_await handle();
      co_return std::vector<Root>();
    };
  }
  Task<void> finish() override {
    released_ = true;
    changed_.notify_all();
    session = Session();
    co_return;
  }

 private:
  Task<void> handle() {
    auto here = session;
    switch (handling_) {
      case Handling::answers:
        break;
      case Handling::waits:
        for (;;) co_await changed_.wait();
      case Handling::is_deaf:
        co_await asio::this_coro::throw_if_cancelled(false);
        while (!released_) (void)co_await as_result(changed_.wait());
        break;
      case Handling::closes:
        co_await here.close();
        break;
      case Handling::calls_back:
        (void)co_await here.call_tool("echo", Json{{"a", 1}});
        break;
    }
  }

  Handling handling_;
  bool released_ = false;
  Event changed_;
};

TEST_P(StoppedSession, EndsWhateverItsHandlersDo) {
  for (const auto handling :
       {Handling::answers, Handling::waits, Handling::is_deaf, Handling::closes, Handling::calls_back}) {
    for (const auto* tool : {"ask_form", "ask_sample", "ask_roots"}) {
      SCOPED_TRACE(fmt::format("{} {}", tool, static_cast<int>(handling)));
      const auto report =
          stop_at_every_step([&](auto) { return std::make_unique<AskedWorld>(GetParam(), handling, tool); });
      EXPECT_GE(report.runs, 8u);
      for (const auto& [code, times] : report.failed) EXPECT_EQ(code, Errc::closed) << times;
    }
  }
}

// Only one of the two eras is spoken, or it has to be found out.
class ConnectWorld : public SteppedWorld {
 public:
  ConnectWorld(ClientOptions options, std::unique_ptr<ScriptServer> server)
      : options_(std::move(options)), server_(std::move(server)) {}
  Task<void> operate() override { session_ = co_await connect(Client(options_), server_->transport(), short_waits()); }
  Task<void> finish() override {
    if (session_.connected()) co_await session_.close();
    EXPECT_EQ(server_->connections(), 0u);
  }

 private:
  ClientOptions options_;
  std::unique_ptr<ScriptServer> server_;
  Session session_;
};

TEST(StoppedConnect, LeavesNothingWhereverItIsCancelled) {
  for (const bool modern : {true, false}) {
    for (const std::string protocol : {"auto", modern ? "" : "legacy"}) {
      if (protocol.empty()) continue;
      SCOPED_TRACE(fmt::format("{} {}", modern, protocol));
      const auto report = cancel_at_every_step([&](auto) {
        ClientOptions options;
        options.protocol = protocol;
        options.roots = [](CallContext) -> Task<std::vector<Root>> { co_return std::vector<Root>(); };
        return std::make_unique<ConnectWorld>(
            options, modern ? ScriptServer::modern(R"({"tools":{}})") : ScriptServer::legacy(R"({"tools":{}})"));
      });
      EXPECT_GE(report.runs, 8u);
      EXPECT_GE(report.succeeded, 1u);
      for (const auto& [code, times] : report.failed) EXPECT_EQ(code, Errc::cancelled) << times;
    }
  }
}

// Over sockets: where exactly a stop falls is chance, so a few hundred points of a long operation stand for all.
class HttpWorld : public SteppedWorld {
 public:
  HttpWorld(asio::any_io_executor executor, Era era) : era_(era), scope_(std::move(executor)) {}

  Task<void> prepare() override {
    std::string url;
    Event listening;
    ServerHttpOptions options;
    options.on_listening = [&](const std::string& where) {
      url = where;
      listening.notify_all();
    };
    scope_.spawn([](std::shared_ptr<Server> server, ServerHttpOptions how) -> Task<void> {
      (void)co_await as_result(server->serve_http(std::move(how)));
    }(make_fixture_server(), std::move(options)));
    while (url.empty()) co_await listening.wait();
    auto client = client_of(era_);
    client.elicit = [](ElicitRequest, CallContext) -> Task<ElicitResult> {
      co_return ElicitResult{.action = ElicitResult::Action::accept};
    };
    session_ =
        co_await connect(Client(client), http_transport({.url = url, .headers = {}, .proxy = ""}), short_waits());
  }
  Task<void> operate() override {
    (void)co_await session_.list_tools();
    (void)co_await session_.call_tool("ask_form", Json::object());
  }
  Task<void> stop() override { co_await session_.close(); }
  Task<void> finish() override {
    session_ = Session();
    scope_.cancel();
    co_await scope_.join();
  }

 private:
  Era era_;
  Session session_;
  Scope scope_;
};

TEST_P(StoppedSession, OverHttpEndsWhereverItIsClosed) {
  const auto report = stop_at_every_step([&](auto e) { return std::make_unique<HttpWorld>(e, GetParam()); },
                                         {.most_steps = 100'000, .stride = 7, .quiet = 50ms});
  EXPECT_GE(report.runs, 8u);
  EXPECT_GE(report.succeeded, 1u);
  for (const auto& [code, times] : report.failed) EXPECT_EQ(code, Errc::closed) << times;
}

}  // namespace
}  // namespace patchbay::test
