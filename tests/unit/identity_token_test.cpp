// Whether an identity token is the answer to our sign-in, and the sign-in at an identity provider that brings it. A5.
#include "auth/identity_token.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "auth/engine/sign_in.h"
#include "base/as_result.h"
#include "base/crypto.h"
#include "base/scope.h"
#include "base/waiting.h"
#include "support/fails_with.h"
#include "support/fake_issuer.h"
#include "support/loop.h"

namespace patchbay {
namespace {

using std::chrono::seconds;
using std::chrono::sys_seconds;
using test::FailsWith;
using test::FakeIssuer;
using test::run_task;
using testing::HasSubstr;

const sys_seconds now{seconds(1'790'000'000)};

Secret token_of(const Json& claims) {
  return Secret(base64url_encode("{\"alg\":\"none\"}") + "." + base64url_encode(to_text(claims)) + ".c2ln");
}

Json claims() {
  return {{"iss", "https://login.example"}, {"aud", "us"}, {"nonce", "n-1"}, {"exp", 1'790'000'600}, {"sub", "ada"}};
}

TEST(IdentityToken, IsForThisSignInAlone) {
  const IdentityExpectation expected{"https://login.example", "us", "n-1", now};
  const auto good = read_identity_token(token_of(claims()), expected);
  ASSERT_TRUE(good) << good.error().message();
  EXPECT_EQ(good->expires, now + seconds(600));
  struct Case {
    std::string key;
    Json value;
    std::string why;  // empty: it is good
  };
  for (const auto& [key, value, why] : std::vector<Case>{
           {"iss", "https://login.example/", "another issuer"},
           {"iss", Json(), "another issuer"},
           {"aud", "them", "another client"},
           {"aud", Json::array({"them", "us"}), ""},
           {"aud", Json::array({"them"}), "another client"},
           {"aud", Json(), "another client"},
           {"nonce", "n-2", "nonce"},
           {"nonce", Json(), "nonce"},
           {"exp", 1'789'999'000, "expired"},
           {"exp", 1'789'999'990, ""},  // clocks differ
           {"exp", "soon", "when it expires"},
           {"exp", 1e300, "when it expires"},
           {"exp", Json(), "when it expires"},
       }) {
    auto changed = claims();
    changed[key] = value;
    const auto read = read_identity_token(token_of(changed), expected);
    EXPECT_EQ(read.has_value(), why.empty()) << key << to_text(value);
    if (!read) EXPECT_THAT(read.error().message(), HasSubstr(why));
  }
  auto several = claims();
  several["aud"] = Json::array({"them", "us"});
  several["azp"] = "them";
  EXPECT_FALSE(read_identity_token(token_of(several), expected));
  EXPECT_FALSE(read_identity_token(Secret("not a token"), expected));
}

TEST(IdentityToken, OneThatIsAboutToExpireIsRenewed) {
  EXPECT_FALSE(has_expired(token_of(claims()), now));
  EXPECT_TRUE(has_expired(token_of(claims()), now + seconds(590)));
  EXPECT_FALSE(has_expired(Secret("opaque"), now));
}

// An identity provider on top of the fake issuer: it answers with an identity token.
struct Provider {
  FakeIssuer issuer;
  std::string nonce;
  std::chrono::seconds lifetime{600};
  std::chrono::seconds renewed_lifetime{3600};
  int renewals = 0;
  bool with_refresh = true;
  std::string rotated = "r-1";
  std::shared_ptr<SignInStore> store = memory_sign_ins();
  std::shared_ptr<SignInDesk> desk;
  IdentityProvider settings{.issuer = "https://issuer.example", .client_id = "us"};

  explicit Provider(asio::any_io_executor executor) {
    issuer.add_documents();
    SignInDesk::Options options;
    options.store = store;
    desk = std::make_shared<SignInDesk>(std::move(executor), std::move(options));
    issuer.instead = [this](const std::map<std::string, std::string>& form) -> std::optional<HttpAnswer> {
      const bool renewal = form.at("grant_type") == "refresh_token";
      renewals += renewal ? 1 : 0;
      const auto today = std::chrono::floor<seconds>(std::chrono::system_clock::now());
      Json identity{{"iss", settings.issuer},
                    {"aud", "us"},
                    {"exp", (today + (renewal ? renewed_lifetime : lifetime)).time_since_epoch().count()}};
      if (!renewal) identity["nonce"] = nonce.empty() ? issuer.visits.back().at("nonce") : nonce;
      Json body{
          {"access_token", "a"}, {"token_type", "Bearer"}, {"id_token", std::string(token_of(identity).reveal())}};
      if (with_refresh) body["refresh_token"] = rotated;
      HttpAnswer answer;
      answer.head.status = 200;
      answer.head.headers.set("Content-Type", "application/json");
      answer.body = to_text(body);
      return answer;
    };
  }
};

TEST(IdentityProvider, OneSignIn_IsKeptAndRenewed) {
  run_task([]() -> Task<void> {
    Provider provider(co_await asio::this_coro::executor);
    const auto way = co_await provider.issuer.way()();
    const auto before = co_await as_result(provider.desk->identity_token(provider.settings, way));
    EXPECT_THAT(before, FailsWith(Errc::unauthorized, HasSubstr("nobody is signed in")));
    co_await provider.desk->sign_in_at_provider(provider.settings, way, provider.issuer.browser());
    EXPECT_EQ(provider.issuer.visits.back().at("scope").substr(0, 6), "openid");
    EXPECT_FALSE(provider.issuer.visits.back().contains("resource"));
    (void)co_await provider.desk->identity_token(provider.settings, way);
    EXPECT_EQ(provider.renewals, 0);
    provider.lifetime = seconds(30);
    co_await provider.desk->sign_in_at_provider(provider.settings, way, provider.issuer.browser());
    (void)co_await provider.desk->identity_token(provider.settings, way);
    (void)co_await provider.desk->identity_token(provider.settings, way);
    EXPECT_EQ(provider.renewals, 1);
  });
}

TEST(IdentityProvider, ATokenOfAnotherSignInIsNotKept) {
  run_task([]() -> Task<void> {
    Provider provider(co_await asio::this_coro::executor);
    provider.nonce = "of-another";
    const auto way = co_await provider.issuer.way()();
    const auto done =
        co_await as_result(provider.desk->sign_in_at_provider(provider.settings, way, provider.issuer.browser()));
    EXPECT_THAT(done, FailsWith(Errc::protocol, HasSubstr("nonce")));
    EXPECT_FALSE(co_await provider.store->secret(provider_token_name(provider.settings.issuer)));
  });
}

TEST(IdentityProvider, WithoutARefreshToken_AnExpiredSignInIsOver) {
  run_task([]() -> Task<void> {
    Provider provider(co_await asio::this_coro::executor);
    provider.with_refresh = false;
    provider.lifetime = seconds(30);
    const auto way = co_await provider.issuer.way()();
    co_await provider.desk->sign_in_at_provider(provider.settings, way, provider.issuer.browser());
    const auto token = co_await as_result(provider.desk->identity_token(provider.settings, way));
    EXPECT_THAT(token, FailsWith(Errc::unauthorized, HasSubstr("has expired")));
  });
}

// What renews a sign-in is used up by the renewal, whatever else comes with it.
TEST(IdentityProvider, ARenewalWithATokenThatIsNotGood_DoesNotLoseWhatRenewsIt) {
  run_task([]() -> Task<void> {
    Provider provider(co_await asio::this_coro::executor);
    provider.lifetime = seconds(30);
    const auto way = co_await provider.issuer.way()();
    co_await provider.desk->sign_in_at_provider(provider.settings, way, provider.issuer.browser());
    provider.rotated = "r-2";
    provider.renewed_lifetime = seconds(-3600);
    EXPECT_THAT(co_await as_result(provider.desk->identity_token(provider.settings, way)),
                FailsWith(Errc::protocol, HasSubstr("has expired already")));
    const auto kept = co_await provider.store->secret(provider_refresh_name(provider.settings.issuer));
    EXPECT_TRUE(kept && kept->reveal() == "r-2");
    provider.renewed_lifetime = seconds(3600);
    EXPECT_TRUE((co_await as_result(provider.desk->identity_token(provider.settings, way))).has_value());
  });
}

// Another process renews what was kept before; the user's own sign-in is not overwritten with that.
TEST(IdentityProvider, ASignInWaitsForARenewalThatIsUnderWay) {
  run_task([]() -> Task<void> {
    const auto executor = co_await asio::this_coro::executor;
    Provider provider(executor);
    const auto way = co_await provider.issuer.way()();
    auto lock = co_await provider.store->lock(provider_token_name(provider.settings.issuer));
    Scope scope(executor);
    bool signed_in = false;
    scope.spawn([](Provider& at, SignInWay by, bool& into) -> Task<void> {
      co_await at.desk->sign_in_at_provider(at.settings, by, at.issuer.browser());
      into = true;
    }(provider, way, signed_in));
    for (int i = 0; i < 20; ++i) co_await test::settle();
    EXPECT_FALSE(signed_in);
    lock.reset();
    co_await scope.join();
    EXPECT_TRUE(signed_in);
  });
}

TEST(IdentityProvider, APageInsteadOfAnAnswer_IsNoReasonToAskTheUser) {
  struct Row {
    int status;
    const char* body;
    Errc code;
  };
  for (const auto& [status, body, code] : std::vector<Row>{
           {200, "<html>log in to the network first</html>", Errc::protocol},
           {503, "", Errc::http},
           {400, R"({"error":"slow_down","error_description":"r-1 is busy"})", Errc::http},
           {400, R"({"error":"invalid_grant"})", Errc::unauthorized},
       }) {
    run_task([=]() -> Task<void> {
      Provider provider(co_await asio::this_coro::executor);
      provider.lifetime = seconds(30);
      const auto way = co_await provider.issuer.way()();
      co_await provider.desk->sign_in_at_provider(provider.settings, way, provider.issuer.browser());
      provider.issuer.instead = [=](const auto&) -> std::optional<HttpAnswer> {
        HttpAnswer answer;
        answer.head.status = status;
        answer.body = body;
        return answer;
      };
      EXPECT_THAT(co_await as_result(provider.desk->identity_token(provider.settings, way)), FailsWith(code)) << body;
    });
  }
}

TEST(IdentityProvider, WhoeverStopsWaiting_DoesNotLoseTheRenewedSignIn) {
  run_task([]() -> Task<void> {
    const auto executor = co_await asio::this_coro::executor;
    Provider provider(executor);
    provider.lifetime = seconds(30);
    const auto way = co_await provider.issuer.way()();
    co_await provider.desk->sign_in_at_provider(provider.settings, way, provider.issuer.browser());
    const auto before = co_await provider.store->secret(provider_token_name(provider.settings.issuer));
    auto asked = std::make_shared<Event>();
    auto go_on = std::make_shared<Event>();
    provider.issuer.before_token = [asked, go_on]() -> Task<void> {
      asked->notify_all();
      co_await go_on->wait();
    };
    Scope scope(executor);
    scope.spawn([](Provider& from, SignInWay by) -> Task<void> {
      (void)co_await as_result(from.desk->identity_token(from.settings, by));
    }(provider, way));
    co_await asked->wait();
    scope.cancel();
    co_await scope.join();
    go_on->notify_all();
    co_await provider.desk->close();
    const auto after = co_await provider.store->secret(provider_token_name(provider.settings.issuer));
    EXPECT_NE(before->reveal(), after->reveal());
  });
}

}  // namespace
}  // namespace patchbay
