// What an entry may have a host sign in with: whose secrets go where, what a project's entry may not name, and what is
// read when the configuration was read again. A1, N5.
#include "host/sign_in/sign_ins.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/as_result.h"
#include "support/fails_with.h"
#include "support/loop.h"

namespace patchbay {
namespace {

using test::FailsWith;
using test::run_task;
using testing::HasSubstr;

ServerConfig entry(ConfigScope scope) {
  ServerConfig server;
  server.name = "docs";
  server.kind = ServerKind::http;
  server.url = "https://mcp.example/mcp";
  server.origin = {"the file", 0, scope, ConfigTrust::trusted, 0};
  server.oauth.emplace();
  server.oauth->client_id = "ours";
  return server;
}

Task<Secret> secret_called(std::string text) { co_return Secret(std::move(text)); }
Task<Secret> no_secret() { throw Error(Errc::closed, "the host was stopped"); }
Task<std::string> text_called(std::string text) { co_return text; }

SignIns::Reading reading(std::string secret) {
  return {.read_file = [](std::string path) { return secret_called("the text of " + path); },
          .secret = [secret](std::string) { return secret.empty() ? no_secret() : secret_called(secret); },
          .variables = [](std::string_view) { return std::optional<std::string>(); }};
}

struct Parts {
  explicit Parts(SignInOptions options = {}) : sign_ins(std::move(options), Runtime()) {}
  Task<std::shared_ptr<ServerSignIn>> of(ServerConfig server, SignIns::Reading how = reading("of the store")) {
    co_return sign_ins.for_entry(co_await asio::this_coro::executor, server, server, {}, std::move(how));
  }
  SignIns sign_ins;
};

TEST(SignIns, TheProgramsOwnSecretGoesToTheUsersEntriesAlone) {
  run_task([]() -> Task<void> {
    for (const auto scope :
         {ConfigScope::user, ConfigScope::local, ConfigScope::project, ConfigScope::plugin, ConfigScope::connector}) {
      SignInOptions options;
      options.client_secret = [](std::string server) { return text_called("of the program for " + server); };
      Parts parts(std::move(options));
      const auto sign_in = co_await parts.of(entry(scope));
      const bool own = scope == ConfigScope::user || scope == ConfigScope::local;
      EXPECT_EQ(sign_in->settings().users_own, own) << to_string(scope);
      const auto secret = co_await sign_in->settings().client_secret();
      EXPECT_EQ(secret.reveal(), own ? "of the program for docs" : "of the store") << to_string(scope);
    }
  });
}

TEST(SignIns, ADocumentThatAProjectNames_GetsNoSecretOfTheUsers) {
  run_task([]() -> Task<void> {
    for (const auto scope : {ConfigScope::user, ConfigScope::project}) {
      Parts parts;
      auto server = entry(scope);
      server.oauth->auth_server_metadata_url = "https://elsewhere.example/issuer.json";
      const auto sign_in = co_await parts.of(std::move(server));
      EXPECT_EQ(sign_in->settings().client_secret != nullptr, scope == ConfigScope::user);
    }
  });
}

TEST(SignIns, AProjectsEntryNamesNoResourceOfAnotherServer) {
  run_task([]() -> Task<void> {
    struct Row {
      const char* resource;
      bool good;
    };
    for (const auto& [resource, good] : {Row{"https://mcp.example/mcp", true}, Row{"https://mcp.example", true},
                                         Row{"https://mcp.example:8443/mcp", false},
                                         Row{"https://bank.example/", false}, Row{"http://mcp.example/mcp", false}}) {
      Parts parts;
      auto server = entry(ConfigScope::project);
      server.oauth->resource = resource;
      const auto made = co_await as_result(parts.of(server));
      EXPECT_EQ(made.has_value(), good) << resource;
      if (!good) EXPECT_THAT(made, FailsWith(Errc::config, HasSubstr("names another server"))) << resource;
      server.origin.scope = ConfigScope::user;
      EXPECT_TRUE((co_await as_result(parts.of(server))).has_value()) << resource;
    }
  });
}

TEST(SignIns, AProjectsEntryUsesNoKeyAndNoStatementOfTheUsers) {
  run_task([]() -> Task<void> {
    const std::vector<std::function<void(OAuthConfig&)>> rows{
        [](OAuthConfig& oauth) { oauth.private_key_file = "~/.ssh/id_rsa"; },
        [](OAuthConfig& oauth) { oauth.token_file = "/var/run/secrets/token"; },
        [](OAuthConfig& oauth) { oauth.grant = "client_credentials"; }, [](OAuthConfig& oauth) { oauth.xaa = true; }};
    for (const auto& row : rows) {
      Parts parts;
      auto server = entry(ConfigScope::project);
      row(*server.oauth);
      EXPECT_THAT(co_await as_result(parts.of(server)), FailsWith(Errc::config, HasSubstr("is not used")));
      server.origin.scope = ConfigScope::user;
      EXPECT_TRUE((co_await as_result(parts.of(server))).has_value());
    }
  });
}

// The configuration was read again: what the sign-in was made with is gone.
TEST(SignIns, ASignInThatIsKept_ReadsWithWhatCountsNow) {
  run_task([]() -> Task<void> {
    Parts parts;
    auto server = entry(ConfigScope::user);
    server.oauth->private_key_file = "~/key.pem";
    const auto before = co_await parts.of(server, reading(""));
    const auto after = co_await parts.of(server, reading("new"));
    EXPECT_EQ(before, after);
    const auto secret = co_await as_result(before->settings().client_secret());
    EXPECT_TRUE(secret && secret->reveal() == "new");
    EXPECT_EQ((co_await before->settings().private_key()).reveal(), "the text of ~/key.pem");
  });
}

TEST(SignIns, TheBrowserComesBackToThisMachineAlone) {
  run_task([]() -> Task<void> {
    SignInOptions options;
    options.paste = [](SignInPage page) { return text_called(page.redirect_uri); };
    Parts parts(std::move(options));
    const auto visits = parts.sign_ins.visits();
    for (const auto* host : {"127.0.0.1", "localhost"}) {
      EXPECT_TRUE((co_await as_result(visits({.server = "docs", .host = host}))).has_value()) << host;
    }
    for (const auto* host : {"evil.example", "localhost.evil.example", "0.0.0.0", "127.0.0.1@evil.example", ""}) {
      auto visit = [&visits, host]() -> Task<void> { (void)co_await visits({.server = "docs", .host = host}); };
      EXPECT_THAT(co_await as_result(visit()), FailsWith(Errc::config, HasSubstr("come back to this machine"))) << host;
    }
  });
}

}  // namespace
}  // namespace patchbay
