// A server that is stopped at every point: each of its doors, while requests of every kind run, also such
// whose handlers do not listen when they are cancelled.
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <set>

#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <patchbay/server.h>
#include <patchbay/transport.h>

#include "base/as_result.h"
#include "base/fd.h"
#include "base/runtime.h"
#include "base/scope.h"
#include "base/waiting.h"
#include "rpc/channel.h"
#include "rpc/transport.h"
#include "server/serve.h"
#include "support/http_door.h"
#include "support/http_wire.h"
#include "support/sample_server.h"
#include "support/stop_at_every_step.h"
#include "transport/memory.h"

namespace patchbay {
namespace {

using namespace std::chrono_literals;
using test::cancel_at_every_step;
using test::SteppedWorld;
using test::stop_at_every_step;
using test::text_result;

// Set once, by the end of a test, for handlers that wait for nothing else. It also notes which have begun.
struct Release {
  explicit Release(std::set<std::string>* b) : begun(b) {}
  std::set<std::string>* begun;
  bool on = false;
  Event changed;
  void set() {
    on = true;
    changed.notify_all();
  }
};

Task<CallToolResult> deaf(std::shared_ptr<Release> release) {
  co_await asio::this_coro::throw_if_cancelled(false);
  while (!release->on) {
    co_await asio::this_coro::reset_cancellation_state();
    (void)co_await as_result(release->changed.wait());
  }
  co_return text_result("late");
}

Task<CallToolResult> asks(RequestContext& context, int what) {
  context.progress(1);
  if (what == 0) (void)co_await context.elicit({.message = "?", .requested_schema = Json{{"type", "object"}}});
  if (what == 1) (void)co_await context.sample({});
  if (what == 2) (void)co_await context.list_roots();
  co_return text_result("asked");
}

Task<CallToolResult> waits(std::shared_ptr<Event> never) {
  co_await never->wait();
  co_return text_result("woken");
}

// A server with a handler for each way in which one can be when its server ends.
std::shared_ptr<Server> busy_server(std::shared_ptr<Release> release) {
  auto server = test::sample_server();
  auto never = std::make_shared<Event>();
  server->add_tool({.name = "waits"}, [never, release](RequestContext&, Json) {
    release->begun->insert("waits");
    return waits(never);
  });
  server->add_tool({.name = "deaf"}, [release](RequestContext&, Json) {
    release->begun->insert("deaf");
    return deaf(release);
  });
  for (int what = 0; what < 3; ++what) {
    const auto name = fmt::format("asks{}", what);
    server->add_tool({.name = name}, [what, name, release](RequestContext& context, Json) {
      release->begun->insert(name);
      return asks(context, what);
    });
  }
  for (const auto* name : {"task_waits", "task_deaf", "task_asks"}) {
    Tool tool{.name = name};
    tool.execution = ToolExecution{.task_support = TaskSupport::optional, .extra = {}};
    const std::string_view kind = name;
    server->add_tool(tool, [kind, never, release](RequestContext& context, Json) {
      release->begun->emplace(kind);
      if (kind == "task_deaf") return deaf(release);
      return kind == "task_waits" ? waits(never) : asks(context, 0);
    });
  }
  return server;
}

const std::set<std::string> every_handler{"waits", "deaf",       "asks0",     "asks1",
                                          "asks2", "task_waits", "task_deaf", "task_asks"};

const std::string capabilities = R"({"elicitation":{},"sampling":{},"roots":{},)"
                                 R"("extensions":{"io.modelcontextprotocol/tasks":{}}})";

std::string modern(int id, std::string_view method, std::string_view members) {
  return fmt::format(
      R"({{"jsonrpc":"2.0","id":{},"method":"{}","params":{{{},"_meta":{{"progressToken":{},)"
      R"("io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}}}})",
      id, method, members, id, capabilities);
}

std::string legacy_call(int id, std::string_view tool, std::string_view more = "") {
  return fmt::format(
      R"({{"jsonrpc":"2.0","id":{},"method":"tools/call","params":{{"name":"{}","_meta":{{"progressToken":{}}}{}}}}})",
      id, tool, id, more);
}

const std::string initialize = fmt::format(
    R"({{"jsonrpc":"2.0","id":100,"method":"initialize","params":{{"protocolVersion":"2025-11-25","capabilities":{},)"
    R"("clientInfo":{{"name":"t","version":"0"}}}}}})",
    capabilities);

// What one client sends without waiting for answers.
std::vector<std::string> everything() {
  std::vector<std::string> lines{initialize, R"({"jsonrpc":"2.0","method":"notifications/initialized"})"};
  int id = 1;
  for (const auto* tool : {"echo", "waits", "deaf", "asks0", "asks1", "asks2"})
    lines.push_back(legacy_call(id++, tool));
  for (const auto* tool : {"task_waits", "task_deaf", "task_asks"}) {
    lines.push_back(legacy_call(id++, tool, R"(,"task":{})"));
    lines.push_back(modern(id++, "tools/call", fmt::format(R"("name":"{}")", tool)));
  }
  lines.push_back(modern(id++, "tools/call", R"("name":"asks0")"));
  lines.push_back(modern(id++, "tools/call", R"("name":"waits")"));
  lines.push_back(modern(id++, "subscriptions/listen", R"("notifications":{"toolsListChanged":true})"));
  lines.push_back(R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}})");
  return lines;
}

Runtime hurried() {
  Runtime runtime;
  runtime.limits.exit_after_eof = 1ms;  // for handlers that do not listen
  return runtime;
}

class ServedChannel : public SteppedWorld {
 public:
  explicit ServedChannel(std::set<std::string>& begun, bool destroys = false) : begun_(begun), destroys_(destroys) {}
  Task<void> prepare() override {
    auto [near, far] = make_memory_pair(Limits{}, MemoryPayloads::copy);
    near_ = std::move(near);
    far_ = std::move(far);
    for (const auto& line : everything()) {
      auto block = std::make_shared<const std::string>(line);
      auto decoded = decode_messages(block, *block);
      EXPECT_TRUE(decoded) << line;
      EXPECT_TRUE(near_->send(std::move(decoded->messages.front())));
    }
    co_return;
  }
  Task<void> operate() override { return serve(*server_, std::move(far_), hurried()); }
  Task<void> stop() override {
    if (destroys_) server_.reset();
    co_await near_->close(CloseMode::graceful);
  }
  Task<void> finish() override {
    release_->set();
    server_.reset();
    co_return;
  }

 private:
  std::set<std::string>& begun_;
  bool destroys_;
  std::shared_ptr<Release> release_ = std::make_shared<Release>(&begun_);
  std::shared_ptr<Server> server_ = busy_server(release_);
  std::unique_ptr<Channel> near_;
  std::unique_ptr<Channel> far_;
};

TEST(ServerStop, Serve_EndsWhereverItsClientLeaves) {
  std::set<std::string> begun;
  const auto report = stop_at_every_step([&](auto) { return std::make_unique<ServedChannel>(begun); });
  EXPECT_GT(report.runs, 25u);
  EXPECT_EQ(report.succeeded, report.runs);
  EXPECT_EQ(begun, every_handler);
}

TEST(ServerStop, Serve_EndsWhereverTheServerIsDestroyed) {
  std::set<std::string> begun;
  const auto report = stop_at_every_step([&](auto) { return std::make_unique<ServedChannel>(begun, true); });
  EXPECT_GT(report.runs, 25u);
  EXPECT_EQ(report.succeeded, report.runs);
  EXPECT_EQ(begun, every_handler);
}

TEST(ServerStop, Serve_EndsWhereverItIsCancelled) {
  std::set<std::string> begun;
  const auto report = cancel_at_every_step([&](auto) { return std::make_unique<ServedChannel>(begun); });
  EXPECT_GT(report.runs, 25u);
  EXPECT_EQ(begun, every_handler);
}

// This process's own stdin and stdout are others for as long as the server takes them over.
class ServedStdio : public SteppedWorld {
 public:
  ServedStdio(asio::any_io_executor executor, std::set<std::string>& begun)
      : begun_(begun), executor_(std::move(executor)) {}
  Task<void> prepare() override {
    std::array<int, 2> ends{};
    EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
    input_.reset(ends[0]);
    client_.reset(ends[1]);
    EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
    read_.reset(ends[0]);
    output_.reset(ends[1]);
    std::string text;
    for (const auto& line : everything()) text += line + "\n";
    EXPECT_EQ(::write(client_.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
    co_return;
  }
  Task<void> operate() override {
    const Fd stdin_before(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3));
    const Fd stdout_before(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3));
    ::dup2(input_.get(), STDIN_FILENO);
    ::dup2(output_.get(), STDOUT_FILENO);
    // By then the server has opened them for itself.
    asio::post(executor_, [before = ::dup(stdin_before.get()), then = ::dup(stdout_before.get())] {
      ::dup2(before, STDIN_FILENO);
      ::dup2(then, STDOUT_FILENO);
      ::close(before);
      ::close(then);
    });
    co_await serve_stdio(*server_, hurried());
  }
  Task<void> stop() override {
    client_.reset();
    co_return;
  }
  Task<void> finish() override {
    release_->set();
    server_.reset();
    co_return;
  }

 private:
  std::set<std::string>& begun_;
  asio::any_io_executor executor_;
  std::shared_ptr<Release> release_ = std::make_shared<Release>(&begun_);
  std::shared_ptr<Server> server_ = busy_server(release_);
  Fd input_, client_, read_, output_;
};

TEST(ServerStop, ServeStdio_EndsWhereverItIsCancelled) {
  std::set<std::string> begun;
  const auto report = cancel_at_every_step(
      [&](auto executor) { return std::make_unique<ServedStdio>(executor, begun); }, {.quiet = 5ms});
  EXPECT_GT(report.runs, 25u);
  EXPECT_EQ(begun, every_handler);
}

class ServedHttp : public SteppedWorld {
 public:
  ServedHttp(asio::any_io_executor executor, std::set<std::string>& begun)
      : begun_(begun), executor_(executor), clients_(executor) {}
  Task<void> operate() override {
    ServerHttpOptions options;
    options.grace = 1ms;
    auto bearer = bearer_token("t");
    options.authorize = [bearer, release = release_](HttpCaller caller) -> Task<HttpVerdict> {
      if (caller.header("x-deaf").empty()) return bearer(std::move(caller));
      return [](std::shared_ptr<Release> until) -> Task<HttpVerdict> {
        (void)co_await deaf(until);
        co_return HttpVerdict{};
      }(release);
    };
    options.on_listening = [this](const std::string& url) {
      for (const auto* tool : {"echo", "waits", "deaf", "asks0", "task_deaf"}) {
        clients_.spawn(talk(executor_, url, call(tool)));
      }
      clients_.spawn(talk(executor_, url,
                          test::post_text("/mcp", modern(9, "tools/call", R"("name":"echo")"), "X-Deaf: yes\r\n")));
      clients_.spawn(talk(executor_, url,
                          post(modern(9, "subscriptions/listen", R"("notifications":{"toolsListChanged":true})"),
                               "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: subscriptions/listen\r\n")));
      clients_.spawn(talk_with_session(executor_, url));
    };
    co_await serve_http(*server_, options, hurried());
  }
  Task<void> finish() override {
    release_->set();
    clients_.cancel();
    co_await clients_.join();
    server_.reset();
  }

 private:
  static std::string post(std::string_view body, std::string_view headers) {
    return test::post_text("/mcp", body, fmt::format("Authorization: Bearer t\r\n{}", headers));
  }
  static std::string call(std::string_view tool) {
    return post(modern(1, "tools/call", fmt::format(R"("name":"{}")", tool)),
                fmt::format("MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: {}\r\n", tool));
  }
  static Task<void> talk(asio::any_io_executor executor, std::string url, std::string request) {
    test::HttpWire wire(executor);
    (void)co_await as_result(exchange(wire, std::move(url), std::move(request)));
  }
  static Task<void> exchange(test::HttpWire& wire, std::string url, std::string request) {
    co_await wire.connect(std::move(url));
    co_await wire.send(std::move(request));
    (void)co_await wire.rest();
  }
  static Task<void> talk_with_session(asio::any_io_executor executor, std::string url) {
    test::HttpWire wire(executor);
    auto opened = co_await as_result(open(wire, url));
    if (!opened || opened->headers.get("mcp-session-id").empty()) co_return;
    const auto session = fmt::format("Mcp-Session-Id: {}\r\nMCP-Protocol-Version: 2025-11-25\r\n",
                                     opened->headers.get("mcp-session-id"));
    (void)co_await as_result(stay(wire, executor, url, session));
  }
  static Task<test::WireAnswer> open(test::HttpWire& wire, std::string url) {
    co_await wire.connect(std::move(url));
    co_await wire.send(post(initialize, ""));
    co_return co_await wire.answer();
  }
  static Task<void> stay(test::HttpWire& wire, asio::any_io_executor executor, std::string url, std::string session) {
    test::HttpWire stream(executor);
    co_await stream.connect(std::move(url));
    co_await stream.send(
        fmt::format("GET /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer t\r\n"
                    "Accept: text/event-stream\r\n{}\r\n",
                    session));
    co_await wire.send(post(legacy_call(1, "asks0"), session));
    (void)co_await wire.rest();
  }

  std::set<std::string>& begun_;
  asio::any_io_executor executor_;
  Scope clients_;
  std::shared_ptr<Release> release_ = std::make_shared<Release>(&begun_);
  std::shared_ptr<Server> server_ = busy_server(release_);
};

TEST(ServerStop, ServeHttp_EndsWhereverItIsCancelled) {
  std::set<std::string> begun;
  const auto report = cancel_at_every_step([&](auto executor) { return std::make_unique<ServedHttp>(executor, begun); },
                                           {.stride = 7, .quiet = 5ms});
  EXPECT_GT(report.runs, 20u);
  EXPECT_EQ(begun, (std::set<std::string>{"waits", "deaf", "asks0", "task_deaf"}));
}

// A server of the same process, from the side of who opened it.
class MemoryDoor : public SteppedWorld {
 public:
  explicit MemoryDoor(std::set<std::string>& begun) : begun_(begun) {}
  Task<void> operate() override {
    channel_ = co_await transport_->open(hurried());
    if (closed_) throw Error(Errc::closed, "closed before it was open");
    for (const auto& line : everything()) {
      auto block = std::make_shared<const std::string>(line);
      auto sent = channel_->send(std::move(decode_messages(block, *block)->messages.front()));
      if (!sent) throw std::move(sent).error();
    }
    for (;;) (void)co_await channel_->receive();
  }
  Task<void> stop() override {
    closed_ = true;
    if (channel_) co_await channel_->close(CloseMode::graceful);
  }
  Task<void> finish() override {
    // Opened behind the back of the stop, or left by who was cancelled.
    if (channel_) co_await channel_->close(CloseMode::graceful);
    release_->set();
    transport_.reset();
  }

 private:
  std::set<std::string>& begun_;
  std::shared_ptr<Release> release_ = std::make_shared<Release>(&begun_);
  std::shared_ptr<Transport> transport_ = memory_transport(busy_server(release_));
  std::unique_ptr<Channel> channel_;
  bool closed_ = false;
};

TEST(ServerStop, AMemoryDoor_EndsWhereverItIsClosed) {
  std::set<std::string> begun;
  const auto report = stop_at_every_step([&](auto) { return std::make_unique<MemoryDoor>(begun); });
  EXPECT_GT(report.runs, 25u);
  EXPECT_EQ(report.failed.at(Errc::closed), report.runs);
  EXPECT_EQ(begun, every_handler);
}

TEST(ServerStop, AMemoryDoor_EndsWhereverItIsCancelled) {
  std::set<std::string> begun;
  const auto report = cancel_at_every_step([&](auto) { return std::make_unique<MemoryDoor>(begun); });
  EXPECT_GT(report.runs, 25u);
  EXPECT_EQ(report.succeeded, 0u);
  EXPECT_EQ(begun, every_handler);
}

}  // namespace
}  // namespace patchbay
