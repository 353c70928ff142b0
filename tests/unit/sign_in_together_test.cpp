// Sign-ins that meet: requests that are refused at once, servers that share a token, processes that share a store, a
// host that stops meanwhile. A2, A3, T8, X4.
#include <algorithm>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "auth/engine/sign_in.h"
#include "auth/engine/vault_sign_ins.h"
#include "auth/kept_token.h"
#include "base/as_result.h"
#include "base/offload.h"
#include "base/scope.h"
#include "base/timeout.h"
#include "base/waiting.h"
#include "support/fake_issuer.h"
#include "support/loop.h"
#include "support/manual_clock.h"
#include "support/temp_tree.h"

namespace patchbay {
namespace {

using namespace std::chrono_literals;
using test::FakeIssuer;
using test::ManualClock;
using test::run_task;
using test::settle;

constexpr const char* metadata_url = "https://mcp.example/.well-known/oauth-protected-resource/mcp";

SignInSettings settings_for(const std::string& url = "https://mcp.example/mcp") {
  SignInSettings settings;
  settings.server = "docs";
  settings.url = *parse_url(url);
  return settings;
}

SignInSettings robot() {
  auto settings = settings_for();
  settings.grant = GrantKind::client_credentials;
  settings.client_id = "robot";
  settings.client_secret = []() -> Task<Secret> { co_return Secret("hush-hush"); };
  return settings;
}

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

HttpRequest to_server() { return {.method = "POST", .url = "https://mcp.example/mcp", .headers = {}, .body = "{}"}; }

HttpHead refusal(int status = 401, std::string challenge = "Bearer") {
  HttpHead head;
  head.status = status;
  head.url = "https://mcp.example/mcp";
  head.headers.set("WWW-Authenticate", std::move(challenge));
  return head;
}

Task<std::string> credentials(std::shared_ptr<ServerSignIn> server) {
  auto request = to_server();
  (void)co_await server->authorize(request);
  co_return std::string(request.headers.get("Authorization"));
}

// One request that is refused with what it carried.
Task<Result<bool>> refused(std::shared_ptr<ServerSignIn> server, HttpHead answer = refusal()) {
  auto request = to_server();
  auto sent = co_await server->authorize(request);
  co_return co_await as_result(server->on_challenge(std::move(sent), request, std::move(answer)));
}

std::optional<HttpAnswer> answer_of(int status, std::string body) {
  HttpAnswer answer;
  answer.head.status = status;
  answer.head.headers.set("Content-Type", "application/json");
  answer.body = std::move(body);
  return answer;
}

TEST(SignInTogether, RequestsThatAreRefusedAtOnce_AskForTheirFirstTokenOnce) {
  run_task([]() -> Task<void> {
    FakeIssuer issuer;
    issuer.add_documents();
    const auto executor = co_await asio::this_coro::executor;
    House house(executor);
    auto server = house.desk->server(robot(), issuer.way());
    Scope scope(executor);
    int again = 0;
    for (int i = 0; i < 10; ++i) {
      scope.spawn([](std::shared_ptr<ServerSignIn> at, int& count) -> Task<void> {
        const auto done = co_await refused(at);
        if (done && *done) ++count;
      }(server, again));
    }
    co_await scope.join();
    EXPECT_EQ(again, 10);
    EXPECT_EQ(issuer.given, 1);
    EXPECT_EQ(co_await credentials(server), "Bearer access-1");
  });
}

TEST(SignInTogether, WhoeverSignsInAfterAFailedRenewal_IsSignedIn) {
  for (const bool over : {true, false}) {
    ManualClock clock;
    run_task(clock, [&clock, over]() -> Task<void> {
      FakeIssuer issuer;
      issuer.add_documents();
      House house(co_await asio::this_coro::executor);
      auto server = house.desk->server(settings_for(), issuer.way());
      (void)co_await server->sign_in({}, issuer.browser());
      issuer.instead = [over](const auto& form) {
        if (form.at("grant_type") != "refresh_token") return std::optional<HttpAnswer>();
        return over ? answer_of(400, R"({"error":"invalid_grant"})") : answer_of(503, "later");
      };
      clock.skip(2h);
      const auto after = co_await refused(server);
      EXPECT_EQ(after.has_value(), over);
      // Who signs in needs no second try and no pause.
      (void)co_await server->sign_in(co_await server->need(), issuer.browser());
      EXPECT_EQ(issuer.visits.size(), 2u);
      EXPECT_EQ(co_await credentials(server), "Bearer access-2");
      EXPECT_FALSE(server->last_need().has_value());
    });
  }
}

TEST(SignInTogether, WhenOneServerOfASharedTokenSignsOut_TheOtherHasNoneEither) {
  run_task([]() -> Task<void> {
    FakeIssuer issuer;
    issuer.add_documents();
    const auto executor = co_await asio::this_coro::executor;
    House house(executor);
    auto first = house.desk->server(settings_for(), issuer.way());
    (void)co_await first->sign_in({}, issuer.browser());
    auto second = house.desk->server(settings_for("https://mcp.example/mcp/second"), issuer.way());
    const SignInNeed named{.resource_metadata = metadata_url};
    EXPECT_TRUE((co_await second->sign_in(named, issuer.browser())).shared);
    EXPECT_EQ(issuer.visits.size(), 1u);
    EXPECT_TRUE((co_await second->sign_out()).was_signed_in);
    EXPECT_EQ(co_await credentials(first), "");
    EXPECT_EQ(co_await credentials(second), "");
    EXPECT_FALSE((co_await first->sign_out()).was_signed_in);
    // Another process that holds it is refused, and asks for a person.
    House other(executor, house.store);
    EXPECT_EQ(co_await credentials(other.desk->server(settings_for(), issuer.way())), "");
  });
}

// A registration that is made anew for more scopes takes no token away from whoever has one of the old registration.
TEST(SignInTogether, ARegistrationThatWasReplaced_StillRenewsItsTokens) {
  ManualClock clock;
  run_task(clock, [&clock]() -> Task<void> {
    FakeIssuer issuer;
    issuer.confidential = true;
    issuer.add_documents();
    issuer.documents["https://mcp.example/.well-known/oauth-protected-resource/other"] =
        fmt::format(R"({{"resource":"https://mcp.example/other","authorization_servers":["{}"]}})", issuer.issuer);
    House house(co_await asio::this_coro::executor);
    auto first = house.desk->server(settings_for(), issuer.way());
    (void)co_await first->sign_in({.scope = "read"}, issuer.browser());
    auto other = house.desk->server(settings_for("https://mcp.example/other"), issuer.way());
    (void)co_await other->sign_in({.scope = "write"}, issuer.browser());
    EXPECT_EQ(issuer.registrations, 2);
    clock.skip(2h);
    EXPECT_EQ(co_await credentials(first), "Bearer access-3");
    EXPECT_EQ(co_await credentials(other), "Bearer access-4");
    EXPECT_EQ(issuer.refreshes, 2);
    // And once more with what was kept.
    clock.skip(2h);
    House later(co_await asio::this_coro::executor, house.store);
    EXPECT_EQ(co_await credentials(later.desk->server(settings_for(), issuer.way())), "Bearer access-5");
  });
}

TEST(SignInTogether, ARegistrationThatTookTheFirstOnesPlace_IsNotForgottenWithIt) {
  ManualClock clock;
  run_task(clock, [&clock]() -> Task<void> {
    FakeIssuer issuer;
    issuer.confidential = true;
    issuer.add_documents();
    House house(co_await asio::this_coro::executor);
    auto first = house.desk->server(settings_for(), issuer.way());
    (void)co_await first->sign_in({.scope = "read"}, issuer.browser());
    auto newer = *co_await house.store->client(issuer.issuer);
    newer.id = "client-of-another-process";
    co_await house.store->keep_client(newer);
    issuer.instead = [](const auto&) { return answer_of(401, R"({"error":"invalid_client"})"); };
    clock.skip(2h);
    (void)co_await credentials(first);
    const auto kept = co_await house.store->client(issuer.issuer);
    EXPECT_TRUE(kept && kept->id == newer.id);
    // The one that is not known any more goes.
    newer.id = "client-1";
    co_await house.store->keep_client(newer);
    clock.skip(2h);
    auto again = House(co_await asio::this_coro::executor, house.store).desk->server(settings_for(), issuer.way());
    (void)co_await credentials(again);
    EXPECT_FALSE((co_await house.store->client(issuer.issuer)).has_value());
  });
}

TEST(SignInTogether, WhatARefusalNames_IsHeardOfByAProcessThatIsNotRefused) {
  run_task([]() -> Task<void> {
    FakeIssuer issuer;
    issuer.add_documents();
    // Only the refusal says where it is.
    issuer.documents["https://mcp.example/hidden/metadata"] = issuer.documents[metadata_url];
    issuer.documents.erase(metadata_url);
    const auto executor = co_await asio::this_coro::executor;
    House first(executor);
    auto one = first.desk->server(settings_for(), issuer.way());
    const auto stands = co_await refused(
        one, refusal(401, R"(Bearer resource_metadata="https://mcp.example/hidden/metadata", scope="write")"));
    EXPECT_TRUE(stands && !*stands);
    House second(executor, first.store);
    auto other = second.desk->server(settings_for(), issuer.way());
    const auto report = co_await other->sign_in(co_await other->need(), issuer.browser());
    EXPECT_EQ(report.issuer, issuer.issuer);
    EXPECT_EQ(issuer.visits.back().at("scope"), "write");
    // It was for that sign-in.
    EXPECT_EQ(co_await House(executor, first.store).desk->server(settings_for(), issuer.way())->need(), SignInNeed{});
  });
}

// What a server says is not kept without a bound.
TEST(SignInTogether, ARefusalWithoutEnd_IsNotKept) {
  run_task([]() -> Task<void> {
    FakeIssuer issuer;
    issuer.add_documents();
    const auto executor = co_await asio::this_coro::executor;
    House first(executor);
    auto one = first.desk->server(settings_for(), issuer.way());
    (void)co_await refused(one, refusal(401, fmt::format(R"(Bearer scope="{}")", std::string(20'000, 'x'))));
    House second(executor, first.store);
    EXPECT_EQ(co_await second.desk->server(settings_for(), issuer.way())->need(), SignInNeed{});
  });
}

TEST(SignInTogether, AHostThatStops_WaitsForNobodyWhoHasNotBeenAskedYet) {
  ManualClock clock;
  run_task(clock, [&clock]() -> Task<void> {
    FakeIssuer issuer;
    issuer.add_documents();
    const auto executor = co_await asio::this_coro::executor;
    House house(executor);
    auto server = house.desk->server(settings_for(), issuer.way());
    (void)co_await server->sign_in({}, issuer.browser());
    clock.skip(2h);
    // Another process renews, and does not come to an end.
    auto lock = co_await house.store->lock(token_name(issuer.issuer, issuer.resource));
    Scope scope(executor);
    std::string sent;
    scope.spawn([](std::shared_ptr<ServerSignIn> from, std::string& into) -> Task<void> {
      into = co_await credentials(from);
    }(server, sent));
    co_await settle();
    co_await house.desk->close();
    co_await scope.join();
    EXPECT_EQ(sent, "Bearer access-1");
    EXPECT_EQ(issuer.refreshes, 0);
    // And nobody who comes later waits for a renewal that is not begun any more.
    EXPECT_EQ(co_await credentials(server), "Bearer access-1");
    lock.reset();
  });
}

TEST(SignInTogether, AHostThatStops_KeepsWhatARequestUnderWayBrings) {
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
    scope.spawn([](auto from) -> Task<void> { (void)co_await as_result(credentials(from)); }(server));
    co_await asked.wait();
    bool closed = false;
    scope.spawn([](std::shared_ptr<SignInDesk> desk, bool& into) -> Task<void> {
      co_await desk->close();
      into = true;
    }(house.desk, closed));
    co_await settle();
    EXPECT_FALSE(closed);
    go_on.notify_all();
    co_await scope.join();
    EXPECT_TRUE(closed);
    const auto kept = co_await house.store->token(issuer.issuer, issuer.resource);
    EXPECT_EQ(kept->refresh.reveal(), "refresh-2");
  });
}

// The store on disk, as two processes have it.
class TwoProcesses : public testing::Test {
 protected:
  std::shared_ptr<SignInStore> process() {
    VaultOptions options;
    options.state_directory = (tree_.path() / "state").string();
    options.config_directory = (tree_.path() / "config").string();
    options.variables = [](std::string_view name) -> std::optional<std::string> {
      return name == "PATCHBAY_SECRET_STORE" ? std::optional<std::string>("file") : std::nullopt;
    };
    options.passphrase_cost = {4, 8, 1};
    return vault_sign_ins(std::make_shared<SecretVault>(std::move(options)), (tree_.path() / "state").string());
  }
  test::TempTree tree_;
};

Task<void> take_lock(std::shared_ptr<SignInStore> from,
                     std::optional<Result<std::unique_ptr<SignInStore::Lock>>>& into) {
  into.emplace(co_await as_result(from->lock("token-of-somebody")));
}

TEST_F(TwoProcesses, WhoeverWaitsForALock_HoldsUpNobodyElse_AndGetsItWhenItIsFree) {
  run_task([this]() -> Task<void> {
    const auto executor = co_await asio::this_coro::executor;
    auto held = co_await process()->lock("token-of-somebody");
    Scope scope(executor);
    const auto mine = process();
    // More than there are helper threads: none of them may be kept.
    std::vector<std::optional<Result<std::unique_ptr<SignInStore::Lock>>>> waiting(64);
    for (auto& one : waiting) scope.spawn(take_lock(mine, one));
    auto work = [] { return 7; };
    EXPECT_EQ(co_await offload(Pool::slow, std::move(work)), 7);
    co_await settle();
    EXPECT_TRUE(std::ranges::none_of(waiting, [](const auto& one) { return one.has_value(); }));
    held.reset();
    // Each lets go of it for the next one.
    for (int got = 0; got < 64;) {
      for (auto& one : waiting) {
        if (!one || !*one || !**one) continue;
        (*one)->reset();
        ++got;
      }
      co_await sleep_for(1ms);
    }
    co_await scope.join();
  });
}

TEST_F(TwoProcesses, ALockThatIsNeverFree_IsATimeout) {
  ManualClock clock;
  run_task(clock, [this, &clock]() -> Task<void> {
    const auto executor = co_await asio::this_coro::executor;
    auto held = co_await process()->lock("token-of-somebody");
    std::optional<Result<std::unique_ptr<SignInStore::Lock>>> got;
    Scope scope(executor);
    scope.spawn(take_lock(process(), got));
    for (int i = 0; i < 10'000 && !got; ++i) co_await clock.advance(1s);
    co_await scope.join();
    EXPECT_TRUE(got.has_value());
    EXPECT_TRUE(got && !*got && got->error().code() == Errc::timeout);
  });
}

Task<void> keep(std::shared_ptr<SignInStore> in, TokenSet tokens, std::string server) {
  co_await in->keep_token(std::move(tokens), std::move(server));
}

// Which servers a token is for is not written together with the token: that may have been renewed meanwhile.
TEST_F(TwoProcesses, AServerThatLeavesASharedToken_DoesNotUndoItsRenewal) {
  run_task([this]() -> Task<void> {
    const auto executor = co_await asio::this_coro::executor;
    const auto one = process();
    const auto other = process();
    const std::string first = "https://mcp.example/first", second = "https://mcp.example/second";
    const auto token = [](std::string issuer, int number) {
      TokenSet tokens;
      tokens.issuer = std::move(issuer);
      tokens.resource = "https://mcp.example";
      tokens.access = Secret(fmt::format("access-{}", number));
      return tokens;
    };
    for (int round = 0; round < 20; ++round) {
      co_await one->keep_token(token("https://a.example", 2 * round), first);
      co_await one->keep_token(token("https://a.example", 2 * round), second);
      Scope scope(executor);
      scope.spawn(keep(one, token("https://a.example", 2 * round + 1), first));
      scope.spawn(keep(other, token("https://b.example", 0), second));
      co_await scope.join();
      const auto kept = co_await one->token("https://a.example", "https://mcp.example");
      EXPECT_TRUE(kept.has_value());
      if (kept) EXPECT_EQ(kept->access.reveal(), fmt::format("access-{}", 2 * round + 1));
    }
    // The last one takes it along.
    co_await one->keep_token(token("https://b.example", 0), first);
    co_await one->keep_token(token("https://b.example", 0), second);
    EXPECT_FALSE((co_await one->token("https://a.example", "https://mcp.example")).has_value());
  });
}

// Whoever comes to a token as the last server leaves it has it afterwards.
TEST_F(TwoProcesses, AServerThatComesAsTheLastOneLeaves_HasTheToken) {
  run_task([this]() -> Task<void> {
    const auto executor = co_await asio::this_coro::executor;
    const auto one = process();
    const auto other = process();
    const std::string first = "https://mcp.example/first", second = "https://mcp.example/second";
    const auto token = [](std::string issuer) {
      TokenSet tokens;
      tokens.issuer = std::move(issuer);
      tokens.resource = "https://mcp.example";
      tokens.access = Secret("access-of-" + tokens.issuer);
      return tokens;
    };
    for (int round = 0; round < 20; ++round) {
      co_await one->keep_token(token("https://a.example"), first);
      Scope scope(executor);
      scope.spawn(keep(one, token("https://b.example"), first));
      scope.spawn(keep(other, token("https://a.example"), second));
      co_await scope.join();
      const auto of_first = co_await one->token_of_server(first);
      EXPECT_TRUE(of_first && of_first->issuer == "https://b.example");
      const auto of_second = co_await one->token_of_server(second);
      EXPECT_TRUE(of_second && of_second->issuer == "https://a.example");
      // Only the first one is at that token.
      co_await one->keep_token(token("https://b.example"), second);
      EXPECT_FALSE((co_await one->token("https://a.example", "https://mcp.example")).has_value());
    }
  });
}

// Whoever keeps a token may be asked to unlock the store, for as long as they like.
TEST_F(TwoProcesses, WhoKeepsATokenForLong_LosesNobodyElseTheirs) {
  ManualClock clock;
  run_task(clock, [this, &clock]() -> Task<void> {
    const auto executor = co_await asio::this_coro::executor;
    auto held = co_await process()->lock("servers of tokens");
    const auto other = process();
    TokenSet tokens;
    tokens.issuer = "https://a.example";
    tokens.resource = "https://mcp.example";
    tokens.access = Secret("access");
    tokens.refresh = Secret("the only one that is valid");
    Scope scope(executor);
    std::optional<Result<void>> kept;
    scope.spawn([](std::shared_ptr<SignInStore> in, TokenSet given, std::optional<Result<void>>& into) -> Task<void> {
      into = co_await as_result(in->keep_token(std::move(given), "https://mcp.example/mcp"));
    }(other, tokens, kept));
    while (!kept) {
      co_await clock.advance(1s);
      // Files are written in real time.
      auto work = [] { return 0; };
      (void)co_await offload(Pool::slow, std::move(work));
    }
    EXPECT_TRUE(kept->has_value());
    const auto found = co_await other->token_of_server("https://mcp.example/mcp");
    EXPECT_TRUE(found && found->refresh.reveal() == tokens.refresh.reveal());
    co_await scope.join();
  });
}

// A token of https://mcp.example that was got then.
TokenSet token(std::string issuer, int second) {
  TokenSet tokens;
  tokens.issuer = std::move(issuer);
  tokens.resource = "https://mcp.example";
  tokens.access = Secret("access");
  tokens.obtained = std::chrono::sys_seconds(std::chrono::seconds(second));
  return tokens;
}

// Those who no longer wait for the lock write beside each other.
TEST_F(TwoProcesses, WhoeverWritesWithoutTheLock_LosesNobodysPlaceAtTheToken) {
  ManualClock clock;
  run_task(clock, [this, &clock]() -> Task<void> {
    const auto executor = co_await asio::this_coro::executor;
    const auto server = [](int i) { return fmt::format("https://mcp.example/{}", i); };
    constexpr int servers = 8;
    for (int i = 0; i < servers; ++i) co_await process()->keep_token(token("https://a.example", 10), server(i));
    auto held = co_await process()->lock("servers of tokens");
    Scope scope(executor);
    std::size_t kept = 0;
    for (int i = 0; i < servers; ++i) {
      scope.spawn([](std::shared_ptr<SignInStore> in, TokenSet given, std::string at, std::size_t& done) -> Task<void> {
        co_await in->keep_token(std::move(given), std::move(at));
        ++done;
      }(process(), token("https://b.example", 20), server(i), kept));
    }
    while (kept < servers) {
      co_await clock.advance(1s);
      // Files are written in real time.
      auto work = [] { return 0; };
      (void)co_await offload(Pool::slow, std::move(work));
    }
    co_await scope.join();
    for (int i = 0; i < servers; ++i) {
      const auto found = co_await process()->token_of_server(server(i));
      EXPECT_TRUE(found && found->issuer == "https://b.example") << i;
    }
    // Whoever has the lock puts them in order, and takes nothing from those who are still there.
    held.reset();
    co_await process()->keep_token(token("https://b.example", 30), server(0));
    EXPECT_TRUE((co_await process()->token("https://a.example", "https://mcp.example")).has_value());
    for (int i = 1; i < servers; ++i) co_await process()->keep_token(token("https://b.example", 30), server(i));
    EXPECT_FALSE((co_await process()->token("https://a.example", "https://mcp.example")).has_value());
  });
}

// Where the lock was held for long, a server is at the token of an older sign-in too.
TEST_F(TwoProcesses, WhoSignsOut_IsAtNoOlderTokenEither_AndOthersKeepTheirs) {
  ManualClock clock;
  run_task(clock, [this, &clock]() -> Task<void> {
    const auto executor = co_await asio::this_coro::executor;
    const std::string one = "https://mcp.example/one", other = "https://mcp.example/other";
    co_await process()->keep_token(token("https://a.example", 10), one);
    co_await process()->keep_token(token("https://a.example", 10), other);
    co_await process()->keep_token(token("https://c.example", 5), "https://mcp.example/third");
    auto held = co_await process()->lock("servers of tokens");
    Scope scope(executor);
    bool kept = false;
    scope.spawn([](std::shared_ptr<SignInStore> in, TokenSet given, std::string at, bool& done) -> Task<void> {
      co_await in->keep_token(std::move(given), std::move(at));
      done = true;
    }(process(), token("https://b.example", 20), one, kept));
    while (!kept) {
      co_await clock.advance(1s);
      // Files are written in real time.
      auto work = [] { return 0; };
      (void)co_await offload(Pool::slow, std::move(work));
    }
    co_await scope.join();
    co_await process()->forget_token("https://b.example", "https://mcp.example");
    EXPECT_TRUE((co_await process()->token_of_server(one)).has_value());
    co_await process()->leave_tokens(one);
    EXPECT_FALSE((co_await process()->token_of_server(one)).has_value());
    EXPECT_TRUE((co_await process()->token_of_server(other)).has_value());
    // Who is the last takes it along.
    co_await process()->leave_tokens(other);
    EXPECT_FALSE((co_await process()->token("https://a.example", "https://mcp.example")).has_value());
    EXPECT_TRUE((co_await process()->token("https://c.example", "https://mcp.example")).has_value());
  });
}

TEST_F(TwoProcesses, WhatARefusalNames_IsKeptUntilSomebodySignsIn) {
  run_task([this]() -> Task<void> {
    const SignInNeed need{.resource_metadata = metadata_url, .scope = "write", .proof = true};
    co_await process()->keep_need("https://mcp.example/mcp", need);
    EXPECT_EQ(co_await process()->need("https://mcp.example/mcp"), std::optional(need));
    EXPECT_EQ(co_await process()->need("https://mcp.example/other"), std::nullopt);
    const SignInNeed more{.resource_metadata = {}, .scope = "all", .more_scope = true};
    co_await process()->keep_need("https://mcp.example/mcp", more);
    EXPECT_EQ(co_await process()->need("https://mcp.example/mcp"), std::optional(more));
    co_await process()->keep_need("https://mcp.example/mcp", std::nullopt);
    EXPECT_EQ(co_await process()->need("https://mcp.example/mcp"), std::nullopt);
  });
}

}  // namespace
}  // namespace patchbay
