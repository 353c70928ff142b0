// The in-process transport: a server reached like any other, without a process.
#include <gtest/gtest.h>

#include <patchbay/transport.h>

#include "base/as_result.h"
#include "base/runtime.h"
#include "base/waiting.h"
#include "rpc/channel.h"
#include "rpc/transport.h"
#include "support/fails_with.h"
#include "support/loop.h"
#include "support/raw_client.h"
#include "support/sample_server.h"

namespace patchbay {
namespace {

using test::FailsWith;
using test::run_task;
using test::sample_server;
using test::text_result;

Task<std::string> ping(Channel& channel) {
  value_or_throw(channel.send(Request{std::int64_t{1}, "ping", {}}));
  auto incoming = co_await channel.receive();
  std::string text;
  append_message(text, std::get<Message>(incoming));
  co_return text;
}

constexpr std::string_view pong = R"({"jsonrpc":"2.0","id":1,"result":{}})";

// T7
TEST(ServerMemoryDoor, EachOpenIsAConnectionOfItsOwn) {
  run_task([]() -> Task<void> {
    auto transport = memory_transport(sample_server());
    EXPECT_EQ(transport->kind(), Transport::Kind::memory);
    EXPECT_EQ(transport->describe(), "sample (in this process)");
    auto first = co_await transport->open(Runtime{});
    auto second = co_await transport->open(Runtime{});
    EXPECT_EQ(co_await ping(*first), pong);
    co_await first->close(CloseMode::graceful);
    co_await first->close(CloseMode::graceful);
    EXPECT_EQ(co_await ping(*second), pong);
    co_await second->close(CloseMode::quick);
    auto end = co_await as_result(second->receive());
    EXPECT_THAT(end, FailsWith(Errc::closed));
  });
}

TEST(ServerMemoryDoor, CloseReturnsWhenNothingOfTheServerRunsForItAnyMore) {
  run_task([]() -> Task<void> {
    auto server = sample_server();
    Event never;
    Event started;
    server->add_tool({.name = "wait"}, [&](RequestContext&, Json) -> Task<CallToolResult> {
      started.notify_all();
      co_await never.wait();
      co_return text_result("woken");
    });
    auto transport = memory_transport(server);
    auto channel = co_await transport->open(Runtime{});
    const Json meta{{"io.modelcontextprotocol/protocolVersion", "2026-07-28"},
                    {"io.modelcontextprotocol/clientCapabilities", Json::object()}};
    EXPECT_TRUE(channel->send(Request{std::int64_t{1}, "tools/call", Json{{"name", "wait"}, {"_meta", meta}}}));
    co_await started.wait();
    while (!never.has_waiters()) co_await asio::post(asio::use_awaitable);
    co_await channel->close(CloseMode::graceful);
    EXPECT_FALSE(never.has_waiters());
    EXPECT_EQ(server.use_count(), 2);  // ours and the transport's
  });
}

TEST(ServerMemoryDoor, AnAnswerOverTheLimit_BecomesAnErrorAndTheConnectionGoesOn) {
  run_task([]() -> Task<void> {
    auto server = sample_server();
    Runtime runtime;
    runtime.limits.answer = 1000;
    runtime.limits.message = 2000;
    server->add_tool({.name = "large"}, [](RequestContext&, Json) -> Task<CallToolResult> {
      co_return text_result(std::string(5000, 'x'));
    });
    test::RawClient client(co_await asio::this_coro::executor, *server, runtime);
    co_await client.ask(R"({"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25"}})");
    EXPECT_EQ(
        co_await client.ask(R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"large"}})"),
        R"({"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"the answer has 5073 bytes; the limit of one answer is 1000"}})");
    EXPECT_EQ(co_await client.ask(R"({"jsonrpc":"2.0","id":2,"method":"ping"})"),
              R"({"jsonrpc":"2.0","id":2,"result":{}})");
    co_await client.close();
  });
}

TEST(ServerMemoryDoor, AChannelMayBeDroppedWithoutClosingIt) {
  auto server = sample_server();
  run_task([&]() -> Task<void> {
    auto transport = memory_transport(server);
    auto channel = co_await transport->open(Runtime{});
    EXPECT_EQ(co_await ping(*channel), pong);
    channel.reset();
  });
  EXPECT_EQ(server.use_count(), 1);
}

}  // namespace
}  // namespace patchbay
