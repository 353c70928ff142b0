// The HTTP client against real sockets: what it sends, how it reads, and how every failure is
// told. Scripts run on threads of their own; the client runs on the test's loop.
#include "http/client/http_client.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/fd.h"
#include "base/scope.h"
#include "support/command.h"
#include "support/loop.h"
#include "support/places.h"
#include "support/scripted_server.h"

namespace patchbay::test {
namespace {

using namespace std::literals;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// Nothing of the machine's own environment.
EnvironmentLookup environment(std::map<std::string, std::string, std::less<>> variables = {}) {
  return [variables = std::move(variables)](std::string_view name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };
}

HttpClientOptions plain() {
  HttpClientOptions options;
  options.environment = environment();
  return options;
}

HttpRequest get(std::string url) { return {.method = "GET", .url = std::move(url), .headers = {}, .body = {}}; }
HttpRequest post(std::string url, std::string body) {
  return {.method = "POST",
          .url = std::move(url),
          .headers = {{"Content-Type", "application/json"}, {"Accept", "application/json, text/event-stream"}},
          .body = std::move(body)};
}

struct Answer {
  int status = 0;
  HttpHeaders headers;
  std::string url;
  std::string body;
};

Task<Answer> fetch(HttpClient& client, HttpRequest request, HttpRequestLimits limits = {}) {
  auto exchange = co_await client.send(std::move(request), limits);
  Answer answer{
      .status = exchange->head().status, .headers = exchange->head().headers, .url = exchange->head().url, .body = {}};
  answer.body = co_await read_all(*exchange, 100u << 20);
  co_return answer;
}

// The error of a fetch that must fail.
Task<Error> failure(HttpClient& client, HttpRequest request, HttpRequestLimits limits = {}) {
  auto result = co_await as_result(fetch(client, std::move(request), limits));
  if (result) {
    ADD_FAILURE() << "answered " << result->status << " " << result->body;
    co_return Error(Errc::internal, "no failure");
  }
  co_return result.error();
}

// Runs `body` with a client of these options.
void with_client(HttpClientOptions options, std::function<Task<void>(HttpClient&)> body) {
  run_task([&]() -> Task<void> {
    HttpClient client(co_await asio::this_coro::executor, options);
    co_await body(client);
  });
}

// T2: what arrives at the server is what was asked for, and nothing the library added by itself.
TEST(HttpClient, Request_ArrivesAsWritten) {
  ScriptedServer server([](ScriptConnection& connection) {
    const auto request = connection.read_request();
    connection.answer("200 OK", request.head + "|" + request.body, "X-Twice: a\r\nx-twice: b\r\nEmpty:\r\n");
  });
  with_client(plain(), [&](HttpClient& client) -> Task<void> {
    auto request = post(server.url("/mcp?x=1#here"), "{\"a\":1}");
    request.headers.add("Mcp-Param-Empty", "");
    const auto answer = co_await fetch(client, std::move(request));
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.body,
              fmt::format("POST /mcp?x=1 HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nUser-Agent: patchbay/" PATCHBAY_VERSION
                          "\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"
                          "Mcp-Param-Empty:\r\nContent-Length: 7\r\n|{{\"a\":1}}",
                          server.port()));
    EXPECT_THAT(answer.headers.all("X-TWICE"), testing::ElementsAre("a", "b"));
    EXPECT_EQ(*answer.headers.find("empty"), "");
  });
}

// A1: a rule sees the very address that would be connected to, also behind a redirect, and never a proxy's.
TEST(HttpClientRule, AddressThatIsForbidden_IsNeverConnectedTo) {
  std::atomic<int> connections = 0;
  ScriptedServer server([&](ScriptConnection& connection) {
    ++connections;
    for (;;) {
      const auto request = connection.read_request();
      if (request.line().starts_with("GET /away")) {
        connection.answer("302 Found", "", "Location: http://127.0.0.2:" + std::to_string(server.port()) + "/\r\n");
      } else {
        connection.answer("200 OK", "hello");
      }
    }
  });
  const auto port = std::to_string(server.port());
  std::vector<std::string> asked;
  auto ruled = [&](std::string forbidden) {
    auto options = plain();
    options.may_connect = [&asked, forbidden](std::string_view address) -> Result<void> {
      asked.emplace_back(address);
      if (address == forbidden) return fail(Errc::config, "not there, says the rule");
      return {};
    };
    return options;
  };
  with_client(ruled("127.0.0.1"), [&](HttpClient& client) -> Task<void> {
    for (const auto& host : {"127.0.0.1"s, "127.1"s}) {
      const auto error = co_await failure(client, get("http://" + host + ":" + port + "/"));
      EXPECT_EQ(error.code(), Errc::denied);
      EXPECT_EQ(error.message(), "GET http://" + host + ":" + port + "/: not there, says the rule (while connecting)");
      EXPECT_EQ(error.carried_out(), CarriedOut::no);
    }
    EXPECT_EQ(asked, (std::vector{"127.0.0.1"s, "127.0.0.1"s}));
  });
  EXPECT_EQ(connections, 0);
  asked.clear();
  // Asked once for a connection that serves twice; a redirect to another address is asked about.
  with_client(ruled("127.0.0.2"), [&](HttpClient& client) -> Task<void> {
    EXPECT_EQ((co_await fetch(client, get(server.url("/")))).body, "hello");
    EXPECT_EQ((co_await fetch(client, get(server.url("/")))).body, "hello");
    EXPECT_EQ(asked, std::vector{"127.0.0.1"s});
    const auto error = co_await failure(client, get(server.url("/away")));
    EXPECT_EQ(error.code(), Errc::denied);
    EXPECT_THAT(error.message(), HasSubstr("not there, says the rule"));
    // Forbidden once does not spoil what is allowed.
    EXPECT_EQ((co_await fetch(client, get(server.url("/")))).body, "hello");
  });
  EXPECT_EQ(asked.back(), "127.0.0.2");
  EXPECT_EQ(connections, 1);
  asked.clear();
  auto proxied = ruled("127.0.0.1");
  proxied.proxy = "http://127.0.0.1:" + port;
  with_client(proxied, [&](HttpClient& client) -> Task<void> {
    EXPECT_EQ((co_await fetch(client, get("http://far.example/"))).body, "hello");
  });
  EXPECT_EQ(asked, std::vector<std::string>());
}

TEST(HttpClient, EveryMethod_HasItsForm) {
  ScriptedServer server([](ScriptConnection& connection) {
    for (;;) {
      const auto request = connection.read_request();
      const auto summary = request.line() + " length=" + request.field("content-length") +
                           " type=" + request.field("content-type") + " expect=" + request.field("expect");
      connection.answer("200 OK", request.line().starts_with("HEAD") ? "" : summary, "X-Line: " + summary + "\r\n");
    }
  });
  with_client(plain(), [&](HttpClient& client) -> Task<void> {
    auto line = [&](std::string method, std::string body) -> Task<std::string> {
      HttpRequest request{.method = method, .url = server.url(), .headers = {}, .body = body};
      const auto answer = co_await fetch(client, std::move(request));
      co_return std::string(answer.headers.get("x-line"));
    };
    EXPECT_EQ(co_await line("GET", ""), "GET / HTTP/1.1 length=(none) type=(none) expect=(none)");
    EXPECT_EQ(co_await line("HEAD", ""), "HEAD / HTTP/1.1 length=(none) type=(none) expect=(none)");
    EXPECT_EQ(co_await line("DELETE", ""), "DELETE / HTTP/1.1 length=(none) type=(none) expect=(none)");
    EXPECT_EQ(co_await line("DELETE", "x"), "DELETE / HTTP/1.1 length=1 type=(none) expect=(none)");
    EXPECT_EQ(co_await line("POST", ""), "POST / HTTP/1.1 length=0 type=(none) expect=(none)");
    EXPECT_EQ(co_await line("PUT", "x"), "PUT / HTTP/1.1 length=1 type=(none) expect=(none)");
    EXPECT_EQ(co_await line("POST", std::string(3u << 20, 'x')),
              "POST / HTTP/1.1 length=3145728 type=(none) expect=(none)");
  });
  EXPECT_EQ(server.connections(), 1) << "all of them fit on one connection";
}

TEST(HttpClient, BadRequests_AreRefusedBeforeAnythingIsSent) {
  with_client(plain(), [&](HttpClient& client) -> Task<void> {
    auto code = [&](HttpRequest request) -> Task<Errc> {
      co_return (co_await failure(client, std::move(request))).code();
    };
    auto with = [](std::string name, std::string value) {
      auto request = get("http://127.0.0.1:1/");
      request.headers.add(std::move(name), std::move(value));
      return request;
    };
    EXPECT_EQ(co_await code(get("ftp://127.0.0.1/")), Errc::invalid_argument);
    EXPECT_EQ(co_await code(get("no url")), Errc::invalid_argument);
    EXPECT_EQ(co_await code(with("X", "a\r\nY: b")), Errc::invalid_argument);
    EXPECT_EQ(co_await code(with("X", "a\0b"s)), Errc::invalid_argument);
    EXPECT_EQ(co_await code(with("X Y", "a")), Errc::invalid_argument);
    EXPECT_EQ(co_await code(with("", "a")), Errc::invalid_argument);
    auto request = get("http://127.0.0.1:1/");
    request.method = "GET / HTTP/1.1\r\nX:";
    EXPECT_EQ(co_await code(std::move(request)), Errc::invalid_argument);
  });
}

// T2: a piece of the body is delivered when it arrives, not when the body ends.
TEST(HttpClient, Body_IsDeliveredAsItArrives) {
  Signal first_read, second_read;
  ScriptedServer server([&](ScriptConnection& connection) {
    connection.read_request();
    connection.write("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n");
    // Cut inside a UTF-8 sequence, inside a chunk, and across chunks.
    connection.write("8\r\ndata: \xC3");
    EXPECT_TRUE(first_read.wait());
    connection.write("\xBC\r\n2\r\n\n\n\r\n");
    EXPECT_TRUE(second_read.wait());
    connection.write("0\r\n\r\n");
  });
  with_client(plain(), [&](HttpClient& client) -> Task<void> {
    auto exchange = co_await client.send(get(server.url()));
    EXPECT_EQ(media_type(exchange->head().headers.get("content-type")), "text/event-stream");
    std::string body;
    while (body.size() < 7) body += co_await exchange->read();
    EXPECT_EQ(body, "data: \xC3");
    first_read.set();
    while (body.size() < 10) body += co_await exchange->read();
    EXPECT_EQ(body, "data: \xC3\xBC\n\n");
    second_read.set();
    EXPECT_EQ(co_await exchange->read(), "");
    EXPECT_EQ(co_await exchange->read(), "") << "the end stays the end";
  });
}

// T2: a reader that is slow holds the server back instead of filling the memory.
TEST(HttpClient, UnreadBody_HoldsTheServerBack) {
  constexpr std::size_t total = 64u << 20;
  std::atomic<std::size_t> written = 0;
  Signal stuck;
  ScriptedServer server([&](ScriptConnection& connection) {
    connection.read_request();
    connection.write(fmt::format("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", total));
    const std::string block(64u << 10, 'x');
    ::fcntl(connection.fd(), F_SETFL, O_NONBLOCK);
    while (written < total) {
      const auto count = ::send(connection.fd(), block.data(), block.size(), MSG_NOSIGNAL);
      if (count > 0) {
        written += static_cast<std::size_t>(count);
        continue;
      }
      // Full for good, or just for a moment? Nobody reads until the test has seen `stuck`.
      pollfd room{.fd = connection.fd(), .events = POLLOUT, .revents = 0};
      if (::poll(&room, 1, stuck.is_set() ? -1 : 300) == 0) stuck.set();
    }
  });
  with_client(plain(), [&](HttpClient& client) -> Task<void> {
    auto exchange = co_await client.send(get(server.url()));
    while (!stuck.is_set()) co_await sleep_for(10ms);
    EXPECT_LT(written, total / 2);
    const auto first = co_await exchange->read();
    EXPECT_LE(first.size(), (256u << 10) + (64u << 10));
    auto rest = co_await read_all(*exchange, total);
    EXPECT_EQ(first.size() + rest.size(), total);
  });
}

TEST(HttpClient, ManyExchanges_RunAtOnceAndReuseConnections) {
  ScriptedServer server([&](ScriptConnection& connection) {
    for (;;) {
      const auto request = connection.read_request();
      connection.answer("200 OK", request.body);
    }
  });
  with_client(plain(), [&](HttpClient& client) -> Task<void> {
    for (int round = 0; round < 3; ++round) {
      Scope scope(co_await asio::this_coro::executor);
      int done = 0;
      auto one = [](HttpClient& c, std::string url, int number, int& count) -> Task<void> {
        const auto answer = co_await fetch(c, post(url, std::to_string(number)));
        EXPECT_EQ(answer.body, std::to_string(number));
        ++count;
      };
      for (int i = 0; i < 6; ++i) scope.spawn(one(client, server.url(), i, done));
      co_await scope.join();
      EXPECT_EQ(done, 6);
    }
  });
  EXPECT_EQ(server.connections(), 6);
}

// A server that closes after each response is used again without an error.
TEST(HttpClient, ServerThatClosesAfterEachAnswer_IsNotAnError) {
  ScriptedServer server([&](ScriptConnection& connection) {
    const auto request = connection.read_request();
    connection.answer("200 OK", request.body);  // and closes without having said so
  });
  with_client(plain(), [&](HttpClient& client) -> Task<void> {
    for (int i = 0; i < 5; ++i) {
      const auto answer = co_await fetch(client, post(server.url(), std::to_string(i)));
      EXPECT_EQ(answer.body, std::to_string(i));
    }
  });
}

// The connection dies under the second request, before anybody has read that: it is sent again, once, on a new one.
TEST(HttpClient, DeadKeptConnection_IsReplacedOnceAndTheBodySentAgain) {
  ScriptedServer server([&](ScriptConnection& connection) {
    connection.read_request();
    connection.answer("200 OK", fmt::format("first on {}", connection.number()));
    if (connection.number() == 0) {
      pollfd arrived{.fd = connection.fd(), .events = POLLIN, .revents = 0};
      ::poll(&arrived, 1, -1);
      return;  // unread: closing resets it
    }
    connection.answer("200 OK", connection.read_request().body);
  });
  with_client(plain(), [&](HttpClient& client) -> Task<void> {
    EXPECT_EQ((co_await fetch(client, post(server.url(), "a"))).body, "first on 0");
    EXPECT_EQ((co_await fetch(client, post(server.url(), "b"))).body, "first on 1");
    EXPECT_EQ((co_await fetch(client, post(server.url(), "c"))).body, "c");
  });
  EXPECT_EQ(server.connections(), 2);
}

// A server that took the request and then closed may have done what it was asked to, at once or after a while, in good
// order or not: it is not asked again, however many other connections are kept.
void expect_work_once(const HttpClientOptions& options, const ScriptServerOptions& kind) {
  for (const auto work : {0ms, 100ms, 400ms}) {
    for (const bool with_reset : {false, true}) {
      // A kernel may wait 40 ms before it acknowledges: a reset before that looks like a connection that was dead.
      if (work == 0ms && with_reset) continue;
      SCOPED_TRACE(fmt::format("{} {}", work.count(), with_reset));
      std::atomic<int> taken = 0;
      Signal both;
      ScriptedServer server(
          [&](ScriptConnection& connection) {
            for (;;) {
              const auto request = connection.read_request();
              if (request.body == "work") {
                ++taken;
                std::this_thread::sleep_for(work);
                if (with_reset) connection.reset();
                return;
              }
              if (connection.number() == 1) both.set();
              EXPECT_TRUE(both.wait());
              connection.answer("200 OK", request.body);
            }
          },
          kind);
      with_client(options, [&](HttpClient& client) -> Task<void> {
        {
          Scope scope(co_await asio::this_coro::executor);
          auto one = [](HttpClient& c, std::string url) -> Task<void> {
            EXPECT_EQ((co_await fetch(c, post(url, "first"))).body, "first");
          };
          for (int i = 0; i < 2; ++i) scope.spawn(one(client, server.url()));
          co_await scope.join();
        }
        const auto error = co_await failure(client, post(server.url("/mcp"), "work"));
        EXPECT_EQ(error.code(), Errc::closed);
        EXPECT_THAT(error.message(), AllOf(HasSubstr(server.url("/mcp")), HasSubstr("waiting for the answer")));
        // And the client is as good as before.
        EXPECT_EQ((co_await fetch(client, post(server.url(), "more"))).body, "more");
      });
      EXPECT_EQ(taken, 1);
    }
  }
}

TEST(HttpClient, KeptConnectionThatClosesOverARequest_IsNotAReasonToRepeatIt) { expect_work_once(plain(), {}); }

// On a fresh connection nothing is repeated: the server may have done what it was asked to.
TEST(HttpClient, FreshConnectionThatDies_IsAnErrorAtOnce) {
  ScriptedServer server([&](ScriptConnection& connection) { connection.read_request(); });
  with_client(plain(), [&](HttpClient& client) -> Task<void> {
    const auto error = co_await failure(client, post(server.url("/mcp"), "x"));
    EXPECT_EQ(error.code(), Errc::closed);
    EXPECT_THAT(error.message(), AllOf(HasSubstr(server.url("/mcp")), HasSubstr("closed the connection"),
                                       HasSubstr("waiting for the answer"), HasSubstr("log of the server")));
  });
  EXPECT_EQ(server.connections(), 1);
}

// Each script breaks its answer in one way; the error says which URL, which phase and what to do.
TEST(HttpClient, BrokenAnswers_AreDistinguished) {
  struct Case {
    const char* what;
    std::function<void(ScriptConnection&)> script;
    Errc code;
    std::vector<const char*> texts;
  };
  const std::vector<Case> cases{
      {"reset before the answer",
       [](ScriptConnection& c) { c.reset(); },
       Errc::closed,
       {"reset", "waiting for the answer"}},
      {"reset between head and body",
       [](ScriptConnection& c) {
         c.write("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n");
         c.read_until("never");
       },
       Errc::closed,
       {"reading the body"}},
      {"body cut short",
       [](ScriptConnection& c) { c.write("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this"); },
       Errc::closed,
       {"cut off", "reading the body"}},
      {"chunks cut short",
       [](ScriptConnection& c) { c.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab"); },
       Errc::closed,
       {"cut off", "reading the body"}},
      {"broken chunk",
       [](ScriptConnection& c) {
         c.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\nab");
         c.wait_for_end();
       },
       Errc::closed,
       {"reading the body"}},
      {"not HTTP",
       [](ScriptConnection& c) {
         c.write("SSH-2.0-OpenSSH_9.2\r\n");
         c.wait_for_end();
       },
       Errc::protocol,
       {"does not use HTTP", "http or https"}},
      {"header cut short", [](ScriptConnection& c) { c.write("HTTP/1.1 200 OK\r\nContent-Le"); }, Errc::closed, {}},
      {"a 64 KiB header",
       [](ScriptConnection& c) {
         c.write("HTTP/1.1 200 OK\r\nX: " + std::string(64u << 10, 'x') + "\r\n\r\n");
         c.wait_for_end();
       },
       Errc::limit,
       {"header", "64 KiB"}},
      {"many small headers",
       [](ScriptConnection& c) {
         c.write("HTTP/1.1 200 OK\r\n");
         for (;;) c.write("X: 123456789\r\n");
       },
       Errc::limit,
       {"header", "64 KiB"}},
      {"endless interim answers",
       [](ScriptConnection& c) {
         for (;;) c.write("HTTP/1.1 100 Continue\r\n\r\n");
       },
       Errc::limit,
       {"header", "64 KiB"}},
      {"body over the limit",
       [](ScriptConnection& c) {
         c.write("HTTP/1.1 200 OK\r\n\r\n");
         for (;;) c.write(std::string(1000, 'x'));
       },
       Errc::limit,
       {"larger than 1 MiB", "reading the body"}},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.what);
    Signal head_seen;
    ScriptedServer server([&](ScriptConnection& connection) {
      connection.read_request();
      if (c.what == "reset between head and body"sv) {
        connection.write("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n");
        EXPECT_TRUE(head_seen.wait());
        connection.reset();
      }
      c.script(connection);
    });
    with_client(plain(), [&](HttpClient& client) -> Task<void> {
      HttpRequestLimits limits;
      limits.body = 1u << 20;
      auto attempt = [&]() -> Task<void> {
        auto exchange = co_await client.send(get(server.url("/mcp?token=s3cret")), limits);
        head_seen.set();
        co_await read_all(*exchange, 100u << 20);
      };
      const auto result = co_await as_result(attempt());
      EXPECT_FALSE(result);
      if (result) co_return;
      const auto& error = result.error();
      EXPECT_EQ(error.code(), c.code) << error.message();
      EXPECT_THAT(error.message(), HasSubstr("GET " + server.url("/mcp?token=***")));
      EXPECT_THAT(error.message(), Not(HasSubstr("s3cret")));
      EXPECT_THAT(error.message(), HasSubstr("; ")) << "what to do";
      for (const char* text : c.texts) EXPECT_THAT(error.message(), HasSubstr(text));
    });
  }
}

TEST(HttpClient, OddButLegalAnswers_AreAnswers) {
  struct Case {
    const char* what;
    std::string answer;
    int status;
    std::string body;
  };
  const std::vector<Case> cases{
      {"HTML error page", "HTTP/1.1 502 Bad Gateway\r\nContent-Type: text/html\r\nContent-Length: 6\r\n\r\n<html>", 502,
       "<html>"},
      {"200 with an empty body", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", 200, ""},
      {"202 without a length", "HTTP/1.1 202 Accepted\r\n\r\n", 202, ""},
      {"204", "HTTP/1.1 204 No Content\r\n\r\n", 204, ""},
      {"body until the end", "HTTP/1.0 200 OK\r\n\r\nall of it", 200, "all of it"},
      {"interim answers", "HTTP/1.1 103 Early Hints\r\nX: early\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx",
       200, "x"},
      {"trailers", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\nX-Trailer: y\r\n\r\n", 200,
       "x"},
      {"redirect without a location", "HTTP/1.1 302 Found\r\nContent-Length: 0\r\n\r\n", 302, ""},
      {"not modified", "HTTP/1.1 304 Not Modified\r\n\r\n", 304, ""},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.what);
    ScriptedServer server([&](ScriptConnection& connection) {
      connection.read_request();
      connection.write(c.answer);
    });
    with_client(plain(), [&](HttpClient& client) -> Task<void> {
      const auto answer = co_await fetch(client, get(server.url()));
      EXPECT_EQ(answer.status, c.status);
      EXPECT_EQ(answer.body, c.body);
      EXPECT_FALSE(answer.headers.contains("X"));
    });
  }
}

TEST(HttpClient, NothingListening_IsAConnectError) {
  std::string url;
  {
    ScriptedServer server([](ScriptConnection&) {});
    url = server.url("/mcp");
  }
  with_client(plain(), [&](HttpClient& client) -> Task<void> {
    const auto error = co_await failure(client, get(url));
    EXPECT_EQ(error.code(), Errc::connect);
    EXPECT_THAT(error.message(), AllOf(HasSubstr(url), HasSubstr("Connection refused"), HasSubstr("while connecting"),
                                       HasSubstr("check that the server runs")));
  });
}

// ---- limits and cancellation ----------------------------------------------------------------

TEST(HttpClient, EachTimeLimit_SaysWhichItWas) {
  ScriptedServer server([&](ScriptConnection& connection) {
    const auto request = connection.read_request();
    if (request.line().find("silent") == std::string::npos) {
      connection.write("HTTP/1.1 200 OK\r\n\r\nbeginning");
    }
    connection.wait_for_end();
  });
  with_client(plain(), [&](HttpClient& client) -> Task<void> {
    HttpRequestLimits first_byte;
    first_byte.first_byte = 50ms;
    auto error = co_await failure(client, get(server.url("/silent")), first_byte);
    EXPECT_EQ(error.code(), Errc::timeout);
    EXPECT_THAT(error.message(), AllOf(HasSubstr("no answer within 50 ms"), HasSubstr("waiting for the answer")));

    HttpRequestLimits idle;
    idle.idle = 60ms;
    error = co_await failure(client, get(server.url("/begins")), idle);
    EXPECT_EQ(error.code(), Errc::timeout);
    EXPECT_THAT(error.message(), AllOf(HasSubstr("no more data came for 60 ms"), HasSubstr("reading the body")));

    for (const char* path : {"/silent", "/begins"}) {
      HttpRequestLimits total;
      total.total = 70ms;
      error = co_await failure(client, get(server.url(path)), total);
      EXPECT_EQ(error.code(), Errc::timeout);
      EXPECT_THAT(error.message(), HasSubstr("not finished within 70 ms"));
    }
  });
}

// A listener whose queue is full answers no SYN: the connection hangs.
TEST(HttpClient, ConnectThatHangs_EndsAtItsLimit) {
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  ASSERT_EQ(::bind(listener, reinterpret_cast<sockaddr*>(&address), length), 0);
  ASSERT_EQ(::listen(listener, 0), 0);
  ASSERT_EQ(::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &length), 0);
  std::vector<int> fill;
  for (int i = 0; i < 4; ++i) {
    fill.push_back(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    (void)::connect(fill.back(), reinterpret_cast<sockaddr*>(&address), length);
  }
  with_client(plain(), [&](HttpClient& client) -> Task<void> {
    HttpRequestLimits limits;
    limits.connect = 100ms;
    const auto error =
        co_await failure(client, get(fmt::format("http://127.0.0.1:{}/", ntohs(address.sin_port))), limits);
    EXPECT_EQ(error.code(), Errc::timeout);
    EXPECT_THAT(error.message(), AllOf(HasSubstr("no connection within 100 ms"), HasSubstr("while connecting")));
  });
  for (int socket : fill) ::close(socket);
  ::close(listener);
}

TEST(HttpClient, CancelledSend_ClosesTheConnection) {
  Signal asked, ended;
  ScriptedServer server([&](ScriptConnection& connection) {
    connection.read_request();
    asked.set();
    connection.wait_for_end();
    ended.set();
  });
  with_client(plain(), [&](HttpClient& client) -> Task<void> {
    Scope scope(co_await asio::this_coro::executor);
    bool cancelled = false;
    auto work = [](HttpClient& c, std::string url, bool& flag) -> Task<void> {
      const auto result = co_await as_result(fetch(c, get(url)));
      flag = !result && result.error().code() == Errc::cancelled;
      if (result) ADD_FAILURE() << "it was answered";
    };
    auto spawned = scope.spawn(work(client, server.url(), cancelled));
    while (!asked.is_set()) co_await sleep_for(5ms);
    spawned.cancel();
    co_await scope.join();
    EXPECT_TRUE(cancelled);
    while (!ended.is_set()) co_await sleep_for(5ms);
  });
}

// T2, T8: a stream that never ends goes away with the exchange, a cancelled read does not end it.
TEST(HttpClient, EndlessStream_EndsWhenTheExchangeGoes) {
  Signal ended;
  ScriptedServer server([&](ScriptConnection& connection) {
    connection.read_request();
    connection.write("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n: hello\n\n");
    connection.wait_for_end();
    ended.set();
  });
  with_client(plain(), [&](HttpClient& client) -> Task<void> {
    auto exchange = co_await client.send(get(server.url()));
    EXPECT_EQ(co_await exchange->read(), ": hello\n\n");
    const auto waited = co_await as_result(with_timeout(exchange->read(), 20ms, "nothing came"));
    EXPECT_FALSE(waited);
    if (waited) co_return;
    EXPECT_EQ(waited.error().code(), Errc::timeout);
    EXPECT_FALSE(ended.is_set());
    exchange.reset();
    while (!ended.is_set()) co_await sleep_for(5ms);
  });
}

TEST(HttpClient, Cancel_WakesTheReader) {
  ScriptedServer server([&](ScriptConnection& connection) {
    connection.read_request();
    connection.write("HTTP/1.1 200 OK\r\n\r\n");
    connection.wait_for_end();
  });
  with_client(plain(), [&](HttpClient& client) -> Task<void> {
    auto exchange = co_await client.send(get(server.url()));
    Scope scope(co_await asio::this_coro::executor);
    std::optional<Errc> code;
    auto reader = [](HttpExchange& e, std::optional<Errc>& out) -> Task<void> {
      const auto result = co_await as_result(e.read());
      if (!result) out = result.error().code();
    };
    scope.spawn(reader(*exchange, code));
    co_await settle();
    exchange->cancel();
    co_await scope.join();
    EXPECT_EQ(code, Errc::cancelled);
    const auto again = co_await as_result(exchange->read());
    EXPECT_FALSE(again);
  });
}

TEST(HttpClient, ClientThatGoes_EndsItsExchanges) {
  ScriptedServer server([&](ScriptConnection& connection) {
    connection.read_request();
    connection.write("HTTP/1.1 200 OK\r\n\r\n");
    connection.wait_for_end();
  });
  run_task([&]() -> Task<void> {
    auto client = std::make_unique<HttpClient>(co_await asio::this_coro::executor, plain());
    auto exchange = co_await client->send(get(server.url()));
    client.reset();
    const auto result = co_await as_result(exchange->read());
    EXPECT_FALSE(result);
    if (!result) EXPECT_EQ(result.error().code(), Errc::closed);
  });
}

TEST(HttpClient, NoDescriptorIsLeft) {
  auto open_now = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), std::filesystem::directory_iterator());
  };
  // The first round opens what stays open for good, such as the library itself.
  std::optional<std::ptrdiff_t> before;
  for (int round = 0; round < 3; ++round) {
    {
      ScriptedServer server([&](ScriptConnection& connection) {
        for (;;) {
          const auto request = connection.read_request();
          if (request.line().find("hang") != std::string::npos) connection.wait_for_end();
          connection.answer("200 OK", "x");
        }
      });
      with_client(plain(), [&](HttpClient& client) -> Task<void> {
        co_await fetch(client, get(server.url()));
        HttpRequestLimits limits;
        limits.first_byte = 20ms;
        (void)co_await failure(client, get(server.url("/hang")), limits);
        (void)co_await failure(client, get("http://127.0.0.1:1/"));
      });
    }
    const auto now = open_now();
    if (before) EXPECT_EQ(now, *before);
    before = now;
  }
}

// Most runs of the program use no HTTP, and libcurl brings thirty libraries along.
TEST(HttpClient, Program_DoesNotLoadLibcurlAtItsStart) {
  const auto needed = run_program({"/usr/bin/ldd", test::built("patchbay")});
  ASSERT_EQ(needed.code, 0) << needed.err;
  EXPECT_THAT(needed.out, AllOf(HasSubstr("libc.so"), Not(HasSubstr("libcurl"))));
}

// ---- redirects ------------------------------------------------------------------------------

TEST(HttpClient, Redirect_KeepsMethodBodyAndCredentialsOnTheSameOrigin) {
  ScriptedServer server([&](ScriptConnection& connection) {
    for (;;) {
      const auto request = connection.read_request();
      if (request.line().starts_with("POST /old")) {
        connection.answer("308 Permanent Redirect", "", "Location: new?x=1\r\n");
      } else {
        connection.answer("200 OK", request.line() + " " + request.field("authorization") + " " + request.body);
      }
    }
  });
  with_client(plain(), [&](HttpClient& client) -> Task<void> {
    auto request = post(server.url("/old"), "body");
    request.headers.add("Authorization", "Bearer t");
    const auto answer = co_await fetch(client, std::move(request));
    EXPECT_EQ(answer.body, "POST /new?x=1 HTTP/1.1 Bearer t body");
    EXPECT_EQ(answer.url, server.url("/new?x=1"));
  });
}

TEST(HttpClient, Redirect_TakesNoCredentialsToAnotherOrigin) {
  ScriptedServer other([&](ScriptConnection& connection) {
    const auto request = connection.read_request();
    connection.answer("200 OK", request.head + request.body);
  });
  ScriptedServer server([&](ScriptConnection& connection) {
    connection.read_request();
    connection.answer("307 Temporary Redirect", "", "Location: " + other.url("/x") + "\r\n");
  });
  with_client(plain(), [&](HttpClient& client) -> Task<void> {
    auto request = get(server.url("/old"));
    request.headers.add("MCP-Protocol-Version", "2025-11-25");
    for (const char* name : {"Authorization", "Cookie", "Mcp-Session-Id", "X-Configured"})
      request.headers.add(name, "s3cret");
    const auto answer = co_await fetch(client, std::move(request));
    EXPECT_THAT(answer.body, AllOf(HasSubstr("GET /x"), HasSubstr("MCP-Protocol-Version: 2025-11-25")));
    EXPECT_THAT(answer.body, Not(HasSubstr("s3cret")));
  });
}

// What a call says is for the server that was configured.
TEST(HttpClient, Redirect_TakesNoBodyToAnotherOrigin) {
  ScriptedServer other([&](ScriptConnection& connection) { connection.read_request(); });
  ScriptedServer server([&](ScriptConnection& connection) {
    connection.read_request();
    connection.answer("307 Temporary Redirect", "", "Location: " + other.url("/x") + "\r\n");
  });
  with_client(plain(), [&](HttpClient& client) -> Task<void> {
    const auto error = co_await failure(client, post(server.url("/old"), "body"));
    EXPECT_EQ(error.code(), Errc::http);
    EXPECT_THAT(error.message(),
                AllOf(HasSubstr(server.url("/old")), HasSubstr("another server (" + other.url("") + ")"),
                      HasSubstr("use its own url")));
  });
  EXPECT_EQ(other.connections(), 0);
}

TEST(HttpClient, RedirectLoop_IsAnError) {
  ScriptedServer server([&](ScriptConnection& connection) {
    for (;;) {
      const auto request = connection.read_request();
      const auto to = request.line().starts_with("GET /a") ? "/b" : "/a";
      connection.answer("302 Found", "", fmt::format("Location: {}\r\n", to));
    }
  });
  with_client(plain(), [&](HttpClient& client) -> Task<void> {
    const auto error = co_await failure(client, get(server.url("/a")));
    EXPECT_EQ(error.code(), Errc::http);
    EXPECT_THAT(error.message(), AllOf(HasSubstr("redirect loop"), HasSubstr(server.url("/b"))));
  });
}

// ---- TLS ------------------------------------------------------------------------------------

class HttpClientTls : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    directory_ = std::make_unique<TemporaryDirectory>();
    authority_ = std::make_unique<CertificateAuthority>(directory_->path());
    good_ = authority_->issue("good", "IP:127.0.0.1,DNS:localhost");
    wrong_name_ = authority_->issue("wrong", "DNS:elsewhere.example,DNS:other.example");
    self_signed_ = authority_->self_signed("self", "IP:127.0.0.1");
    client_ = authority_->issue("client", "DNS:client");
  }
  static void TearDownTestSuite() {
    authority_.reset();
    directory_.reset();
  }
  static HttpClientOptions trusting() {
    auto options = plain();
    options.ca_file = authority_->root().certificate;
    return options;
  }
  static ScriptedServer::Script hello() {
    return [](ScriptConnection& connection) {
      connection.read_request();
      connection.answer("200 OK", "hello");
    };
  }
  static ScriptServerOptions with(const Certificate& certificate, std::string client_ca = {}) {
    ScriptServerOptions options;
    options.certificate = certificate;
    options.client_ca = std::move(client_ca);
    return options;
  }

  static inline std::unique_ptr<TemporaryDirectory> directory_;
  static inline std::unique_ptr<CertificateAuthority> authority_;
  static inline Certificate good_, wrong_name_, self_signed_, client_;
};

TEST_F(HttpClientTls, TrustedServer_IsAnswered) {
  ScriptedServer server(hello(), with(good_));
  with_client(trusting(), [&](HttpClient& client) -> Task<void> {
    EXPECT_EQ((co_await fetch(client, get(server.url()))).body, "hello");
  });
  auto options = plain();
  options.environment = environment({{"SSL_CERT_FILE", authority_->root().certificate}});
  with_client(options, [&](HttpClient& client) -> Task<void> {
    EXPECT_EQ((co_await fetch(client, get(server.url()))).body, "hello");
  });
}

// A bundle may be large, and most requests need none of it.
TEST_F(HttpClientTls, MoreCertificates_AreReadOnceAndOnlyForTls) {
  const auto extra = directory_->path() + "/extra.pem";
  std::filesystem::copy_file(authority_->root().certificate, extra);
  auto options = plain();
  options.environment = environment({{"NODE_EXTRA_CA_CERTS", extra}});
  const auto descriptors = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), std::filesystem::directory_iterator());
  };
  // Fetches twice and returns how often the file was opened meanwhile.
  const auto openings = [&](const ScriptServerOptions& kind) {
    const Fd watch(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
    EXPECT_GE(::inotify_add_watch(watch.get(), extra.c_str(), IN_OPEN | IN_CLOSE), 0);
    ScriptedServer server(
        [](ScriptConnection& connection) {
          for (;;) {
            connection.read_request();
            connection.answer("200 OK", "hello");
          }
        },
        kind);
    with_client(options, [&](HttpClient& client) -> Task<void> {
      EXPECT_EQ((co_await fetch(client, get(server.url()))).body, "hello");
      EXPECT_EQ((co_await fetch(client, post(server.url(), "{}"))).body, "hello");
    });
    EXPECT_EQ(server.connections(), 1);
    std::ptrdiff_t events = 0;
    for (inotify_event event; ::read(watch.get(), &event, sizeof event) == sizeof event;) {
      if ((event.mask & IN_OPEN) != 0) ++events;
    }
    return events;
  };
  EXPECT_EQ(openings({}), 0) << "http";
  const auto before = descriptors();
  EXPECT_EQ(openings(with(good_)), 1) << "https";
  EXPECT_EQ(descriptors(), before);
}

// Nor is who we are: the certificate was for the server that was asked.
TEST_F(HttpClientTls, Redirect_TakesNoCertificateToAnotherOrigin) {
  std::atomic<int> reached = 0;
  ScriptedServer other(
      [&](ScriptConnection& connection) {
        connection.read_request();
        ++reached;
        connection.answer("200 OK", "hello");
      },
      with(good_, authority_->root().certificate));
  ScriptedServer server(
      [&](ScriptConnection& connection) {
        for (;;) {
          const auto request = connection.read_request();
          if (request.line().starts_with("POST /stay")) {
            connection.answer("307 Temporary Redirect", "", "Location: /here\r\n");
          } else if (request.line().starts_with("POST /here")) {
            connection.answer("200 OK", "here");
          } else {
            connection.answer("307 Temporary Redirect", "", "Location: " + other.url("/x") + "\r\n");
          }
        }
      },
      with(good_, authority_->root().certificate));
  auto own = trusting();
  own.client_certificate = client_.certificate;
  own.client_key = client_.key;
  auto everywhere = trusting();
  everywhere.environment =
      environment({{"CLAUDE_CODE_CLIENT_CERT", client_.certificate}, {"CLAUDE_CODE_CLIENT_KEY", client_.key}});
  for (const auto& options : {own, everywhere}) {
    with_client(options, [&](HttpClient& client) -> Task<void> {
      EXPECT_EQ((co_await failure(client, get(server.url("/away")))).code(), Errc::tls);
      // The server itself is shown it still, also after a redirect of its own.
      EXPECT_EQ((co_await fetch(client, post(server.url("/stay"), "x"))).body, "here");
    });
  }
  EXPECT_EQ(reached, 0);
}

TEST_F(HttpClientTls, KeptConnectionThatClosesOverARequest_IsNotAReasonToRepeatIt) {
  expect_work_once(trusting(), with(good_));
}

TEST_F(HttpClientTls, Refusals_SayWhyAndWhatToDo) {
  struct Case {
    const char* what;
    ScriptServerOptions server;
    HttpClientOptions client;
    std::vector<std::string> texts;
  };
  auto from_environment = plain();
  from_environment.environment = environment({{"SSL_CERT_FILE", self_signed_.certificate}});
  auto missing = plain();
  missing.ca_file = "/nonexistent/ca.pem";
  auto bad_certificate = trusting();
  bad_certificate.client_certificate = "/nonexistent/client.pem";
  const std::vector<Case> cases{
      {"unknown CA", with(good_), plain(), {"not trusted", "NODE_EXTRA_CA_CERTS"}},
      {"unknown CA, file from the environment",
       with(good_),
       from_environment,
       {"not trusted", self_signed_.certificate, "SSL_CERT_FILE"}},
      {"self-signed", with(self_signed_), plain(), {"self-signed", "NODE_EXTRA_CA_CERTS"}},
      {"self-signed, with a CA file",
       with(self_signed_),
       trusting(),
       {"self-signed", authority_->root().certificate, "the server's CA file"}},
      {"other name", with(wrong_name_), trusting(), {"elsewhere.example, other.example", "127.0.0.1"}},
      {"no client certificate", with(good_, authority_->root().certificate), trusting(), {"client certificate"}},
      {"CA file missing", with(good_), missing, {"/nonexistent/ca.pem", "PEM"}},
      {"client certificate missing", with(good_), bad_certificate, {"client certificate", "PEM"}},
      {"no TLS at all", {}, trusting(), {"TLS handshake failed", "uses https"}},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.what);
    const bool plain_http = c.server.certificate.certificate.empty();
    auto complain = [](ScriptConnection& connection) {
      connection.read_exactly(1);
      connection.answer("400 Bad Request", "speak HTTP");
      connection.wait_for_end();
    };
    ScriptedServer server(plain_http ? ScriptedServer::Script(complain) : hello(), c.server);
    with_client(c.client, [&](HttpClient& client) -> Task<void> {
      const auto url = fmt::format("https://127.0.0.1:{}/mcp", server.port());
      const auto error = co_await failure(client, get(url));
      EXPECT_EQ(error.code(), Errc::tls) << error.message();
      EXPECT_THAT(error.message(), HasSubstr(url));
      for (const auto& text : c.texts) EXPECT_THAT(error.message(), HasSubstr(text));
    });
  }
}

TEST_F(HttpClientTls, ClientCertificate_IsShown) {
  ScriptedServer server(hello(), with(good_, authority_->root().certificate));
  auto options = trusting();
  options.client_certificate = client_.certificate;
  options.client_key = client_.key;
  with_client(options, [&](HttpClient& client) -> Task<void> {
    EXPECT_EQ((co_await fetch(client, get(server.url()))).body, "hello");
  });
}

// The library is a guest: a server that goes away under a large body must not end the program.
TEST_F(HttpClientTls, ServerGoneWhileSending_RaisesNoSignal) {
  const auto handler = ::signal(SIGPIPE, SIG_DFL);
  for (const bool tls : {false, true}) {
    SCOPED_TRACE(tls);
    ScriptedServer server(
        [](ScriptConnection& connection) {
          connection.read_until("\r\n\r\n");
          connection.reset();
        },
        tls ? with(good_) : ScriptServerOptions{});
    with_client(trusting(), [&](HttpClient& client) -> Task<void> {
      const auto error = co_await failure(client, post(server.url("/mcp"), std::string(32u << 20, 'x')));
      EXPECT_EQ(error.code(), Errc::closed) << error.message();
      EXPECT_THAT(error.message(), HasSubstr(server.url("/mcp")));
    });
  }
  ::signal(SIGPIPE, handler);
}

TEST_F(HttpClientTls, RedirectToPlainHttp_IsRefused) {
  ScriptedServer server(
      [](ScriptConnection& connection) {
        connection.read_request();
        connection.answer("307 Temporary Redirect", "", "Location: http://127.0.0.1:1/x\r\n");
      },
      with(good_));
  with_client(trusting(), [&](HttpClient& client) -> Task<void> {
    const auto error = co_await failure(client, get(server.url()));
    EXPECT_EQ(error.code(), Errc::http);
    EXPECT_THAT(error.message(), HasSubstr("not encrypted"));
  });
}

// ---- proxies --------------------------------------------------------------------------------

// Passes bytes both ways until one side ends.
void tunnel(ScriptConnection& connection, std::uint16_t port) {
  const int upstream = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(upstream, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) {
    connection.write("HTTP/1.1 200 Connection established\r\n\r\n");
    pollfd both[2] = {{.fd = connection.fd(), .events = POLLIN, .revents = 0},
                      {.fd = upstream, .events = POLLIN, .revents = 0}};
    for (bool open = true; open && ::poll(both, 2, -1) > 0;) {
      for (int i = 0; i < 2; ++i) {
        if (both[i].revents == 0) continue;
        char buffer[16384];
        const auto count = ::recv(both[i].fd, buffer, sizeof buffer, 0);
        if (count <= 0 || ::send(both[1 - i].fd, buffer, static_cast<std::size_t>(count), MSG_NOSIGNAL) != count)
          open = false;
      }
    }
  }
  ::close(upstream);
}

TEST_F(HttpClientTls, Proxy_IsAskedToConnect) {
  ScriptedServer server(hello(), with(authority_->issue("named", "DNS:server.example")));
  std::string asked;
  ScriptedServer proxy([&](ScriptConnection& connection) {
    const auto request = connection.read_request();
    asked = request.line() + " " + request.field("proxy-authorization") + " " + request.field("authorization");
    tunnel(connection, server.port());
  });
  auto options = trusting();
  options.environment = environment({{"HTTPS_PROXY", fmt::format("http://user:pass@127.0.0.1:{}", proxy.port())}});
  with_client(options, [&](HttpClient& client) -> Task<void> {
    auto request = get("https://server.example:4443/mcp");
    request.headers.add("Authorization", "Bearer t");
    EXPECT_EQ((co_await fetch(client, std::move(request))).body, "hello");
  });
  EXPECT_EQ(asked, "CONNECT server.example:4443 HTTP/1.1 Basic dXNlcjpwYXNz (none)");
}

TEST(HttpClient, Proxy_GetsPlainRequestsInAbsoluteForm) {
  ScriptedServer proxy([&](ScriptConnection& connection) {
    const auto request = connection.read_request();
    connection.answer("200 OK", request.line() + " host=" + request.field("host"));
  });
  auto options = plain();
  options.environment = environment({{"http_proxy", fmt::format("127.0.0.1:{}", proxy.port())}});
  with_client(options, [&](HttpClient& client) -> Task<void> {
    EXPECT_EQ((co_await fetch(client, get("http://server.example/mcp"))).body,
              "GET http://server.example/mcp HTTP/1.1 host=server.example");
  });
}

TEST(HttpClient, ProxyFailures_NameTheVariable) {
  struct Case {
    const char* what;
    std::function<void(ScriptConnection&)> script;
    std::vector<const char*> texts;
  };
  const std::vector<Case> cases{
      {"refuses", [](ScriptConnection& c) { c.answer("403 Forbidden", "<html>no"); }, {"answered 403", "NO_PROXY"}},
      {"wants a password",
       [](ScriptConnection& c) { c.answer("407 Proxy Authentication Required", "", "Proxy-Authenticate: Basic\r\n"); },
       {"answered 407", "user:password"}},
      {"closes", [](ScriptConnection&) {}, {"talking to the proxy"}},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.what);
    ScriptedServer proxy([&](ScriptConnection& connection) {
      connection.read_request();
      c.script(connection);
    });
    auto options = plain();
    options.environment = environment({{"ALL_PROXY", fmt::format("http://u:s3cret@127.0.0.1:{}", proxy.port())}});
    with_client(options, [&](HttpClient& client) -> Task<void> {
      const auto error = co_await failure(client, get("https://server.example/mcp"));
      EXPECT_EQ(error.code(), Errc::connect) << error.message();
      EXPECT_THAT(error.message(),
                  AllOf(HasSubstr("https://server.example/mcp"), HasSubstr("ALL_PROXY"), Not(HasSubstr("s3cret"))));
      for (const char* text : c.texts) EXPECT_THAT(error.message(), HasSubstr(text));
    });
  }
  // Nothing listens there.
  auto options = plain();
  options.environment = environment({{"HTTPS_PROXY", "http://127.0.0.1:1"}});
  with_client(options, [&](HttpClient& client) -> Task<void> {
    const auto error = co_await failure(client, get("https://server.example/mcp"));
    EXPECT_EQ(error.code(), Errc::connect);
    EXPECT_THAT(error.message(),
                AllOf(HasSubstr("the proxy http://127.0.0.1:1 from HTTPS_PROXY"), HasSubstr("refused")));
  });
}

}  // namespace
}  // namespace patchbay::test
