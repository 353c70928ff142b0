// What is kept of sign-in from run to run, and when a token is renewed. A2 A3.
#include "auth/kept_token.h"

#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/fails_with.h"

namespace patchbay {
namespace {

using namespace std::chrono_literals;
using test::FailsWith;
using testing::HasSubstr;
using testing::Not;

constexpr std::chrono::sys_seconds start{1'700'000'000s};

TokenSet whole_set() {
  TokenSet tokens;
  tokens.issuer = "https://as.example";
  tokens.resource = "https://h.example/mcp?api_key=planted-key";
  tokens.client_id = "client";
  tokens.token_endpoint = "https://as.example/token";
  tokens.revocation_endpoint = "https://as.example/revoke";
  tokens.authentication = ClientAuthentication::post;
  tokens.kind = TokenKind::dpop;
  tokens.access = Secret("planted-access");
  tokens.refresh = Secret("planted-refresh");
  tokens.dpop_key = Secret("planted-pem");
  tokens.expires = start + 1h;
  tokens.requested = {"a", "b"};
  tokens.granted = Scopes{"a"};
  tokens.obtained = start;
  tokens.refreshed = start + 10s;
  return tokens;
}

OAuthClient whole_client() {
  OAuthClient client;
  client.source = OAuthClient::Source::configured;
  client.issuer = "https://as.example";
  client.id = "client";
  client.secret = Secret("planted-secret");
  client.expires = start;
  client.authentication = ClientAuthentication::post;
  client.private_key = Secret("planted-pem");
  client.key_algorithm = "ES256";
  client.redirect_uris = {"http://127.0.0.1/callback"};
  return client;
}

TEST(KeptToken, ComesBackAsItWas) {
  TokenSet least;
  least.issuer = "i";
  least.resource = "r";
  least.access = Secret("a");
  auto no_scopes = least;
  no_scopes.granted = Scopes{};
  for (const auto& tokens : {whole_set(), least, no_scopes}) {
    EXPECT_EQ(read_token_set(write_token_set(tokens)).value(), tokens);
  }
  OAuthClient public_client;
  public_client.issuer = "i";
  public_client.id = "c";
  for (const auto& client : {whole_client(), public_client})
    EXPECT_EQ(read_client(write_client(client)).value(), client);
}

TEST(KeptToken, WhatIsNotOurs_IsAnErrorWithoutItsText) {
  struct Case {
    std::string text;
    Errc code;
  };
  for (
      const auto& [text, code] : std::vector<Case>{
          {"", Errc::config},
          {"planted-access", Errc::config},
          {"[]", Errc::config},
          {"{}", Errc::config},
          {R"({"version":1})", Errc::config},
          {R"({"version":"1","issuer":"i","resource":"r","tokenType":"Bearer","accessToken":"planted-access"})",
           Errc::config},
          {R"({"version":2,"issuer":{"x":"planted-access"}})", Errc::unsupported},
          {R"({"version":99})", Errc::unsupported},
          {R"({"version":0,"issuer":"i"})", Errc::config},
          {R"({"version":1,"issuer":"i","resource":"r","tokenType":"Bearer"})", Errc::config},
          {R"({"version":1,"issuer":"i","resource":"r","tokenType":"Mac","accessToken":"planted-access"})",
           Errc::config},
          {R"({"version":1,"issuer":"i","resource":7,"tokenType":"Bearer","accessToken":"planted-access"})",
           Errc::config},
          {R"({"version":1,"issuer":"i","resource":"r","tokenType":"Bearer","accessToken":"planted-access","expires":-1})",
           Errc::config},
          {R"({"version":1,"issuer":"i","resource":"r","tokenType":"Bearer","accessToken":"planted-access","expires":1e300})",
           Errc::config},
          {R"({"version":1,"issuer":"i","resource":"r","tokenType":"Bearer","accessToken":"planted-access","requested":"a"})",
           Errc::config},
          {R"({"version":1,"issuer":"i","resource":"r","tokenType":"Bearer","accessToken":"planted-access","granted":[1]})",
           Errc::config},
          {std::string(3u << 20, ' '), Errc::config},
      }) {
    EXPECT_THAT(read_token_set(Secret(text)), FailsWith(code, Not(HasSubstr("planted")))) << text.substr(0, 200);
    EXPECT_THAT(read_client(Secret(text)), FailsWith(code, Not(HasSubstr("planted")))) << text.substr(0, 200);
  }
  EXPECT_THAT(read_token_set(write_client(whole_client())), FailsWith(Errc::config));
}

// What a later version adds without changing its number is not ours to mind.
TEST(KeptToken, MembersThatAreNotKnown_AreLeft) {
  EXPECT_TRUE(read_token_set(Secret(
      R"({"version":1,"issuer":"i","resource":"r","tokenType":"Bearer","accessToken":"a","obtained":5,"more":{"x":1}})")));
}

TEST(KeptToken, NoteHasNothingSecret) {
  const auto note = token_note(whole_set());
  EXPECT_EQ(note, (Json{{"issuer", "https://as.example"},
                        {"resource", "https://h.example/mcp?api_key=***"},
                        {"clientId", "client"},
                        {"tokenType", "DPoP"},
                        {"scopes", Json::array({"a"})},
                        {"expires", 1'700'003'600},
                        {"obtained", 1'700'000'000},
                        {"refreshed", 1'700'000'010},
                        {"refreshable", true}}));
  EXPECT_THAT(to_text(note), Not(HasSubstr("planted")));
  auto plain = whole_set();
  plain.granted.reset();
  plain.refresh = {};
  EXPECT_EQ(token_note(plain)["scopes"], Json::array({"a", "b"}));
  EXPECT_EQ(token_note(plain)["refreshable"], Json(false));
}

// The store refuses long notes, and a sign-in must not fail for it.
TEST(KeptToken, NoteOfManyScopes_IsShort) {
  auto many = whole_set();
  many.granted.emplace();
  for (int i = 0; i < 1000; ++i) many.granted->push_back(fmt::format("{:0>100}", i));
  const auto note = token_note(many);
  EXPECT_LT(to_text(note).size(), 10'000u);
  EXPECT_EQ(note["scopes"].items()[0], Json(many.granted->front()));
  EXPECT_EQ(read_token_set(write_token_set(many)).value().granted, many.granted);
}

TEST(KeptToken, NameIsThatOfIssuerAndResource) {
  const std::set<std::string> names{token_name("i", "r"),  token_name("ir", ""),  token_name("", "ir"),
                                    token_name("i/", "r"), token_name("i", "r/"), client_name("i"),
                                    client_name("i/")};
  EXPECT_EQ(names.size(), 7u);
  EXPECT_EQ(token_name("i", "r"), token_name("i", "r"));
  EXPECT_THAT(token_name("https://as.example", "https://h.example?key=planted"),
              testing::MatchesRegex("token-[0-9a-f]+"));
  EXPECT_THAT(client_name("https://as.example"), testing::MatchesRegex("client-[0-9a-f]+"));
}

TEST(TokenAge, IsDueFiveMinutesBefore_OrATenthOfAShortLife) {
  using enum TokenAge;
  struct Case {
    std::string name;
    std::optional<std::chrono::seconds> life;
    std::chrono::seconds now;
    TokenAge expected;
  };
  for (const auto& [name, life, now, expected] : std::vector<Case>{
           {"no end", std::nullopt, 100h, fresh},
           {"a day, new", 24h, 0s, fresh},
           {"a day, six minutes left", 24h, 24h - 6min, fresh},
           {"a day, five minutes left", 24h, 24h - 5min, due},
           {"a day, a second left", 24h, 24h - 1s, due},
           {"a day, over", 24h, 24h, expired},
           {"five minutes, new", 5min, 0s, fresh},
           {"five minutes, half over", 5min, 150s, fresh},
           {"five minutes, 31 seconds left", 5min, 269s, fresh},
           {"five minutes, 30 seconds left", 5min, 270s, due},
           {"five seconds", 5s, 4s, fresh},
           {"five seconds, over", 5s, 5s, expired},
           {"a clock that was set back", 24h, -48h, fresh},
           {"none at all", 0s, 0s, expired},
       }) {
    TokenSet tokens;
    tokens.obtained = start;
    if (life) tokens.expires = start + *life;
    EXPECT_EQ(int(token_age(tokens, start + now)), int(expected)) << name;
    // Counted from the last renewal.
    tokens.obtained = start - 1000h;
    tokens.refreshed = start;
    EXPECT_EQ(int(token_age(tokens, start + now)), int(expected)) << name;
  }
  TokenSet odd;
  odd.obtained = start + 1h;
  odd.expires = start;
  EXPECT_EQ(token_age(odd, start - 1s), fresh);
}

TEST(SharedToken, DoesForWhoWantsNoMoreThanItIsGoodFor) {
  const std::chrono::sys_seconds now{std::chrono::seconds(1'000'000)};
  TokenSet token;
  token.client_id = "us";
  token.access = Secret("a");
  token.refresh = Secret("r");
  token.requested = {"read", "write"};
  token.granted = Scopes{"read"};
  auto expired = token;
  expired.expires = now - std::chrono::seconds(1);
  auto over = expired;
  over.refresh = Secret();
  auto bound = token;
  bound.kind = TokenKind::dpop;
  auto unsaid = token;
  unsaid.granted.reset();
  struct Case {
    const char* what;
    TokenSet token;
    ShareWish wish;
    bool expected;
  };
  const Case cases[] = {
      {"nothing special", token, {}, true},
      {"expired, and it can be renewed", expired, {}, true},
      {"expired for good", over, {}, false},
      {"the client of the entry", token, {.client_id = "us"}, true},
      {"another client", token, {.client_id = "them"}, false},
      {"a right that it has", token, {.scopes = {"read"}}, true},
      {"a right that was wanted and not given", token, {.scopes = {"write"}}, false},
      {"a right that was wanted, and nothing said of what was given", unsaid, {.scopes = {"write"}}, true},
      {"a proof without a key", token, {.proof = true}, false},
      {"a proof", bound, {.proof = true}, true},
  };
  for (const auto& one : cases) EXPECT_EQ(can_share(one.token, one.wish, now), one.expected) << one.what;
}

}  // namespace
}  // namespace patchbay
