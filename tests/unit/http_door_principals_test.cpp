// Several callers at one HTTP door: what belongs to one is nobody else's, and none can use up what is there for all.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <patchbay/server_http.h>

#include "support/http_door.h"
#include "support/http_wire.h"
#include "support/loop.h"
#include "support/sample_server.h"

namespace patchbay {
namespace {

using test::Door;
using test::Flag;
using test::HttpWire;
using test::initialize_body;
using test::modern_body;
using test::run_task;
using test::sample_server;
using test::text_result;
using test::WireAnswer;
using testing::HasSubstr;

// Everybody is who they say they are.
ServerHttpOptions by_name() {
  ServerHttpOptions options;
  options.authorize = [](HttpCaller caller) -> Task<HttpVerdict> {
    HttpVerdict verdict;
    verdict.principal = caller.header("x-user");
    co_return verdict;
  };
  return options;
}

constexpr std::string_view all_capabilities =
    R"("_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":)"
    R"({"elicitation":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}})";

std::string modern_as(std::string_view user, std::string_view method, std::string_view name, std::string_view members) {
  const auto body =
      fmt::format(R"({{"jsonrpc":"2.0","id":1,"method":"{}","params":{{{},{}}}}})", method, members, all_capabilities);
  auto headers = fmt::format("X-User: {}\r\nMCP-Protocol-Version: 2026-07-28\r\nMcp-Method: {}\r\n", user, method);
  if (!name.empty()) headers += fmt::format("Mcp-Name: {}\r\n", name);
  return test::post_text("/mcp", body, headers);
}

std::string call_as(std::string_view user, std::string_view tool, std::string_view more = "") {
  return modern_as(user, "tools/call", tool, fmt::format(R"("name":"{}"{})", tool, more));
}

Task<WireAnswer> ask(Door& door, std::string request) {
  HttpWire wire(co_await asio::this_coro::executor);
  co_await door.connect(wire);
  co_await wire.send(std::move(request));
  co_return co_await wire.answer();
}

TEST(HttpDoorPrincipals, TheStateOfAQuestion_OpensForWhoWasAskedAlone) {
  run_task([]() -> Task<void> {
    auto executor = co_await asio::this_coro::executor;
    auto server = sample_server();
    server->add_tool({.name = "greet"}, [](RequestContext& context, Json) -> Task<CallToolResult> {
      auto answer = co_await context.elicit({.message = "name?", .requested_schema = Json{{"type", "object"}}}, "name");
      auto second = co_await context.elicit({.message = "sure?", .requested_schema = Json{{"type", "object"}}}, "sure");
      co_return text_result("hello " + std::string((*answer.content)["v"].as_text()));
    });
    Door door(executor, server, by_name());
    const auto first = parse_json((co_await ask(door, call_as("ann", "greet"))).body).value();
    auto answers = [](const Json& state, std::string_view key, std::string_view value) {
      return fmt::format(R"(,"requestState":{},"inputResponses":{{"{}":{{"action":"accept","content":{{"v":"{}"}}}}}})",
                         to_text(state), key, value);
    };
    const Json& asked = first["result"]["requestState"];
    const auto second =
        parse_json((co_await ask(door, call_as("ann", "greet", answers(asked, "name", "Ann")))).body).value();
    const Json& carried = second["result"]["requestState"];
    EXPECT_TRUE(carried.is_string()) << to_text(second);
    // What she said in her first answer is in it.
    for (const auto* stranger : {"bob", ""}) {
      const auto refused = co_await ask(door, call_as(stranger, "greet", answers(carried, "sure", "yes")));
      EXPECT_THAT(refused.body, HasSubstr(R"("code":-32602)")) << stranger;
      EXPECT_THAT(refused.body, testing::Not(HasSubstr("Ann"))) << stranger;
    }
    EXPECT_THAT((co_await ask(door, call_as("ann", "greet", answers(carried, "sure", "yes")))).body,
                HasSubstr("hello Ann"));
    co_await door.stop();
  });
}

TEST(HttpDoorPrincipals, TheSessionsOfOne_LeaveRoomForOthers) {
  run_task([]() -> Task<void> {
    auto executor = co_await asio::this_coro::executor;
    auto options = by_name();
    options.max_sessions = 4;
    options.max_sessions_each = 2;
    Door door(executor, sample_server(), options);
    auto open = [](std::string_view user) {
      return test::post_text("/mcp", initialize_body(), fmt::format("X-User: {}\r\n", user));
    };
    const auto first = co_await ask(door, open("ann"));
    EXPECT_EQ(first.status, 200);
    EXPECT_EQ((co_await ask(door, open("ann"))).status, 200);
    const auto refused = co_await ask(door, open("ann"));
    EXPECT_EQ(refused.status, 429);
    EXPECT_THAT(refused.body, HasSubstr("you have 2 sessions, which is the limit; end some"));
    EXPECT_EQ((co_await ask(door, open("bob"))).status, 200);
    // Who ends one may begin another.
    EXPECT_EQ((co_await ask(door, fmt::format("DELETE /mcp HTTP/1.1\r\nHost: localhost\r\nX-User: ann\r\n"
                                              "Mcp-Session-Id: {}\r\n\r\n",
                                              first.headers.get("mcp-session-id"))))
                  .status,
              204);
    EXPECT_EQ((co_await ask(door, open("ann"))).status, 200);
    co_await door.stop();
  });
}

TEST(HttpDoorPrincipals, TheOpenStreamsOfOne_LeaveRoomForOthers) {
  run_task([]() -> Task<void> {
    auto executor = co_await asio::this_coro::executor;
    auto options = by_name();
    options.max_requests_each = 1;
    Door door(executor, sample_server(), options);
    const auto listen = modern_as("ann", "subscriptions/listen", "", R"("notifications":{"toolsListChanged":true})");
    HttpWire stream(executor);
    co_await door.connect(stream);
    co_await stream.send(listen);
    (void)co_await stream.read_until("acknowledged");
    const auto refused = co_await ask(door, listen);
    EXPECT_EQ(refused.status, 429);
    EXPECT_THAT(refused.body, HasSubstr("1 of your requests are running, which is the limit"));
    EXPECT_EQ((co_await ask(door, call_as("bob", "echo"))).status, 200);
    co_await door.stop();
  });
}

TEST(HttpDoorPrincipals, TheTasksOfOne_LeaveRoomForOthers) {
  run_task([]() -> Task<void> {
    auto executor = co_await asio::this_coro::executor;
    auto server = sample_server({.tasks = 3, .tasks_each = 2});
    Tool tool{.name = "slow"};
    tool.execution = ToolExecution{.task_support = TaskSupport::optional, .extra = {}};
    Flag go;
    server->add_tool(tool, [&go](RequestContext&, Json) {
      return [](Flag& released) -> Task<CallToolResult> {
        co_await released.wait();
        co_return text_result("done");
      }(go);
    });
    Door door(executor, server, by_name());
    EXPECT_THAT((co_await ask(door, call_as("ann", "slow"))).body, HasSubstr(R"("status":"working")"));
    EXPECT_THAT((co_await ask(door, call_as("ann", "slow"))).body, HasSubstr(R"("status":"working")"));
    EXPECT_THAT((co_await ask(door, call_as("ann", "slow"))).body, HasSubstr("2 of your tasks are kept"));
    EXPECT_THAT((co_await ask(door, call_as("bob", "slow"))).body, HasSubstr(R"("status":"working")"));
    EXPECT_THAT((co_await ask(door, call_as("bob", "slow"))).body, HasSubstr("too many tasks are kept"));
    go.set();
    co_await door.stop();
  });
}

}  // namespace
}  // namespace patchbay
