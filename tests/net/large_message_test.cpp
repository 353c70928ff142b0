// L7: large messages over every transport of the network: read beside the loop, counted in the byte budget of the
// process for as long as they live, and given up when half of one keeps the others waiting.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/as_result.h"
#include "base/byte_budget.h"
#include "base/scope.h"
#include "base/timeout.h"
#include "support/loop.h"
#include "support/scripted_server.h"
#include "transport/http.h"
#include "transport/ws.h"
#include "ws/frames.h"
#include "ws/handshake.h"

namespace patchbay::test {
namespace {

using namespace std::literals;
using testing::HasSubstr;
using testing::StartsWith;

constexpr std::size_t mebibyte = 1u << 20;
constexpr auto stream_head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"sv;
constexpr auto before_text = R"({"jsonrpc":"2.0","id":1,"result":{"text":")"sv;
constexpr auto after_text = R"("}})"sv;

// How a transport carries one message; `front` is what is said before it, `frame` what goes around it.
struct Way {
  std::string name;
  std::function<void(ScriptConnection&)> front;
  std::function<std::string(std::string_view)> frame;
  std::function<std::shared_ptr<Transport>(const ScriptedServer&)> transport;
};

HttpOptions to(const std::string& url) {
  HttpOptions options{.url = url};
  options.proxy = "";
  return options;
}

std::vector<Way> ways() {
  const auto event = [](std::string_view text) { return "data: " + std::string(text) + "\n\n"; };
  return {
      {"a body", [](ScriptConnection& connection) { connection.read_request(); },
       [](std::string_view text) {
         return fmt::format("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{}",
                            text.size(), text);
       },
       [](const ScriptedServer& server) { return http_transport(to(server.url("/mcp"))); }},
      {"an event",
       [](ScriptConnection& connection) {
         connection.read_request();
         connection.write(stream_head);
       },
       event, [](const ScriptedServer& server) { return http_transport(to(server.url("/mcp"))); }},
      {"the old transport",
       [](ScriptConnection& connection) {
         // Whatever is posted is taken.
         if (!connection.read_request().line().starts_with("GET")) {
           connection.answer("202 Accepted", "", "Connection: close\r\n");
           throw ScriptConnection::Ended();
         }
         connection.write(stream_head);
         connection.write("event: endpoint\ndata: /post\n\n");
       },
       event, [](const ScriptedServer& server) { return sse_transport(to(server.url("/sse"))); }},
      {"a WebSocket",
       [](ScriptConnection& connection) {
         const auto request = connection.read_request();
         connection.write(
             "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
             "Sec-WebSocket-Protocol: mcp\r\nSec-WebSocket-Accept: " +
             handshake_accept(request.field("sec-websocket-key")) + "\r\n\r\n");
       },
       [](std::string_view text) {
         std::string out;
         append_frame(out, WebSocketOpcode::text, text, std::nullopt);
         return out;
       },
       [](const ScriptedServer& server) {
         return ws_transport(to(fmt::format("ws://127.0.0.1:{}/mcp", server.port())));
       }},
  };
}

std::string large_text(std::size_t size) {
  return std::string(before_text) + std::string(size, 'x') + std::string(after_text);
}

TEST(LargeMessage, IsReadBesideTheLoopAndCountedWhileItLives) {
  for (const auto& way : ways()) {
    SCOPED_TRACE(way.name);
    ScriptedServer server([&](ScriptConnection& connection) {
      way.front(connection);
      connection.write(way.frame(large_text(2 * mebibyte)));
      connection.wait_for_end();
    });
    run_task([&]() -> Task<void> {
      const auto before = byte_budget().used();
      auto channel = co_await way.transport(server)->open(Runtime{});
      EXPECT_TRUE(channel->send(Request{.id = 1, .method = "tools/call", .params = {}}));
      {
        const auto incoming = co_await channel->receive();
        // The text and its values.
        EXPECT_GE(byte_budget().used() - before, 4 * mebibyte);
        const auto* message = std::get_if<Message>(&incoming);
        const auto* response = message ? std::get_if<Response>(message) : nullptr;
        EXPECT_TRUE(response);
        if (response) EXPECT_EQ(response->result.value()["text"].as_text().size(), 2 * mebibyte);
      }
      EXPECT_EQ(byte_budget().used(), before);
      co_await channel->close(CloseMode::quick);
    });
  }
}

Task<void> end_of(Channel& channel, std::string& end) {
  auto got = co_await as_result(channel.receive());
  if (!got) {
    end = fmt::format("{}: {}", to_string(got.error().code()), got.error().message());
  } else if (const auto* lost = std::get_if<Lost>(&*got)) {
    end = fmt::format("{}: {}", to_string(lost->error.code()), lost->error.message());
  } else {
    end = "a message";
  }
}

TEST(LargeMessage, HalfOfOneWhoseServerIsSilent_GoesWhenOthersNeedTheRoom) {
  for (const auto& way : ways()) {
    SCOPED_TRACE(way.name);
    ScriptedServer server([&](ScriptConnection& connection) {
      way.front(connection);
      connection.write(way.frame(large_text(6 * mebibyte)).substr(0, 3 * mebibyte));
      connection.wait_for_end();
    });
    run_task([&]() -> Task<void> {
      const auto before = byte_budget().used();
      Runtime runtime;
      runtime.limits.buffered = before + 4 * mebibyte;
      auto channel = co_await way.transport(server)->open(runtime);
      EXPECT_TRUE(channel->send(Request{.id = 1, .method = "tools/call", .params = {}}));
      std::string end;
      Scope scope(co_await asio::this_coro::executor);
      scope.spawn(end_of(*channel, end));
      while (byte_budget().used() - before < 3 * mebibyte - 1000) co_await sleep_for(1ms);
      {
        const auto other = co_await byte_budget().admit(2 * mebibyte, 0, runtime.limits.buffered);
        EXPECT_EQ(byte_budget().used() - before, 2 * mebibyte);
      }
      co_await scope.join();
      EXPECT_THAT(end, testing::AllOf(StartsWith("limit: "), HasSubstr("the message was discarded")));
      co_await channel->close(CloseMode::quick);
    });
  }
}

}  // namespace
}  // namespace patchbay::test
