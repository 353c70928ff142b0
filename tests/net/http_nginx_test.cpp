// The HTTP client against nginx: HTTP/2 as a real server speaks it, and a stream that comes
// through a reverse proxy.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/scope.h"
#include "http/client/http_client.h"
#include "support/front_programs.h"
#include "support/loop.h"
#include "support/scripted_server.h"

namespace patchbay::test {
namespace {

using namespace std::literals;

HttpClientOptions trusting(const Nginx& nginx) {
  HttpClientOptions options;
  options.environment = nullptr;
  options.ca_file = nginx.ca_file();
  return options;
}

Task<std::string> body_of(HttpClient& client, HttpRequest request) {
  auto exchange = co_await client.send(std::move(request));
  co_return co_await read_all(*exchange, 100u << 20);
}

HttpRequest request(std::string method, std::string url, std::string body = {}) {
  HttpRequest made;
  made.method = std::move(method);
  made.url = std::move(url);
  made.body = std::move(body);
  return made;
}

TEST(HttpNginx, Http2_IsSpokenAndTheConnectionKept) {
  Nginx nginx(1);
  run_task([&]() -> Task<void> {
    HttpClient client(co_await asio::this_coro::executor, trusting(nginx));
    // The answer names the connection.
    const auto first = co_await body_of(client, request("GET", nginx.url("/protocol")));
    EXPECT_TRUE(first.starts_with("HTTP/2.0 GET ")) << first;
    for (int i = 0; i < 8; ++i) EXPECT_EQ(co_await body_of(client, request("GET", nginx.url("/protocol"))), first);
  });
}

TEST(HttpNginx, ManyHttp2Requests_RunAtOnce) {
  Nginx nginx(1);
  run_task([&]() -> Task<void> {
    HttpClient client(co_await asio::this_coro::executor, trusting(nginx));
    Scope scope(co_await asio::this_coro::executor);
    int done = 0;
    auto one = [](HttpClient& c, HttpRequest r, int& count) -> Task<void> {
      const auto body = co_await body_of(c, std::move(r));
      EXPECT_TRUE(body.starts_with("HTTP/2.0 POST ")) << body;
      ++count;
    };
    for (int i = 0; i < 32; ++i) scope.spawn(one(client, request("POST", nginx.url("/protocol"), "x"), done));
    co_await scope.join();
    EXPECT_EQ(done, 32);
  });
}

// T2: a body arrives piece by piece over HTTP/2 as well, and a server hears when one is
// given up. What one reader leaves unread does not hold up another.
TEST(HttpNginx, Http2Streams_AreIndependent) {
  Signal ended, go_on;
  ScriptedServer upstream([&](ScriptConnection& connection) {
    const auto asked = connection.read_request();
    if (asked.line().find("/echo") != std::string::npos) {
      connection.answer("200 OK", asked.body, "Connection: close\r\n");
      return;
    }
    connection.write("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\ndata: 1\n\n");
    if (asked.line().find("/flood") != std::string::npos) {
      for (;;) connection.write(std::string(65536, 'x'));
    }
    if (asked.line().find("/endless") != std::string::npos) {
      connection.wait_for_end();
      ended.set();
      return;
    }
    EXPECT_TRUE(go_on.wait());
    connection.write("data: 2\n\n");
  });
  Nginx nginx(upstream.port());
  run_task([&]() -> Task<void> {
    HttpClient client(co_await asio::this_coro::executor, trusting(nginx));
    auto unread = co_await client.send(request("GET", nginx.url("/flood")));
    auto endless = co_await client.send(request("GET", nginx.url("/endless")));
    auto stream = co_await client.send(request("GET", nginx.url("/stream")));
    EXPECT_EQ(co_await endless->read(), "data: 1\n\n");
    EXPECT_EQ(co_await stream->read(), "data: 1\n\n");
    endless.reset();
    while (!ended.is_set()) co_await sleep_for(5ms);
    const std::string large(3u << 20, 'x');
    const auto echoed = co_await body_of(client, request("POST", nginx.url("/echo"), large));
    EXPECT_TRUE(echoed == large) << echoed.size();
    go_on.set();
    EXPECT_EQ(co_await stream->read(), "data: 2\n\n");
    EXPECT_EQ(co_await stream->read(), "");
  });
}

// The upstream dies in the middle: the stream ends in an error, not in a short body.
TEST(HttpNginx, Http2StreamThatBreaks_IsAnError) {
  ScriptedServer upstream([&](ScriptConnection& connection) {
    connection.read_request();
    connection.write("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this");
  });
  Nginx nginx(upstream.port());
  run_task([&]() -> Task<void> {
    HttpClient client(co_await asio::this_coro::executor, trusting(nginx));
    const auto result = co_await as_result(body_of(client, request("GET", nginx.url("/"))));
    EXPECT_FALSE(result);
    if (result) co_return;
    EXPECT_EQ(result.error().code(), Errc::closed) << result.error().message();
    EXPECT_THAT(result.error().message(), testing::HasSubstr("while reading the body"));
  });
}

}  // namespace
}  // namespace patchbay::test
