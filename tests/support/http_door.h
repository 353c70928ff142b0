// A server behind one URL, and clients of both eras that talk to it byte by byte: for the tests
// of the HTTP door. Loop thread only.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/post.hpp>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <patchbay/server.h>

#include "base/as_result.h"
#include "base/runtime.h"
#include "base/scope.h"
#include "base/waiting.h"
#include "server/serve.h"
#include "support/http_wire.h"

namespace patchbay::test {

// Once set, it stays so: whoever waits later does not wait.
struct Flag {
  void set() {
    on = true;
    changed.notify_all();
  }
  Task<void> wait() {
    while (!on) co_await changed.wait();
  }
  bool on = false;
  Event changed;
};

// A sample server on a port of its own.
class Door {
 public:
  Door(asio::any_io_executor executor, std::shared_ptr<Server> server, ServerHttpOptions options = {},
       const Runtime& runtime = {})
      : server_(std::move(server)), scope_(executor) {
    options.on_listening = [this](const std::string& u) { url = u; };
    serving_ = scope_.spawn([](Task<void> work) -> Task<void> {
      auto served = co_await as_result(std::move(work));
      EXPECT_TRUE(served) << served.error().message();
    }(serve_http(*server_, std::move(options), runtime)));
  }
  Task<void> connect(HttpWire& wire) {
    while (url.empty()) co_await asio::post(asio::use_awaitable);
    co_await wire.connect(url);
  }
  Task<void> stop() {
    serving_.cancel();
    co_await scope_.join();
  }
  std::string url;

 private:
  std::shared_ptr<Server> server_;
  Scope scope_;
  Spawned serving_;
};

inline constexpr std::string_view modern_meta =
    R"("_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{})";

inline std::string modern_body(std::string_view method, std::string_view members = "", std::string_view more_meta = "",
                               std::string_view id = "1") {
  return fmt::format(R"({{"jsonrpc":"2.0","id":{},"method":"{}","params":{{{}{}{}{}}}}}}})", id, method, members,
                     members.empty() ? "" : ",", modern_meta, more_meta);
}

inline std::string modern_post(std::string_view method, std::string_view name = "", std::string_view members = "",
                               std::string_view more_meta = "", std::string_view id = "1") {
  auto headers = fmt::format("MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: {}\r\n", method);
  if (!name.empty()) headers += fmt::format("Mcp-Name: {}\r\n", name);
  return post_text("/mcp", modern_body(method, members, more_meta, id), headers);
}

inline std::string modern_call(std::string_view tool, std::string_view more_meta = "", std::string_view id = "1") {
  return modern_post("tools/call", tool, fmt::format(R"("name":"{}")", tool), more_meta, id);
}

// The messages of an event stream, without what is not data.
inline std::vector<std::string> messages_of(std::string_view body) {
  std::vector<std::string> messages;
  std::size_t at = 0;
  while ((at = body.find("data: ", at)) != std::string_view::npos) {
    const auto end = body.find('\n', at);
    auto data = body.substr(at + 6, end - at - 6);
    if (!data.empty()) messages.emplace_back(data);
    at = end;
  }
  return messages;
}

inline std::string initialize_body(std::string_view version = "2025-11-25", std::string_view capabilities = "{}") {
  return fmt::format(
      R"({{"jsonrpc":"2.0","id":0,"method":"initialize","params":{{"protocolVersion":"{}","capabilities":{},"clientInfo":{{"name":"t","version":"0"}}}}}})",
      version, capabilities);
}

// A client with a session; one connection for its requests.
struct LegacyClient {
  LegacyClient(asio::any_io_executor executor, Door& d) : door(d), wire(executor) {}

  Task<void> open(std::string version = "2025-11-25", std::string capabilities = "{}") {
    co_await door.connect(wire);
    co_await wire.send(post_text("/mcp", initialize_body(version, capabilities)));
    auto answer = co_await wire.answer();
    EXPECT_EQ(answer.status, 200) << answer.body;
    EXPECT_THAT(answer.body, testing::HasSubstr(fmt::format(R"("protocolVersion":"{}")", version)));
    session = answer.headers.get("mcp-session-id");
    EXPECT_FALSE(session.empty());
    headers = fmt::format("Mcp-Session-Id: {}\r\nMCP-Protocol-Version: {}\r\n", session, version);
    co_await wire.send(post(R"({"jsonrpc":"2.0","method":"notifications/initialized"})"));
    EXPECT_EQ((co_await wire.answer()).status, 202);
  }
  std::string post(std::string_view body) const { return post_text("/mcp", body, headers); }
  std::string call(std::string_view tool, int id = 1, std::string_view meta = "") const {
    return post(
        fmt::format(R"({{"jsonrpc":"2.0","id":{},"method":"tools/call","params":{{"name":"{}"{}}}}})", id, tool, meta));
  }
  std::string get(std::string_view more = "") const {
    return fmt::format("GET /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n{}{}\r\n", headers, more);
  }

  Door& door;
  HttpWire wire;
  std::string session;
  std::string headers;
};

}  // namespace patchbay::test
