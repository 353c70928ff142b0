// Requests to a token endpoint: every grant, every proof of who we are. A1 A3 A5.
#include "auth/token_request.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/crypto.h"
#include "support/fails_with.h"

namespace patchbay {
namespace {

using namespace std::chrono_literals;
using test::FailsWith;
using testing::HasSubstr;
using testing::Not;

constexpr std::chrono::sys_seconds now{1'700'000'000s};

OAuthClient client() {
  OAuthClient out;
  out.id = "the client";
  out.secret = Secret("p+ss: wörd");
  return out;
}

TokenRequest request(Grant grant, const OAuthClient* who) {
  TokenRequest out;
  out.endpoint = "https://as.example/token";
  out.issuer = "https://as.example";
  out.grant = std::move(grant);
  out.client = who;
  return out;
}

FormMembers form_of(const HttpRequest& http) { return read_form(http.body).value(); }

TEST(TokenRequest, EveryGrantHasItsForm) {
  struct Case {
    Grant grant;
    FormMembers expected;
  };
  for (const auto& [grant, expected] : std::vector<Case>{
           {CodeGrant{Secret("c&d"), "http://127.0.0.1:7/callback", Secret("v")},
            {{"grant_type", "authorization_code"},
             {"code", "c&d"},
             {"redirect_uri", "http://127.0.0.1:7/callback"},
             {"code_verifier", "v"}}},
           {RefreshGrant{Secret("r")}, {{"grant_type", "refresh_token"}, {"refresh_token", "r"}}},
           {ClientCredentialsGrant{}, {{"grant_type", "client_credentials"}}},
           {JwtBearerGrant{Secret("j")},
            {{"grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer"}, {"assertion", "j"}}},
           {TokenExchangeGrant{Secret("s"), "urn:ietf:params:oauth:token-type:id_token", "https://as.example"},
            {{"grant_type", "urn:ietf:params:oauth:grant-type:token-exchange"},
             {"requested_token_type", "urn:ietf:params:oauth:token-type:id-jag"},
             {"audience", "https://as.example"},
             {"subject_token", "s"},
             {"subject_token_type", "urn:ietf:params:oauth:token-type:id_token"}}},
       }) {
    const auto bare = token_request(request(grant, nullptr), now, system_random()).value();
    EXPECT_EQ(bare.method, "POST");
    EXPECT_EQ(bare.url, "https://as.example/token");
    EXPECT_EQ(bare.headers.get("Content-Type"), "application/x-www-form-urlencoded");
    EXPECT_EQ(bare.headers.get("Accept"), "application/json");
    EXPECT_FALSE(bare.headers.contains("Authorization"));
    EXPECT_EQ(form_of(bare), expected);
    // For a resource, with scopes.
    const auto who = client();
    auto more = request(grant, &who);
    more.resource = "https://h.example/mcp";
    more.scopes = {"a", "b"};
    auto whole = expected;
    whole.insert(whole.end(), {{"resource", "https://h.example/mcp"}, {"scope", "a b"}, {"client_id", "the client"}});
    EXPECT_EQ(form_of(token_request(more, now, system_random()).value()), whole);
  }
}

TEST(TokenRequest, OneProofAlone) {
  const auto who = client();
  auto one = request(ClientCredentialsGrant{}, &who);
  one.authentication = ClientAuthentication::basic;
  const auto basic = token_request(one, now, system_random()).value();
  // RFC 6749, 2.3.1: both are encoded before they are joined.
  EXPECT_EQ(basic.headers.get("Authorization"), "Basic " + base64_encode("the+client:p%2Bss%3A+w%C3%B6rd"));
  EXPECT_EQ(form_of(basic), (FormMembers{{"grant_type", "client_credentials"}}));

  one.authentication = ClientAuthentication::post;
  const auto post = token_request(one, now, system_random()).value();
  EXPECT_FALSE(post.headers.contains("Authorization"));
  EXPECT_EQ(form_of(post),
            (FormMembers{
                {"grant_type", "client_credentials"}, {"client_id", "the client"}, {"client_secret", "p+ss: wörd"}}));

  one.authentication = ClientAuthentication::none;
  const auto none = token_request(one, now, system_random()).value();
  EXPECT_FALSE(none.headers.contains("Authorization"));
  EXPECT_THAT(none.body, Not(HasSubstr("secret")));
}

TEST(TokenRequest, PrivateKeyJwt_IsForTheIssuer) {
  const auto key = SigningKey::make_p256(system_random());
  OAuthClient who;
  who.id = "c";
  who.private_key = key.pem();
  auto one = request(ClientCredentialsGrant{}, &who);
  one.authentication = ClientAuthentication::private_key_jwt;
  const auto form = form_of(token_request(one, now, system_random()).value());
  ASSERT_EQ(form.size(), 4u);
  EXPECT_EQ(form[1], (std::pair<std::string, std::string>("client_id", "c")));
  EXPECT_EQ(form[2].second, "urn:ietf:params:oauth:client-assertion-type:jwt-bearer");
  EXPECT_EQ(form[3].first, "client_assertion");
  const auto claims = verify_jws(form[3].second, key.public_jwk()).value();
  EXPECT_EQ(claims["iss"].text(), "c");
  EXPECT_EQ(claims["sub"].text(), "c");
  EXPECT_EQ(claims["aud"].text(), "https://as.example");
  EXPECT_EQ(claims["exp"].to_int(), 1'700'000'060);

  who.key_algorithm = "RS256";
  EXPECT_THAT(token_request(one, now, system_random()),
              FailsWith(Errc::config, HasSubstr("cannot sign with \"RS256\"")));
  who.private_key = Secret("no key");
  EXPECT_THAT(token_request(one, now, system_random()), FailsWith(Errc::config, Not(HasSubstr("no key"))));
}

// A server may repeat what it was sent in any of its forms.
TEST(TokenRequest, WhatMustNotBeShown_IsAlsoWhatWasSent) {
  const auto key = SigningKey::make_p256(system_random());
  auto who = client();
  const auto said = [&](const TokenRequest& one) {
    std::vector<std::string> out;
    const auto http = token_request(one, now, system_random()).value();
    for (const auto& secret : secrets_in(one, http)) out.emplace_back(secret.reveal());
    return out;
  };
  auto one = request(RefreshGrant{Secret("r+1/2==")}, &who);
  one.authentication = ClientAuthentication::basic;
  EXPECT_THAT(said(one), testing::IsSupersetOf({std::string("r+1/2=="), std::string("r%2B1%2F2%3D%3D"),
                                                std::string("p+ss: wörd"), std::string("p%2Bss%3A+w%C3%B6rd"),
                                                base64_encode("the+client:p%2Bss%3A+w%C3%B6rd")}));
  who.private_key = key.pem();
  one.authentication = ClientAuthentication::private_key_jwt;
  const auto sent = said(one);
  EXPECT_TRUE(
      std::ranges::any_of(sent, [&](const auto& text) { return verify_jws(text, key.public_jwk()).has_value(); }));
}

TEST(TokenRequest, WithoutAnEndpoint_ThereIsNone) {
  auto one = request(ClientCredentialsGrant{}, nullptr);
  one.endpoint = "";
  EXPECT_THAT(token_request(one, now, system_random()), FailsWith(Errc::protocol, HasSubstr("token_endpoint")));
}

TEST(Revocation, TakesTheRefreshTokenBackWhereThereIsOne) {
  TokenSet tokens;
  tokens.access = Secret("a");
  auto ask = [&] {
    return revocation_request("https://as.example/revoke", tokens, client(), ClientAuthentication::post, "i", now,
                              system_random())
        .value();
  };
  EXPECT_EQ(form_of(ask()), (FormMembers{{"token", "a"},
                                         {"token_type_hint", "access_token"},
                                         {"client_id", "the client"},
                                         {"client_secret", "p+ss: wörd"}}));
  tokens.refresh = Secret("r");
  EXPECT_EQ(form_of(ask())[0].second, "r");
  EXPECT_EQ(form_of(ask())[1].second, "refresh_token");
  EXPECT_EQ(ask().url, "https://as.example/revoke");
  EXPECT_THAT(revocation_request("", tokens, client(), {}, "i", now, system_random()), FailsWith(Errc::unsupported));
}

}  // namespace
}  // namespace patchbay
