// X5 over HTTP: what became of a call, as scripted servers on real sockets end it.
#include <gtest/gtest.h>

#include "base/as_result.h"
#include "rpc/peer.h"
#include "support/loop.h"
#include "support/scripted_server.h"
#include "transport/http.h"

namespace patchbay::test {
namespace {

using namespace std::literals;

// One stateless request to `url`; what its error says.
std::optional<CarriedOut> outcome_at(const std::string& url) {
  std::optional<CarriedOut> carried_out;
  run_task([&]() -> Task<void> {
    HttpOptions options{.url = url};
    options.proxy = "";
    auto channel = co_await http_transport(options)->open(Runtime{});
    Peer peer(co_await asio::this_coro::executor, std::move(channel), {}, {});
    peer.start();
    PeerCall call{.id = peer.reserve_id(), .method = "tools/call"};
    call.headers = {{"MCP-Protocol-Version", "2026-07-28"}, {"Mcp-Method", "tools/call"}};
    auto outcome = co_await as_result(peer.call(std::move(call)));
    EXPECT_FALSE(outcome);
    if (!outcome) carried_out = outcome.error().carried_out();
    co_await peer.close(CloseMode::quick);
  });
  return carried_out;
}

TEST(HttpCarriedOut, TheAnswerSaysIt) {
  struct Case {
    std::string_view answer;
    CarriedOut expected;
  };
  const Case cases[] = {
      {"HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n", CarriedOut::no},
      {"HTTP/1.1 403 Forbidden\r\nWWW-Authenticate: Bearer realm=\"a, error=x\", error=\"insufficient_scope\", "
       "scope=\"w\"\r\nContent-Length: 0\r\n\r\n",
       CarriedOut::no},
      {"HTTP/1.1 403 Forbidden\r\nWWW-Authenticate: Bearer realm=\"error=insufficient_scope\"\r\nContent-Length: "
       "0\r\n\r\n",
       CarriedOut::refused},
      {"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n", CarriedOut::refused},
      {"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", CarriedOut::refused},
      {"HTTP/1.1 429 Too Many Requests\r\nContent-Length: 0\r\n\r\n", CarriedOut::refused},
      {"HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\n\r\n", CarriedOut::unknown},
      {"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 2\r\n\r\nhi", CarriedOut::unknown},
      {"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n", CarriedOut::unknown},
      {"HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\nContent-Length: "
       "63\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32020,\"message\":\"no\"}}",
       CarriedOut::no},
      {"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: "
       "63\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32602,\"message\":\"no\"}}",
       CarriedOut::refused},
      {"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: "
       "63\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32603,\"message\":\"no\"}}",
       CarriedOut::unknown},
  };
  for (const auto& c : cases) {
    ScriptedServer server([&](ScriptConnection& connection) {
      (void)connection.read_request();
      connection.write(c.answer);
      connection.finish();
      connection.wait_for_end();
    });
    EXPECT_EQ(outcome_at(server.url("/mcp")), c.expected) << c.answer;
  }
}

TEST(HttpCarriedOut, ARequestThatWasReadAndNotAnsweredMayHaveBeen) {
  ScriptedServer server([](ScriptConnection& connection) { (void)connection.read_request(); });
  EXPECT_EQ(outcome_at(server.url("/mcp")), CarriedOut::unknown);
}

TEST(HttpCarriedOut, WithoutAConnectionItWasNot) {
  std::string url;
  {
    ScriptedServer server([](ScriptConnection&) {});
    url = server.url("/mcp");
  }
  EXPECT_EQ(outcome_at(url), CarriedOut::no);
  EXPECT_EQ(outcome_at("http://name.invalid/mcp"), CarriedOut::no);
}

}  // namespace
}  // namespace patchbay::test
