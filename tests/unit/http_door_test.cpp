// A server behind one URL, as clients of both eras see it: statuses, streams, sessions.
#include "support/http_door.h"

#include <deque>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <patchbay/server_http.h>

#include "base/as_result.h"
#include "base/scope.h"
#include "base/timeout.h"
#include "base/waiting.h"
#include "support/http_wire.h"
#include "support/loop.h"
#include "support/sample_server.h"

namespace patchbay {
namespace {

using namespace std::chrono_literals;
using test::Door;
using test::Flag;
using test::HttpWire;
using test::initialize_body;
using test::LegacyClient;
using test::messages_of;
using test::modern_body;
using test::modern_call;
using test::modern_post;
using test::run_task;
using test::sample_server;
using test::text_result;
using test::WireAnswer;
using testing::HasSubstr;
using testing::Not;

const std::string server_info = R"("_meta":{"io.modelcontextprotocol/serverInfo":{"name":"sample","version":"1.0"}})";

// S26-01 and the table of statuses.
TEST(HttpDoor, ModernRequestsHaveTheStatusOfTheirAnswer) {
  struct Case {
    std::string request;
    int status;
    std::string body;
  };
  const std::string error = R"({{"jsonrpc":"2.0","id":{},"error":{{"code":{},)";
  const std::vector<Case> cases{
      {modern_call("echo"), 200,
       R"({"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"{}"}],"resultType":"complete",)" +
           server_info + "}}"},
      {modern_post("no/such"), 404,
       R"({"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"unknown method: no/such"}})"},
      {modern_post("initialize"), 404, R"("code":-32601)"},
      {modern_post("ping", "", "", "", R"("p")"), 404, R"("id":"p","error":{"code":-32601)"},
      {modern_call("nope"), 200, R"("code":-32602)"},
      {test::post_text("/mcp", modern_body("tools/list")), 400, R"("id":1,"error":{"code":-32020)"},
      {test::post_text("/mcp", R"({"jsonrpc":"2.0","id":9,"method":"server/discover","params":{}})",
                       "MCP-Protocol-Version: 2026-07-28\r\n"),
       400, R"("id":9,"error":{"code":-32602)"},
      {test::post_text("/mcp", R"({"jsonrpc":"2.0","method":"notifications/whatever"})",
                       "MCP-Protocol-Version: 2026-07-28\r\n"),
       202, ""},
      {test::post_text("/mcp", R"({"jsonrpc":"2.0","id":1,"result":{}})", "MCP-Protocol-Version: 2026-07-28\r\n"), 400,
       R"("code":-32600)"},
      {test::post_text("/mcp", R"([{"jsonrpc":"2.0","id":1,"method":"tools/list"}])",
                       "MCP-Protocol-Version: 2026-07-28\r\n"),
       400, R"("code":-32600)"},
      {test::post_text("/mcp", "{broken"), 400, R"("code":-32700)"},
      {test::post_text("/mcp", R"({"id":1})"), 400, R"("code":-32600)"},
      {test::post_text("/mcp", R"({"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"a":1,"a":2}})"), 400,
       R"("id":1,"error":{"code":-32600)"},
      {test::post_text("/other", "{}"), 404, "The MCP endpoint is /mcp"},
      {test::post_text("/mcp", "{}", "", "evil.example"), 403, R"("code":-32600)"},
      {test::post_text("/mcp", "{}", "Host: evil.example\r\n"), 403, "two Host headers"},
      {test::post_text("/mcp", "{}", "Origin: http://evil.example\r\n"), 403, R"("code":-32600)"},
      {test::post_text("/mcp", "{}", "Origin: http://localhost\r\nOrigin: http://evil.example\r\n"), 403,
       "two Origin headers"},
      // Strangers are not told what is where.
      {test::post_text("/other", "{}", "", "evil.example"), 403, R"("code":-32600)"},
      {test::post_text("/other", "{}", "Origin: http://evil.example\r\n"), 403, R"("code":-32600)"},
      {"OPTIONS /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n", 405, ""},
      {"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: text/event-stream\r\n"
       "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: no/such\r\nContent-Length: " +
           std::to_string(modern_body("no/such").size()) + "\r\n\r\n" + modern_body("no/such"),
       404, R"("code":-32601)"},
      {"PUT /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n", 405, ""},
      {"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\n{}", 415, ""},
      {"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: text/html\r\n"
       "Content-Length: 2\r\n\r\n{}",
       406, ""},
      {"GET /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n", 400, "Mcp-Session-Id is missing"},
      {"DELETE /mcp HTTP/1.1\r\nHost: localhost\r\nMcp-Session-Id: none\r\n\r\n", 404,
       "does not exist (it may have ended)"},
  };
  run_task([&]() -> Task<void> {
    auto executor = co_await asio::this_coro::executor;
    Door door(executor, sample_server());
    for (const auto& c : cases) {
      HttpWire wire(executor);
      co_await door.connect(wire);
      co_await wire.send(c.request);
      auto answer = co_await wire.answer();
      EXPECT_EQ(answer.status, c.status) << c.request;
      EXPECT_THAT(answer.body, HasSubstr(c.body)) << c.request;
      EXPECT_EQ(answer.headers.find("mcp-session-id"), nullptr);
      if (answer.status == 405) EXPECT_EQ(answer.headers.get("allow"), "GET, POST, DELETE");
    }
    co_await door.stop();
  });
}

TEST(HttpDoor, ProgressMakesTheAnswerAStream) {
  run_task([]() -> Task<void> {
    auto executor = co_await asio::this_coro::executor;
    auto server = sample_server();
    server->add_tool({.name = "work"}, [](RequestContext& context, Json) -> Task<CallToolResult> {
      context.progress(1, 2);
      context.log(LoggingLevel::info, "half");
      co_return text_result("done");
    });
    Door door(executor, server);
    HttpWire wire(executor);
    co_await door.connect(wire);
    co_await wire.send(modern_call("work", R"(,"progressToken":"t","io.modelcontextprotocol/logLevel":"info")"));
    auto answer = co_await wire.answer();
    EXPECT_EQ(answer.headers.get("content-type"), "text/event-stream");
    EXPECT_EQ(answer.headers.get("x-accel-buffering"), "no");
    const auto messages = messages_of(answer.body);
    EXPECT_EQ(messages.size(), 3u);
    EXPECT_THAT(messages.at(0), HasSubstr(R"("method":"notifications/progress")"));
    EXPECT_THAT(messages.at(1), HasSubstr(R"("method":"notifications/message")"));
    EXPECT_THAT(messages.at(2), HasSubstr(R"("text":"done")"));
    EXPECT_THAT(answer.body, Not(HasSubstr("id: "))) << "this era resumes nothing";
    // Asked for nothing, it stays one body.
    co_await wire.send(modern_call("work"));
    answer = co_await wire.answer();
    EXPECT_EQ(answer.headers.get("content-type"), "application/json");
    co_await door.stop();
  });
}

TEST(HttpDoor, EachRequestHearsOnlyOfItself) {
  run_task([]() -> Task<void> {
    auto executor = co_await asio::this_coro::executor;
    auto server = sample_server();
    Flag go;
    server->add_tool({.name = "wait"}, [&go](RequestContext& context, Json) -> Task<CallToolResult> {
      return [](RequestContext& c, Flag& next) -> Task<CallToolResult> {
        c.progress(1);
        co_await next.wait();
        c.progress(2);
        co_return text_result("done");
      }(context, go);
    });
    Door door(executor, server);
    HttpWire one(executor);
    HttpWire two(executor);
    for (auto* wire : {&one, &two}) {
      co_await door.connect(*wire);
      co_await wire->send(
          modern_call("wait", wire == &one ? R"(,"progressToken":"one")" : R"(,"progressToken":"two")"));
      EXPECT_THAT(co_await wire->read_until("\n\n"), HasSubstr(wire == &one ? R"("one")" : R"("two")"));
    }
    go.set();
    const auto rest = co_await one.read_until("0\r\n\r\n");
    EXPECT_THAT(rest, HasSubstr(R"("progressToken":"one","progress":2)"));
    EXPECT_THAT(rest, Not(HasSubstr(R"("two")")));
    EXPECT_THAT(co_await two.read_until("0\r\n\r\n"), HasSubstr(R"("progressToken":"two","progress":2)"));
    co_await door.stop();
  });
}

TEST(HttpDoor, ClosingTheStreamCancelsAModernRequest) {
  run_task([]() -> Task<void> {
    auto executor = co_await asio::this_coro::executor;
    auto server = sample_server();
    Flag started;
    Flag cancelled;
    server->add_tool({.name = "forever"}, [&](RequestContext&, Json) -> Task<CallToolResult> {
      return [](Flag& begin, Flag& end) -> Task<CallToolResult> {
        struct Leaving {
          Flag& event;
          ~Leaving() { event.set(); }
        } leaving{end};
        begin.set();
        Event never;
        co_await never.wait();
        co_return text_result("never");
      }(started, cancelled);
    });
    Door door(executor, server);
    HttpWire wire(executor);
    co_await door.connect(wire);
    co_await wire.send(modern_call("forever"));
    co_await started.wait();
    wire.close();
    co_await cancelled.wait();
    co_await door.stop();
  });
}

TEST(HttpDoor, AListenerHearsOfChangesAndSignsOfLife) {
  run_task([]() -> Task<void> {
    auto executor = co_await asio::this_coro::executor;
    auto server = sample_server();
    Door door(executor, server, {{.keep_alive = 40ms}});
    HttpWire wire(executor);
    co_await door.connect(wire);
    co_await wire.send(
        modern_post("subscriptions/listen", "", R"("notifications":{"toolsListChanged":true})", "", "7"));
    EXPECT_THAT(co_await wire.read_until("\n\n"), HasSubstr("notifications/subscriptions/acknowledged"));
    server->remove_tool("echo");
    EXPECT_THAT(co_await wire.read_until("\n\n"), HasSubstr("notifications/tools/list_changed"));
    co_await wire.read_until(": \n\n");
    // The end of the server is the end of the subscription, with its answer.
    Scope scope(executor);
    scope.spawn(door.stop());
    EXPECT_THAT(co_await wire.rest(), HasSubstr(R"("id":7,"result":)"));
    co_await scope.join();
  });
}

// --- sessions ---

std::string last_event_id(std::string_view text) {
  const auto at = text.rfind("id: ");
  return std::string(text.substr(at + 4, text.find('\n', at) - at - 4));
}

TEST(HttpDoor, ASessionBeginsIsUsedAndEnds) {
  run_task([]() -> Task<void> {
    auto executor = co_await asio::this_coro::executor;
    Door door(executor, sample_server());
    LegacyClient client(executor, door);
    co_await client.open();
    co_await client.wire.send(client.call("echo"));
    auto answer = co_await client.wire.answer();
    EXPECT_EQ(answer.body, R"({"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"{}"}]}})");
    EXPECT_EQ(answer.headers.get("content-type"), "application/json");
    struct Case {
      std::string request;
      int status;
    };
    const std::vector<Case> cases{
        {test::post_text("/mcp", R"({"jsonrpc":"2.0","id":2,"method":"tools/list"})"), 400},
        {test::post_text("/mcp", R"({"jsonrpc":"2.0","id":2,"method":"tools/list"})", "Mcp-Session-Id: other\r\n"),
         404},
        {test::post_text("/mcp", R"({"jsonrpc":"2.0","id":2,"method":"tools/list"})",
                         fmt::format("Mcp-Session-Id: {}\r\nMCP-Protocol-Version: 1999-01-01\r\n", client.session)),
         400},
        {test::post_text("/mcp", R"({"jsonrpc":"2.0","id":2,"method":"ping"})",
                         fmt::format("Mcp-Session-Id: {}\r\n", client.session)),
         200},
        {client.post(R"([{"jsonrpc":"2.0","id":2,"method":"ping"}])"), 400},
        {fmt::format("DELETE /mcp HTTP/1.1\r\nHost: localhost\r\nMcp-Session-Id: {}\r\n\r\n", client.session), 204},
        {client.call("echo"), 404},
        {fmt::format("DELETE /mcp HTTP/1.1\r\nHost: localhost\r\nMcp-Session-Id: {}\r\n\r\n", client.session), 404},
    };
    for (const auto& c : cases) {
      co_await client.wire.send(c.request);
      EXPECT_EQ((co_await client.wire.answer()).status, c.status) << c.request;
    }
    co_await door.stop();
  });
}

TEST(HttpDoor, AQuestionGoesOutOnTheStreamOfItsCall) {
  run_task([]() -> Task<void> {
    auto executor = co_await asio::this_coro::executor;
    auto server = sample_server();
    server->add_tool({.name = "ask"}, [](RequestContext& context, Json) -> Task<CallToolResult> {
      auto answer = co_await context.elicit({.message = "Name?", .requested_schema = Json{{"type", "object"}}});
      co_return text_result(to_text(*answer.content));
    });
    Door door(executor, server);
    LegacyClient client(executor, door);
    co_await client.open("2025-11-25", R"({"elicitation":{}})");
    HttpWire stream(executor);
    co_await door.connect(stream);
    co_await stream.send(client.get());
    EXPECT_EQ((co_await stream.head()).status, 200);
    co_await client.wire.send(client.call("ask"));
    EXPECT_EQ((co_await client.wire.head()).headers.get("content-type"), "text/event-stream");
    EXPECT_THAT(co_await client.wire.read_until("\n\n"), HasSubstr("id: 2-0\nretry: 1000\ndata: \n\n"));
    const auto question = co_await client.wire.read_until("\n\n");
    EXPECT_THAT(question, HasSubstr(R"("method":"elicitation/create")"));
    EXPECT_THAT(question, HasSubstr("id: 2-1\n"));
    const auto id = parse_json(messages_of(question).at(0)).value()["id"].as_int();
    HttpWire other(executor);
    co_await door.connect(other);
    co_await other.send(client.post(
        fmt::format(R"({{"jsonrpc":"2.0","id":{},"result":{{"action":"accept","content":{{"a":1}}}}}})", id)));
    EXPECT_EQ((co_await other.answer()).status, 202);
    EXPECT_THAT(co_await client.wire.read_until("0\r\n\r\n"), HasSubstr(R"({\"a\":1})"));
    co_await door.stop();
  });
}

TEST(HttpDoor, WhatBelongsToNoRequestWaitsForTheStandingStream) {
  run_task([]() -> Task<void> {
    auto executor = co_await asio::this_coro::executor;
    auto server = sample_server();
    Door door(executor, server);
    LegacyClient client(executor, door);
    co_await client.open();
    server->remove_tool("fail");  // nobody listens yet
    co_await client.wire.send(client.call("echo"));
    (void)co_await client.wire.answer();
    HttpWire stream(executor);
    co_await door.connect(stream);
    co_await stream.send(client.get());
    auto text = co_await stream.read_until("list_changed");
    auto last = last_event_id(text);
    EXPECT_EQ(last, "0-1");
    server->remove_prompt("greet");
    text = co_await stream.read_until("prompts/list_changed");
    stream.close();
    server->remove_resource("mem://a");
    co_await client.wire.send(client.call("echo", 2));
    (void)co_await client.wire.answer();
    HttpWire again(executor);
    co_await door.connect(again);
    co_await again.send(client.get("Last-Event-ID: 0-1\r\n"));
    text = co_await again.read_until("resources/list_changed");
    EXPECT_THAT(text, HasSubstr("prompts/list_changed"));
    EXPECT_THAT(text, Not(HasSubstr("tools/list_changed")));
    co_await door.stop();
  });
}

TEST(HttpDoor, AClientThatLostItsConnectionGetsTheRest) {
  run_task([]() -> Task<void> {
    auto executor = co_await asio::this_coro::executor;
    auto server = sample_server();
    Flag go;
    server->add_tool({.name = "long"}, [&go](RequestContext& context, Json) -> Task<CallToolResult> {
      return [](RequestContext& c, Flag& next) -> Task<CallToolResult> {
        c.progress(1);
        co_await next.wait();
        c.progress(2);
        co_return text_result("done");
      }(context, go);
    });
    Door door(executor, server);
    LegacyClient client(executor, door);
    co_await client.open();
    HttpWire lost(executor);
    co_await door.connect(lost);
    co_await lost.send(client.call("long", 5, R"(,"_meta":{"progressToken":"t"})"));
    const auto seen = co_await lost.read_until(R"("progress":1)");
    const auto last = last_event_id(seen);
    lost.close();
    go.set();  // a connection that is lost cancels nothing
    co_await client.wire.send(client.call("echo", 6));
    (void)co_await client.wire.answer();
    HttpWire back(executor);
    co_await door.connect(back);
    co_await back.send(client.get(fmt::format("Last-Event-ID: {}\r\n", last)));
    auto answer = co_await back.answer();
    const auto messages = messages_of(answer.body);
    EXPECT_EQ(messages.size(), 2u) << answer.body;
    EXPECT_THAT(messages.at(0), HasSubstr(R"("progress":2)"));
    EXPECT_THAT(messages.at(1), HasSubstr(R"("id":5,"result")"));
    for (const char* wrong : {"99-1", "nonsense", "3-0"}) {
      co_await back.send(client.get(fmt::format("Last-Event-ID: {}\r\n", wrong)));
      EXPECT_EQ((co_await back.answer()).status, 400) << wrong;
    }
    co_await door.stop();
  });
}

// What sessions that nobody comes back to keep makes room for those that somebody does.
TEST(HttpDoor, ALostAnswerIsKeptHoweverMuchOthersHaveLeftBehind) {
  run_task([]() -> Task<void> {
    auto executor = co_await asio::this_coro::executor;
    auto server = sample_server();
    Flag go;
    auto add = [&](const char* name, std::size_t size) {
      server->add_tool({.name = name}, [&go, size](RequestContext& context, Json) -> Task<CallToolResult> {
        return [](RequestContext& c, Flag& next, std::size_t length) -> Task<CallToolResult> {
          c.progress(1);
          co_await next.wait();
          co_return text_result(std::string(length, 'x'));
        }(context, go, size);
      });
    };
    // Seventeen of these are more than all sessions together may keep.
    add("large", 4'000'000);
    add("small", 10);
    Door door(executor, server, {{.replay = 4u << 20}});
    auto lose = [&](LegacyClient& client, std::string tool) -> Task<std::string> {
      HttpWire lost(executor);
      co_await door.connect(lost);
      co_await lost.send(client.call(tool, 5, R"(,"_meta":{"progressToken":"t"})"));
      const auto seen = co_await lost.read_until(R"("progress":1)");
      lost.close();
      co_return last_event_id(seen);
    };
    std::deque<LegacyClient> clients;
    std::string first;
    for (int i = 0; i < 17; ++i) {
      co_await clients.emplace_back(executor, door).open();
      const auto id = co_await lose(clients.back(), "large");
      if (i == 0) first = id;
    }
    auto& late = clients.emplace_back(executor, door);
    co_await late.open();
    const auto last = co_await lose(late, "small");
    go.set();
    for (auto& client : clients) {
      co_await client.wire.send(client.call("echo", 6));
      (void)co_await client.wire.answer();
    }
    co_await late.wire.send(late.get(fmt::format("Last-Event-ID: {}\r\n", last)));
    auto answer = co_await late.wire.answer();
    EXPECT_EQ(answer.status, 200) << answer.body;
    EXPECT_THAT(answer.body, HasSubstr(R"("id":5,"result")"));
    auto& early = clients.front();
    co_await early.wire.send(early.get(fmt::format("Last-Event-ID: {}\r\n", first)));
    EXPECT_EQ((co_await early.wire.answer()).status, 400) << "the oldest is what went";
    co_await door.stop();
  });
}

TEST(HttpDoor, AHandlerMayLetItsConnectionGo) {
  run_task([]() -> Task<void> {
    auto executor = co_await asio::this_coro::executor;
    auto server = sample_server();
    Flag go;
    server->add_tool({.name = "poll"}, [&go](RequestContext& context, Json) -> Task<CallToolResult> {
      return [](RequestContext& c, Flag& next) -> Task<CallToolResult> {
        c.release_stream(50ms);
        co_await next.wait();
        co_return text_result("done");
      }(context, go);
    });
    Door door(executor, server);
    LegacyClient client(executor, door);
    co_await client.open();
    co_await client.wire.send(client.call("poll"));
    auto answer = co_await client.wire.answer();
    EXPECT_EQ(answer.body, "id: 2-0\nretry: 1000\ndata: \n\nretry: 50\n\n");
    // On the same connection, while the call is still running.
    co_await client.wire.send(client.get("Last-Event-ID: 2-0\r\n"));
    EXPECT_EQ((co_await client.wire.head()).status, 200);
    go.set();
    EXPECT_THAT(co_await client.wire.read_until("0\r\n\r\n"), HasSubstr(R"("text":"done")"));
    // Clients of older revisions could not come back: nothing is let go.
    LegacyClient old(executor, door);
    co_await old.open("2025-06-18");
    co_await old.wire.send(old.call("poll"));
    answer = co_await old.wire.answer();
    EXPECT_EQ(answer.headers.get("content-type"), "application/json");
    co_await door.stop();
  });
}

TEST(HttpDoor, WorkThatTakesLongBecomesAStreamThatCanBeResumed) {
  run_task([]() -> Task<void> {
    auto executor = co_await asio::this_coro::executor;
    auto server = sample_server();
    Flag go;
    server->add_tool({.name = "silent"}, [&go](RequestContext&, Json) -> Task<CallToolResult> {
      return [](Flag& next) -> Task<CallToolResult> {
        co_await next.wait();
        co_return text_result("done");
      }(go);
    });
    Door door(executor, server, {{.keep_alive = 40ms}});
    LegacyClient client(executor, door);
    co_await client.open();
    co_await client.wire.send(client.call("silent"));
    EXPECT_THAT(co_await client.wire.read_until(": \n\n"), HasSubstr("id: 2-0\n"));
    go.set();
    EXPECT_THAT(co_await client.wire.read_until("0\r\n\r\n"), HasSubstr(R"("text":"done")"));
    co_await door.stop();
  });
}

TEST(HttpDoor, ACancelledCallEndsItsStreamWithoutAnAnswer) {
  run_task([]() -> Task<void> {
    auto executor = co_await asio::this_coro::executor;
    auto server = sample_server();
    Flag started;
    server->add_tool({.name = "forever"}, [&](RequestContext&, Json) -> Task<CallToolResult> {
      return [](Flag& begin) -> Task<CallToolResult> {
        begin.set();
        Event never;
        co_await never.wait();
        co_return text_result("never");
      }(started);
    });
    Door door(executor, server);
    LegacyClient client(executor, door);
    co_await client.open();
    HttpWire calling(executor);
    co_await door.connect(calling);
    co_await calling.send(client.call("forever", 3));
    co_await started.wait();
    // The id is taken for as long as it has no answer.
    co_await client.wire.send(client.call("echo", 3));
    EXPECT_EQ((co_await client.wire.answer()).status, 400);
    co_await client.wire.send(
        client.post(R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}})"));
    EXPECT_EQ((co_await client.wire.answer()).status, 202);
    EXPECT_EQ((co_await calling.answer()).status, 202);
    co_await client.wire.send(client.call("echo", 3));
    EXPECT_EQ((co_await client.wire.answer()).status, 200);
    co_await door.stop();
  });
}

TEST(HttpDoor, BatchesAreAnsweredTogetherWhereTheyExist) {
  run_task([]() -> Task<void> {
    auto executor = co_await asio::this_coro::executor;
    Door door(executor, sample_server());
    LegacyClient client(executor, door);
    co_await client.open("2025-03-26");
    co_await client.wire.send(client.post(
        R"([{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"notifications/x"},{"jsonrpc":"2.0","id":"b","method":"ping"}])"));
    EXPECT_EQ((co_await client.wire.answer()).body,
              R"([{"jsonrpc":"2.0","id":1,"result":{}},{"jsonrpc":"2.0","id":"b","result":{}}])");
    co_await client.wire.send(client.post(R"([{"jsonrpc":"2.0","method":"notifications/x"}])"));
    EXPECT_EQ((co_await client.wire.answer()).status, 202);
    co_await client.wire.send(
        client.post(R"([{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":1,"method":"ping"}])"));
    EXPECT_EQ((co_await client.wire.answer()).status, 400);
    co_await door.stop();
  });
}

TEST(HttpDoor, IdleSessionsEndAndThereAreOnlySoMany) {
  run_task([]() -> Task<void> {
    auto executor = co_await asio::this_coro::executor;
    Door door(executor, sample_server(), {{.max_sessions = 2, .session_idle = 2s}});
    LegacyClient one(executor, door);
    LegacyClient two(executor, door);
    co_await one.open();
    co_await two.open();
    HttpWire stream(executor);
    co_await door.connect(stream);
    co_await stream.send(two.get());  // somebody is there: it does not expire
    EXPECT_EQ((co_await stream.head()).status, 200);
    HttpWire third(executor);
    co_await door.connect(third);
    co_await third.send(test::post_text("/mcp", initialize_body()));
    EXPECT_EQ((co_await third.answer()).status, 503);
    for (;;) {
      co_await third.send(test::post_text("/mcp", initialize_body()));
      if ((co_await third.answer()).status == 200) break;
      co_await sleep_for(20ms);
    }
    co_await one.wire.send(one.call("echo"));
    EXPECT_EQ((co_await one.wire.answer()).status, 404);
    co_await two.wire.send(two.call("echo"));
    EXPECT_EQ((co_await two.wire.answer()).status, 200);
    co_await door.stop();
  });
}

TEST(HttpDoor, ABadInitializeLeavesNoSession) {
  run_task([]() -> Task<void> {
    auto executor = co_await asio::this_coro::executor;
    Door door(executor, sample_server(), {{.max_sessions = 1}});
    HttpWire wire(executor);
    co_await door.connect(wire);
    for (int i = 0; i < 3; ++i) {
      co_await wire.send(test::post_text("/mcp", R"({"jsonrpc":"2.0","id":1,"method":"initialize","params":{}})"));
      auto answer = co_await wire.answer();
      EXPECT_THAT(answer.body, HasSubstr("-32602"));
      EXPECT_EQ(answer.headers.find("mcp-session-id"), nullptr);
    }
    LegacyClient client(executor, door);
    co_await client.open();
    co_await door.stop();
  });
}

TEST(HttpDoor, StrangersAreAskedWhoTheyAre) {
  run_task([]() -> Task<void> {
    auto executor = co_await asio::this_coro::executor;
    Door door(executor, sample_server(), {.authorize = bearer_token("secret")});
    struct Case {
      const char* header;
      int status;
      const char* challenge;
    };
    const Case cases[] = {
        {"", 401, "Bearer"},
        {"Authorization: Basic c2VjcmV0\r\n", 401, "Bearer"},
        {"Authorization: Bearer wrong\r\n", 401, "Bearer error=\"invalid_token\""},
        {"Authorization: Bearer\r\n", 401, "Bearer"},
        {"Authorization: Bearer secret\r\n", 400, ""},
        {"authorization: bearer secret\r\n", 400, ""},
    };
    for (const auto& c : cases) {
      HttpWire wire(executor);
      co_await door.connect(wire);
      co_await wire.send(test::post_text("/mcp", "{}", c.header));
      auto answer = co_await wire.answer();
      EXPECT_EQ(answer.status, c.status) << c.header;
      EXPECT_EQ(answer.headers.get("www-authenticate"), c.challenge) << c.header;
    }
    co_await door.stop();
  });
}

// What a browser does for a page of an origin that was allowed, and for one that was not.
TEST(HttpDoor, APageOfANamedOriginCanCall) {
  run_task([]() -> Task<void> {
    auto executor = co_await asio::this_coro::executor;
    Door door(executor, sample_server(), {{.allowed_origins = {"https://app.example"}}, bearer_token("secret")});
    auto asking = [](std::string_view origin) {
      return fmt::format(
          "OPTIONS /mcp HTTP/1.1\r\nHost: localhost\r\nOrigin: {}\r\nAccess-Control-Request-Method: POST\r\n"
          "Access-Control-Request-Headers: authorization,content-type,mcp-session-id\r\n\r\n",
          origin);
    };
    HttpWire wire(executor);
    co_await door.connect(wire);
    co_await wire.send(asking("https://evil.example"));
    auto stranger = co_await wire.answer();
    EXPECT_EQ(stranger.status, 403);
    EXPECT_EQ(stranger.headers.find("access-control-allow-origin"), nullptr);
    co_await wire.send(asking("https://app.example"));
    auto may = co_await wire.answer();
    EXPECT_EQ(may.status, 204);
    EXPECT_EQ(may.headers.get("access-control-allow-origin"), "https://app.example");
    EXPECT_THAT(std::string(may.headers.get("access-control-allow-methods")), HasSubstr("POST"));
    EXPECT_THAT(std::string(may.headers.get("access-control-allow-headers")), HasSubstr("mcp-session-id"));
    // A refusal can be read, too, or the page would not know why.
    const std::string origin = "Origin: https://app.example\r\n";
    co_await wire.send(test::post_text("/mcp", initialize_body(), origin));
    auto refused = co_await wire.answer();
    EXPECT_EQ(refused.status, 401);
    EXPECT_EQ(refused.headers.get("access-control-allow-origin"), "https://app.example");
    HttpWire again(executor);
    co_await door.connect(again);
    co_await again.send(test::post_text("/mcp", initialize_body(), origin + "Authorization: Bearer secret\r\n"));
    auto opened = co_await again.answer();
    EXPECT_EQ(opened.status, 200);
    EXPECT_EQ(opened.headers.get("access-control-allow-origin"), "https://app.example");
    EXPECT_THAT(std::string(opened.headers.get("access-control-expose-headers")), HasSubstr("Mcp-Session-Id"));
    EXPECT_NE(opened.headers.find("mcp-session-id"), nullptr);
    // Its stream of events, which begins before it ends.
    co_await again.send(
        fmt::format("GET /mcp HTTP/1.1\r\nHost: localhost\r\n{}Authorization: Bearer secret\r\n"
                    "Accept: text/event-stream\r\nMcp-Session-Id: {}\r\n\r\n",
                    origin, opened.headers.get("mcp-session-id")));
    EXPECT_EQ((co_await again.head()).headers.get("access-control-allow-origin"), "https://app.example");
    co_await door.stop();
  });
}

TEST(HttpDoor, ASessionBelongsToWhoOpenedIt) {
  run_task([]() -> Task<void> {
    auto executor = co_await asio::this_coro::executor;
    ServerHttpOptions options;
    options.authorize = [](HttpCaller caller) -> Task<HttpVerdict> {
      HttpVerdict verdict;
      verdict.principal = caller.header("x-user");
      if (verdict.principal == "banned") verdict.kind = HttpVerdict::Kind::forbidden;
      co_return verdict;
    };
    Door door(executor, sample_server(), options);
    HttpWire wire(executor);
    co_await door.connect(wire);
    co_await wire.send(test::post_text("/mcp", initialize_body(), "X-User: ann\r\n"));
    const auto session = std::string((co_await wire.answer()).headers.get("mcp-session-id"));
    for (const auto& [user, status] :
         std::vector<std::pair<std::string, int>>{{"ann", 200}, {"bob", 404}, {"banned", 403}}) {
      HttpWire another(executor);
      co_await door.connect(another);
      co_await another.send(test::post_text("/mcp", R"({"jsonrpc":"2.0","id":2,"method":"ping"})",
                                            fmt::format("X-User: {}\r\nMcp-Session-Id: {}\r\n", user, session)));
      EXPECT_EQ((co_await another.answer()).status, status) << user;
    }
    co_await door.stop();
  });
}

TEST(HttpDoor, StoppingAnswersWhatRunsAndEndsTheStreams) {
  run_task([]() -> Task<void> {
    auto executor = co_await asio::this_coro::executor;
    auto server = sample_server();
    Event started;
    Flag go;
    server->add_tool({.name = "wait"}, [&](RequestContext&, Json) -> Task<CallToolResult> {
      return [](Event& begin, Flag& next) -> Task<CallToolResult> {
        begin.notify_all();
        co_await next.wait();
        co_return text_result("done");
      }(started, go);
    });
    Door door(executor, server);
    LegacyClient client(executor, door);
    co_await client.open();
    HttpWire stream(executor);
    co_await door.connect(stream);
    co_await stream.send(client.get());
    EXPECT_EQ((co_await stream.head()).status, 200);
    HttpWire modern(executor);
    co_await door.connect(modern);
    co_await modern.send(modern_call("wait"));
    co_await started.wait();
    co_await client.wire.send(client.call("wait"));
    co_await started.wait();
    Scope scope(executor);
    scope.spawn(door.stop());
    co_await test::settle();
    go.set();
    EXPECT_THAT(co_await modern.rest(), HasSubstr(R"("text":"done")"));
    EXPECT_THAT(co_await client.wire.rest(), HasSubstr(R"("text":"done")"));
    (void)co_await stream.rest();
    co_await scope.join();
  });
}

}  // namespace
}  // namespace patchbay
