// The engine of sign-in against an authorization server without a network: what is asked, in which order, how often,
// and what happens when two things happen at once. A1, A3, A4, A5, L3, X4.
#include "auth/engine/sign_in.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "auth/scopes.h"
#include "base/as_result.h"
#include "base/scope.h"
#include "support/fails_with.h"
#include "support/fake_issuer.h"
#include "support/loop.h"
#include "support/manual_clock.h"

namespace patchbay {
namespace {

using namespace std::chrono_literals;
using test::FailsWith;
using test::FakeIssuer;
using test::ManualClock;
using test::run_task;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

SignInSettings settings_for(const std::string& url = "https://mcp.example/mcp") {
  SignInSettings settings;
  settings.server = "docs";
  settings.url = *parse_url(url);
  return settings;
}

// One host's worth of sign-in, over a store that outlives it.
struct House {
  explicit House(asio::any_io_executor executor, std::shared_ptr<SignInStore> kept = memory_sign_ins())
      : store(std::move(kept)) {
    SignInDesk::Options options;
    options.store = store;
    desk = std::make_shared<SignInDesk>(std::move(executor), std::move(options));
  }
  std::shared_ptr<SignInStore> store;
  std::shared_ptr<SignInDesk> desk;
};

// A store that keeps no token any more, or whose locks others keep.
struct FullDisk final : SignInStore {
  std::shared_ptr<SignInStore> to = memory_sign_ins();
  bool fails = false;
  bool is_locked = false;
  Task<std::optional<TokenSet>> token_of_server(std::string url) override { return to->token_of_server(url); }
  Task<std::optional<TokenSet>> token(std::string a, std::string b) override { return to->token(a, b); }
  Task<void> keep_token(TokenSet tokens, std::string url) override {
    if (fails) throw Error(Errc::config, "the disk is full");
    co_await to->keep_token(std::move(tokens), std::move(url));
  }
  Task<void> forget_token(std::string a, std::string b) override { return to->forget_token(a, b); }
  Task<void> leave_tokens(std::string url) override { return to->leave_tokens(url); }
  Task<std::optional<OAuthClient>> client(std::string issuer) override { return to->client(issuer); }
  Task<void> keep_client(OAuthClient client) override { return to->keep_client(client); }
  Task<void> forget_client(std::string issuer) override { return to->forget_client(issuer); }
  Task<std::optional<Secret>> secret(std::string name) override { return to->secret(name); }
  Task<void> keep_secret(std::string name, Secret value, Json note) override {
    return to->keep_secret(name, value, note);
  }
  Task<void> forget_secret(std::string name) override { return to->forget_secret(name); }
  Task<std::optional<SignInNeed>> need(std::string url) override { return to->need(url); }
  Task<void> keep_need(std::string url, std::optional<SignInNeed> need) override { return to->keep_need(url, need); }
  Task<void> note_failure(std::string url, std::optional<SignInFailure> f) override { return to->note_failure(url, f); }
  Task<std::unique_ptr<Lock>> lock(std::string name) override {
    if (is_locked) throw Error(Errc::timeout, "another process keeps it locked");
    co_return co_await to->lock(std::move(name));
  }
};

HttpRequest to_server() { return {.method = "POST", .url = "https://mcp.example/mcp", .headers = {}, .body = "{}"}; }

HttpHead refusal(int status = 401, std::string challenge = "Bearer") {
  HttpHead head;
  head.status = status;
  head.url = "https://mcp.example/mcp";
  head.headers.set("WWW-Authenticate", std::move(challenge));
  return head;
}

// What the next request to the server would carry.
Task<std::string> credentials(std::shared_ptr<ServerSignIn> server) {
  auto request = to_server();
  (void)co_await server->authorize(request);
  co_return std::string(request.headers.get("Authorization"));
}

TEST(SignIn, BeforeARefusalNothingIsAskedAndNothingIsSent) {
  run_task([]() -> Task<void> {
    FakeIssuer issuer;
    House house(co_await asio::this_coro::executor);
    auto server = house.desk->server(settings_for(), issuer.way());
    EXPECT_EQ(co_await credentials(server), "");
    EXPECT_THAT(issuer.asked, IsEmpty());
  });
}

TEST(SignIn, APersonSignsIn_AndTheTokenGoesToTheServerAlone) {
  run_task([]() -> Task<void> {
    FakeIssuer issuer;
    issuer.add_documents();
    House house(co_await asio::this_coro::executor);
    auto server = house.desk->server(settings_for(), issuer.way());
    const auto report = co_await server->sign_in({.scope = "read"}, issuer.browser());
    EXPECT_EQ(report.issuer, issuer.issuer);
    EXPECT_EQ(report.resource, issuer.resource);
    EXPECT_TRUE(report.registered);
    EXPECT_EQ(co_await credentials(server), "Bearer access-1");
    auto elsewhere = to_server();
    elsewhere.url = "https://other.example/mcp";
    (void)co_await server->authorize(elsewhere);
    EXPECT_FALSE(elsewhere.headers.contains("Authorization"));
    EXPECT_THAT(issuer.asked, ElementsAre("https://mcp.example/.well-known/oauth-protected-resource/mcp",
                                          "https://issuer.example/.well-known/oauth-authorization-server",
                                          "https://issuer.example/register", "https://issuer.example/token"));
    const auto& visit = issuer.visits.at(0);
    EXPECT_EQ(visit.at("resource"), issuer.resource);
    EXPECT_EQ(visit.at("scope"), "read");
    EXPECT_EQ(visit.at("code_challenge_method"), "S256");
    EXPECT_EQ(issuer.token_requests.at(0).at("resource"), issuer.resource);
  });
}

TEST(SignIn, AnotherServerOfTheResource_UsesItsToken_UnlessSomebodyElseDeclaredIt) {
  run_task([]() -> Task<void> {
    FakeIssuer issuer;
    issuer.add_documents();
    House house(co_await asio::this_coro::executor);
    (void)co_await house.desk->server(settings_for(), issuer.way())->sign_in({}, issuer.browser());
    const SignInNeed named{.resource_metadata = "https://mcp.example/.well-known/oauth-protected-resource/mcp"};
    auto foreign = settings_for("https://mcp.example/mcp/foreign");
    foreign.users_own = false;
    (void)co_await house.desk->server(foreign, issuer.way())->sign_in(named, issuer.browser());
    EXPECT_EQ(issuer.visits.size(), 2u);
    auto own = house.desk->server(settings_for("https://mcp.example/mcp/own"), issuer.way());
    const auto report = co_await own->sign_in(named, issuer.browser());
    EXPECT_EQ(report.resource, issuer.resource);
    EXPECT_EQ(issuer.visits.size(), 2u);
    EXPECT_EQ(co_await credentials(own), "Bearer access-2");
    // Who signs in again wants a new one.
    (void)co_await own->sign_in(named, issuer.browser());
    EXPECT_EQ(issuer.visits.size(), 3u);
    EXPECT_EQ(co_await credentials(own), "Bearer access-3");
  });
}

TEST(SignIn, TheNextRunUsesWhatIsKept_AndAsksNobody) {
  run_task([]() -> Task<void> {
    FakeIssuer issuer;
    issuer.add_documents();
    const auto executor = co_await asio::this_coro::executor;
    House first(executor);
    (void)co_await first.desk->server(settings_for(), issuer.way())->sign_in({}, issuer.browser());
    House second(executor, first.store);
    issuer.asked.clear();
    EXPECT_EQ(co_await credentials(second.desk->server(settings_for(), issuer.way())), "Bearer access-1");
    EXPECT_THAT(issuer.asked, IsEmpty());
  });
}

TEST(SignIn, ATokenIsRenewedFiveMinutesBeforeItExpires_AndOnceForAllWhoWait) {
  ManualClock clock;
  run_task(clock, [&clock]() -> Task<void> {
    FakeIssuer issuer;
    issuer.add_documents();
    const auto executor = co_await asio::this_coro::executor;
    House house(executor);
    auto server = house.desk->server(settings_for(), issuer.way());
    (void)co_await server->sign_in({.scope = "read"}, issuer.browser());
    clock.skip(54min);
    EXPECT_EQ(co_await credentials(server), "Bearer access-1");
    clock.skip(2min);
    Scope scope(executor);
    std::vector<std::string> sent(5);
    for (auto& one : sent) {
      scope.spawn([](std::shared_ptr<ServerSignIn> from, std::string& into) -> Task<void> {
        into = co_await credentials(from);
      }(server, one));
    }
    co_await scope.join();
    EXPECT_THAT(sent, testing::Each("Bearer access-2"));
    EXPECT_EQ(issuer.refreshes, 1);
    // What was granted is asked for again, where a server would otherwise give less.
    EXPECT_EQ(issuer.token_requests.back().at("scope"), "read");
    EXPECT_EQ(issuer.token_requests.back().at("resource"), issuer.resource);
  });
}

TEST(SignIn, ARotatedTokenIsKeptBeforeItIsUsed) {
  ManualClock clock;
  run_task(clock, [&clock]() -> Task<void> {
    FakeIssuer issuer;
    issuer.add_documents();
    House house(co_await asio::this_coro::executor);
    auto server = house.desk->server(settings_for(), issuer.way());
    (void)co_await server->sign_in({}, issuer.browser());
    clock.skip(2h);
    EXPECT_EQ(co_await credentials(server), "Bearer access-2");
    const auto kept = co_await house.store->token(issuer.issuer, issuer.resource);
    EXPECT_EQ(kept->refresh.reveal(), "refresh-2");
    EXPECT_EQ(kept->access.reveal(), "access-2");
  });
}

TEST(SignIn, TwoProcessesThatRenewAtOnce_SendOneRefresh) {
  ManualClock clock;
  run_task(clock, [&clock]() -> Task<void> {
    FakeIssuer issuer;
    issuer.add_documents();
    const auto executor = co_await asio::this_coro::executor;
    House first(executor);
    auto one = first.desk->server(settings_for(), issuer.way());
    (void)co_await one->sign_in({}, issuer.browser());
    House second(executor, first.store);
    auto other = second.desk->server(settings_for(), issuer.way());
    EXPECT_EQ(co_await credentials(other), "Bearer access-1");
    clock.skip(2h);
    Scope scope(executor);
    std::vector<std::string> sent(2);
    scope.spawn([](auto from, std::string& into) -> Task<void> { into = co_await credentials(from); }(one, sent[0]));
    scope.spawn([](auto from, std::string& into) -> Task<void> { into = co_await credentials(from); }(other, sent[1]));
    co_await scope.join();
    EXPECT_THAT(sent, testing::Each("Bearer access-2"));
    EXPECT_EQ(issuer.refreshes, 1);
  });
}

TEST(SignIn, ARefusedTokenIsRenewedOnce_AndTheRequestIsRepeated) {
  run_task([]() -> Task<void> {
    FakeIssuer issuer;
    issuer.add_documents();
    House house(co_await asio::this_coro::executor);
    auto server = house.desk->server(settings_for(), issuer.way());
    (void)co_await server->sign_in({}, issuer.browser());
    auto request = to_server();
    auto sent = co_await server->authorize(request);
    EXPECT_TRUE(co_await server->on_challenge(sent, request, refusal()));
    EXPECT_EQ(co_await credentials(server), "Bearer access-2");
    EXPECT_EQ(issuer.refreshes, 1);
    // A request that was sent before the renewal finds the new token and renews nothing.
    EXPECT_TRUE(co_await server->on_challenge(sent, request, refusal()));
    EXPECT_EQ(issuer.refreshes, 1);
  });
}

TEST(SignIn, WhoeverStopsWaiting_DoesNotLoseTheRotatedToken) {
  ManualClock clock;
  run_task(clock, [&clock]() -> Task<void> {
    FakeIssuer issuer;
    issuer.add_documents();
    const auto executor = co_await asio::this_coro::executor;
    House house(executor);
    auto server = house.desk->server(settings_for(), issuer.way());
    (void)co_await server->sign_in({}, issuer.browser());
    clock.skip(2h);
    Event asked, go_on;
    issuer.before_token = [&]() -> Task<void> {
      asked.notify_all();
      co_await go_on.wait();
    };
    Scope scope(executor);
    auto waiting = scope.spawn([](auto from) -> Task<void> { (void)co_await as_result(credentials(from)); }(server));
    co_await asked.wait();
    waiting.cancel();
    co_await scope.join();
    go_on.notify_all();
    co_await house.desk->close();
    const auto kept = co_await house.store->token(issuer.issuer, issuer.resource);
    EXPECT_EQ(kept->refresh.reveal(), "refresh-2");
  });
}

TEST(SignIn, ARefreshTokenThatIsOver_NeedsAPerson_AndATroubledIssuerDoesNot) {
  struct Row {
    const char* name;
    int status;
    const char* body;
    bool needs_person;
  };
  for (const auto& row :
       {Row{"over", 400, R"({"error":"invalid_grant"})", true},
        Row{"a vendor's word", 400, R"({"error":"token_expired"})", true},
        Row{"an error with status 200", 200, R"({"error":"invalid_refresh_token"})", true},
        Row{"forgotten client", 401, R"({"error":"invalid_client"})", true}, Row{"trouble", 503, "try later", false}}) {
    run_task([row]() -> Task<void> {
      FakeIssuer issuer;
      issuer.add_documents();
      House house(co_await asio::this_coro::executor);
      auto server = house.desk->server(settings_for(), issuer.way());
      (void)co_await server->sign_in({}, issuer.browser());
      issuer.instead = [row](const auto&) {
        HttpAnswer answer;
        answer.head.status = row.status;
        answer.head.headers.set("Content-Type", "application/json");
        answer.body = row.body;
        return std::optional(answer);
      };
      auto request = to_server();
      auto sent = co_await server->authorize(request);
      auto after = co_await as_result(server->on_challenge(sent, request, refusal()));
      if (row.needs_person) {
        EXPECT_TRUE(after && !*after) << row.name;
        EXPECT_TRUE(server->last_need().has_value()) << row.name;
      } else {
        EXPECT_THAT(after, FailsWith(Errc::http)) << row.name;
      }
      // Either way nobody lost what is kept.
      EXPECT_TRUE((co_await house.store->token(issuer.issuer, issuer.resource)).has_value()) << row.name;
    });
  }
}

TEST(SignIn, MoreRights_AreAskedForBesideThoseOfBefore_ThreeTimesAtMost) {
  run_task([]() -> Task<void> {
    FakeIssuer issuer;
    issuer.add_documents();
    House house(co_await asio::this_coro::executor);
    auto server = house.desk->server(settings_for(), issuer.way());
    (void)co_await server->sign_in({.scope = "read"}, issuer.browser());
    auto request = to_server();
    auto sent = co_await server->authorize(request);
    EXPECT_FALSE(co_await server->on_challenge(sent, request,
                                               refusal(403, R"(Bearer error="insufficient_scope", scope="write")")));
    const auto need = server->last_need().value_or(SignInNeed{});
    EXPECT_TRUE(need.more_scope);
    (void)co_await server->sign_in(need, issuer.browser());
    EXPECT_EQ(issuer.visits.back().at("scope"), "read write");
    EXPECT_FALSE(server->last_need().has_value());
    EXPECT_THAT(co_await as_result(server->sign_in(need, issuer.browser())), FailsWith(Errc::forbidden));
    EXPECT_EQ(issuer.visits.size(), 2u);
  });
}

TEST(SignIn, MoreRightsThatOneProcessWasRefused_AreAskedForByAnother) {
  run_task([]() -> Task<void> {
    FakeIssuer issuer;
    issuer.add_documents();
    const auto executor = co_await asio::this_coro::executor;
    House first(executor);
    auto one = first.desk->server(settings_for(), issuer.way());
    (void)co_await one->sign_in({.scope = "read"}, issuer.browser());
    auto request = to_server();
    auto sent = co_await one->authorize(request);
    EXPECT_FALSE(
        co_await one->on_challenge(sent, request, refusal(403, R"(Bearer error="insufficient_scope", scope="write")")));
    House second(executor, first.store);
    auto other = second.desk->server(settings_for(), issuer.way());
    EXPECT_EQ(co_await credentials(other), "Bearer access-1");
    (void)co_await other->sign_in(co_await other->need(), issuer.browser());
    EXPECT_EQ(issuer.visits.back().at("scope"), "read write");
    EXPECT_EQ(co_await second.desk->server(settings_for(), issuer.way())->need(), SignInNeed{});
  });
}

TEST(SignIn, ServersOfOneIssuer_RegisterOnce_AndShowOneWindowAtATime) {
  run_task([]() -> Task<void> {
    FakeIssuer issuer;
    issuer.add_documents();
    const auto executor = co_await asio::this_coro::executor;
    House house(executor);
    Scope scope(executor);
    for (int i = 0; i < 10; ++i) {
      const auto path = fmt::format("/mcp{}", i);
      issuer.documents["https://mcp.example/.well-known/oauth-protected-resource" + path] =
          fmt::format(R"({{"resource":"https://mcp.example{}","authorization_servers":["{}"]}})", path, issuer.issuer);
      scope.spawn([](std::shared_ptr<ServerSignIn> server, FakeIssuer& at) -> Task<void> {
        (void)co_await server->sign_in({}, at.browser());
      }(house.desk->server(settings_for("https://mcp.example" + path), issuer.way()), issuer));
    }
    co_await scope.join();
    EXPECT_EQ(issuer.registrations, 1);
    EXPECT_EQ(issuer.most_windows, 1);
    EXPECT_EQ(issuer.visits.size(), 10u);
    EXPECT_EQ(issuer.given, 10);
  });
}

TEST(SignIn, AServerThatMovesToAnotherIssuer_GetsAnotherRegistrationAndToken) {
  run_task([]() -> Task<void> {
    FakeIssuer issuer;
    issuer.add_documents();
    House house(co_await asio::this_coro::executor);
    auto server = house.desk->server(settings_for(), issuer.way());
    (void)co_await server->sign_in({}, issuer.browser());
    issuer.issuer = "https://elsewhere.example";
    issuer.add_documents();
    (void)co_await server->sign_in({}, issuer.browser());
    EXPECT_EQ(issuer.registrations, 2);
    EXPECT_EQ(issuer.visits.back().at("client_id"), "client-2");
    EXPECT_EQ(co_await credentials(server), "Bearer access-2");
  });
}

TEST(SignIn, AConfiguredClient_NeverRegisters_AndIsBoundToItsIssuer) {
  run_task([]() -> Task<void> {
    FakeIssuer issuer;
    issuer.add_documents();
    House house(co_await asio::this_coro::executor);
    auto settings = settings_for();
    settings.client_id = "mine";
    auto server = house.desk->server(settings, issuer.way());
    (void)co_await server->sign_in({}, issuer.browser());
    EXPECT_EQ(issuer.registrations, 0);
    EXPECT_EQ(issuer.visits.at(0).at("client_id"), "mine");
    EXPECT_EQ(issuer.wishes.at(0).host, "localhost");
    settings.client_issuer = "https://another.example";
    auto bound = house.desk->server(settings, issuer.way());
    EXPECT_THAT(co_await as_result(bound->sign_in({}, issuer.browser())), FailsWith(Errc::config));
    EXPECT_EQ(issuer.visits.size(), 1u);
  });
}

// What an attacker in between, or a server that is one, would like to have.
TEST(SignIn, WhatIsNotTheAnswer_GetsNoToken) {
  struct Row {
    const char* name;
    std::function<void(FakeIssuer&)> attack;
    Errc code;
  };
  const std::vector<Row> rows{
      {"an answer of another issuer",
       [](FakeIssuer& i) { i.change_answer = [](auto& a) { a.iss = "https://evil.example"; }; }, Errc::unauthorized},
      {"an issuer that is spelled otherwise", [](FakeIssuer& i) { i.change_answer = [](auto& a) { *a.iss += "/"; }; },
       Errc::unauthorized},
      {"no issuer where one is promised", [](FakeIssuer& i) { i.change_answer = [](auto& a) { a.iss.reset(); }; },
       Errc::unauthorized},
      {"another state", [](FakeIssuer& i) { i.change_answer = [](auto& a) { a.state = "guessed"; }; }, Errc::protocol},
      {"no state", [](FakeIssuer& i) { i.change_answer = [](auto& a) { a.state.reset(); }; }, Errc::protocol},
      {"the user says no",
       [](FakeIssuer& i) {
         i.change_answer = [](auto& a) {
           a.code.reset();
           a.error = "access_denied";
         };
       },
       Errc::denied},
      {"a code of somebody else, whose verifier we do not have",
       [](FakeIssuer& i) { i.change_answer = [](auto& a) { a.code = "stolen"; }; }, Errc::unauthorized},
      {"a description of another issuer",
       [](FakeIssuer& i) {
         auto& text = i.documents["https://issuer.example/.well-known/oauth-authorization-server"];
         text.replace(text.find("https://issuer.example"), 22, "https://evil.example99");
       },
       Errc::protocol},
      {"a resource that is another server",
       [](FakeIssuer& i) {
         i.documents["https://mcp.example/.well-known/oauth-protected-resource/mcp"] =
             R"({"resource":"https://bank.example/mcp","authorization_servers":["https://issuer.example"]})";
       },
       Errc::protocol},
      {"an issuer inside the cloud",
       [](FakeIssuer& i) {
         i.documents["https://mcp.example/.well-known/oauth-protected-resource/mcp"] =
             R"({"resource":"https://mcp.example/mcp","authorization_servers":["https://169.254.169.254"]})";
       },
       Errc::denied},
      {"an issuer that is a number",
       [](FakeIssuer& i) {
         i.documents["https://mcp.example/.well-known/oauth-protected-resource/mcp"] =
             R"({"resource":"https://mcp.example/mcp","authorization_servers":["https://2852039166/"]})";
       },
       Errc::denied},
      {"an issuer that is a file",
       [](FakeIssuer& i) {
         i.documents["https://mcp.example/.well-known/oauth-protected-resource/mcp"] =
             R"({"resource":"https://mcp.example/mcp","authorization_servers":["file:///etc/passwd"]})";
       },
       Errc::protocol},
      {"an issuer that is a file of another machine",
       [](FakeIssuer& i) {
         i.documents["https://mcp.example/.well-known/oauth-protected-resource/mcp"] =
             R"({"resource":"https://mcp.example/mcp","authorization_servers":["file://issuer.example/etc/passwd"]})";
       },
       Errc::denied},
      {"an issuer without PKCE",
       [](FakeIssuer& i) {
         auto& text = i.documents["https://issuer.example/.well-known/oauth-authorization-server"];
         text.replace(text.find("S256"), 4, "none");
       },
       Errc::unsupported},
  };
  for (const auto& row : rows) {
    run_task([row]() -> Task<void> {
      FakeIssuer issuer;
      issuer.add_documents();
      row.attack(issuer);
      House house(co_await asio::this_coro::executor);
      auto server = house.desk->server(settings_for(), issuer.way());
      auto done = co_await as_result(server->sign_in({}, issuer.browser()));
      EXPECT_THAT(done, FailsWith(row.code)) << row.name;
      EXPECT_EQ(issuer.given, 0) << row.name;
      EXPECT_EQ(co_await credentials(server), "") << row.name;
    });
  }
}

TEST(SignIn, ADescriptionThatNobodyGivesNow_IsAskedForThreeTimes) {
  for (const int failures : {0, 1, 2, 3}) {
    for (const int status : {0, 503, 404}) {  // 0: nobody is reached
      ManualClock clock;
      run_task(clock, [&clock, failures, status]() -> Task<void> {
        FakeIssuer issuer;
        issuer.add_documents();
        int asked = 0;
        issuer.instead_of_document = [&](const HttpRequest& request) -> std::optional<HttpAnswer> {
          if (!request.url.starts_with(issuer.issuer) || ++asked > failures) return std::nullopt;
          if (status == 0) throw Error(Errc::connect, "connection refused");
          HttpAnswer answer;
          answer.head.status = status;
          return answer;
        };
        House house(co_await asio::this_coro::executor);
        auto server = house.desk->server(settings_for(), issuer.way());
        Scope scope(co_await asio::this_coro::executor);
        bool signed_in = false;
        scope.spawn([](std::shared_ptr<ServerSignIn> at, OpenVisit open, bool& into) -> Task<void> {
          into = (co_await as_result(at->sign_in({}, open))).has_value();
        }(server, issuer.browser(), signed_in));
        co_await clock.advance(10s);
        co_await scope.join();
        // What is not there is looked for elsewhere, and not again.
        const bool works = status == 404 ? failures == 0 : failures < 3;
        EXPECT_EQ(signed_in, works) << status << " " << failures;
        if (status != 404) EXPECT_EQ(asked, std::min(failures + 1, 3));
      });
    }
  }
}

TEST(SignIn, ADescriptionThatLeadsElsewhere_IsFollowedOnlyWhereItMayBe) {
  struct Row {
    const char* to;
    Errc code;
  };
  for (const auto& [to, code] : std::vector<Row>{
           {"http://issuer.example/plain", Errc::protocol},
           {"https://169.254.169.254/latest/meta-data", Errc::denied},
           {"https://0x7f000001/", Errc::denied},
           {"https://127.1/", Errc::denied},
           {"https://[::ffff:10.0.0.1]/", Errc::denied},
           {"https://localhost/", Errc::denied},
           {"file:///etc/passwd", Errc::protocol},
           {"https://issuer.example/.well-known/oauth-authorization-server", Errc::protocol},  // for ever
       }) {
    run_task([=]() -> Task<void> {
      FakeIssuer issuer;
      issuer.add_documents();
      issuer.instead_of_document = [&](const HttpRequest& request) -> std::optional<HttpAnswer> {
        if (!request.url.starts_with(issuer.issuer)) return std::nullopt;
        HttpAnswer answer;
        answer.head.status = 302;
        answer.head.headers.set("Location", to);
        return answer;
      };
      House house(co_await asio::this_coro::executor);
      auto server = house.desk->server(settings_for(), issuer.way());
      EXPECT_THAT(co_await as_result(server->sign_in({}, issuer.browser())), FailsWith(code)) << to;
      EXPECT_LE(issuer.asked.size(), 6u);
      EXPECT_THAT(issuer.asked, testing::Each(testing::AnyOf(testing::StartsWith("https://issuer.example/"),
                                                             testing::StartsWith("https://mcp.example/"))));
      EXPECT_EQ(issuer.given, 0) << to;
    });
  }
}

TEST(SignIn, ServersWithDifferentCallbackHosts_KeepOneRegistration) {
  run_task([]() -> Task<void> {
    FakeIssuer issuer;
    issuer.add_documents();
    House house(co_await asio::this_coro::executor);
    auto plain = house.desk->server(settings_for(), issuer.way());
    auto named = settings_for();
    named.callback_host = "localhost";
    auto other = house.desk->server(named, issuer.way());
    for (int round = 0; round < 3; ++round) {
      (void)co_await plain->sign_in({}, issuer.browser());
      (void)co_await other->sign_in({}, issuer.browser());
    }
    // Once more for the second name, and then for both.
    EXPECT_EQ(issuer.registrations, 2);
  });
}

// What an issuer says that it registered beside is not registered anew.
TEST(SignIn, ARegistrationThatIsMadeAnew_NamesAddressesOfThisMachineAlone) {
  run_task([]() -> Task<void> {
    FakeIssuer issuer;
    issuer.add_documents();
    House house(co_await asio::this_coro::executor);
    OAuthClient kept;
    kept.issuer = issuer.issuer;
    kept.id = "before";
    kept.redirect_uris = {"http://localhost:1/callback", "https://evil.example/callback", "evil:/callback"};
    co_await house.store->keep_client(kept);
    (void)co_await house.desk->server(settings_for(), issuer.way())->sign_in({}, issuer.browser());
    const auto now = co_await house.store->client(issuer.issuer);
    EXPECT_TRUE(now.has_value());
    if (now) {
      EXPECT_THAT(now->redirect_uris,
                  ElementsAre(testing::StartsWith("http://127.0.0.1:"), "http://localhost:1/callback"));
    }
  });
}

TEST(SignIn, AnIssuerThatRegistersNoSuchAddress_SaysWhichToTry) {
  run_task([]() -> Task<void> {
    FakeIssuer issuer;
    issuer.add_documents();
    issuer.refuses_registration = R"({"error":"invalid_redirect_uri"})";
    House house(co_await asio::this_coro::executor);
    EXPECT_THAT(co_await as_result(house.desk->server(settings_for(), issuer.way())->sign_in({}, issuer.browser())),
                FailsWith(Errc::unauthorized, HasSubstr(R"(write "oauth": {"callbackHost": "localhost"})")));
  });
}

TEST(SignIn, AConfiguredClientThatNobodyComesBackFrom_SaysWhichAddressToTry) {
  run_task([]() -> Task<void> {
    FakeIssuer issuer;
    issuer.add_documents();
    issuer.nobody_comes = true;
    House house(co_await asio::this_coro::executor);
    auto settings = settings_for();
    settings.client_id = "mine";
    settings.callback_port = 8123;
    const auto done = co_await as_result(house.desk->server(settings, issuer.way())->sign_in({}, issuer.browser()));
    EXPECT_THAT(done, FailsWith(Errc::timeout, testing::AllOf(HasSubstr("enter http://localhost:8123/callback"),
                                                              HasSubstr(R"({"callbackHost": "127.0.0.1"})"))));
    // Who was registered by us has the right address.
    EXPECT_THAT(co_await as_result(house.desk->server(settings_for(), issuer.way())->sign_in({}, issuer.browser())),
                FailsWith(Errc::timeout, Not(HasSubstr("callbackHost"))));
  });
}

TEST(SignIn, ARedirectAddressThatDoesNotMatch_SaysWhichToTry) {
  struct Row {
    const char* name;
    std::function<void(FakeIssuer&)> change;
    bool configured;
    bool says;
  };
  const auto at_the_page = [](const char* error, const char* words) {
    return [error, words](FakeIssuer& issuer) {
      issuer.change_answer = [error, words](auto& answer) {
        answer.code.reset();
        answer.error = error;
        answer.error_description = words;
      };
    };
  };
  const auto at_the_token = [](const char* body) {
    return [body](FakeIssuer& issuer) {
      issuer.instead = [body](const auto&) {
        HttpAnswer answer;
        answer.head.status = 400;
        answer.head.headers.set("Content-Type", "application/json");
        answer.body = body;
        return std::optional(answer);
      };
    };
  };
  const std::vector<Row> rows{
      {"GitHub", at_the_page("redirect_uri_mismatch", "The redirect_uri MUST match"), true, true},
      {"another reason", at_the_page("server_error", "try later"), true, false},
      {"at the token", at_the_token(R"({"error":"invalid_grant","error_description":"redirect_uri did not match"})"),
       true, true},
      {"an old code", at_the_token(R"({"error":"invalid_grant"})"), true, false},
      {"we registered the address", at_the_page("redirect_uri_mismatch", "no"), false, false},
  };
  for (const auto& row : rows) {
    run_task([row]() -> Task<void> {
      FakeIssuer issuer;
      issuer.add_documents();
      row.change(issuer);
      House house(co_await asio::this_coro::executor);
      auto settings = settings_for();
      if (row.configured) settings.client_id = "mine";
      const auto done = co_await as_result(house.desk->server(settings, issuer.way())->sign_in({}, issuer.browser()));
      const auto hint = HasSubstr(R"("oauth": {"callbackHost": "127.0.0.1"} into the entry of "docs")");
      const auto expected = row.says ? testing::Matcher<std::string>(hint) : Not(hint);
      EXPECT_FALSE(done.has_value()) << row.name;
      if (!done) EXPECT_THAT(done.error().message(), expected) << row.name;
    });
  }
}

TEST(SignIn, ATokenThatIsOver_IsNotShared) {
  ManualClock clock;
  run_task(clock, [&clock]() -> Task<void> {
    FakeIssuer issuer;
    issuer.add_documents();
    House house(co_await asio::this_coro::executor);
    auto first = house.desk->server(settings_for(), issuer.way());
    (void)co_await first->sign_in({}, issuer.browser());
    issuer.last_refresh = "revoked";
    clock.skip(2h);
    (void)co_await credentials(first);
    EXPECT_EQ(issuer.refreshes, 1);
    const SignInNeed named{.resource_metadata = "https://mcp.example/.well-known/oauth-protected-resource/mcp"};
    auto second = house.desk->server(settings_for("https://mcp.example/mcp/second"), issuer.way());
    (void)co_await second->sign_in(named, issuer.browser());
    EXPECT_EQ(issuer.visits.size(), 2u);
  });
}

TEST(SignIn, WhoSignedOutInAnotherProcess_IsNotSignedInAgainByARenewal) {
  ManualClock clock;
  run_task(clock, [&clock]() -> Task<void> {
    FakeIssuer issuer;
    issuer.add_documents();
    const auto executor = co_await asio::this_coro::executor;
    House first(executor);
    auto one = first.desk->server(settings_for(), issuer.way());
    (void)co_await one->sign_in({}, issuer.browser());
    House second(executor, first.store);
    auto other = second.desk->server(settings_for(), issuer.way());
    EXPECT_EQ(co_await credentials(other), "Bearer access-1");
    EXPECT_TRUE((co_await one->sign_out()).was_signed_in);
    clock.skip(2h);
    EXPECT_EQ(co_await credentials(other), "");
    EXPECT_EQ(issuer.refreshes, 0);
    EXPECT_FALSE((co_await first.store->token(issuer.issuer, issuer.resource)).has_value());
  });
}

TEST(SignIn, WhoSignedInAnewInAnotherProcess_IsHeardOf) {
  ManualClock clock;
  run_task(clock, [&clock]() -> Task<void> {
    FakeIssuer issuer;
    issuer.add_documents();
    const auto executor = co_await asio::this_coro::executor;
    House first(executor);
    auto one = first.desk->server(settings_for(), issuer.way());
    (void)co_await one->sign_in({}, issuer.browser());
    House second(executor, first.store);
    auto other = second.desk->server(settings_for(), issuer.way());
    EXPECT_EQ(co_await credentials(other), "Bearer access-1");
    clock.skip(1min);
    (void)co_await one->sign_in({.scope = "write"}, issuer.browser());
    // A refusal for lack of rights looks at what is kept first.
    auto request = to_server();
    auto sent = co_await other->authorize(request);
    EXPECT_TRUE(co_await other->on_challenge(sent, request, refusal(403, R"(Bearer error="insufficient_scope")")));
    EXPECT_EQ(co_await credentials(other), "Bearer access-2");
    other->read_again();
    EXPECT_EQ(co_await credentials(other), "Bearer access-2");
  });
}

// What cannot be kept now is not thrown away for what was kept before.
TEST(SignIn, ARotatedTokenThatCouldNotBeKept_IsStillTheOneThatIsUsed) {
  ManualClock clock;
  run_task(clock, [&clock]() -> Task<void> {
    FakeIssuer issuer;
    issuer.add_documents();
    auto store = std::make_shared<FullDisk>();
    House house(co_await asio::this_coro::executor, store);
    auto server = house.desk->server(settings_for(), issuer.way());
    (void)co_await server->sign_in({}, issuer.browser());
    store->fails = true;
    clock.skip(2h);
    EXPECT_EQ(co_await credentials(server), "Bearer access-2");
    store->fails = false;
    clock.skip(2h);
    EXPECT_EQ(co_await credentials(server), "Bearer access-3");
    EXPECT_EQ(issuer.token_requests.back().at("refresh_token"), "refresh-2");
  });
}

TEST(SignIn, ThePageSaysThatItWorked_OnceTheTokenIsKept) {
  for (const bool works : {true, false}) {
    run_task([works]() -> Task<void> {
      FakeIssuer issuer;
      issuer.add_documents();
      auto store = std::make_shared<FullDisk>();
      store->fails = !works;
      House house(co_await asio::this_coro::executor, store);
      auto server = house.desk->server(settings_for(), issuer.way());
      const auto done = co_await as_result(server->sign_in({}, issuer.browser()));
      EXPECT_EQ(done.has_value(), works);
      EXPECT_EQ(issuer.pages.size(), 1u);
      for (const auto& page : issuer.pages) {
        EXPECT_EQ(page.has_value(), works);
        if (!works) EXPECT_THAT(page, FailsWith(Errc::config, HasSubstr("the disk is full")));
      }
      if (!works) EXPECT_THAT(done, FailsWith(Errc::config, HasSubstr("keeping the token")));
    });
  }
}

// The code is used up by then: the page says what is wrong, and not that the sign-in was given up.
TEST(SignIn, AProvidersTokenWhoseLockOthersKeep_IsWhatThePageSays) {
  run_task([]() -> Task<void> {
    FakeIssuer issuer;
    issuer.add_documents();
    auto store = std::make_shared<FullDisk>();
    store->is_locked = true;
    House house(co_await asio::this_coro::executor, store);
    const IdentityProvider provider{.issuer = issuer.issuer, .client_id = "us"};
    const auto way = co_await issuer.way()();
    const auto done = co_await as_result(house.desk->sign_in_at_provider(provider, way, issuer.browser()));
    EXPECT_THAT(done, FailsWith(Errc::timeout, HasSubstr("keeps it locked")));
    EXPECT_THAT(issuer.pages, ElementsAre(FailsWith(Errc::timeout, HasSubstr("keeps it locked"))));
  });
}

// Which of two tokens is the newer one is not a matter of the clock of this machine.
TEST(SignIn, AClockThatWasSetBack_SendsNoRefreshTokenTwice) {
  ManualClock clock;
  run_task(clock, [&clock]() -> Task<void> {
    FakeIssuer issuer;
    issuer.add_documents();
    const auto executor = co_await asio::this_coro::executor;
    House first(executor);
    auto one = first.desk->server(settings_for(), issuer.way());
    (void)co_await one->sign_in({}, issuer.browser());
    House second(executor, first.store);
    auto other = second.desk->server(settings_for(), issuer.way());
    const auto begin = clock.wall();
    clock.skip(20h);
    EXPECT_EQ(co_await credentials(one), "Bearer access-2");
    EXPECT_EQ(co_await credentials(other), "Bearer access-2");
    clock.set_wall(begin);
    auto request = to_server();
    auto sent = co_await other->authorize(request);
    EXPECT_TRUE(co_await other->on_challenge(sent, request, refusal()));
    EXPECT_EQ(issuer.refreshes, 2);
    sent = co_await one->authorize(request);
    EXPECT_TRUE(co_await one->on_challenge(sent, request, refusal()));
    EXPECT_EQ(co_await credentials(one), "Bearer access-3");
    EXPECT_EQ(issuer.refreshes, 2);
    // A sign-in elsewhere counts as well.
    (void)co_await other->sign_in({.scope = "write"}, issuer.browser());
    one->read_again();
    EXPECT_EQ(co_await credentials(one), "Bearer access-4");
  });
}

// Nobody here has a key to prove it with: every request would fail from then on.
TEST(SignIn, ARenewalThatBringsATokenForProofs_IsAFailureOfTheRenewal) {
  ManualClock clock;
  run_task(clock, [&clock]() -> Task<void> {
    FakeIssuer issuer;
    issuer.add_documents();
    House house(co_await asio::this_coro::executor);
    auto server = house.desk->server(settings_for(), issuer.way());
    (void)co_await server->sign_in({}, issuer.browser());
    issuer.instead = [](const auto&) {
      HttpAnswer answer;
      answer.head.status = 200;
      answer.head.headers.set("Content-Type", "application/json");
      answer.body = R"({"access_token":"proved","token_type":"DPoP","refresh_token":"refresh-9"})";
      return std::optional(answer);
    };
    clock.skip(2h);
    auto request = to_server();
    auto sent = co_await as_result(server->authorize(request));
    EXPECT_TRUE(sent.has_value());
    EXPECT_EQ(request.headers.get("Authorization"), "Bearer access-1");
    if (sent) {
      EXPECT_THAT(co_await as_result(server->on_challenge(*sent, request, refusal())),
                  FailsWith(Errc::protocol, HasSubstr("which nobody asked for")));
    }
    issuer.instead = {};
    (void)co_await server->sign_in({}, issuer.browser());
    EXPECT_EQ(co_await credentials(server), "Bearer access-2");
  });
}

TEST(SignIn, SigningOut_AlsoForgetsTheIssuerOfAClientWhoseTokenIsGone) {
  run_task([]() -> Task<void> {
    FakeIssuer issuer;
    issuer.add_documents();
    House house(co_await asio::this_coro::executor);
    auto settings = settings_for();
    settings.client_id = "mine";
    auto server = house.desk->server(settings, issuer.way());
    (void)co_await server->sign_in({}, issuer.browser());
    // Another server of the resource was signed out of.
    co_await house.store->forget_token(issuer.issuer, issuer.resource);
    server->read_again();
    issuer.issuer = "https://elsewhere.example";
    issuer.add_documents();
    EXPECT_THAT(co_await as_result(server->sign_in({}, issuer.browser())),
                FailsWith(Errc::config, HasSubstr("sign out first")));
    EXPECT_FALSE((co_await server->sign_out()).was_signed_in);
    EXPECT_TRUE((co_await as_result(server->sign_in({}, issuer.browser()))).has_value());
  });
}

// A laptop leaves one network for another while a session is running.
TEST(SignIn, WhichNetworkAServerIsOn_IsLookedAtForEachRenewal) {
  ManualClock clock;
  run_task(clock, [&clock]() -> Task<void> {
    FakeIssuer issuer;
    issuer.issuer = "https://10.1.2.3";
    issuer.add_documents();
    House house(co_await asio::this_coro::executor);
    const ServerNetwork near{AddressKind::private_network, true};
    ServerNetwork network = near;
    auto server = house.desk->server(settings_for(), [&] { return issuer.way(network)(); });
    (void)co_await server->sign_in({}, issuer.browser());
    // Where nobody knows the name it is on no network.
    network = {};
    clock.skip(2h);
    EXPECT_EQ(co_await credentials(server), "Bearer access-1");
    EXPECT_EQ(issuer.refreshes, 0);
    network = near;
    clock.skip(1min);
    EXPECT_EQ(co_await credentials(server), "Bearer access-2");
  });
}

TEST(SignIn, ATokenWithoutWhatTheEntryWants_IsNotShared) {
  struct Row {
    const char* name;
    std::function<void(SignInSettings&)> change;
    std::size_t visits;
  };
  const std::vector<Row> rows{
      {"nothing more", [](SignInSettings&) {}, 1},
      {"the same scopes", [](SignInSettings& s) { s.scopes = "read"; }, 1},
      {"more scopes", [](SignInSettings& s) { s.scopes = "read write"; }, 2},
      {"tokens for proofs", [](SignInSettings& s) { s.dpop = true; }, 2},
  };
  for (const auto& row : rows) {
    run_task([row]() -> Task<void> {
      FakeIssuer issuer;
      issuer.add_documents();
      auto& description = issuer.documents[issuer.issuer + "/.well-known/oauth-authorization-server"];
      description.insert(1, R"("dpop_signing_alg_values_supported":["ES256"],)");
      House house(co_await asio::this_coro::executor);
      const SignInNeed named{.resource_metadata = "https://mcp.example/.well-known/oauth-protected-resource/mcp"};
      auto first = named;
      first.scope = "read";
      (void)co_await house.desk->server(settings_for(), issuer.way())->sign_in(first, issuer.browser());
      auto settings = settings_for("https://mcp.example/mcp/second");
      row.change(settings);
      (void)co_await house.desk->server(settings, issuer.way())->sign_in(named, issuer.browser());
      EXPECT_EQ(issuer.visits.size(), row.visits) << row.name;
    });
  }
}

TEST(SignIn, WhatTheUserConfigured_StaysAtTheIssuerItWasFirstUsedAt) {
  run_task([]() -> Task<void> {
    FakeIssuer issuer;
    issuer.add_documents();
    House house(co_await asio::this_coro::executor);
    auto settings = settings_for();
    settings.grant = GrantKind::client_credentials;
    settings.client_id = "robot";
    settings.client_secret = []() -> Task<Secret> { co_return Secret("hush-hush"); };
    auto server = house.desk->server(settings, issuer.way());
    (void)co_await server->sign_in({}, {});
    EXPECT_EQ(issuer.given, 1);
    issuer.issuer = "https://evil.example";
    issuer.add_documents();
    EXPECT_THAT(co_await as_result(server->sign_in({}, {})),
                FailsWith(Errc::config, HasSubstr("nothing was sent there")));
    EXPECT_EQ(issuer.given, 1);
    // Whoever signs out has agreed to begin anew.
    (void)co_await server->sign_out();
    const auto before = issuer.given;
    (void)co_await server->sign_in({}, {});
    EXPECT_EQ(issuer.given, before + 1);
  });
}

TEST(SignIn, ADocumentThatAProjectNames_DescribesNobodyElsesIssuer) {
  for (const bool own : {true, false}) {
    run_task([own]() -> Task<void> {
      FakeIssuer issuer;
      issuer.add_documents();
      issuer.documents["https://evil.example/as.json"] =
          issuer.documents["https://issuer.example/.well-known/oauth-authorization-server"];
      House house(co_await asio::this_coro::executor);
      auto settings = settings_for();
      settings.issuer_metadata = "https://evil.example/as.json";
      settings.users_own = own;
      auto server = house.desk->server(settings, issuer.way());
      auto done = co_await as_result(server->sign_in({}, issuer.browser()));
      if (own) {
        EXPECT_TRUE(done.has_value());
      } else {
        EXPECT_THAT(done, FailsWith(Errc::protocol, HasSubstr("elsewhere")));
        EXPECT_THAT(issuer.visits, IsEmpty());
      }
    });
  }
}

TEST(SignIn, AGrantWithoutAPerson_IsUsedAtTheFirstRefusal) {
  run_task([]() -> Task<void> {
    FakeIssuer issuer;
    issuer.add_documents();
    House house(co_await asio::this_coro::executor);
    auto settings = settings_for();
    settings.grant = GrantKind::client_credentials;
    settings.client_id = "robot";
    settings.client_secret = []() -> Task<Secret> { co_return Secret("hush"); };
    auto server = house.desk->server(settings, issuer.way());
    auto request = to_server();
    auto sent = co_await server->authorize(request);
    EXPECT_TRUE(co_await server->on_challenge(sent, request, refusal()));
    EXPECT_EQ(co_await credentials(server), "Bearer access-1");
    EXPECT_EQ(issuer.token_requests.at(0).at("grant_type"), "client_credentials");
    EXPECT_THAT(issuer.visits, IsEmpty());
    // Refused again: once more, and then it stands.
    sent = co_await server->authorize(request);
    EXPECT_TRUE(co_await server->on_challenge(sent, request, refusal()));
    EXPECT_EQ(issuer.given, 2);
  });
}

TEST(SignIn, SigningOut_ForgetsTheToken_AndTellsTheIssuer) {
  run_task([]() -> Task<void> {
    FakeIssuer issuer;
    issuer.add_documents();
    House house(co_await asio::this_coro::executor);
    auto server = house.desk->server(settings_for(), issuer.way());
    EXPECT_FALSE((co_await server->sign_out()).was_signed_in);
    (void)co_await server->sign_in({}, issuer.browser());
    EXPECT_TRUE((co_await server->sign_out()).was_signed_in);
    EXPECT_EQ(issuer.asked.back(), "https://issuer.example/revoke");
    EXPECT_EQ(co_await credentials(server), "");
    EXPECT_FALSE((co_await house.store->token(issuer.issuer, issuer.resource)).has_value());
  });
}

}  // namespace
}  // namespace patchbay
