// Who we are at an authorization server: configured, described, kept or registered. A1.
#include "auth/registration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <patchbay/json.h>

#include "support/fails_with.h"

namespace patchbay {
namespace {

using namespace std::chrono_literals;
using test::FailsWith;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr std::chrono::sys_seconds now{1'700'000'000s};

IssuerMetadata issuer() {
  IssuerMetadata metadata;
  metadata.issuer = "https://as.example";
  metadata.registration_endpoint = "https://as.example/register";
  return metadata;
}

TEST(ChooseClient, InTheOrderOfTrust) {
  OAuthClient kept;
  kept.issuer = "https://as.example";
  kept.id = "k";
  kept.redirect_uris = {"http://127.0.0.1:1234/callback"};
  auto other_issuer = kept, over = kept, fresh = kept, other_redirect = kept, no_id = kept;
  other_issuer.issuer = "https://as.example/";
  over.expires = now;
  fresh.expires = now + 1s;
  other_redirect.redirect_uris = {"http://localhost:1234/callback", "http://127.0.0.1:1234/other"};
  no_id.id = "";
  auto more_scopes = kept, other_scopes = kept;
  more_scopes.scopes = Scopes{"write", "admin", "read"};
  other_scopes.scopes = Scopes{"read"};
  auto documents = issuer(), nothing = issuer();
  documents.takes_client_documents = true;
  nothing.registration_endpoint = "";
  const std::string document = "https://us.example/client.json";
  struct Case {
    std::string name;
    bool configured;
    std::string document;
    const OAuthClient* kept;
    IssuerMetadata issuer;
    ClientChoice expected;
  };
  using Choice = ClientChoice;
  for (const auto& [name, is_configured, named, one, metadata, expected] : std::vector<Case>{
           {"nothing but registration", false, "", nullptr, issuer(), Choice::register_now},
           {"nothing at all", false, "", nullptr, nothing, Choice::none},
           {"configured before everything", true, document, &kept, documents, Choice::configured},
           {"configured where nothing else is possible", true, "", nullptr, nothing, Choice::configured},
           {"a document where it is taken", false, document, &kept, documents, Choice::document},
           {"a document where it is not", false, document, nullptr, issuer(), Choice::register_now},
           {"no document of ours", false, "", nullptr, documents, Choice::register_now},
           {"kept", false, "", &kept, issuer(), Choice::kept},
           {"kept, and registration is not offered any more", false, "", &kept, nothing, Choice::kept},
           {"kept for another issuer", false, "", &other_issuer, issuer(), Choice::register_now},
           {"kept until now", false, "", &over, issuer(), Choice::register_now},
           {"kept a little longer", false, "", &fresh, issuer(), Choice::kept},
           {"kept with other redirects", false, "", &other_redirect, issuer(), Choice::register_now},
           {"kept without an id", false, "", &no_id, issuer(), Choice::register_now},
           {"kept for these scopes and others", false, "", &more_scopes, issuer(), Choice::kept},
           {"kept for other scopes", false, "", &other_scopes, issuer(), Choice::register_now},
       }) {
    // The port is another each time.
    const ClientSources sources{.configured = is_configured,
                                .document = named,
                                .kept = one,
                                .issuer = "https://as.example",
                                .redirect_uris = {"http://127.0.0.1:9999/callback"},
                                .scopes = {"read", "write"},
                                .now = now};
    EXPECT_EQ(int(choose_client(sources, metadata)), int(expected)) << name;
  }
}

TEST(ChooseClient, OnlyAPortOfThisMachineMayDiffer) {
  OAuthClient kept;
  kept.issuer = "i";
  kept.id = "k";
  struct Case {
    std::string registered;
    std::string wanted;
    bool same;
  };
  for (const auto& [registered, wanted, same] : std::vector<Case>{
           {"http://127.0.0.1/callback", "http://127.0.0.1:7/callback", true},
           {"http://[::1]:1/callback", "http://[::1]:2/callback", true},
           {"http://localhost:1/callback", "http://localhost:2/callback", true},
           {"http://localhost:1/callback", "http://127.0.0.1:1/callback", false},
           {"http://127.0.0.1:1/callback", "http://127.0.0.1:1/", false},
           {"https://127.0.0.1:1/callback", "https://127.0.0.1:2/callback", false},
           {"https://us.example:1/callback", "https://us.example:2/callback", false},
           {"app:/callback", "app:/callback", true},
           {"app:/callback", "app:/other", false},
       }) {
    kept.redirect_uris = {registered};
    const ClientSources sources{.kept = &kept, .issuer = "i", .redirect_uris = {wanted}, .now = now};
    EXPECT_EQ(choose_client(sources, issuer()) == ClientChoice::kept, same) << registered << " " << wanted;
  }
}

TEST(Registration, RequestSaysWhoWeAre) {
  const RegistrationWish wish{.client_name = "Patchbay",
                              .redirect_uris = {"http://127.0.0.1:1/callback"},
                              .scopes = {"a", "b"},
                              .software_version = "1.2"};
  const auto request = registration_request(issuer(), wish);
  EXPECT_EQ(request.method, "POST");
  EXPECT_EQ(request.url, "https://as.example/register");
  EXPECT_EQ(request.headers.get("Content-Type"), "application/json");
  EXPECT_EQ(parse_json(request.body).value(),
            parse_json(R"({"client_name": "Patchbay", "redirect_uris": ["http://127.0.0.1:1/callback"],
                           "grant_types": ["authorization_code", "refresh_token"], "response_types": ["code"],
                           "token_endpoint_auth_method": "none", "application_type": "native", "scope": "a b",
                           "software_version": "1.2"})")
                .value());
}

TEST(Registration, RequestFitsTheIssuer) {
  struct Case {
    std::optional<std::vector<std::string>> supported;
    std::vector<std::string> redirects;
    std::string method;
    std::string type;
  };
  using List = std::vector<std::string>;
  const List here{"http://localhost:1/callback"};
  for (const auto& [supported, redirects, method, type] : std::vector<Case>{
           {std::nullopt, here, "none", "native"},
           {List{"client_secret_post", "none"}, here, "none", "native"},
           {List{"client_secret_post", "client_secret_basic"}, here, "client_secret_basic", "native"},
           {List{"client_secret_post"}, here, "client_secret_post", "native"},
           {List{"private_key_jwt"}, here, "none", "native"},
           {List{}, {"app:/callback"}, "none", "native"},
           {List{}, {"com.example.app://callback"}, "none", "native"},
           {List{}, {"https://us.example/callback"}, "none", "web"},
           {List{}, {"http://127.0.0.1/callback", "https://us.example/callback"}, "none", "web"},
       }) {
    auto metadata = issuer();
    metadata.token_authentications = supported;
    const auto body =
        parse_json(registration_request(metadata, {.client_name = "c", .redirect_uris = redirects}).body).value();
    EXPECT_EQ(body["token_endpoint_auth_method"].text(), method);
    EXPECT_EQ(body["application_type"].text(), type);
    EXPECT_EQ(body.find("scope"), nullptr);
    EXPECT_EQ(body.find("software_version"), nullptr);
  }
}

TEST(Registration, TheAnswerCounts) {
  const RegistrationWish wish{.client_name = "c", .redirect_uris = {"http://127.0.0.1:1/callback"}};
  struct Case {
    std::string body;
    std::string secret;
    ClientAuthentication authentication;
    std::optional<std::chrono::sys_seconds> expires;
  };
  using enum ClientAuthentication;
  for (const auto& [body, secret, authentication, expires] : std::vector<Case>{
           {R"({"client_id":"i"})", "", none, {}},
           {R"({"client_id":"i","client_secret":null})", "", none, {}},
           {R"({"client_id":"i","client_secret":"s"})", "s", none, {}},
           {R"({"client_id":"i","client_secret":"s","client_secret_expires_at":0})", "s", none, {}},
           {R"({"client_id":"i","client_secret":"s","client_secret_expires_at":1800000000})", "s", none,
            std::chrono::sys_seconds(1'800'000'000s)},
           {R"({"client_id":"i","client_secret":"s","client_secret_expires_at":"1800000000"})", "s", none,
            std::chrono::sys_seconds(1'800'000'000s)},
           {R"({"client_id":"i","client_secret":"s","client_secret_expires_at":-1})", "s", none, {}},
           {R"({"client_id":"i","client_secret":"s","client_secret_expires_at":1e300})", "s", none, {}},
           {R"({"client_id":"i","client_secret":"s","token_endpoint_auth_method":"client_secret_post"})",
            "s",
            post,
            {}},
           {R"({"client_id":"i","client_secret":"s","token_endpoint_auth_method":"client_secret_basic"})",
            "s",
            basic,
            {}},
           {R"({"client_id":"i","token_endpoint_auth_method":"client_secret_basic"})", "", none, {}},
           {R"({"client_id":"i","client_secret":"s","token_endpoint_auth_method":"none"})", "", none, {}},
       }) {
    for (const int status : {200, 201}) {
      const auto client = read_registration(status, body, issuer(), wish);
      ASSERT_TRUE(client) << body;
      EXPECT_EQ(client->id, "i");
      EXPECT_EQ(client->issuer, "https://as.example");
      EXPECT_EQ(client->source, OAuthClient::Source::registered);
      EXPECT_EQ(client->secret.reveal(), secret) << body;
      EXPECT_EQ(int(client->authentication), int(authentication)) << body;
      EXPECT_EQ(client->expires, expires) << body;
      EXPECT_EQ(client->redirect_uris, wish.redirect_uris);
    }
  }
  EXPECT_THAT(
      read_registration(201, R"({"client_id":"i","redirect_uris":["http://127.0.0.1/callback",7]})", issuer(), wish)
          ->redirect_uris,
      ElementsAre("http://127.0.0.1/callback"));
}

TEST(Registration, ARefusalSaysWhy) {
  struct Case {
    int status;
    std::string body;
    Errc code;
    std::string says;
  };
  for (const auto& [status, body, code, says] : std::vector<Case>{
           {400, R"({"error":"invalid_redirect_uri","error_description":"no \u001b[31mloopback"})", Errc::unauthorized,
            "https://as.example does not register this program (400): invalid_redirect_uri: no loopback"},
           {200, R"({"error":"invalid_client_metadata"})", Errc::unauthorized,
            "https://as.example does not register this program (200): invalid_client_metadata"},
           {403, "<html>no</html>", Errc::unauthorized, "https://as.example does not register this program (403)"},
           {401, "Unauthorized", Errc::unauthorized,
            "https://as.example does not register this program (401): Unauthorized"},
           {201, "", Errc::protocol,
            "https://as.example answered the registration with something that is not a JSON object"},
           {201, "{}", Errc::protocol, "https://as.example answered the registration with no \"client_id\""},
           {201, R"({"client_id":7})", Errc::protocol,
            "https://as.example answered the registration with no \"client_id\""},
           {201, R"({"client_id":"i","token_endpoint_auth_method":"tls_client_auth"})", Errc::unsupported,
            "https://as.example wants registered programs to prove themselves by \"tls_client_auth\", which is not "
            "possible here"},
           {201, R"({"client_id":"i","token_endpoint_auth_method":"private_key_jwt"})", Errc::unsupported,
            "https://as.example wants registered programs to prove themselves by \"private_key_jwt\", which is not "
            "possible here"},
           {201, std::string((1u << 20) + 1, ' '), Errc::protocol,
            "the answer to the registration is larger than 1 MiB"},
       }) {
    EXPECT_THAT(read_registration(status, body, issuer(), {}), FailsWith(code, says)) << body.substr(0, 100);
  }
}

TEST(AuthenticationFor, AsRegisteredThenWhatTheIssuerTakes) {
  using List = std::vector<std::string>;
  using enum ClientAuthentication;
  OAuthClient open, secret, as_post, as_basic, key, both;
  secret.secret = as_post.secret = as_basic.secret = both.secret = Secret("s");
  as_post.authentication = post;
  as_basic.authentication = basic;
  key.private_key = both.private_key = Secret("pem");
  both.authentication = private_key_jwt;
  struct Case {
    OAuthClient client;
    std::optional<List> supported;
    ClientAuthentication expected;
  };
  int row = 0;
  for (const auto& [client, supported, expected] : std::vector<Case>{
           {open, {}, none},
           {open, List{"client_secret_basic"}, none},
           {secret, {}, basic},
           {secret, List{"client_secret_post", "client_secret_basic"}, basic},
           {secret, List{"client_secret_post"}, post},
           {secret, List{"none", "client_secret_post"}, post},
           {secret, List{"none"}, none},
           {secret, List{"tls_client_auth"}, basic},
           {as_post, List{"client_secret_basic"}, post},
           {as_basic, List{"client_secret_post"}, basic},
           {key, {}, private_key_jwt},
           {both, {}, private_key_jwt},
       }) {
    auto metadata = issuer();
    metadata.token_authentications = supported;
    EXPECT_EQ(int(authentication_for(client, metadata)), int(expected)) << row;
    ++row;
  }
}

}  // namespace
}  // namespace patchbay
