// T8: a refused bearer token. First the rule itself, then every way in which requests that
// share a token can meet its end at the same time.
#include "http/token_rule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/as_result.h"
#include "base/scope.h"
#include "base/waiting.h"
#include "support/fails_with.h"
#include "support/loop.h"
#include "transport/proxy.h"

namespace patchbay {
namespace {

using namespace std::chrono_literals;
using test::Fails;
using test::FailsSaying;
using test::FailsWith;
using test::run_task;
using test::settle;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST(TokenRule, ARefusalIsAboutTheTokenThatWasSent) {
  struct Row {
    std::string name;
    std::string sent;
    std::uint64_t sent_generation;
    std::string held;
    std::uint64_t generation;
    bool renewing;
    AfterRefusal expected;
  };
  const std::vector<Row> rows{
      {"the current one, nobody has tried", "a", 0, "a", 0, false, AfterRefusal::renew},
      {"the current one, being renewed", "a", 0, "a", 0, true, AfterRefusal::wait},
      {"an older one, renewed since", "a", 0, "b", 1, false, AfterRefusal::retry},
      {"an older one, replaced by somebody else", "a", 0, "b", 0, false, AfterRefusal::retry},
      {"an older one, while the newer is being renewed", "a", 0, "b", 1, true, AfterRefusal::wait},
      {"the current one, a renewal since brought nothing", "a", 0, "a", 1, false, AfterRefusal::sign_in},
      {"the current one, sent after a renewal that brought nothing", "a", 1, "a", 1, false, AfterRefusal::renew},
      {"a renewed one is refused too", "b", 1, "b", 1, false, AfterRefusal::renew},
      {"two renewals later", "a", 0, "c", 2, false, AfterRefusal::retry},
      {"back to the same one, two renewals later", "a", 0, "a", 2, false, AfterRefusal::sign_in},
      {"nothing was sent, and there is something now", "", 0, "a", 0, false, AfterRefusal::retry},
      {"nothing was sent, and there is nothing", "", 0, "", 0, false, AfterRefusal::renew},
      {"nothing was sent, and the store had nothing", "", 0, "", 1, false, AfterRefusal::sign_in},
      {"signed out since", "a", 0, "", 0, false, AfterRefusal::renew},
      {"signed out since, and the store had nothing", "a", 0, "", 1, false, AfterRefusal::sign_in},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(after_refusal({Secret(row.sent), row.sent_generation}, {Secret(row.held), row.generation, row.renewing}),
              row.expected)
        << row.name;
  }
}

// A store that other processes use too, and a place that renews what is in it.
class FakeTokens final : public TokenSource {
 public:
  Task<Secret> token() override { co_return Secret(current); }
  Task<Secret> read_again() override {
    ++reads;
    if (read_fails) throw Error(Errc::internal, "the keyring is locked");
    current = stored;
    co_return Secret(current);
  }
  Task<Result<void>> renew(Secret token) override { return renewal(*this, std::move(token)); }

  static Task<Result<void>> renewal(FakeTokens& self, Secret token) {
    ++self.renewals;
    self.refused = token.reveal();
    self.begun.notify_all();
    while (self.hold) co_await self.released.wait();
    if (self.on_renew) co_return self.on_renew();
    self.stored = fmt::format("token-{}", ++self.minted);
    co_return Result<void>();
  }
  void release() {
    hold = false;
    released.notify_all();
  }

  std::string stored = "token-0";
  std::string current = "token-0";
  std::string refused;
  int minted = 0;
  int renewals = 0;
  int reads = 0;
  bool read_fails = false;
  bool hold = false;
  Event begun;
  Event released;
  std::function<Result<void>()> on_renew;
};

const std::string proxy = "https://proxy.example/v1/mcp/one";

struct Fixture {
  std::shared_ptr<FakeTokens> tokens = std::make_shared<FakeTokens>();
  std::shared_ptr<HttpAuth> auth = proxy_auth(proxy, tokens, "run `patchbay login`", 5s);
};

HttpRequest request_to(std::string url) {
  HttpRequest request;
  request.method = "POST";
  request.url = std::move(url);
  return request;
}

Task<SentCredentials> sent_by(HttpAuth& auth, std::string* header = nullptr, std::string url = proxy) {
  auto request = request_to(std::move(url));
  auto sent = co_await auth.authorize(request);
  if (header) *header = request.headers.get("Authorization");
  co_return sent;
}

Task<bool> refuse(HttpAuth& auth, SentCredentials sent, int status = 401, std::string url = proxy,
                  std::string answered_by = proxy) {
  return auth.on_challenge(std::move(sent), request_to(std::move(url)),
                           HttpHead{.status = status, .headers = {}, .url = answered_by});
}

// "retry", "give up", or the error.
Task<void> note_refusal(std::shared_ptr<HttpAuth> auth, SentCredentials sent, std::vector<std::string>& outcomes) {
  auto outcome = co_await as_result(refuse(*auth, std::move(sent)));
  outcomes.push_back(outcome ? (*outcome ? "retry" : "give up") : std::string(to_string(outcome.error().code())));
}

std::vector<std::string> all(std::size_t count, const std::string& outcome) { return std::vector(count, outcome); }

TEST(ProxyToken, IsSentToTheProxyAndNowhereElse) {
  struct Row {
    std::string url;
    std::string header;
  };
  const std::vector<Row> rows{
      {proxy, "Bearer token-0"},
      {"https://proxy.example:443/other", "Bearer token-0"},
      {"https://PROXY.example/v1", "Bearer token-0"},
      {"http://proxy.example/v1/mcp/one", ""},
      {"https://proxy.example:8443/v1/mcp/one", ""},
      {"https://proxy.example.evil/v1/mcp/one", ""},
      {"https://evil/https://proxy.example/", ""},
      {"https://proxy.example@evil/", ""},
      {"no url", ""},
  };
  run_task([&]() -> Task<void> {
    Fixture fixture;
    for (const auto& row : rows) {
      std::string header;
      auto sent = co_await sent_by(*fixture.auth, &header, row.url);
      EXPECT_EQ(header, row.header) << row.url;
      EXPECT_EQ(sent.token.empty(), row.header.empty()) << row.url;
    }
    EXPECT_FALSE(co_await refuse(*fixture.auth, {}, 401, "https://evil/"));
    EXPECT_FALSE(co_await refuse(*fixture.auth, {Secret("token-0"), 0}, 401, proxy, "https://evil/"));
    EXPECT_EQ(fixture.tokens->renewals, 0);
  });
}

TEST(ProxyToken, NoOtherAuthorizationIsSent) {
  run_task([]() -> Task<void> {
    Fixture fixture;
    for (const auto& url : {proxy, std::string("https://evil/")}) {
      auto request = request_to(url);
      request.headers.add("authorization", "Basic configured");
      (void)co_await fixture.auth->authorize(request);
      EXPECT_THAT(std::string(request.headers.get("Authorization")), Not(HasSubstr("configured")));
    }
  });
}

TEST(ProxyToken, ARefusalOfTheCurrentOneRenewsIt) {
  run_task([]() -> Task<void> {
    Fixture fixture;
    auto sent = co_await sent_by(*fixture.auth);
    EXPECT_TRUE(co_await refuse(*fixture.auth, sent));
    EXPECT_EQ(fixture.tokens->renewals, 1);
    EXPECT_EQ(fixture.tokens->refused, "token-0");
    std::string header;
    (void)co_await sent_by(*fixture.auth, &header);
    EXPECT_EQ(header, "Bearer token-1");
  });
}

TEST(ProxyToken, RefusalsAtOnceShareOneRenewal) {
  run_task([]() -> Task<void> {
    Fixture fixture;
    Scope scope(co_await asio::this_coro::executor);
    std::vector<std::string> outcomes;
    for (int i = 0; i < 32; ++i) {
      scope.spawn(note_refusal(fixture.auth, co_await sent_by(*fixture.auth), outcomes));
    }
    co_await scope.join();
    EXPECT_EQ(outcomes, all(32, "retry"));
    EXPECT_EQ(fixture.tokens->renewals, 1);
  });
}

// Sent before, refused after: the newer token is there already.
TEST(ProxyToken, ALateRefusalOfAnOlderOneRenewsNothing) {
  run_task([]() -> Task<void> {
    Fixture fixture;
    auto early = co_await sent_by(*fixture.auth);
    auto late = co_await sent_by(*fixture.auth);
    EXPECT_TRUE(co_await refuse(*fixture.auth, early));
    EXPECT_TRUE(co_await refuse(*fixture.auth, late));
    EXPECT_EQ(fixture.tokens->renewals, 1);
  });
}

TEST(ProxyToken, WhatAnotherProcessRenewedIsTaken) {
  run_task([]() -> Task<void> {
    Fixture fixture;
    auto sent = co_await sent_by(*fixture.auth);
    fixture.tokens->stored = "theirs";
    EXPECT_TRUE(co_await refuse(*fixture.auth, sent));
    EXPECT_EQ(fixture.tokens->renewals, 0);
    std::string header;
    (void)co_await sent_by(*fixture.auth, &header);
    EXPECT_EQ(header, "Bearer theirs");
  });
}

TEST(ProxyToken, AFailedRenewalReadsTheStoreAgain) {
  struct Row {
    std::string name;
    std::string stored_meanwhile;
    std::string outcome;
  };
  for (const auto& [name, stored, outcome] : std::vector<Row>{
           {"the lock is busy, and its holder has stored a newer one", "theirs", "retry"},
           {"the lock is busy, and there is nothing newer", "token-0", "unauthorized"},
           {"signed out meanwhile", "", "unauthorized"},
       }) {
    SCOPED_TRACE(name);
    run_task([&]() -> Task<void> {
      Fixture fixture;
      fixture.tokens->on_renew = [&]() -> Result<void> {
        fixture.tokens->stored = stored;
        return fail(Errc::timeout, "another process holds the lock");
      };
      Scope scope(co_await asio::this_coro::executor);
      std::vector<std::string> outcomes;
      for (int i = 0; i < 8; ++i) {
        scope.spawn(note_refusal(fixture.auth, co_await sent_by(*fixture.auth), outcomes));
      }
      co_await scope.join();
      EXPECT_EQ(outcomes, all(8, outcome));
      EXPECT_EQ(fixture.tokens->renewals, 1);
      EXPECT_EQ(fixture.tokens->reads, 2);
    });
  }
}

TEST(ProxyToken, ARenewalThatChangesNothingDoesNotCount) {
  run_task([]() -> Task<void> {
    Fixture fixture;
    fixture.tokens->on_renew = []() -> Result<void> { return {}; };
    auto failed = co_await as_result(refuse(*fixture.auth, co_await sent_by(*fixture.auth)));
    EXPECT_THAT(failed, FailsWith(Errc::unauthorized));
    EXPECT_EQ(fixture.tokens->renewals, 1);
  });
}

// Many requests are under way when the sign-in ends: those refused after the failed renewal
// must not each try again.
TEST(ProxyToken, ALateRefusalAfterAFailedRenewalDoesNotTryAgain) {
  run_task([]() -> Task<void> {
    Fixture fixture;
    fixture.tokens->on_renew = []() -> Result<void> { return fail(Errc::unauthorized, "the refresh token is spent"); };
    auto early = co_await sent_by(*fixture.auth);
    auto late = co_await sent_by(*fixture.auth);
    auto first = co_await as_result(refuse(*fixture.auth, early));
    EXPECT_THAT(first, FailsSaying(AllOf(HasSubstr("https://proxy.example"), HasSubstr("401"),
                                         HasSubstr("the refresh token is spent"), HasSubstr("run `patchbay login`"),
                                         Not(HasSubstr("token-0")))));
    EXPECT_THAT(first, Fails(testing::Property(&Error::http_status, testing::Optional(401))));
    auto second = co_await as_result(refuse(*fixture.auth, late));
    EXPECT_THAT(second, FailsWith(Errc::unauthorized));
    EXPECT_EQ(fixture.tokens->renewals, 1);
    // A request of later on may.
    auto later = co_await sent_by(*fixture.auth);
    fixture.tokens->on_renew = nullptr;
    EXPECT_TRUE(co_await refuse(*fixture.auth, later));
    EXPECT_EQ(fixture.tokens->renewals, 2);
  });
}

TEST(ProxyToken, WhoeverComesDuringARenewalWaitsForItsToken) {
  run_task([]() -> Task<void> {
    Fixture fixture;
    Scope scope(co_await asio::this_coro::executor);
    std::vector<std::string> outcomes;
    fixture.tokens->hold = true;
    scope.spawn(note_refusal(fixture.auth, co_await sent_by(*fixture.auth), outcomes));
    co_await fixture.tokens->begun.wait();
    std::string header;
    scope.spawn([](HttpAuth& auth, std::string& out) -> Task<void> { (void)co_await sent_by(auth, &out); }(
                                                         *fixture.auth, header));
    co_await settle();
    EXPECT_EQ(header, "");
    fixture.tokens->release();
    co_await scope.join();
    EXPECT_EQ(header, "Bearer token-1");
    EXPECT_EQ(outcomes, all(1, "retry"));
  });
}

TEST(ProxyToken, WhoeverLeavesDoesNotEndTheRenewal) {
  run_task([]() -> Task<void> {
    Fixture fixture;
    Scope scope(co_await asio::this_coro::executor);
    std::vector<std::string> outcomes;
    fixture.tokens->hold = true;
    auto leaver = scope.spawn(note_refusal(fixture.auth, co_await sent_by(*fixture.auth), outcomes));
    co_await fixture.tokens->begun.wait();
    Scope other(co_await asio::this_coro::executor);
    std::vector<std::string> others;
    other.spawn(note_refusal(fixture.auth, {Secret("token-0"), 0}, others));
    co_await settle();
    leaver.cancel();
    co_await scope.join();
    EXPECT_EQ(outcomes, all(1, "cancelled"));
    fixture.tokens->release();
    co_await other.join();
    EXPECT_EQ(others, all(1, "retry"));
    EXPECT_EQ(fixture.tokens->renewals, 1);
  });
}

TEST(ProxyToken, ARenewalThatHangsIsGivenUp) {
  run_task([]() -> Task<void> {
    auto tokens = std::make_shared<FakeTokens>();
    auto auth = proxy_auth(proxy, tokens, "", 10ms);
    tokens->hold = true;
    auto failed = co_await as_result(refuse(*auth, co_await sent_by(*auth)));
    EXPECT_THAT(failed, FailsSaying(AllOf(HasSubstr("longer than 10 ms"), HasSubstr("sign in again"))));
  });
}

TEST(ProxyToken, WithoutASignInTheStoreIsAskedAndNothingIsRenewed) {
  run_task([]() -> Task<void> {
    Fixture fixture;
    fixture.tokens->stored = fixture.tokens->current = "";
    std::string header;
    auto sent = co_await sent_by(*fixture.auth, &header);
    EXPECT_EQ(header, "");
    auto failed = co_await as_result(refuse(*fixture.auth, sent));
    EXPECT_THAT(failed, FailsWith(Errc::unauthorized));
    EXPECT_EQ(fixture.tokens->renewals, 0);
    EXPECT_EQ(fixture.tokens->reads, 1);
    // Signed in meanwhile, by another process.
    sent = co_await sent_by(*fixture.auth);
    fixture.tokens->stored = "theirs";
    EXPECT_TRUE(co_await refuse(*fixture.auth, sent));
  });
}

TEST(ProxyToken, AStoreThatCannotBeReadEndsNothing) {
  run_task([]() -> Task<void> {
    Fixture fixture;
    fixture.tokens->read_fails = true;
    fixture.tokens->on_renew = [&]() -> Result<void> {
      fixture.tokens->current = "renewed in memory";
      return {};
    };
    EXPECT_TRUE(co_await refuse(*fixture.auth, co_await sent_by(*fixture.auth)));
  });
}

TEST(ProxyToken, A403IsNotAboutTheToken) {
  run_task([]() -> Task<void> {
    Fixture fixture;
    EXPECT_FALSE(co_await refuse(*fixture.auth, co_await sent_by(*fixture.auth), 403));
    EXPECT_EQ(fixture.tokens->renewals, 0);
  });
}

TEST(ProxyUrl, IsMadeOfTheBaseAndTheId) {
  struct Row {
    std::string base;
    std::string id;
    std::string url;  // empty: refused
  };
  const std::vector<Row> rows{
      {"https://proxy.example/v1/mcp", "srv_1", "https://proxy.example/v1/mcp/srv_1"},
      {"https://proxy.example/v1/mcp/", "srv_1", "https://proxy.example/v1/mcp/srv_1"},
      {"https://proxy.example", "x", "https://proxy.example/x"},
      {"https://proxy.example/{server_id}/mcp", "a-b.c~d", "https://proxy.example/a-b.c~d/mcp"},
      {"http://127.0.0.1:8080/p", "one", "http://127.0.0.1:8080/p/one"},
      {"https://proxy.example/p", "a/../b", "https://proxy.example/p/a%2F..%2Fb"},
      {"https://proxy.example/p", "a?b#c", "https://proxy.example/p/a%3Fb%23c"},
      {"https://proxy.example/p", "%2e%2e", "https://proxy.example/p/%252e%252e"},
      {"https://proxy.example/p", "@evil", "https://proxy.example/p/%40evil"},
      {"https://proxy.example/p", "a\r\nb", "https://proxy.example/p/a%0D%0Ab"},
      {"https://proxy.example/p", "", ""},
      {"https://proxy.example/p", ".", ""},
      {"https://proxy.example/p", "..", ""},
      {"https://proxy.example/p", std::string(300, 'a'), ""},
      {"http://proxy.example/p", "one", ""},
      {"https://{server_id}/p", "evil", ""},
      {"https://proxy.example{server_id}/p", ".evil", ""},
      {"https://me:secret@proxy.example/p", "one", ""},
      {"https://proxy.example/p?key={server_id}", "one", ""},
      {"https://proxy.example/p#", "one", ""},
      {"ftp://proxy.example/p", "one", ""},
      {"wss://proxy.example/p", "one", ""},
      {"proxy.example", "one", ""},
      {"", "one", ""},
  };
  for (const auto& row : rows) {
    const auto url = proxy_url(row.base, row.id);
    EXPECT_EQ(url.value_or(""), row.url) << row.base << " " << row.id;
    if (!url) {
      EXPECT_EQ(url.error().code(), Errc::config);
      EXPECT_THAT(url.error().message(), Not(HasSubstr("secret")));
    }
  }
}

}  // namespace
}  // namespace patchbay
