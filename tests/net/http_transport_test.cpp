// T2, T3, L7: what the HTTP transports put on the wire and make of what comes back, against
// scripted servers on real sockets.
#include <array>
#include <map>
#include <mutex>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/as_result.h"
#include "support/fails_with.h"
#include "support/loop.h"
#include "support/scripted_server.h"
#include "transport/http.h"

namespace patchbay::test {
namespace {

using namespace std::literals;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

HttpOptions to(const ScriptedServer& server, std::string_view path = "/mcp") {
  HttpOptions options{.url = server.url(path)};
  options.proxy = "";
  return options;
}

Request request(std::int64_t id, std::string method) { return {.id = id, .method = std::move(method), .params = {}}; }
Request stateless(std::int64_t id, std::string method) {
  auto made = request(id, method);
  made.headers = {{"MCP-Protocol-Version", "2026-07-28"}, {"Mcp-Method", method}};
  return made;
}
Notification initialized() { return {.method = "notifications/initialized", .params = {}}; }

std::string event(std::string_view data, std::string_view id = "") {
  return (id.empty() ? ""s : "id: " + std::string(id) + "\n") + "data: " + std::string(data) + "\n\n";
}
constexpr auto stream_head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"sv;

std::string text_of(const Incoming& incoming) {
  if (const auto* message = std::get_if<Message>(&incoming)) {
    std::string text;
    append_message(text, *message);
    return text;
  }
  if (const auto* lost = std::get_if<Lost>(&incoming)) {
    return "lost " + to_text(lost->id) + " " + std::string(to_string(lost->error.code())) + ": " +
           lost->error.message();
  }
  return "batch of " + std::to_string(std::get<Batch>(incoming).messages.size());
}

// A channel that is closed when the test's body is done.
void with_channel(HttpTarget options, std::function<Task<void>(Channel&)> body, bool sse = false) {
  run_task([&]() -> Task<void> {
    auto transport = sse ? sse_transport_with(options, nullptr) : http_transport_with(options, nullptr);
    auto channel = co_await transport->open(Runtime{});
    co_await body(*channel);
    co_await channel->close(CloseMode::graceful);
  });
}

// One that takes a stream for dead after 50 ms, once it has shown a sign of life, and waits 20 ms for an answer of ours
// to be taken when others wait. It asks for streams again without a pause.
void with_quick_channel(HttpOptions options, std::function<Task<void>(Channel&)> body) {
  run_task([&]() -> Task<void> {
    HttpWaits waits;
    waits.pulse = {.least_beat = 0ms, .beats = 1, .least_patience = 50ms, .times = 4};
    waits.answer = 20ms;
    waits.resume = 1ms;
    HttpChannel channel(co_await asio::this_coro::executor, options, nullptr, Runtime{}, waits);
    co_await body(channel);
    co_await channel.close(CloseMode::graceful);
  });
}

Task<std::string> received(Channel& channel) { co_return text_of(co_await channel.receive()); }

void send(Channel& channel, Message message) {
  auto sent = channel.send(std::move(message));
  EXPECT_TRUE(sent) << sent.error().message();
}

constexpr auto result_1 = R"({"jsonrpc":"2.0","id":1,"result":{}})"sv;
constexpr auto result_2 = R"({"jsonrpc":"2.0","id":2,"result":{}})"sv;

TEST(HttpChannel, NoConfiguredHeaderDropsWhatTheProtocolNeeds) {
  std::string head;
  ScriptedServer server([&](ScriptConnection& connection) {
    head = connection.read_request().head;
    connection.answer("200 OK", result_1, "Content-Type: application/json; charset=utf-8\r\n");
    connection.wait_for_end();
  });
  auto options = to(server);
  options.headers = {{"accept", "text/plain"}, {"X-Own", "yes"}, {"content-type", "text/plain"}, {"Mcp-Method", "no"}};
  with_channel(options, [](Channel& channel) -> Task<void> {
    send(channel, stateless(1, "tools/list"));
    EXPECT_EQ(co_await received(channel), result_1);
  });
  EXPECT_THAT(head, HasSubstr("POST /mcp HTTP/1.1\r\n"));
  EXPECT_THAT(head, HasSubstr("Accept: application/json, text/event-stream\r\n"));
  EXPECT_THAT(head, HasSubstr("Content-Type: application/json\r\n"));
  EXPECT_THAT(head, HasSubstr("X-Own: yes"));
  EXPECT_THAT(head, HasSubstr("Mcp-Method: tools/list"));
  EXPECT_THAT(head, HasSubstr("MCP-Protocol-Version: 2026-07-28"));
  EXPECT_THAT(head, Not(HasSubstr("text/plain")));
}

TEST(HttpChannel, MessagesOfAStreamArriveBeforeItsAnswer) {
  Signal seen;
  ScriptedServer server([&](ScriptConnection& connection) {
    (void)connection.read_request();
    connection.write(stream_head);
    connection.write(": hello\r\n\r\n" + event(R"({"jsonrpc":"2.0","method":"notifications/x"})"));
    EXPECT_TRUE(seen.wait());
    connection.write(event(result_1));
    connection.finish();
    connection.wait_for_end();
  });
  with_channel(to(server), [&](Channel& channel) -> Task<void> {
    send(channel, stateless(1, "tools/call"));
    EXPECT_EQ(co_await received(channel), R"({"jsonrpc":"2.0","method":"notifications/x"})");
    seen.set();
    EXPECT_EQ(co_await received(channel), result_1);
  });
}

// Each a complete answer; the call ends at once, and says why.
TEST(HttpChannel, WhatIsNotAnAnswerEndsTheCall) {
  struct Case {
    std::string_view answer;
    std::string_view outcome;
  };
  for (const auto& [answer, outcome] : {
           Case{"HTTP/1.1 404 Not Found\r\nContent-Type: text/html\r\nContent-Length: 13\r\n\r\n<h1>gone</h1>",
                "lost 1 http: "},
           Case{"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 4\r\n\r\nbusy", "busy; try again later"},
           Case{"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 13\r\n\r\n<h1>home</h1>",
                "answered with text/html instead of JSON (while reading the body); is it the url of an MCP server?"},
           Case{"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "with an empty body"},
           Case{"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 0\r\n\r\n", "with an empty body"},
           Case{"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n", "with an empty body"},
           Case{"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}",
                "answered tools/call with JSON that is not an MCP answer ({}); is it the url of an MCP server?"},
           Case{"HTTP/1.1 429 Too Many Requests\r\nRetry-After: 30\r\nContent-Length: 4\r\n\r\nbusy",
                "answered 429 Too Many Requests: busy; try again in 30 s"},
           Case{"HTTP/1.1 429 Too Many Requests\r\nRetry-After: Wed, 21 Oct 2026 07:28:00 GMT\r\nContent-Length: "
                "0\r\n\r\n",
                "answered 429 Too Many Requests; try again later"},
           Case{"HTTP/1.1 426 Upgrade Required\r\nUpgrade: websocket\r\nContent-Length: 0\r\n\r\n",
                "answered 426 Upgrade Required; if it is a WebSocket server, write \"type\": \"ws\""},
           Case{"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 8\r\n\r\n{\"id\":1,",
                "lost 1 protocol: "},
           Case{"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{\"id\":1",
                "lost 1 closed"},
           Case{"HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n", "lost 1 unauthorized: "},
           Case{
               "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Bearer resource_metadata=\"https://h/.well-known/x\"\r\n"
               "Content-Length: 0\r\n\r\n",
               "needs credentials (401 Unauthorized); write them as"},
           Case{"HTTP/1.1 403 Forbidden\r\nContent-Length: 10\r\n\r\nbad origin",
                "403 Forbidden): bad origin; if it needs credentials, write them as \"headers\""},
           Case{"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n: only a comment\n\n",
                "broke off before the answer"},
           // No id was seen that would let an older server be asked to go on.
           Case{"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\ndata: {}\n\n",
                "broke off before the answer"},
       }) {
    ScriptedServer server([&](ScriptConnection& connection) {
      (void)connection.read_request();
      connection.write(answer);
      connection.finish();
      connection.wait_for_end();
    });
    with_channel(to(server), [&](Channel& channel) -> Task<void> {
      send(channel, request(1, "tools/call"));
      const auto text = co_await received(channel);
      EXPECT_THAT(text, HasSubstr("lost 1 ")) << answer;
      EXPECT_THAT(text, HasSubstr(outcome)) << answer;
      EXPECT_THAT(text, HasSubstr(server.url("/mcp"))) << answer;
    });
  }
}

// Something answered twice: from then on every answer on that connection would be the one before.
TEST(HttpChannel, AConnectionThatIsOutOfStepIsNotUsedAgain) {
  for (const bool stream : {false, true}) {
    SCOPED_TRACE(stream);
    ScriptedServer server([&](ScriptConnection& connection) {
      for (int behind = connection.number() == 0 ? 1 : 0;;) {
        const auto id = parse_json(connection.read_request().body).value_or(Json())["id"].to_int().value_or(0);
        const auto result = fmt::format(R"({{"jsonrpc":"2.0","id":{},"result":{{}}}})", id > 1 ? id - behind : id);
        if (stream) {
          const auto text = event(result);
          connection.write(
              fmt::format("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: "
                          "{}\r\n\r\n{}",
                          text.size(), text));
        } else {
          connection.answer("200 OK", result, "Content-Type: application/json\r\n");
        }
      }
    });
    with_channel(to(server), [](Channel& channel) -> Task<void> {
      send(channel, stateless(1, "tools/call"));
      EXPECT_EQ(co_await received(channel), result_1);
      send(channel, stateless(2, "tools/call"));
      EXPECT_EQ(co_await received(channel), result_1);
      EXPECT_THAT(co_await received(channel), HasSubstr("lost 2 "));
      send(channel, stateless(3, "tools/call"));
      EXPECT_EQ(co_await received(channel), R"({"jsonrpc":"2.0","id":3,"result":{}})");
    });
    EXPECT_EQ(server.connections(), 2);
  }
}

TEST(HttpChannel, AnErrorInAnErrorsBodyIsTheAnswer) {
  ScriptedServer server([&](ScriptConnection& connection) {
    (void)connection.read_request();
    connection.answer("400 Bad Request", R"({"jsonrpc":"2.0","id":null,"error":{"code":-32022,"message":"no"}})",
                      "Content-Type: application/json\r\n");
    connection.wait_for_end();
  });
  with_channel(to(server), [](Channel& channel) -> Task<void> {
    send(channel, stateless(7, "server/discover"));
    auto incoming = co_await channel.receive();
    const auto& failed = std::get<ErrorResponse>(std::get<Message>(incoming));
    EXPECT_EQ(failed.id, RequestId(7));
    EXPECT_EQ(failed.error.code, -32022);
    EXPECT_EQ(failed.error.http_status, 400);
  });
}

TEST(HttpChannel, AnotherTypeWithTheAnswerInItIsTaken) {
  ScriptedServer server([&](ScriptConnection& connection) {
    (void)connection.read_request();
    connection.answer("200 OK", result_1);
    connection.wait_for_end();
  });
  with_channel(to(server), [](Channel& channel) -> Task<void> {
    send(channel, request(1, "initialize"));
    EXPECT_EQ(co_await received(channel), result_1);
  });
}

// A server of an older revision: everything a session needs.
TEST(HttpChannel, ASessionIsOpenedUsedAndEnded) {
  std::mutex mutex;
  std::vector<std::string> lines;
  std::vector<std::string> sessions;
  Signal listening;
  Signal deleted;
  ScriptedServer server([&](ScriptConnection& connection) {
    for (;;) {
      const auto got = connection.read_request();
      {
        std::lock_guard lock(mutex);
        lines.push_back(got.line());
        sessions.push_back(got.field("Mcp-Session-Id") + " " + got.field("MCP-Protocol-Version"));
      }
      if (got.line().starts_with("GET")) {
        connection.write(stream_head);
        connection.write(event(R"({"jsonrpc":"2.0","method":"notifications/tools/list_changed"})"));
        listening.set();
        connection.wait_for_end();
        return;
      }
      if (got.line().starts_with("DELETE")) {
        deleted.set();
        connection.answer("405 Method Not Allowed", "");
      } else if (got.body.find("initialized") != std::string::npos) {
        connection.answer("202 Accepted", "");
      } else if (got.body.find("initialize") != std::string::npos) {
        connection.answer("200 OK", result_1, "Content-Type: application/json\r\nMCP-Session-ID: s-1\r\n");
      } else {
        connection.answer("200 OK", result_2, "Content-Type: application/json\r\n");
      }
    }
  });
  with_channel(to(server), [&](Channel& channel) -> Task<void> {
    send(channel, request(1, "initialize"));
    EXPECT_EQ(co_await received(channel), result_1);
    channel.set_protocol_version("2025-11-25");
    send(channel, initialized());
    EXPECT_THAT(co_await received(channel), HasSubstr("list_changed"));
    send(channel, request(2, "tools/list"));
    EXPECT_EQ(co_await received(channel), result_2);
  });
  EXPECT_TRUE(deleted.wait());
  std::lock_guard lock(mutex);
  EXPECT_THAT(lines, testing::ElementsAre("POST /mcp HTTP/1.1", "POST /mcp HTTP/1.1", "GET /mcp HTTP/1.1",
                                          "POST /mcp HTTP/1.1", "DELETE /mcp HTTP/1.1"));
  EXPECT_THAT(sessions, testing::ElementsAre("(none) (none)", "s-1 2025-11-25", "s-1 2025-11-25", "s-1 2025-11-25",
                                             "s-1 2025-11-25"));
}

TEST(HttpChannel, ARequestWaitsUntilInitializedWasTaken) {
  std::atomic<bool> accepted = false;
  std::atomic<bool> early = false;
  ScriptedServer server([&](ScriptConnection& connection) {
    for (;;) {
      const auto got = connection.read_request();
      if (got.line().starts_with("GET")) {
        connection.answer("405 Method Not Allowed", "");
      } else if (got.body.find("initialized") != std::string::npos) {
        accepted = true;
        connection.answer("202 Accepted", "");
      } else {
        early = early || !accepted;
        connection.answer("200 OK", result_2, "Content-Type: application/json\r\n");
      }
    }
  });
  with_channel(to(server), [](Channel& channel) -> Task<void> {
    send(channel, initialized());
    send(channel, request(2, "tools/list"));
    EXPECT_EQ(co_await received(channel), result_2);
  });
  EXPECT_TRUE(accepted);
  EXPECT_FALSE(early);
}

// On the connection that is open already, while the request has to make one: a server that talks
// about its first request has somewhere to say it.
TEST(HttpChannel, TheStreamOfASessionIsAskedForBeforeTheFirstRequest) {
  std::mutex mutex;
  std::map<std::string, int> connections;
  Signal streaming;
  ScriptedServer server([&](ScriptConnection& connection) {
    for (;;) {
      const auto got = connection.read_request();
      const bool stream = got.line().starts_with("GET");
      {
        std::lock_guard lock(mutex);
        connections[stream                                             ? "stream"
                    : got.body.find("tools/list") != std::string::npos ? "request"
                                                                       : "opening"] = connection.number();
      }
      if (stream) {
        streaming.set();
        connection.write(stream_head);
        connection.wait_for_end();
        return;
      }
      if (got.body.find("initialized") != std::string::npos) {
        connection.answer("202 Accepted", "");
      } else {
        connection.answer("200 OK", result_2, "Content-Type: application/json\r\n");
      }
    }
  });
  with_channel(to(server), [&](Channel& channel) -> Task<void> {
    send(channel, initialized());
    send(channel, request(2, "tools/list"));
    EXPECT_EQ(co_await received(channel), result_2);
    while (!streaming.is_set()) co_await settle();  // it was sent; the script may be late to read it
  });
  std::lock_guard lock(mutex);
  EXPECT_EQ(connections, (std::map<std::string, int>{{"opening", 0}, {"stream", 0}, {"request", 1}}));
}

// Whatever the body says: a JSON-RPC error, a page, or nothing.
TEST(HttpChannel, AForgottenSessionIsReportedToWhateverMeetsIt) {
  for (std::string_view body :
       {R"({"jsonrpc":"2.0","id":2,"error":{"code":-32001,"message":"x"}})",
        R"({"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"x"}})",
        R"({"jsonrpc":"2.0","id":"server-error","error":{"code":-32601,"message":"x"}})", "<p>404</p>", ""}) {
    ScriptedServer server([&](ScriptConnection& connection) {
      for (;;) {
        const auto got = connection.read_request();
        if (got.body.find("initialize") != std::string::npos) {
          connection.answer("200 OK", result_1, "Content-Type: application/json\r\nMcp-Session-Id: s-1\r\n");
        } else {
          EXPECT_FALSE(got.line().starts_with("DELETE"));
          connection.answer("404 Not Found", body);
        }
      }
    });
    with_channel(to(server), [](Channel& channel) -> Task<void> {
      send(channel, request(1, "initialize"));
      EXPECT_EQ(co_await received(channel), result_1);
      for (std::int64_t id : {2, 3}) {
        send(channel, request(id, "tools/list"));
        auto incoming = co_await channel.receive();
        const auto& lost = std::get<Lost>(incoming);
        EXPECT_EQ(lost.id, RequestId(id));
        EXPECT_EQ(lost.error.code(), Errc::closed);
        EXPECT_EQ(lost.error.http_status(), 404);
      }
    });
  }
}

// Some answer so what they do not offer. The session is none the worse for it.
TEST(HttpChannel, AMethodThatIsNotFoundIsNoForgottenSession) {
  Signal deleted;
  ScriptedServer server([&](ScriptConnection& connection) {
    for (;;) {
      const auto got = connection.read_request();
      if (got.line().starts_with("DELETE")) {
        EXPECT_EQ(got.field("Mcp-Session-Id"), "s-1");
        connection.answer("204 No Content", "");
        deleted.set();
      } else if (got.body.find("initialize") != std::string::npos) {
        connection.answer("200 OK", result_1, "Content-Type: application/json\r\nMcp-Session-Id: s-1\r\n");
      } else if (got.body.find("ping") != std::string::npos) {
        connection.answer("404 Not Found", R"({"jsonrpc":"2.0","id":7,"error":{"code":-32601,"message":"no ping"}})",
                          "Content-Type: application/json\r\n");
      } else {
        connection.answer("200 OK", result_2, "Content-Type: application/json\r\n");
      }
    }
  });
  with_channel(to(server), [](Channel& channel) -> Task<void> {
    send(channel, request(1, "initialize"));
    EXPECT_EQ(co_await received(channel), result_1);
    send(channel, request(7, "ping"));
    auto incoming = co_await channel.receive();
    const auto* message = std::get_if<Message>(&incoming);
    EXPECT_NE(message, nullptr) << text_of(incoming);
    if (message == nullptr) co_return;
    const auto& failed = std::get<ErrorResponse>(*message);
    EXPECT_EQ(failed.id, RequestId(7));
    EXPECT_EQ(failed.error.code, -32601);
    EXPECT_EQ(failed.error.http_status, 404);
    send(channel, request(2, "tools/list"));
    EXPECT_EQ(co_await received(channel), result_2);
  });
  EXPECT_TRUE(deleted.wait());
}

// Many servers route POST alone, and answer everything else so.
TEST(HttpChannel, AServerWithoutAGetStreamMaySayNotFound) {
  Signal refused;
  ScriptedServer server([&](ScriptConnection& connection) {
    for (;;) {
      const auto got = connection.read_request();
      if (!got.line().starts_with("POST")) {
        connection.answer("404 Not Found", "<h1>Cannot GET /mcp</h1>", "Content-Type: text/html\r\n");
        if (got.line().starts_with("GET")) refused.set();
      } else if (got.body.find("initialized") != std::string::npos) {
        connection.answer("202 Accepted", "");
      } else if (got.body.find("initialize") != std::string::npos) {
        connection.answer("200 OK", result_1, "Content-Type: application/json\r\nMcp-Session-Id: s-1\r\n");
      } else {
        connection.answer("200 OK", result_2, "Content-Type: application/json\r\n");
      }
    }
  });
  with_channel(to(server), [&](Channel& channel) -> Task<void> {
    send(channel, request(1, "initialize"));
    EXPECT_EQ(co_await received(channel), result_1);
    send(channel, initialized());
    while (!refused.is_set()) co_await settle();
    send(channel, request(2, "tools/list"));
    EXPECT_EQ(co_await received(channel), result_2);
  });
}

// One that was there and then is not found: the session may be gone, which a request would find out. It is asked for a
// few times more, and no longer.
TEST(HttpChannel, AStreamThatWasThereAndIsNotFoundIsAReasonForDoubt) {
  std::atomic<int> gets = 0;
  ScriptedServer server([&](ScriptConnection& connection) {
    for (;;) {
      const auto got = connection.read_request();
      if (got.line().starts_with("GET") && ++gets == 1) {
        connection.write(stream_head);
        connection.write("retry: 1\ndata:\n\n");
        return;
      }
      if (!got.line().starts_with("POST")) {
        connection.answer("404 Not Found", "");
      } else if (got.body.find("initialized") != std::string::npos) {
        connection.answer("202 Accepted", "");
      } else {
        connection.answer("200 OK", result_1, "Content-Type: application/json\r\nMcp-Session-Id: s-1\r\n");
      }
    }
  });
  run_task([&]() -> Task<void> {
    bool ended = false;
    Runtime runtime;
    runtime.log = Log(LogLevel::warning, [&](const LogEvent& event) {
      if (event.event == "no_get_stream" && event.field("status") == "404") ended = true;
    });
    auto channel = co_await http_transport(to(server))->open(runtime);
    int doubts = 0;
    channel->on_doubt([&] { ++doubts; });
    send(*channel, request(1, "initialize"));
    EXPECT_EQ(co_await received(*channel), result_1);
    send(*channel, initialized());
    while (!ended) co_await settle();
    EXPECT_EQ(doubts, 4);
    co_await channel->close(CloseMode::graceful);
  });
  EXPECT_EQ(gets, 5);
}

// A server that asks more than it takes answers for has to wait, and costs few connections.
TEST(HttpChannel, AFloodOfRequestsIsAnsweredByFewAtATime) {
  constexpr int pings = 6000;
  std::mutex mutex;
  int held = 0, most = 0, answers = 0;
  Signal full, release;
  ScriptedServer server([&](ScriptConnection& connection) {
    for (;;) {
      const auto got = connection.read_request();
      if (got.body.find("tools/call") != std::string::npos) {
        connection.write(stream_head);
        for (int i = 0; i < pings; ++i) {
          connection.write(event(fmt::format(R"({{"jsonrpc":"2.0","id":"ping {}","method":"ping"}})", i)));
        }
        connection.write(event(result_1));
        connection.finish();
        connection.wait_for_end();
        return;
      }
      {
        std::lock_guard lock(mutex);
        ++answers;
        most = std::max(most, ++held);
        if (held == 8) full.set();
      }
      EXPECT_TRUE(release.wait());
      {
        std::lock_guard lock(mutex);
        --held;
      }
      connection.answer("202 Accepted", "");
    }
  });
  with_channel(to(server), [&](Channel& channel) -> Task<void> {
    send(channel, stateless(1, "tools/call"));
    int asked = 0;
    for (;;) {
      auto incoming = co_await channel.receive();
      auto* message = std::get_if<Message>(&incoming);
      EXPECT_NE(message, nullptr);
      if (message == nullptr) co_return;
      const auto* ping = std::get_if<Request>(message);
      if (ping == nullptr) break;
      ++asked;
      send(channel, Response{ping->id, Json::object()});
      // Enough for all who send to be busy, and too few for the reading to pause. They wait for as
      // long as the server does not take the first.
      if (asked != 64) continue;
      while (!full.is_set()) co_await settle();
      for (int i = 0; i < 20; ++i) co_await settle();
      release.set();
    }
    EXPECT_EQ(asked, pings);
    for (;;) {
      {
        std::lock_guard lock(mutex);
        if (answers == pings) break;
      }
      co_await settle();
    }
  });
  EXPECT_LE(most, 8);
  EXPECT_LE(server.connections(), 9);
}

// An event that is too large is passed over; what comes later still arrives.
TEST(HttpChannel, AnEventThatIsTooLargeDoesNotEndTheStreamOfASession) {
  std::mutex mutex;
  std::vector<std::string> ids;
  ScriptedServer server([&](ScriptConnection& connection) {
    const auto got = connection.read_request();
    if (!got.line().starts_with("GET")) {
      connection.answer("202 Accepted", "", "Connection: close\r\n");
      return;
    }
    bool first = false;
    {
      std::lock_guard lock(mutex);
      first = ids.empty();
      ids.push_back(got.field("Last-Event-ID"));
    }
    connection.write(stream_head);
    if (first) {
      connection.write("retry: 1\nid: a\ndata:\n\n" + event(std::string(100'000, 'x')));
    } else {
      connection.write(event(R"({"jsonrpc":"2.0","method":"notifications/x"})"));
    }
    connection.wait_for_end();
  });
  run_task([&]() -> Task<void> {
    Runtime runtime;
    runtime.limits.message = 64u << 10;
    std::vector<std::string> warnings;
    runtime.log = Log(LogLevel::warning, [&](const LogEvent& event) { warnings.emplace_back(event.field("reason")); });
    auto channel = co_await http_transport(to(server))->open(runtime);
    send(*channel, initialized());
    EXPECT_THAT(co_await received(*channel), HasSubstr("notifications/x"));
    EXPECT_THAT(warnings, testing::Contains(HasSubstr("larger than")));
    co_await channel->close(CloseMode::quick);
  });
  std::lock_guard lock(mutex);
  EXPECT_THAT(ids, testing::ElementsAre("(none)", "(none)"));
}

// The arguments of a call are for the server that was configured, and for no other.
TEST(HttpChannel, ACallDoesNotFollowARedirectToAnotherPlace) {
  ScriptedServer other([](ScriptConnection& connection) { (void)connection.read_request(); });
  ScriptedServer server([&](ScriptConnection& connection) {
    (void)connection.read_request();
    connection.answer("308 Permanent Redirect", "", "Location: " + other.url("/mcp") + "\r\n");
  });
  with_channel(to(server), [&](Channel& channel) -> Task<void> {
    send(channel, stateless(1, "tools/call"));
    EXPECT_THAT(co_await received(channel), AllOf(HasSubstr("lost 1 http"), HasSubstr(server.url("/mcp")),
                                                  HasSubstr("(" + other.url("") + ")"), HasSubstr("use its own url")));
  });
  EXPECT_EQ(other.connections(), 0);
}

// Neither are its messages believed that come from elsewhere: what such a one asks would be answered to the other.
TEST(HttpChannel, AStreamFromAnotherPlaceIsNotReadFrom) {
  ScriptedServer other([](ScriptConnection& connection) {
    (void)connection.read_request();
    connection.write(stream_head);
    connection.write(event(R"({"jsonrpc":"2.0","id":9,"method":"roots/list"})"));
    connection.write(event(result_2));
    connection.wait_for_end();
  });
  ScriptedServer server([&](ScriptConnection& connection) {
    const auto got = connection.read_request();
    if (got.line().starts_with("GET")) {
      connection.answer("307 Temporary Redirect", "", "Connection: close\r\nLocation: " + other.url("/mcp") + "\r\n");
    } else if (got.body.find("initialized") != std::string::npos) {
      connection.answer("202 Accepted", "", "Connection: close\r\n");
    } else {
      connection.write(stream_head);
      connection.write("id: a\nretry: 1\ndata:\n\n");
    }
  });
  run_task([&]() -> Task<void> {
    std::string ended;
    Runtime runtime;
    runtime.log = Log(LogLevel::info, [&](const LogEvent& event) {
      if (event.event == "get_stream_ended") ended = event.field("reason");
    });
    auto channel = co_await http_transport(to(server))->open(runtime);
    send(*channel, initialized());
    while (ended.empty()) co_await settle();
    EXPECT_THAT(ended, AllOf(HasSubstr("(" + other.url("") + ")"), HasSubstr("use its own url")));
    EXPECT_FALSE(channel->received());
    // Nor is the answer of a call taken from there.
    send(*channel, request(2, "tools/call"));
    EXPECT_THAT(co_await received(*channel), AllOf(HasSubstr("lost 2 "), HasSubstr("(" + other.url("") + ")")));
    co_await channel->close(CloseMode::graceful);
  });
  EXPECT_EQ(other.connections(), 0) << "a server could have us ask any address that only we can reach";
}

// What is behind a redirect is told nothing of us, and not even asked.
TEST(SseChannel, ARedirectToAnotherPlaceIsRefusedBeforeAnythingIsSentThere) {
  ScriptedServer other([](ScriptConnection& connection) { (void)connection.read_request(); });
  ScriptedServer server([&](ScriptConnection& connection) {
    (void)connection.read_request();
    connection.answer("308 Permanent Redirect", "", "Location: " + other.url("/mcp") + "\r\n");
  });
  auto options = to(server);
  options.headers = {{"Authorization", "Bearer t"}};
  run_task([&]() -> Task<void> {
    auto opened = co_await as_result(sse_transport(options)->open(Runtime{}));
    EXPECT_FALSE(opened);
    if (opened) co_return;
    EXPECT_EQ(opened.error().code(), Errc::protocol);
    EXPECT_EQ(opened.error().http_status(), 308);
    EXPECT_THAT(opened.error().message(),
                AllOf(HasSubstr(server.url("/mcp")), HasSubstr(other.url("")), HasSubstr("use its own url"),
                      Not(HasSubstr("refuses the credentials"))));
  });
  EXPECT_EQ(other.connections(), 0);
}

TEST(HttpChannel, ABrokenStreamIsResumedWhereItStopped) {
  std::mutex mutex;
  std::vector<std::string> resumed;
  ScriptedServer server([&](ScriptConnection& connection) {
    const auto got = connection.read_request();
    connection.write(stream_head);
    if (got.line().starts_with("POST")) {
      connection.write("retry: 20\nid: a-0\ndata:\n\n" +
                       event(R"({"jsonrpc":"2.0","method":"notifications/x"})", "a-1"));
    } else {
      std::lock_guard lock(mutex);
      resumed.push_back(got.field("Last-Event-ID"));
      if (resumed.size() == 2) connection.write(event(result_1, "a-2"));
    }
    connection.finish();
    connection.wait_for_end();
  });
  with_channel(to(server), [](Channel& channel) -> Task<void> {
    send(channel, request(1, "tools/call"));
    EXPECT_THAT(co_await received(channel), HasSubstr("notifications/x"));
    EXPECT_EQ(co_await received(channel), result_1);
  });
  std::lock_guard lock(mutex);
  EXPECT_THAT(resumed, testing::ElementsAre("a-1", "a-1"));
}

TEST(HttpChannel, AStreamIsNotResumedForever) {
  std::atomic<int> gets = 0;
  ScriptedServer server([&](ScriptConnection& connection) {
    if (connection.read_request().line().starts_with("GET")) ++gets;
    connection.write("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n");
    connection.write("16\r\nretry: 1\nid: a\ndata:\n\n\r\n");
    connection.finish();  // in the middle of the body
    connection.wait_for_end();
  });
  with_channel(to(server), [](Channel& channel) -> Task<void> {
    send(channel, request(1, "tools/call"));
    EXPECT_THAT(co_await received(channel), HasSubstr("lost 1 closed: "));
  });
  EXPECT_EQ(gets, 5);
}

// Servers allow one at a time, and one that has not noticed the end of the first refuses the second.
TEST(HttpChannel, AStreamThatTheServerTakesForOpenIsAskedForUntilItIsGiven) {
  std::atomic<int> gets = 0;
  ScriptedServer server([&](ScriptConnection& connection) {
    const auto got = connection.read_request();
    if (!got.line().starts_with("GET")) return connection.answer("202 Accepted", "", "Connection: close\r\n");
    const int number = ++gets;
    if (number > 1 && number < 8) return connection.answer("409 Conflict", "", "Connection: close\r\n");
    connection.write(stream_head);
    if (number == 1) return connection.finish();
    connection.write(event(R"({"jsonrpc":"2.0","method":"notifications/x"})"));
    connection.wait_for_end();
  });
  with_quick_channel(to(server), [](Channel& channel) -> Task<void> {
    send(channel, initialized());
    EXPECT_THAT(co_await received(channel), HasSubstr("notifications/x"));
  });
  EXPECT_EQ(gets, 8);
}

TEST(HttpChannel, AStreamThatSomebodyElseHasIsNotAskedForAgain) {
  std::atomic<int> gets = 0;
  ScriptedServer server([&](ScriptConnection& connection) {
    const auto got = connection.read_request();
    if (got.line().starts_with("GET")) {
      ++gets;
      connection.answer("409 Conflict", "", "Connection: close\r\n");
    } else {
      connection.answer("202 Accepted", "", "Connection: close\r\n");
    }
  });
  run_task([&]() -> Task<void> {
    bool ended = false;
    Runtime runtime;
    runtime.log = Log(LogLevel::debug, [&](const LogEvent& event) {
      if (event.event == "no_get_stream" && event.field("status") == "409") ended = true;
    });
    auto channel = co_await http_transport(to(server))->open(runtime);
    send(*channel, initialized());
    while (!ended) co_await settle();
    co_await channel->close(CloseMode::graceful);
  });
  EXPECT_EQ(gets, 1);
}

TEST(HttpChannel, ACallWhoseStreamIsRefusedForNowIsResumedLater) {
  for (const auto* status : {"409 Conflict", "503 Service Unavailable", "429 Too Many Requests"}) {
    for (const bool for_ever : {false, true}) {
      SCOPED_TRACE(fmt::format("{} {}", status, for_ever));
      std::atomic<int> gets = 0;
      ScriptedServer server([&](ScriptConnection& connection) {
        const bool get = connection.read_request().line().starts_with("GET");
        if (get && (++gets < 3 || for_ever)) return connection.answer(status, "", "Connection: close\r\n");
        connection.write(stream_head);
        connection.write(get ? event(result_1) : "id: a\ndata:\n\n");
        connection.finish();
        connection.wait_for_end();
      });
      with_quick_channel(to(server), [&](Channel& channel) -> Task<void> {
        send(channel, request(1, "tools/call"));
        const auto outcome = co_await received(channel);
        if (for_ever) {
          EXPECT_THAT(outcome, AllOf(HasSubstr("lost 1 closed: "),
                                     HasSubstr("could not be resumed: the server answered " + std::string(status, 3))));
        } else {
          EXPECT_EQ(outcome, result_1);
        }
      });
      EXPECT_EQ(gets, for_ever ? 6 : 3);
    }
  }
}

TEST(HttpChannel, AModernStreamIsNeverResumed) {
  std::atomic<int> requests = 0;
  ScriptedServer server([&](ScriptConnection& connection) {
    (void)connection.read_request();
    ++requests;
    connection.write(stream_head);
    connection.write("retry: 1\nid: a\ndata:\n\n");
    connection.finish();
    connection.wait_for_end();
  });
  with_channel(to(server), [](Channel& channel) -> Task<void> {
    send(channel, stateless(1, "tools/call"));
    EXPECT_THAT(co_await received(channel), HasSubstr("broke off before the answer"));
  });
  EXPECT_EQ(requests, 1);
}

// A server that has shown signs of life and stops: the way to it is dead, and another is looked for.
TEST(HttpChannel, AStreamWhoseSignsOfLifeStopIsAskedForAgain) {
  std::atomic<int> gets = 0;
  std::mutex mutex;
  std::string last_id;
  ScriptedServer server([&](ScriptConnection& connection) {
    for (;;) {
      const auto got = connection.read_request();
      if (got.line().starts_with("GET")) {
        connection.write(stream_head);
        if (++gets == 1) {
          connection.write("id: 7\nretry: 1\ndata:\n\n: alive\n\n");
          connection.wait_for_end();
          return;
        }
        {
          std::lock_guard lock(mutex);
          last_id = got.field("Last-Event-ID");
        }
        connection.write(event(R"({"jsonrpc":"2.0","method":"notifications/x"})"));
        connection.wait_for_end();
        return;
      }
      if (!got.line().starts_with("POST") || got.body.find("initialized") != std::string::npos) {
        connection.answer("202 Accepted", "");
      } else {
        connection.answer("200 OK", result_1, "Content-Type: application/json\r\nMcp-Session-Id: s-1\r\n");
      }
    }
  });
  with_quick_channel(to(server), [&](Channel& channel) -> Task<void> {
    send(channel, request(1, "initialize"));
    EXPECT_EQ(co_await received(channel), result_1);
    send(channel, initialized());
    EXPECT_EQ(co_await received(channel), R"({"jsonrpc":"2.0","method":"notifications/x"})");
  });
  std::lock_guard lock(mutex);
  EXPECT_EQ(last_id, "7");
}

// Who listened asks again; a call is not ended for that, its server may be too busy to show anything.
TEST(HttpChannel, SignsOfLifeThatStopEndAListeningAndNoCall) {
  Signal lost;
  ScriptedServer server([&](ScriptConnection& connection) {
    const auto got = connection.read_request();
    connection.write(stream_head);
    connection.write(": alive\n\n");
    if (got.body.find("subscriptions/listen") == std::string::npos) {
      EXPECT_TRUE(lost.wait());
      connection.write(event(result_1));
      connection.finish();
    }
    connection.wait_for_end();
  });
  with_quick_channel(to(server), [&](Channel& channel) -> Task<void> {
    send(channel, stateless(1, "tools/call"));
    send(channel, stateless(2, "subscriptions/listen"));
    EXPECT_THAT(co_await received(channel),
                AllOf(HasSubstr("lost 2 closed"), HasSubstr("broke off"), HasSubstr("although it was active before")));
    lost.set();
    EXPECT_EQ(co_await received(channel), result_1);
  });
}

// L7: a server that knows no notifications has not forgotten the session for that.
TEST(HttpChannel, AServerThatFindsNoNotificationKeepsItsSession) {
  std::atomic<int> opened = 0;
  ScriptedServer server([&](ScriptConnection& connection) {
    for (;;) {
      const auto got = connection.read_request();
      if (got.body.find("notifications/") != std::string::npos) {
        connection.answer("404 Not Found", "");
      } else if (got.body.find("initialize") != std::string::npos) {
        ++opened;
        connection.answer("200 OK", result_1, "Content-Type: application/json\r\nMcp-Session-Id: s-1\r\n");
      } else {
        connection.answer("200 OK", result_2, "Content-Type: application/json\r\n");
      }
    }
  });
  with_channel(to(server), [&](Channel& channel) -> Task<void> {
    int doubts = 0;
    channel.on_doubt([&] { ++doubts; });
    send(channel, request(1, "initialize"));
    EXPECT_EQ(co_await received(channel), result_1);
    send(channel, initialized());
    send(channel, request(2, "tools/list"));
    EXPECT_EQ(co_await received(channel), result_2);
    EXPECT_EQ(doubts, 0);
    // Later ones are a reason to look, and no more.
    send(channel, Notification{.method = "notifications/roots/list_changed", .params = {}});
    while (doubts == 0) co_await settle();
    send(channel, request(2, "tools/list"));
    EXPECT_EQ(co_await received(channel), result_2);
  });
  EXPECT_EQ(opened, 1);
}

// A balancer may ask the wrong one now and then. That the stream was given in between is enough, whatever it says.
TEST(HttpChannel, AStreamThatIsGivenAgainIsNotGivenUpForEarlierRefusals) {
  std::atomic<int> gets = 0;
  ScriptedServer server([&](ScriptConnection& connection) {
    const auto got = connection.read_request();
    if (!got.line().starts_with("GET")) return connection.answer("202 Accepted", "", "Connection: close\r\n");
    const int number = ++gets;
    if (number % 2 == 0) return connection.answer("404 Not Found", "", "Connection: close\r\n");
    connection.write(stream_head);
    if (number < 13) return;
    connection.write(event(R"({"jsonrpc":"2.0","method":"notifications/x"})"));
    connection.wait_for_end();
  });
  with_quick_channel(to(server), [](Channel& channel) -> Task<void> {
    send(channel, initialized());
    EXPECT_THAT(co_await received(channel), HasSubstr("notifications/x"));
  });
  EXPECT_EQ(gets, 13);
}

// A server that takes none of our answers does not keep the answer of a call from us for long.
TEST(HttpChannel, AnAnswerDoesNotWaitForAnswersThatAreNotTaken) {
  constexpr int pings = 200;
  ScriptedServer server([&](ScriptConnection& connection) {
    const auto got = connection.read_request();
    if (got.body.find("tools/call") == std::string::npos) return connection.wait_for_end();
    connection.write(stream_head);
    for (int i = 0; i < pings; ++i) {
      connection.write(event(fmt::format(R"({{"jsonrpc":"2.0","id":"ping {}","method":"ping"}})", i)));
    }
    connection.write(event(result_1));
    connection.finish();
    connection.wait_for_end();
  });
  with_quick_channel(to(server), [&](Channel& channel) -> Task<void> {
    send(channel, stateless(1, "tools/call"));
    for (int i = 0; i < pings; ++i) {
      auto incoming = co_await channel.receive();
      send(channel, Response{.id = std::get<Request>(std::get<Message>(incoming)).id, .result = Json::object()});
    }
    EXPECT_EQ(co_await received(channel), result_1);
  });
}

// Somebody waits for what is cancelled to end; nobody is in such a hurry for an answer.
TEST(HttpChannel, ACancellationDoesNotWaitForAnswersThatAreNotTaken) {
  std::mutex mutex;
  std::size_t answers = 0, cancellations = 0;
  Signal release;
  ScriptedServer server([&](ScriptConnection& connection) {
    for (;;) {
      const auto got = connection.read_request();
      {
        std::lock_guard lock(mutex);
        ++(got.body.find("notifications/cancelled") != std::string::npos ? cancellations : answers);
      }
      EXPECT_TRUE(release.wait());
      connection.answer("202 Accepted", "");
    }
  });
  constexpr std::size_t all = 40, at_a_time = 8;
  auto arrived = [&](const std::size_t& count) {
    std::lock_guard lock(mutex);
    return count;
  };
  with_channel(to(server), [&](Channel& channel) -> Task<void> {
    for (std::size_t i = 0; i < all; ++i) {
      send(channel, Response{.id = fmt::format("ping {}", i), .result = Json::object()});
    }
    while (arrived(answers) < at_a_time) co_await settle();
    for (int id : {1, 2}) {
      send(channel, Notification{.method = "notifications/cancelled", .params = Json{{"requestId", id}}});
    }
    while (arrived(cancellations) == 0) co_await settle();
    EXPECT_EQ(arrived(answers), at_a_time);  // none is taken along
    release.set();
    while (arrived(answers) < all || arrived(cancellations) < 2) co_await settle();
  });
}

TEST(HttpChannel, AnAbandonedRequestClosesItsStream) {
  Signal streaming;
  Signal closed;
  ScriptedServer server([&](ScriptConnection& connection) {
    (void)connection.read_request();
    connection.write(stream_head);
    connection.write(event(R"({"jsonrpc":"2.0","method":"notifications/x"})"));
    connection.wait_for_end();
    closed.set();
  });
  with_channel(to(server), [&](Channel& channel) -> Task<void> {
    send(channel, stateless(1, "tools/call"));
    EXPECT_THAT(co_await received(channel), HasSubstr("notifications/x"));
    channel.abandon(1);
    while (!closed.is_set()) co_await settle();
  });
}

TEST(HttpChannel, ClosingEndsWhatIsUnderWay) {
  Signal asked;
  ScriptedServer server([&](ScriptConnection& connection) {
    (void)connection.read_request();
    asked.set();
    connection.wait_for_end();
  });
  with_channel(to(server), [&](Channel& channel) -> Task<void> {
    send(channel, stateless(1, "tools/call"));
    while (!asked.is_set()) co_await settle();
    co_await channel.close(CloseMode::quick);
    auto ended = co_await as_result(channel.receive());
    EXPECT_THAT(ended, FailsWith(Errc::closed));
    EXPECT_FALSE(channel.send(stateless(2, "x")));
  });
}

// No value of a variable appears in a message, whoever tells it.
TEST(HttpTransport, ShowsTheEntryAsItWasWritten) {
  ScriptedServer server([](ScriptConnection& connection) {
    connection.read_request();
    connection.answer("404 Not Found", "");
  });
  for (auto url : {"http://127.0.0.1:1/s3cret"s, server.url("/s3cret")}) {
    HttpTarget options(HttpOptions{.url = url});
    options.proxy = "";
    options.shown = "http://${HOST}/${KEY}";
    with_channel(options, [](Channel& channel) -> Task<void> {
      send(channel, request(1, "ping"));
      EXPECT_THAT(co_await received(channel), AllOf(HasSubstr("http://${HOST}/${KEY}"), Not(HasSubstr("s3cret"))));
    });
  }
}

TEST(HttpTransport, SaysWhatIsWrongWithAUrl) {
  for (std::string_view url : {"", "localhost:8080", "ftp://h/mcp", "stdio", "http://", "https://h h/"}) {
    run_task([&]() -> Task<void> {
      auto opened = co_await as_result(http_transport({.url = std::string(url)})->open(Runtime{}));
      EXPECT_FALSE(opened) << url;
      if (!opened) EXPECT_EQ(opened.error().code(), Errc::config) << url;
    });
  }
}

// The older pair of endpoints.
TEST(SseChannel, PostsToTheEndpointItWasGiven) {
  std::mutex mutex;
  std::vector<std::string> lines;
  Signal posted;
  ScriptedServer server([&](ScriptConnection& connection) {
    const auto got = connection.read_request();
    {
      std::lock_guard lock(mutex);
      lines.push_back(got.line());
    }
    if (got.line().starts_with("GET")) {
      connection.write(stream_head);
      connection.write("event: endpoint\ndata: /messages?session=1\n\n");
      EXPECT_TRUE(posted.wait());
      connection.write("event: message\n" + event(result_1));
      connection.finish();
      connection.wait_for_end();
    } else {
      connection.answer("202 Accepted", "Accepted", "Connection: close\r\n");
      posted.set();
    }
  });
  with_channel(
      to(server, "/sse"),
      [](Channel& channel) -> Task<void> {
        send(channel, request(1, "initialize"));
        EXPECT_EQ(co_await received(channel), result_1);
        auto ended = co_await as_result(channel.receive());
        EXPECT_THAT(ended, FailsWith(Errc::closed));
      },
      true);
  std::lock_guard lock(mutex);
  EXPECT_THAT(lines, testing::ElementsAre("GET /sse HTTP/1.1", "POST /messages?session=1 HTTP/1.1"));
}

TEST(SseChannel, RefusesWhatIsNotAnMcpServer) {
  struct Case {
    std::string_view answer;
    std::string_view reason;
  };
  for (const auto& [answer, reason] : {
           Case{"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", "404 Not Found"},
           Case{"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 2\r\n\r\nhi",
                "instead of an event stream"},
           Case{"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\ndata: hello\n\n",
                "does not begin with the endpoint for messages"},
           Case{"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n",
                "does not begin with the endpoint for messages"},
           Case{"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
                "event: endpoint\ndata: https://elsewhere.example/steal\n\n",
                "another server"},
           Case{"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
                "event: endpoint\ndata: //127.0.0.1:1/steal\n\n",
                "another server"},
       }) {
    ScriptedServer server([&](ScriptConnection& connection) {
      (void)connection.read_request();
      connection.write(answer);
      connection.finish();
      connection.wait_for_end();
    });
    run_task([&]() -> Task<void> {
      auto opened = co_await as_result(sse_transport(to(server, "/sse"))->open(Runtime{}));
      EXPECT_FALSE(opened) << answer;
      if (!opened) EXPECT_THAT(opened.error().message(), HasSubstr(reason));
    });
  }
}

// The endpoint is wherever the stream came from; the credentials are for where the entry points.
TEST(SseChannel, NothingOfOursFollowsARedirectToAnotherPlace) {
  for (const bool fallback : {false, true}) {
    for (const auto* status : {"302 Found", "307 Temporary Redirect"}) {
      SCOPED_TRACE(fmt::format("{} {}", fallback, status));
      std::mutex mutex;
      std::vector<std::string> seen;
      ScriptedServer other([&](ScriptConnection& connection) {
        const auto got = connection.read_request();
        {
          std::lock_guard lock(mutex);
          seen.push_back(got.head);
        }
        if (!got.line().starts_with("GET")) return connection.answer("202 Accepted", "", "Connection: close\r\n");
        connection.write(stream_head);
        connection.write("event: endpoint\ndata: /messages\n\n");
        connection.wait_for_end();
      });
      ScriptedServer server([&](ScriptConnection& connection) {
        for (;;) {
          if (connection.read_request().line().starts_with("GET")) {
            connection.answer(status, "", "Location: " + other.url("/sse") + "\r\n");
          } else {
            connection.answer("405 Method Not Allowed", "");
          }
        }
      });
      auto options = to(server, "/sse");
      options.headers = {{"Authorization", "Bearer s3cret"}, {"X-Own", "s3cret"}};
      run_task([&]() -> Task<void> {
        auto made = http_transport(options);
        auto transport = fallback ? made->fallback() : sse_transport(options);
        auto opened = co_await as_result(transport->open(Runtime{}));
        EXPECT_FALSE(opened);
        if (opened) {
          send(**opened, request(1, "initialize"));
          for (int i = 0; i < 20; ++i) co_await settle();
          co_await (*opened)->close(CloseMode::quick);
          co_return;
        }
        EXPECT_THAT(opened.error().message(), AllOf(HasSubstr(other.url("")), HasSubstr("use its own url")));
      });
      std::lock_guard lock(mutex);
      EXPECT_THAT(seen, testing::IsEmpty());
      EXPECT_EQ(other.connections(), 0);
    }
  }
}

// At the same origin a redirect is a matter of the path, and the endpoint is relative to where it led.
TEST(SseChannel, ARedirectAtTheSamePlaceIsFollowed) {
  std::string posted, sent;
  Signal arrived;
  ScriptedServer server([&](ScriptConnection& connection) {
    const auto got = connection.read_request();
    if (got.line().starts_with("GET /sse ")) {
      connection.answer("302 Found", "", "Location: /v1/sse\r\nConnection: close\r\n");
    } else if (got.line().starts_with("GET")) {
      connection.write(stream_head);
      connection.write("event: endpoint\ndata: messages\n\n");
      connection.wait_for_end();
    } else {
      posted = got.line();
      sent = got.field("X-Own");
      connection.answer("202 Accepted", "", "Connection: close\r\n");
      arrived.set();
    }
  });
  auto options = to(server, "/sse");
  options.headers = {{"X-Own", "yes"}};
  with_channel(
      options,
      [&](Channel& channel) -> Task<void> {
        send(channel, request(1, "initialize"));
        while (!arrived.is_set()) co_await settle();
      },
      true);
  EXPECT_EQ(posted, "POST /v1/messages HTTP/1.1");
  EXPECT_EQ(sent, "yes");
}

// A nod is enough; what comes behind it, or does not, holds nobody up.
TEST(SseChannel, TheNextMessageDoesNotWaitForTheRestOfANod) {
  std::atomic<bool> ended = false;
  std::atomic<bool> ended_before = false;
  Signal second;
  ScriptedServer server([&](ScriptConnection& connection) {
    const auto got = connection.read_request();
    if (got.line().starts_with("GET")) {
      connection.write(stream_head);
      connection.write("event: endpoint\ndata: /messages\n\n");
      connection.wait_for_end();
    } else if (got.body.find("initialize") != std::string::npos) {
      connection.write("HTTP/1.1 202 Accepted\r\nContent-Length: 8\r\n\r\n");
      connection.wait_for_end();
      ended = true;
    } else {
      ended_before = ended.load();
      connection.answer("202 Accepted", "", "Connection: close\r\n");
      second.set();
    }
  });
  with_channel(
      to(server, "/sse"),
      [&](Channel& channel) -> Task<void> {
        send(channel, request(1, "initialize"));
        send(channel, request(2, "tools/list"));
        while (!second.is_set()) co_await settle();
      },
      true);
  EXPECT_FALSE(ended_before);
}

// A server that answers a POST only when the call is done would otherwise hold up all others.
TEST(SseChannel, PostsDoNotWaitForEachOther) {
  Signal second;
  ScriptedServer server([&](ScriptConnection& connection) {
    const auto got = connection.read_request();
    if (got.line().starts_with("GET")) {
      connection.write(stream_head);
      connection.write("event: endpoint\ndata: /post\n\n");
      EXPECT_TRUE(second.wait());
      connection.write(event(result_1));
      connection.wait_for_end();
      return;
    }
    if (got.body.find("\"id\":2") != std::string::npos) second.set();
    EXPECT_TRUE(second.wait());
    connection.answer("202 Accepted", "", "Connection: close\r\n");
  });
  with_channel(
      to(server, "/sse"),
      [](Channel& channel) -> Task<void> {
        send(channel, request(1, "tools/call"));
        send(channel, request(2, "tools/call"));
        EXPECT_EQ(co_await received(channel), result_1);
      },
      true);
}

// These servers rely on the order of the opening; and a cancellation that comes before its request is of no use.
TEST(SseChannel, TheOpeningAndCancellationsKeepTheirOrder) {
  std::mutex mutex;
  std::vector<std::string> seen;
  std::size_t posts = 0;
  std::array<Signal, 4> came, take;
  Signal all;
  ScriptedServer server([&](ScriptConnection& connection) {
    const auto got = connection.read_request();
    if (got.line().starts_with("GET")) {
      connection.write(stream_head);
      connection.write("event: endpoint\ndata: /post\n\n");
      EXPECT_TRUE(all.wait());
      connection.write(event(result_1));
      connection.wait_for_end();
      return;
    }
    const auto body = parse_json(got.body).value_or(Json());
    auto note = [&](const char* what) {
      std::lock_guard lock(mutex);
      seen.push_back(what + (" " + std::string(body["method"].as_text())));
      if (seen.size() == 8) all.set();
      return what == "came"sv ? posts++ : posts;
    };
    const auto post = note("came");
    came.at(post).set();
    EXPECT_TRUE(take.at(post).wait());
    note("taken");
    connection.answer("202 Accepted", "", "Connection: close\r\n");
  });
  with_channel(
      to(server, "/sse"),
      [&](Channel& channel) -> Task<void> {
        send(channel, request(1, "initialize"));
        send(channel, initialized());
        send(channel, request(2, "tools/call"));
        send(channel, Notification{.method = "notifications/cancelled", .params = Json{{"requestId", 2}}});
        for (std::size_t post = 0; post < came.size(); ++post) {
          while (!came.at(post).is_set()) co_await settle();
          co_await settle();  // whatever does not wait for this one is on its way now
          take.at(post).set();
        }
        EXPECT_EQ(co_await received(channel), result_1);
      },
      true);
  EXPECT_THAT(seen, testing::ElementsAre("came initialize", "taken initialize", "came notifications/initialized",
                                         "taken notifications/initialized", "came tools/call", "taken tools/call",
                                         "came notifications/cancelled", "taken notifications/cancelled"));
}

TEST(SseChannel, AMessageThatIsNotTakenFailsItsCall) {
  ScriptedServer server([&](ScriptConnection& connection) {
    if (connection.read_request().line().starts_with("GET")) {
      connection.write(stream_head);
      connection.write("event: endpoint\ndata: /messages\n\n");
      connection.wait_for_end();
    } else {
      connection.answer("400 Bad Request", "no such session", "Connection: close\r\n");
    }
  });
  with_channel(
      to(server, "/sse"),
      [](Channel& channel) -> Task<void> {
        send(channel, request(3, "tools/list"));
        EXPECT_THAT(co_await received(channel), HasSubstr("400 Bad Request: no such session"));
      },
      true);
}

}  // namespace
}  // namespace patchbay::test
