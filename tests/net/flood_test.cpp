// L7, T2, T3, T4: a server that sends faster than anybody can read, and without end. What is not a message ends the
// stream; messages go on. Whatever it is, the loop turns meanwhile: timers fire, and a stop is heard.
#include <signal.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/as_result.h"
#include "base/scope.h"
#include "base/timeout.h"
#include "support/command.h"
#include "support/loop.h"
#include "support/places.h"
#include "support/running_program.h"
#include "support/scripted_server.h"
#include "transport/http.h"
#include "transport/ws.h"
#include "ws/frames.h"
#include "ws/handshake.h"

namespace patchbay::test {
namespace {

using namespace std::literals;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

constexpr auto stream_head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"sv;
constexpr auto notification = R"({"jsonrpc":"2.0","method":"notifications/x"})"sv;

// The same again and again, in large writes, until the other side has gone.
[[noreturn]] void pour(ScriptConnection& connection, std::string_view piece) {
  std::string many;
  while (many.size() < (256u << 10)) many += piece;
  for (;;) connection.write(many);
}

HttpOptions to(const std::string& url) {
  HttpOptions options{.url = url};
  options.proxy = "";
  return options;
}

std::string text_of(const Incoming& incoming) {
  if (const auto* lost = std::get_if<Lost>(&incoming)) {
    return std::string(to_string(lost->error.code())) + ": " + lost->error.message();
  }
  return "a message";
}

// What the channel ends with, or the call that is pending on it.
Task<std::string> end_of(Channel& channel) {
  for (;;) {
    auto got = co_await as_result(channel.receive());
    if (!got) co_return std::string(to_string(got.error().code())) + ": " + got.error().message();
    if (auto text = text_of(*got); text != "a message") co_return text;
  }
}

const std::vector<std::string> not_messages{
    ":\n", ": still here\n\n", "\n", "event: other\ndata: x\n\n", "id: 7\n\n", "data: {}\n\n", "field: x\n",
};

TEST(Flood, OfWhatIsNotAMessage_EndsTheCallItCameInsteadOf) {
  for (const auto& piece : not_messages) {
    SCOPED_TRACE(piece);
    ScriptedServer server([&](ScriptConnection& connection) {
      connection.read_request();
      connection.write(stream_head);
      pour(connection, piece);
    });
    run_task([&]() -> Task<void> {
      auto channel = co_await http_transport(to(server.url("/mcp")))->open(Runtime{});
      EXPECT_TRUE(channel->send(Request{.id = 1, .method = "tools/call", .params = {}}));
      EXPECT_THAT(co_await end_of(*channel),
                  AllOf(StartsWith("limit: http://127.0.0.1:"), HasSubstr("that contains no message")));
      co_await channel->close(CloseMode::quick);
    });
  }
}

TEST(Flood, OfWhatIsNotAMessage_EndsTheOldTransport) {
  for (const auto& piece : not_messages) {
    SCOPED_TRACE(piece);
    ScriptedServer server([&](ScriptConnection& connection) {
      connection.read_request();
      connection.write(stream_head);
      connection.write("event: endpoint\ndata: /post\n\n");
      pour(connection, piece);
    });
    run_task([&]() -> Task<void> {
      auto channel = co_await sse_transport(to(server.url("/sse")))->open(Runtime{});
      EXPECT_THAT(co_await end_of(*channel), AllOf(StartsWith("limit: "), HasSubstr("that contains no message")));
      co_await channel->close(CloseMode::quick);
    });
  }
}

void accept_client(ScriptConnection& connection) {
  const auto request = connection.read_request();
  connection.write(
      "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: " +
      handshake_accept(request.field("sec-websocket-key")) + "\r\nSec-WebSocket-Protocol: mcp\r\n\r\n");
}

std::string frame(WebSocketOpcode opcode, std::string_view payload, bool final = true) {
  std::string out;
  append_frame(out, opcode, payload, std::nullopt, final);
  return out;
}

std::string ws_url(const ScriptedServer& server) { return fmt::format("ws://127.0.0.1:{}/mcp", server.port()); }

TEST(Flood, OfWhatIsNotAMessage_EndsAWebSocket) {
  const std::vector<std::string> pieces{
      frame(WebSocketOpcode::text, "{}"),
      frame(WebSocketOpcode::text, ""),
      frame(WebSocketOpcode::ping, "p"),
      frame(WebSocketOpcode::pong, ""),
  };
  for (const auto& piece : pieces) {
    SCOPED_TRACE(testing::PrintToString(piece));
    ScriptedServer server([&](ScriptConnection& connection) {
      accept_client(connection);
      pour(connection, piece);
    });
    run_task([&]() -> Task<void> {
      auto channel = co_await ws_transport(to(ws_url(server)))->open(Runtime{});
      EXPECT_THAT(co_await end_of(*channel), AllOf(StartsWith("limit: "), HasSubstr("that contains no message")));
      co_await channel->close(CloseMode::quick);
    });
  }
}

TEST(Flood, OfEmptyFragments_EndsAWebSocket) {
  ScriptedServer server([&](ScriptConnection& connection) {
    accept_client(connection);
    connection.write(frame(WebSocketOpcode::text, "", false));
    pour(connection, frame(WebSocketOpcode::continuation, "", false));
  });
  run_task([&]() -> Task<void> {
    auto channel = co_await ws_transport(to(ws_url(server)))->open(Runtime{});
    EXPECT_THAT(co_await end_of(*channel), AllOf(StartsWith("limit: "), HasSubstr("empty fragments")));
    co_await channel->close(CloseMode::quick);
  });
}

// As a peer does: what is there already is taken without waiting.
Task<void> take_all(Channel& channel, std::size_t& taken) {
  for (;;) {
    auto got = co_await as_result(channel.receive());
    if (!got) co_return;
    ++taken;
    while (channel.received()) ++taken;
  }
}

// Messages are not a fault, however many. But a timer fires while they come, and the channel can be closed.
Task<void> hear_a_timer_and_a_stop(Channel& channel) {
  std::size_t taken = 0;
  Scope scope(co_await asio::this_coro::executor);
  scope.spawn(take_all(channel, taken));
  while (taken < 1000) co_await sleep_for(1ms);
  const auto before = taken;
  co_await sleep_for(20ms);
  EXPECT_GT(taken, before) << "it goes on meanwhile";
  co_await channel.close(CloseMode::quick);
  co_await scope.join();
}

TEST(Flood, OfMessagesInOneAnswer_LeavesTheLoopToOthers) {
  ScriptedServer server([&](ScriptConnection& connection) {
    connection.read_request();
    connection.write(stream_head);
    pour(connection, "data: " + std::string(notification) + "\n\n");
  });
  run_task([&]() -> Task<void> {
    auto channel = co_await http_transport(to(server.url("/mcp")))->open(Runtime{});
    EXPECT_TRUE(channel->send(Request{.id = 1, .method = "tools/call", .params = {}}));
    co_await hear_a_timer_and_a_stop(*channel);
  });
}

TEST(Flood, OfMessagesOverTheOldTransport_LeavesTheLoopToOthers) {
  ScriptedServer server([&](ScriptConnection& connection) {
    connection.read_request();
    connection.write(stream_head);
    connection.write("event: endpoint\ndata: /post\n\n");
    pour(connection, "data: " + std::string(notification) + "\n\n");
  });
  run_task([&]() -> Task<void> {
    auto channel = co_await sse_transport(to(server.url("/sse")))->open(Runtime{});
    co_await hear_a_timer_and_a_stop(*channel);
  });
}

TEST(Flood, OfMessagesOverAWebSocket_LeavesTheLoopToOthers) {
  ScriptedServer server([&](ScriptConnection& connection) {
    accept_client(connection);
    pour(connection, frame(WebSocketOpcode::text, notification));
  });
  run_task([&]() -> Task<void> {
    auto channel = co_await ws_transport(to(ws_url(server)))->open(Runtime{});
    co_await hear_a_timer_and_a_stop(*channel);
  });
}

// Pieces that are borne for long, and keep coming: the reader may not go on without a break.
TEST(Flood, OfCommentsThatAreBorne_LeavesTheLoopToOthers) {
  ScriptedServer server([&](ScriptConnection& connection) {
    connection.read_request();
    connection.write(stream_head);
    pour(connection, ": still here\n\n");
  });
  run_task([&]() -> Task<void> {
    HttpWaits waits;
    waits.chatter.bytes = waits.chatter.pieces = std::numeric_limits<std::size_t>::max();
    HttpChannel channel(co_await asio::this_coro::executor, to(server.url("/mcp")), nullptr, Runtime{}, waits);
    EXPECT_TRUE(channel.send(Request{.id = 1, .method = "tools/call", .params = {}}));
    std::size_t taken = 0;
    Scope scope(co_await asio::this_coro::executor);
    scope.spawn(take_all(channel, taken));
    for (int i = 0; i < 20; ++i) co_await sleep_for(5ms);
    co_await channel.close(CloseMode::quick);
    co_await scope.join();
    EXPECT_EQ(taken, 0u);
  });
}

// The program as people run it: the first signal ends it in good order, whatever the server sends.
TEST(Flood, DoesNotKeepTheProgramFromHearingASignal) {
  Signal poured;
  ScriptedServer server([&](ScriptConnection& connection) {
    accept_client(connection);
    std::string many;
    while (many.size() < (1u << 20)) many += frame(WebSocketOpcode::text, notification);
    for (int i = 0;; ++i) {
      connection.write(many);
      if (i == 8) poured.set();
    }
  });
  const TemporaryDirectory home;
  const auto file = home.write("servers.json", server_file(Json{{"s", {{"type", "ws"}, {"url", ws_url(server)}}}}));
  RunningProgram program({built("patchbay"), "--mcp-config", file, "--strict-mcp-config", "tools"},
                         {.cwd = home.path(), .env = {{"HOME", home.path()}, {"NO_PROXY", "*"}}});
  ASSERT_TRUE(poured.wait());
  EXPECT_EQ(program.end(SIGTERM), 128 + SIGTERM);
}

}  // namespace
}  // namespace patchbay::test
