// The HTTP server against clients that send bytes: well-meaning, slow, greedy and broken ones.
#include "http/server/http_server.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/as_result.h"
#include "base/scope.h"
#include "base/waiting.h"
#include "support/http_wire.h"
#include "support/loop.h"

namespace patchbay {
namespace {

using namespace std::chrono_literals;
using test::HttpWire;
using test::run_task;
using testing::HasSubstr;
using testing::StartsWith;

// A server whose handler the test gives, and its end.
class Served {
 public:
  Served(asio::any_io_executor executor, HttpHandler handler, HttpServerLimits limits = {})
      : server(executor, limits, std::move(handler), Runtime{}), scope_(executor) {
    server.listen("127.0.0.1", 0);
    accepting_ = scope_.spawn([](HttpServer& s) -> Task<void> { (void)co_await as_result(s.accept()); }(server));
  }
  Task<void> stop(Duration grace = 5s) {
    accepting_.cancel();
    co_await scope_.join();
    co_await server.stop(grace);
  }
  Task<void> connect(HttpWire& wire) { return wire.connect(server.address()); }

  HttpServer server;

 private:
  Scope scope_;
  Spawned accepting_;
};

// Says method, target and body back.
Task<void> echo(ServerExchange& exchange) {
  auto body = co_await exchange.read_body();
  exchange.respond(200, {{"Content-Type", "text/plain"}},
                   fmt::format("{} {} {}", exchange.request().method, exchange.request().url, body));
}

std::string get(std::string_view target) { return fmt::format("GET {} HTTP/1.1\r\nHost: x\r\n\r\n", target); }

TEST(HttpServer, RequestsOnOneConnectionAreAnsweredInOrder) {
  run_task([]() -> Task<void> {
    Served served(co_await asio::this_coro::executor, echo);
    HttpWire wire(co_await asio::this_coro::executor);
    co_await served.connect(wire);
    // Pipelined: the second is there before the first is answered.
    co_await wire.send(
        "POST /1 HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\none" + get("/2") +
        "POST /3 HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nth\r\n3\r\nree\r\n0\r\n\r\n");
    EXPECT_EQ((co_await wire.answer()).body, "POST /1 one");
    EXPECT_EQ((co_await wire.answer()).body, "GET /2 ");
    EXPECT_EQ((co_await wire.answer()).body, "POST /3 three");
    EXPECT_EQ(served.server.connections(), 1u);
    co_await served.stop();
    EXPECT_EQ(co_await wire.rest(), "");
    EXPECT_EQ(served.server.connections(), 0u);
  });
}

TEST(HttpServer, BytesMayArriveOneByOne) {
  run_task([]() -> Task<void> {
    Served served(co_await asio::this_coro::executor, echo);
    HttpWire wire(co_await asio::this_coro::executor);
    co_await served.connect(wire);
    for (char c :
         std::string("POST /1 HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n0\r\n\r\n")) {
      co_await wire.send(std::string(1, c));
    }
    EXPECT_EQ((co_await wire.answer()).body, "POST /1 one");
    co_await served.stop();
  });
}

TEST(HttpServer, ConnectionsEndWhenTheClientAsksForIt) {
  struct Case {
    const char* head;
    bool stays;
  };
  const Case cases[] = {
      {"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", false},
      {"GET / HTTP/1.1\r\nHost: x\r\nConnection: foo, Close\r\n\r\n", false},
      {"GET / HTTP/1.0\r\n\r\n", false},
      {"GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n", true},
      {"GET / HTTP/1.1\r\nHost: x\r\n\r\n", true},
  };
  run_task([&]() -> Task<void> {
    Served served(co_await asio::this_coro::executor, echo);
    for (const auto& c : cases) {
      HttpWire wire(co_await asio::this_coro::executor);
      co_await served.connect(wire);
      co_await wire.send(c.head);
      EXPECT_EQ((co_await wire.answer()).status, 200) << c.head;
      if (c.stays) {
        co_await wire.send(get("/again"));
        EXPECT_EQ((co_await wire.answer()).body, "GET /again ") << c.head;
      } else {
        EXPECT_EQ(co_await wire.rest(), "") << c.head;
      }
    }
    co_await served.stop();
  });
}

TEST(HttpServer, WhatIsNotHttpIsRefusedAndTheConnectionEnds) {
  struct Case {
    std::string bytes;
    int status;
  };
  HttpServerLimits limits;
  limits.head = 1024;
  limits.body = 100;
  limits.head_time = 60s;
  const std::vector<Case> cases{
      {"not http at all\r\n\r\n", 400},
      {"GET / HTTP/9.9\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\nno colon\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\nHost: x\r\nX: " + std::string(2000, 'x') + "\r\n\r\n", 431},
      {"GET /" + std::string(2000, 'x'), 431},
      {"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 101\r\n\r\n", 413},
      {"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999\r\n\r\n", 400},
      {"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n", 400},
      {"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd", 400},
      {"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400},
      {"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 400},
      // Bodies whose end another reader may see elsewhere: none of their bytes is a request.
      {"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: xchunked\r\n\r\n" + get("/smuggled"), 501},
      {"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: identity\r\n\r\n" + get("/smuggled"), 501},
      {"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding:\r\n\r\n" + get("/smuggled"), 501},
      {"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nTransfer-Encoding: xchunked\r\n\r\n{}", 400},
      {"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 501},
      {"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n\r\n0\r\n\r\n", 400},
      {"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 501},
      {"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabcd\r\n0\r\n\r\n", 400},
      {"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n65\r\n" + std::string(101, 'x') + "\r\n", 413},
  };
  run_task([&]() -> Task<void> {
    Served served(co_await asio::this_coro::executor, echo, limits);
    for (const auto& c : cases) {
      HttpWire wire(co_await asio::this_coro::executor);
      co_await served.connect(wire);
      co_await wire.send(c.bytes);
      auto answer = co_await wire.answer();
      EXPECT_EQ(answer.status, c.status) << c.bytes.substr(0, 120);
      EXPECT_EQ(answer.headers.get("connection"), "close");
      EXPECT_EQ(co_await wire.rest(), "");
    }
    // The largest body that is allowed.
    HttpWire wire(co_await asio::this_coro::executor);
    co_await served.connect(wire);
    co_await wire.send(test::post_text("/", std::string(100, 'x')));
    EXPECT_EQ((co_await wire.answer()).status, 200);
    co_await served.stop();
  });
}

TEST(HttpServer, ABodyIsAskedForOnlyWhenItIsWanted) {
  run_task([]() -> Task<void> {
    Served served(co_await asio::this_coro::executor, [](ServerExchange& exchange) -> Task<void> {
      if (exchange.request().url == "/no") {
        exchange.respond(401, {}, "who are you");
        co_return;
      }
      co_await echo(exchange);
    });
    const std::string head = " HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n";
    HttpWire wire(co_await asio::this_coro::executor);
    co_await served.connect(wire);
    co_await wire.send("POST /yes" + head);
    EXPECT_EQ(co_await wire.read_until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
    co_await wire.send("abc");
    EXPECT_EQ((co_await wire.answer()).body, "POST /yes abc");
    co_await wire.send("POST /no" + head);
    const auto refused = co_await wire.answer();
    EXPECT_EQ(refused.status, 401);
    // Nobody can tell the body that may follow from the next request, so there is none.
    EXPECT_EQ(refused.headers.get("connection"), "close");
    EXPECT_EQ(co_await wire.rest(), "");
    co_await served.stop();
  });
}

// N1: a client that takes its time does not take ours.
// Each meets one short limit; what it has to do in time before that is under the usual ones.
TEST(HttpServer, SlowClientsAreLetGo) {
  struct Case {
    const char* what;
    HttpServerLimits limits;
    std::string sent;
    std::vector<int> answers;
  };
  HttpServerLimits head, body, idle;
  head.head_time = 500ms;
  body.body_silence = 40ms;
  idle.keep_alive = 40ms;
  for (const auto& c : std::vector<Case>{
           {"says nothing", head, "", {}},
           {"stops within the head", head, "GET / HT", {408}},
           {"stops within the body", body, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc", {408}},
           {"has nothing more to ask", idle, get("/"), {200}},
       }) {
    run_task([&]() -> Task<void> {
      Served served(co_await asio::this_coro::executor, echo, c.limits);
      HttpWire wire(co_await asio::this_coro::executor);
      co_await served.connect(wire);
      if (!c.sent.empty()) co_await wire.send(c.sent);
      for (const int status : c.answers) EXPECT_EQ((co_await wire.answer()).status, status) << c.what;
      EXPECT_EQ(co_await wire.rest(), "") << c.what;
      co_await served.stop();
    });
  }
}

// One header line after the other, each in time, is still one head.
TEST(HttpServer, AHeadThatNeverEndsIsCutOff) {
  HttpServerLimits limits;
  limits.head_time = 100ms;
  run_task([&]() -> Task<void> {
    auto executor = co_await asio::this_coro::executor;
    Served served(executor, echo, limits);
    HttpWire wire(executor);
    co_await served.connect(wire);
    co_await wire.send("GET / HTTP/1.1\r\nHost: x\r\n");
    Scope scope(executor);
    auto dripping = scope.spawn([](HttpWire& w) -> Task<void> {
      for (int i = 0; i < 100'000; ++i) {
        auto sent = co_await as_result(w.send("X: y\r\n"));
        if (!sent) co_return;
        auto slept = co_await as_result(sleep_for(5ms));
        if (!slept) co_return;
      }
    }(wire));
    auto answer = co_await wire.answer();
    EXPECT_EQ(answer.status, 408);
    dripping.cancel();
    co_await scope.join();
    co_await served.stop();
  });
}

// A byte now and then is never silent, and still no body that anybody waits for.
TEST(HttpServer, ABodyThatComesTooSlowlyIsCutOff) {
  for (const std::string_view head : {"Content-Length: 1000000", "Transfer-Encoding: chunked"}) {
    HttpServerLimits limits;
    limits.body_silence = 100ms;
    run_task([&]() -> Task<void> {
      auto executor = co_await asio::this_coro::executor;
      Served served(executor, echo, limits);
      HttpWire wire(executor);
      co_await served.connect(wire);
      co_await wire.send(fmt::format("POST / HTTP/1.1\r\nHost: x\r\n{}\r\n\r\n", head));
      Scope scope(executor);
      auto dripping = scope.spawn([](HttpWire& w, std::string piece) -> Task<void> {
        for (int i = 0; i < 100'000; ++i) {
          auto sent = co_await as_result(w.send(piece));
          if (!sent) co_return;
          auto slept = co_await as_result(sleep_for(5ms));
          if (!slept) co_return;
        }
      }(wire, head.starts_with("Content") ? "x" : "1\r\nx\r\n"));
      auto answer = co_await wire.answer();
      EXPECT_EQ(answer.status, 408) << head;
      EXPECT_EQ(answer.headers.get("connection"), "close") << head;
      dripping.cancel();
      co_await scope.join();
      co_await served.stop();
    });
  }
}

// What is added stands in every answer, also in those the handler did not give.
TEST(HttpServer, HeadersCanBeAddedToWhateverAnswers) {
  HttpServerLimits limits;
  limits.body = 10;
  run_task([&]() -> Task<void> {
    Served served(
        co_await asio::this_coro::executor,
        [](ServerExchange& exchange) -> Task<void> {
          if (exchange.request().url != "/plain") exchange.add_to_answer({{"X-Added", "yes"}});
          co_await echo(exchange);
        },
        limits);
    HttpWire wire(co_await asio::this_coro::executor);
    co_await served.connect(wire);
    co_await wire.send(get("/"));
    EXPECT_EQ((co_await wire.answer()).headers.get("x-added"), "yes");
    co_await wire.send(get("/plain"));
    EXPECT_EQ((co_await wire.answer()).headers.find("x-added"), nullptr);
    co_await wire.send("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nb\r\nhello world\r\n");
    auto refused = co_await wire.answer();
    EXPECT_EQ(refused.status, 413);
    EXPECT_EQ(refused.headers.get("x-added"), "yes");
    co_await served.stop();
  });
}

TEST(HttpServer, StreamedAnswersArriveAsTheyAreWritten) {
  run_task([]() -> Task<void> {
    Event go;
    Served served(co_await asio::this_coro::executor, [&go](ServerExchange& exchange) -> Task<void> {
      return [](ServerExchange& e, Event& next) -> Task<void> {
        e.begin(200, {{"Content-Type", "text/event-stream"}});
        e.write("one");
        co_await next.wait();
        e.write("two");
        e.end();
      }(exchange, go);
    });
    HttpWire wire(co_await asio::this_coro::executor);
    co_await served.connect(wire);
    co_await wire.send(get("/"));
    EXPECT_EQ((co_await wire.head()).headers.get("transfer-encoding"), "chunked");
    EXPECT_EQ(co_await wire.chunk(), "one");
    go.notify_all();
    EXPECT_EQ(co_await wire.chunk(), "two");
    EXPECT_EQ(co_await wire.chunk(), "");
    co_await wire.send(get("/"));
    EXPECT_EQ((co_await wire.head()).status, 200);
    EXPECT_EQ(co_await wire.chunk(), "one");
    go.notify_all();
    co_await served.stop();
    // Before chunks there was only the end of the connection.
    EXPECT_EQ(co_await wire.chunk(), "two");
  });
}

TEST(HttpServer, OldClientsGetAStreamThatEndsWithTheConnection) {
  run_task([]() -> Task<void> {
    Served served(co_await asio::this_coro::executor, [](ServerExchange& exchange) -> Task<void> {
      exchange.begin(200, {});
      exchange.write("one");
      exchange.write("two");
      co_return;
    });
    HttpWire wire(co_await asio::this_coro::executor);
    co_await served.connect(wire);
    co_await wire.send("GET / HTTP/1.0\r\n\r\n");
    EXPECT_EQ((co_await wire.head()).status, 200);
    EXPECT_EQ(co_await wire.rest(), "onetwo");
    co_await served.stop();
  });
}

TEST(HttpServer, AHandlerHearsThatItsClientLeft) {
  run_task([]() -> Task<void> {
    Event gone;
    Event begun;
    int told = 0;
    Served served(co_await asio::this_coro::executor, [&](ServerExchange& exchange) -> Task<void> {
      return [](ServerExchange& e, Event& g, Event& b, int& count) -> Task<void> {
        e.on_gone([&g, &count] {
          ++count;
          g.notify_all();
        });
        e.begin(200, {});
        e.write("waiting");
        b.notify_all();
        co_await g.wait();
      }(exchange, gone, begun, told);
    });
    HttpWire wire(co_await asio::this_coro::executor);
    co_await served.connect(wire);
    co_await wire.send(get("/"));
    EXPECT_EQ((co_await wire.head()).status, 200);
    wire.close();
    while (served.server.connections() > 0) co_await asio::post(asio::use_awaitable);
    EXPECT_EQ(told, 1);
    co_await served.stop();
  });
}

TEST(HttpServer, AClientThatDoesNotReadLosesItsStream) {
  struct Case {
    std::size_t unread;
    std::chrono::milliseconds stall;
  };
  // By bytes, and by time.
  const Case cases[] = {{1u << 20, 60s}, {1u << 30, 50ms}};
  for (const auto& c : cases) {
    HttpServerLimits limits;
    limits.unread = c.unread;
    limits.write_stall = c.stall;
    run_task([&]() -> Task<void> {
      bool refused = false;
      Served served(
          co_await asio::this_coro::executor,
          [&refused](ServerExchange& exchange) -> Task<void> {
            return [](ServerExchange& e, bool& r) -> Task<void> {
              e.begin(200, {});
              const std::string piece(256u << 10, 'x');
              for (int i = 0; i < 100; ++i) {
                if (!e.write(piece)) break;
              }
              while (e.write("more")) co_await sleep_for(5ms);
              r = true;
            }(exchange, refused);
          },
          limits);
      HttpWire wire(co_await asio::this_coro::executor);
      co_await served.connect(wire);
      co_await wire.send(get("/"));
      while (!refused) co_await sleep_for(5ms);
      EXPECT_TRUE(refused);
      co_await served.stop();
    });
  }
}

TEST(HttpServer, ALargeAnswerArrivesWhole) {
  run_task([]() -> Task<void> {
    const std::string large(5u << 20, 'x');
    Served served(co_await asio::this_coro::executor, [&large](ServerExchange& exchange) -> Task<void> {
      return [](ServerExchange& e, const std::string& answer) -> Task<void> {
        const auto body = co_await e.read_body();
        EXPECT_EQ(body.size(), 3u << 20);
        e.respond(200, {}, answer);
      }(exchange, large);
    });
    auto executor = co_await asio::this_coro::executor;
    HttpWire wire(executor);
    co_await served.connect(wire);
    Scope scope(executor);
    scope.spawn(
        [](HttpWire& w) -> Task<void> { co_await w.send(test::post_text("/", std::string(3u << 20, 'y'))); }(wire));
    EXPECT_EQ((co_await wire.answer()).body, large);
    co_await scope.join();
    co_await served.stop();
  });
}

TEST(HttpServer, TooManyConnectionsAreTurnedAway) {
  HttpServerLimits limits;
  limits.connections = 2;
  run_task([&]() -> Task<void> {
    auto executor = co_await asio::this_coro::executor;
    Served served(executor, echo, limits);
    HttpWire one(executor);
    HttpWire two(executor);
    HttpWire three(executor);
    for (auto* wire : {&one, &two}) {
      co_await served.connect(*wire);
      co_await wire->send(get("/"));
      EXPECT_EQ((co_await wire->answer()).status, 200);
    }
    co_await served.connect(three);
    EXPECT_THAT(co_await three.rest(), StartsWith("HTTP/1.1 503 "));
    one.close();
    while (served.server.connections() > 1) co_await asio::post(asio::use_awaitable);
    HttpWire four(executor);
    co_await served.connect(four);
    co_await four.send(get("/"));
    EXPECT_EQ((co_await four.answer()).status, 200);
    co_await served.stop();
  });
}

TEST(HttpServer, StoppingLetsARunningRequestFinish) {
  run_task([]() -> Task<void> {
    auto executor = co_await asio::this_coro::executor;
    Event entered;
    Event finish;
    Served served(executor, [&](ServerExchange& exchange) -> Task<void> {
      return [](ServerExchange& e, Event& in, Event& out) -> Task<void> {
        in.notify_all();
        co_await out.wait();
        e.respond(200, {}, "finished");
      }(exchange, entered, finish);
    });
    HttpWire idle(executor);
    co_await served.connect(idle);
    HttpWire wire(executor);
    co_await served.connect(wire);
    co_await wire.send(get("/"));
    co_await entered.wait();
    Scope scope(executor);
    scope.spawn(served.stop());
    EXPECT_EQ(co_await idle.rest(), "");
    finish.notify_all();
    auto answer = co_await wire.answer();
    EXPECT_EQ(answer.body, "finished");
    EXPECT_EQ(answer.headers.get("connection"), "close");
    co_await scope.join();
  });
}

TEST(HttpServer, StoppingEndsWhatDoesNotFinish) {
  run_task([]() -> Task<void> {
    auto executor = co_await asio::this_coro::executor;
    Event entered;
    bool left = false;
    Served served(executor, [&](ServerExchange& exchange) -> Task<void> {
      return [](ServerExchange& e, Event& in, bool& out) -> Task<void> {
        struct Leaving {
          bool& flag;
          ~Leaving() { flag = true; }
        } leaving{out};
        e.begin(200, {});
        in.notify_all();
        Event never;
        co_await never.wait();
      }(exchange, entered, left);
    });
    HttpWire wire(executor);
    co_await served.connect(wire);
    co_await wire.send(get("/"));
    co_await entered.wait();
    co_await served.stop(20ms);
    EXPECT_TRUE(left);
    EXPECT_THAT(co_await wire.rest(), StartsWith("HTTP/1.1 200 OK"));
  });
}

TEST(HttpServer, AHandlerThatFailsIsAnsweredFor) {
  run_task([]() -> Task<void> {
    Served served(co_await asio::this_coro::executor, [](ServerExchange& exchange) -> Task<void> {
      if (exchange.request().url == "/nothing") co_return;
      throw Error(Errc::internal, "no luck");
    });
    HttpWire wire(co_await asio::this_coro::executor);
    co_await served.connect(wire);
    co_await wire.send(get("/nothing") + get("/failed"));
    EXPECT_EQ((co_await wire.answer()).status, 500);
    EXPECT_EQ((co_await wire.answer()).status, 500);
    co_await served.stop();
  });
}

TEST(HttpServer, AHeaderCannotEndItsLine) {
  run_task([]() -> Task<void> {
    Served served(co_await asio::this_coro::executor, [](ServerExchange& exchange) -> Task<void> {
      exchange.respond(200, {{"X", "a\r\nY: b"}}, "");
      co_return;
    });
    HttpWire wire(co_await asio::this_coro::executor);
    co_await served.connect(wire);
    co_await wire.send(get("/"));
    EXPECT_EQ((co_await wire.answer()).headers.get("x"), "aY: b");
    co_await served.stop();
  });
}

TEST(HttpServer, WhereItCannotListenItSaysWhy) {
  run_task([]() -> Task<void> {
    auto executor = co_await asio::this_coro::executor;
    Served served(executor, echo);
    const auto address = served.server.address();
    const auto port = static_cast<std::uint16_t>(std::stoi(address.substr(address.rfind(':') + 1)));
    struct Case {
      std::string host;
      std::uint16_t port;
      Errc code;
      const char* message;
    };
    const std::vector<Case> cases{{"127.0.0.1", port, Errc::connect, "is in use by another program"},
                                  {"example.org", 0, Errc::invalid_argument, "is not an address to listen on"},
                                  {"192.0.2.1", 0, Errc::connect, "cannot listen on 192.0.2.1:0"}};
    for (const auto& c : cases) {
      HttpServer second(executor, {}, echo, Runtime{});
      try {
        second.listen(c.host, c.port);
        ADD_FAILURE() << c.host;
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), c.code);
        EXPECT_THAT(error.message(), HasSubstr(c.message));
      }
    }
    co_await served.stop();
  });
}

}  // namespace
}  // namespace patchbay
