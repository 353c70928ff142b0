// Signing in through a Host: the refusal says what helps, the tool that a model can call, what takes its place, and
// that stopping ends a sign-in nobody finishes. A1, A6, X4, L3.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <patchbay/host.h>

#include "base/as_result.h"
#include "base/scope.h"
#include "base/waiting.h"
#include "http/client/http_client.h"
#include "settings/connectors.h"
#include "support/fails_with.h"
#include "support/loop.h"
#include "support/sign_in_server.h"

namespace patchbay::test {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

// What a browser does: goes there, and wherever it is sent on to.
Task<void> browse(std::string url) {
  HttpClientOptions options;
  options.proxy = "";
  HttpClient client(co_await asio::this_coro::executor, std::move(options));
  HttpRequest request{.method = "GET", .url = std::move(url), .headers = {}, .body = {}};
  auto exchange = co_await as_result(client.send(std::move(request)));
  if (exchange) (void)co_await as_result(read_all(**exchange, 1u << 20));
}

HostOptions options_for(Scope& scope) {
  HostOptions options;
  options.config = LoadedConfig{};
  options.keep_connected = false;
  options.sign_in.show = [&scope](SignInPage page) -> Task<void> {
    scope.spawn(browse(page.url));
    co_return;
  };
  return options;
}

ServerConfig entry_for(const SignInServer& server) {
  ServerConfig entry;
  entry.name = "guarded";
  entry.kind = ServerKind::http;
  entry.url = server.url();
  return entry;
}

std::vector<std::string> names_in(const Host& host) {
  std::vector<std::string> names;
  for (const auto& entry : host.catalog()->tools()) names.push_back(entry.name);
  return names;
}

TEST(HostSignIn, AModelCanBeginIt_AndTheRealToolsTakeThePlaceOfTheTool) {
  run_task([]() -> Task<void> {
    SignInServer server;
    Scope scope(co_await asio::this_coro::executor);
    Host host(options_for(scope));
    host.add_server(entry_for(server));
    co_await host.start();
    EXPECT_EQ(host.status().at(0).state, ServerState::needs_auth);
    EXPECT_THAT(names_in(host), ElementsAre("mcp__guarded__authenticate"));
    const auto result = co_await host.call("mcp__guarded__authenticate");
    EXPECT_FALSE(result.is_error);
    EXPECT_THAT(text_of(result), AllOf(HasSubstr("signed in"), HasSubstr("1 tool")));
    EXPECT_THAT(names_in(host), ElementsAre("mcp__guarded__hello"));
    EXPECT_THAT(text_of(co_await host.call("mcp__guarded__hello")), HasSubstr("signed-in user"));
    co_await host.stop();
    co_await scope.join();
  });
}

TEST(HostSignIn, AFailureIsAResultForTheModel_AndTheToolStays) {
  run_task([]() -> Task<void> {
    SignInServer server;
    server.denies = true;
    Scope scope(co_await asio::this_coro::executor);
    Host host(options_for(scope));
    host.add_server(entry_for(server));
    co_await host.start();
    const auto result = co_await host.call("guarded/authenticate");
    EXPECT_TRUE(result.is_error);
    EXPECT_THAT(text_of(result), HasSubstr("Signing in did not work"));
    EXPECT_THAT(names_in(host), ElementsAre("mcp__guarded__authenticate"));
    co_await host.stop();
    co_await scope.join();
  });
}

TEST(HostSignIn, WithNobodyThere_TheErrorSaysWhatWouldHelp) {
  run_task([]() -> Task<void> {
    SignInServer server;
    HostOptions options;
    options.config = LoadedConfig{};
    Host host(std::move(options));
    host.add_server(entry_for(server));
    const auto refused = co_await as_result(host.call("guarded/hello"));
    EXPECT_THAT(refused, FailsWith(Errc::unauthorized, HasSubstr("needs you to sign in")));
    const auto error = failure_of(refused);
    EXPECT_EQ(error.remedy(), (Remedy{Remedy::Kind::sign_in, "guarded"}));
    EXPECT_EQ(error.carried_out(), CarriedOut::no);
    EXPECT_TRUE(error.sign_in().has_value());
    EXPECT_THAT(names_in(host), testing::IsEmpty());
    co_await host.stop();
  });
}

TEST(HostSignIn, StoppingTheHost_EndsASignInThatNobodyFinishes) {
  run_task([]() -> Task<void> {
    SignInServer server;
    Scope scope(co_await asio::this_coro::executor);
    auto options = options_for(scope);
    Event shown;
    options.sign_in.show = [&shown](SignInPage) -> Task<void> {
      shown.notify_all();
      co_return;
    };
    Host host(std::move(options));
    host.add_server(entry_for(server));
    std::optional<Result<SignInResult>> ended;
    scope.spawn([](Host& of, std::optional<Result<SignInResult>>& into) -> Task<void> {
      into.emplace(co_await as_result(of.sign_in("guarded")));
    }(host, ended));
    co_await shown.wait();
    co_await host.stop();
    co_await scope.join();
    EXPECT_TRUE(ended.has_value());
    if (ended) EXPECT_THAT(*ended, FailsWith(Errc::closed));
  });
}

TEST(HostSignIn, StoppingTheHost_EndsASignInAtTheIdentityProvider) {
  run_task([]() -> Task<void> {
    SignInServer server;
    Scope scope(co_await asio::this_coro::executor);
    auto options = options_for(scope);
    options.sign_in.identity_provider = IdentityProvider{.issuer = server.issuer(), .client_id = "us"};
    Event shown;
    options.sign_in.show = [&shown](SignInPage) -> Task<void> {
      shown.notify_all();
      co_return;
    };
    Host host(std::move(options));
    std::optional<Result<void>> ended;
    scope.spawn([](Host& of, std::optional<Result<void>>& into) -> Task<void> {
      into.emplace(co_await as_result(of.sign_in_at_provider()));
    }(host, ended));
    co_await shown.wait();
    co_await host.stop();
    co_await scope.join();
    EXPECT_TRUE(ended.has_value());
    if (ended) EXPECT_THAT(*ended, FailsWith(Errc::closed));
  });
}

// The token of another server of the resource may be worth nothing: that is found out, and the user is asked at once.
TEST(HostSignIn, ASharedTokenThatWasRevoked_LeadsToTheBrowserInTheSameSignIn) {
  run_task([]() -> Task<void> {
    SignInServer server;
    Scope scope(co_await asio::this_coro::executor);
    Host host(options_for(scope));
    host.add_server(entry_for(server));
    auto other = entry_for(server);
    other.name = "second";
    other.url += "?second";
    host.add_server(other);
    (void)co_await host.sign_in("guarded");
    EXPECT_EQ(server.authorizations, 1);
    server.revoke();
    (void)co_await host.sign_in("second");
    EXPECT_EQ(server.authorizations, 2);
    EXPECT_THAT(text_of(co_await host.call("second/hello")), HasSubstr("signed-in user"));
    co_await host.stop();
    co_await scope.join();
  });
}

// A renewal that failed is no end: whoever signs in again gets in.
TEST(HostSignIn, AfterARenewalThatFailed_TheUserCanSignInAgain) {
  run_task([]() -> Task<void> {
    SignInServer server;
    Scope scope(co_await asio::this_coro::executor);
    Host host(options_for(scope));
    host.add_server(entry_for(server));
    (void)co_await host.sign_in("guarded");
    server.revoke();
    EXPECT_THAT(co_await as_result(host.call("guarded/hello")), FailsWith(Errc::unauthorized));
    EXPECT_EQ(server.refreshes, 1);
    (void)co_await host.sign_in("guarded");
    EXPECT_EQ(server.authorizations, 2);
    EXPECT_THAT(text_of(co_await host.call("guarded/hello")), HasSubstr("signed-in user"));
    co_await host.stop();
    co_await scope.join();
  });
}

// T8: one sign-in at the proxy for all servers behind it, renewed as any other.
TEST(HostSignIn, ServersBehindAProxy_ShareOneSignInThatIsRenewedOnce) {
  run_task([]() -> Task<void> {
    SignInServer server;
    Scope scope(co_await asio::this_coro::executor);
    auto options = options_for(scope);
    auto& directory = options.config->connectors.emplace();
    directory.url = server.directory();
    directory.proxy = server.proxy();
    directory.cache_file = "/nonexistent/cache.json";
    options.config->servers = connector_servers(directory, {{"one", "One", "https://one.example/mcp"},
                                                            {"two", "Two", "https://two.example/mcp"}})
                                  .servers;
    Host host(std::move(options));
    co_await host.start({"claude.ai One", "claude.ai Two"});
    for (const auto& status : host.status()) EXPECT_EQ(status.state, ServerState::needs_auth) << status.name;
    const auto signed_in = co_await host.sign_in("claude.ai One");
    EXPECT_EQ(signed_in.resource, server.issuer() + "/proxy");
    EXPECT_EQ(server.authorizations, 1);
    for (const auto& status : host.status()) EXPECT_EQ(status.state, ServerState::connected) << status.name;
    // Refused at the same time: one renewal, and both calls are answered.
    server.expire();
    std::vector<std::string> answers(2);
    int at = 0;
    for (const auto* name : {"claude.ai One", "claude.ai Two"}) {
      scope.spawn([](Host& of, std::string called, std::string& into) -> Task<void> {
        auto done = co_await as_result(of.call(called + "/hello"));
        into = done ? text_of(*done) : done.error().message();
      }(host, name, answers[at++]));
    }
    co_await scope.join();
    EXPECT_THAT(answers, testing::Each(HasSubstr("signed-in user")));
    EXPECT_EQ(server.refreshes, 1);
    EXPECT_EQ(server.authorizations, 1);
    // What is signed out is signed out for all of them.
    EXPECT_TRUE((co_await host.sign_out("claude.ai Two")).was_signed_in);
    EXPECT_THAT(co_await as_result(host.call("claude.ai One/hello")), FailsWith(Errc::unauthorized));
    co_await host.stop();
  });
}

}  // namespace
}  // namespace patchbay::test
