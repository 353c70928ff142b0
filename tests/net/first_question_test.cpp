// T2, X4: older servers behind a URL that answer the first question of a client with a success in
// which there is no answer. They are asked by `initialize`, and used.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <patchbay/client.h>

#include "base/as_result.h"
#include "support/loop.h"
#include "support/scripted_server.h"

namespace patchbay::test {
namespace {

TEST(FirstQuestion, ASuccessWithoutAnAnswerLeadsToInitialize) {
  struct Case {
    std::string_view type;
    std::string_view body;
  };
  for (const auto& [type, body] : {
           Case{"application/json", "{}"},
           Case{"application/json", R"({"error":"unknown method"})"},
           Case{"application/json", R"({"jsonrpc":"2.0","id":"server-error","error":{"code":-32600,"message":"no"}})"},
           Case{"application/json", R"({"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"no"}})"},
           Case{"application/json", R"({"jsonrpc":"2.0","id":99,"result":{}})"},
           Case{"application/json", R"({"jsonrpc":"2.0","id":1,"result":{}})"},
           Case{"application/json", R"({"jsonrpc":"2.0","id":1,"result":)"},
           Case{"application/json", "[]"},
           Case{"application/json", ""},
           Case{"text/plain", "OK"},
           Case{"text/html", "<h1>It works!</h1>"},
           Case{"text/event-stream", ""},
           Case{"text/event-stream", ": nothing\n\n"},
           Case{"text/event-stream", "data: {}\n\n"},
       }) {
    SCOPED_TRACE(body);
    std::mutex mutex;
    std::vector<std::string> asked;
    ScriptedServer server([&](ScriptConnection& connection) {
      for (;;) {
        const auto got = connection.read_request();
        if (!got.line().starts_with("POST")) {
          connection.answer("405 Method Not Allowed", "");
          continue;
        }
        const auto message = parse_json(got.body).value_or(Json());
        const std::string method(message["method"].as_text());
        {
          std::lock_guard lock(mutex);
          asked.push_back(method);
        }
        if (method == "server/discover") {
          connection.answer("200 OK", body, "Content-Type: " + std::string(type) + "\r\n");
        } else if (method == "initialize") {
          const Json result{{"protocolVersion", "2025-06-18"},
                            {"capabilities", Json::object()},
                            {"serverInfo", {{"name", "older"}, {"version", "1"}}}};
          connection.answer("200 OK", to_text(Json{{"jsonrpc", "2.0"}, {"id", message["id"]}, {"result", result}}),
                            "Content-Type: application/json\r\n");
        } else {
          connection.answer("202 Accepted", "");
        }
      }
    });
    run_task([&]() -> Task<void> {
      HttpOptions options{.url = server.url("/mcp")};
      options.proxy = "";
      auto session = co_await as_result(Client(ClientOptions{}).connect(http_transport(options)));
      EXPECT_TRUE(session) << session.error().message();
      if (!session) co_return;
      EXPECT_EQ(session->server().protocol_version, "2025-06-18");
      co_await session->close();
    });
    std::lock_guard lock(mutex);
    // What follows may be overtaken by the end.
    if (asked.size() > 2) asked.resize(2);
    EXPECT_THAT(asked, testing::ElementsAre("server/discover", "initialize"));
  }
}

// Where the older way to begin is led elsewhere, that is what has to be said, and not the status it came with.
TEST(FirstQuestion, AnOlderServerThatIsSomewhereElseIsReportedWithThePlace) {
  ScriptedServer other([](ScriptConnection& connection) {
    (void)connection.read_request();
    connection.write("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n");
    connection.wait_for_end();
  });
  ScriptedServer server([&](ScriptConnection& connection) {
    for (;;) {
      const bool get = connection.read_request().line().starts_with("GET");
      if (get) connection.answer("302 Found", "", "Location: " + other.url("/sse") + "\r\n");
      if (!get) connection.answer("405 Method Not Allowed", "");
    }
  });
  run_task([&]() -> Task<void> {
    HttpOptions options{.url = server.url("/mcp")};
    options.proxy = "";
    auto session = co_await as_result(Client(ClientOptions{}).connect(http_transport(options)));
    EXPECT_FALSE(session);
    if (session) co_return;
    EXPECT_THAT(
        session.error().message(),
        testing::AllOf(testing::HasSubstr("answered 405"),
                       testing::HasSubstr("redirects to another server (" + other.url("") + ")"),
                       testing::HasSubstr("use its own url"), testing::Not(testing::HasSubstr("200 to the GET"))));
  });
}

}  // namespace
}  // namespace patchbay::test
