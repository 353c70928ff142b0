// The listener that a browser comes back to, over a real socket: what it takes for the answer, what it refuses, and
// what the user reads. A1.
#include "auth/engine/loopback_visit.h"

#include <boost/asio/ip/tcp.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/as_result.h"
#include "base/scope.h"
#include "base/waiting.h"
#include "http/client/http_client.h"
#include "http/url.h"
#include "support/fails_with.h"
#include "support/loop.h"

namespace patchbay {
namespace {

using namespace std::chrono_literals;
using test::FailsWith;
using test::run_task;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

struct Page {
  int status = 0;
  std::string body;
  std::string policy;
};

Task<Page> get(std::string url, HttpHeaders headers = {}, std::string method = "GET") {
  HttpClientOptions options;
  options.proxy = "";
  HttpClient client(co_await asio::this_coro::executor, std::move(options));
  HttpRequest request{.method = std::move(method), .url = std::move(url), .headers = std::move(headers), .body = {}};
  auto exchange = co_await client.send(std::move(request));
  Page page{exchange->head().status, {}, std::string(exchange->head().headers.get("Content-Security-Policy"))};
  page.body = co_await read_all(*exchange, 1u << 20);
  co_return page;
}

// Takes the state "right"; its code is the answer.
Result<Secret> judge(const CallbackAnswer& answer) {
  if (answer.state != "right") return fail(Errc::protocol, "this is not the answer that was waited for");
  if (answer.error) return fail(Errc::denied, *answer.error_description);
  return Secret(*answer.code);
}

// A visit that was begun, and whose page was shown.
struct Begun {
  std::unique_ptr<AuthorizationVisit> visit;
  std::shared_ptr<Completion<Result<Secret>>> code = std::make_shared<Completion<Result<Secret>>>();
};

Task<Begun> begin(Scope& scope, VisitWish wish = {.server = "docs"}, std::chrono::milliseconds wait = 60s) {
  LoopbackOptions options;
  auto shown = std::make_shared<Event>();
  options.show = [shown](std::string, std::string) -> Task<void> {
    shown->notify_all();
    co_return;
  };
  options.wait = wait;
  Begun begun;
  begun.visit = co_await loopback_visits(std::move(options))(std::move(wish));
  scope.spawn([](AuthorizationVisit& visit, std::shared_ptr<Completion<Result<Secret>>> into) -> Task<void> {
    into->set(co_await as_result(visit.go("https://issuer.example/authorize", judge)));
  }(*begun.visit, begun.code));
  co_await shown->wait();
  co_return begun;
}

TEST(LoopbackVisit, TheAnswerIsTaken_AndThePageSaysHowItEnded) {
  for (const bool works : {true, false}) {
    run_task([works]() -> Task<void> {
      Scope scope(co_await asio::this_coro::executor);
      auto begun = co_await begin(scope);
      EXPECT_THAT(begun.visit->redirect_uri(), testing::StartsWith("http://127.0.0.1:"));
      Page page;
      scope.spawn([](std::string url, Page& into) -> Task<void> { into = co_await get(url); }(
                                                      begun.visit->redirect_uri() + "?state=right&code=abc", page));
      auto code = co_await begun.code->wait();
      EXPECT_EQ(code->reveal(), "abc");
      // The page is answered when it is known, and not before.
      EXPECT_EQ(page.status, 0);
      begun.visit->finish(works ? Result<void>()
                                : Result<void>(fail(Errc::unauthorized, "no token: <script>alert(1)</script>")));
      co_await scope.join();
      EXPECT_EQ(page.status, works ? 200 : 502);
      EXPECT_THAT(page.body, HasSubstr(works ? "You are signed in to docs" : "&lt;script&gt;"));
      EXPECT_THAT(page.body, Not(HasSubstr("<script>")));
      EXPECT_THAT(page.policy, HasSubstr("default-src 'none'"));
    });
  }
}

TEST(LoopbackVisit, AStrangersAnswerIsRefused_AndTheWaitGoesOn) {
  run_task([]() -> Task<void> {
    Scope scope(co_await asio::this_coro::executor);
    auto begun = co_await begin(scope);
    const auto uri = begun.visit->redirect_uri();
    const auto stranger = co_await get(uri + "?state=guessed&code=evil");
    EXPECT_EQ(stranger.status, 400);
    EXPECT_FALSE(begun.code->is_set());
    struct Row {
      const char* name;
      std::string url;
      HttpHeaders headers;
      std::string method = "GET";
    };
    const auto port = parse_url(uri)->port;
    const std::vector<Row> rows{
        {"another path", fmt::format("http://127.0.0.1:{}/?state=right&code=evil", port), {}},
        {"a name that leads here", uri + "?state=right&code=evil", {{"Host", fmt::format("evil.example:{}", port)}}},
        {"a script of a page", uri + "?state=right&code=evil", {{"Sec-Fetch-Mode", "cors"}}},
        {"an image of a page",
         uri + "?state=right&code=evil",
         {{"Sec-Fetch-Dest", "image"}, {"Sec-Fetch-Mode", "no-cors"}}},
        {"a form of a page", uri + "?state=right&code=evil", {{"Origin", "https://evil.example"}}, "POST"},
    };
    for (const auto& row : rows) {
      const auto page = co_await get(row.url, row.headers, row.method);
      EXPECT_EQ(page.status, 404) << row.name;
      EXPECT_FALSE(begun.code->is_set()) << row.name;
    }
    begun.visit->finish({});
    const auto browser =
        co_await get(uri + "?state=right&code=good", {{"Sec-Fetch-Mode", "navigate"}, {"Sec-Fetch-Dest", "document"}});
    EXPECT_EQ(browser.status, 200);
    auto code = co_await begun.code->wait();
    EXPECT_EQ(code->reveal(), "good");
    // A second answer, right as it may be, comes too late.
    EXPECT_EQ((co_await get(uri + "?state=right&code=second")).status, 410);
    co_await scope.join();
  });
}

TEST(LoopbackVisit, WhatTheIssuerSaysIsShownEscaped) {
  run_task([]() -> Task<void> {
    Scope scope(co_await asio::this_coro::executor);
    auto begun = co_await begin(scope);
    const auto page =
        co_await get(begun.visit->redirect_uri() +
                     "?state=right&error=access_denied&error_description=%3Cb%3Ebold%3C%2Fb%3E%1B%5B31mred%E2%80%AE");
    EXPECT_EQ(page.status, 400);
    EXPECT_THAT(page.body, AllOf(HasSubstr("&lt;b&gt;bold"), Not(HasSubstr("<b>")), Not(HasSubstr("\x1b")),
                                 Not(HasSubstr("\xE2\x80\xAE"))));
    EXPECT_THAT(co_await begun.code->wait(), FailsWith(Errc::denied));
    co_await scope.join();
  });
}

TEST(LoopbackVisit, AFixedPortThatIsTaken_IsSaid_AndAPreferredOneIsNot) {
  run_task([]() -> Task<void> {
    Scope scope(co_await asio::this_coro::executor);
    auto first = co_await begin(scope);
    const auto port = parse_url(first.visit->redirect_uri())->port;
    LoopbackOptions options;
    auto open = loopback_visits(options);
    EXPECT_THAT(co_await as_result(open({.server = "other", .port = port})),
                FailsWith(Errc::connect, HasSubstr("is in use")));
    auto second = co_await open({.server = "other", .preferred_port = port});
    EXPECT_NE(parse_url(second->redirect_uri())->port, port);
    first.visit->finish({});
    (void)co_await get(first.visit->redirect_uri() + "?state=right&code=x");
    co_await scope.join();
  });
}

// A browser that takes "localhost" for that one would bring the code there.
TEST(LoopbackVisit, APortThatSomebodyElseHasAtTheOtherAddress_IsNotUsed) {
  run_task([]() -> Task<void> {
    const auto executor = co_await asio::this_coro::executor;
    asio::ip::tcp::acceptor stranger(executor);
    try {
      stranger = asio::ip::tcp::acceptor(executor, {asio::ip::make_address("::1"), 0});
    } catch (const std::exception&) {
      co_return;  // without IPv6 there is no other address
    }
    const auto port = stranger.local_endpoint().port();
    auto open = loopback_visits({});
    EXPECT_THAT(co_await as_result(open({.server = "docs", .host = "localhost", .port = port})),
                FailsWith(Errc::connect, HasSubstr("is in use")));
    auto visit = co_await open({.server = "docs", .host = "localhost", .preferred_port = port});
    EXPECT_NE(parse_url(visit->redirect_uri())->port, port);
    EXPECT_THAT(visit->redirect_uri(), testing::StartsWith("http://localhost:"));
  });
}

TEST(LoopbackVisit, NobodyWhoComes_IsWaitedForForEver) {
  run_task([]() -> Task<void> {
    Scope scope(co_await asio::this_coro::executor);
    auto begun = co_await begin(scope, {.server = "docs"}, 20ms);
    EXPECT_THAT(co_await begun.code->wait(), FailsWith(Errc::timeout, HasSubstr("nobody signed in")));
    co_await scope.join();
  });
}

}  // namespace
}  // namespace patchbay
