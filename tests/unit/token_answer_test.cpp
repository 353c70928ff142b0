// What token endpoints really say, by the book and otherwise. A4.
#include "auth/token_answer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace patchbay {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;

HttpHead head(int status, std::string type = "application/json", std::string nonce = "") {
  HttpHead out;
  out.status = status;
  if (!type.empty()) out.headers.add("Content-Type", std::move(type));
  if (!nonce.empty()) out.headers.add("DPoP-Nonce", std::move(nonce));
  return out;
}

GivenTokens given(std::string access) {
  GivenTokens out;
  out.access = Secret(std::move(access));
  return out;
}

TEST(TokenAnswer, TokensAreFoundHoweverTheyAreWritten) {
  GivenTokens whole = given("a");
  whole.refresh = Secret("r");
  whole.id_token = Secret("i");
  whole.lifetime = 3600s;
  whole.scope = Scopes{"x", "y"};
  auto lasting = [](std::chrono::seconds life) {
    auto out = given("a");
    out.lifetime = life;
    return out;
  };
  auto dpop = given("a");
  dpop.kind = TokenKind::dpop;
  auto exchanged = given("j");
  exchanged.issued_token_type = "urn:ietf:params:oauth:token-type:id-jag";
  auto scoped = [](Scopes scopes) {
    auto out = given("a");
    out.scope = std::move(scopes);
    return out;
  };
  auto refreshed = given("a");
  refreshed.refresh = Secret("b c");
  struct Case {
    std::string body;
    GivenTokens expected;
    std::string type = "application/json";
    int status = 200;
  };
  for (
      const auto& [body, expected, type, status] : std::vector<Case>{
          {R"({"access_token":"a","token_type":"Bearer","expires_in":3600,"refresh_token":"r","scope":"x y","id_token":"i"})",
           whole},
          {R"({"access_token":"a","token_type":"bearer"})", given("a"), "application/json; charset=utf-8", 201},
          {R"({"access_token":"a"})", given("a")},
          {R"({"access_token":"a","token_type":""})", given("a")},
          {R"({"access_token":"a","token_type":null,"refresh_token":null,"expires_in":null,"scope":null})", given("a")},
          {R"({"access_token":"a","token_type":"user"})", given("a")},
          {R"({"access_token":"a","token_type":"dpop"})", dpop},
          {R"({"access_token":"a","token_type":" DPoP "})", dpop},
          {R"({"access_token":"j","token_type":"N_A","issued_token_type":"urn:ietf:params:oauth:token-type:id-jag"})",
           exchanged},
          // Lives.
          {R"({"access_token":"a","expires_in":"3600"})", lasting(3600s)},
          {R"({"access_token":"a","expires_in":" 60 "})", lasting(60s)},
          {R"({"access_token":"a","expires_in":3599.9})", lasting(3599s)},
          {R"({"access_token":"a","expires_in":"3599.5"})", lasting(3599s)},
          {R"({"access_token":"a","expires_in":1e300})", lasting(315'360'000s)},
          {R"({"access_token":"a","expires_in":99999999999999999999})", lasting(315'360'000s)},
          {R"({"access_token":"a","expires_in":0})", given("a")},
          {R"({"access_token":"a","expires_in":-1})", given("a")},
          {R"({"access_token":"a","expires_in":"-1"})", given("a")},
          {R"({"access_token":"a","expires_in":"soon"})", given("a")},
          {R"({"access_token":"a","expires_in":{}})", given("a")},
          // Scopes.
          {R"({"access_token":"a","scope":["x","y z","x"]})", scoped({"x", "y", "z"})},
          {R"({"access_token":"a","scope":"repo,gist"})", scoped({"repo,gist"})},
          {R"({"access_token":"a","scope":""})", given("a")},
          {R"({"access_token":"a","scope":7})", given("a")},
          // Not called JSON, and not JSON.
          {R"({"access_token":"a"})", given("a"), "text/html"},
          {R"({"access_token":"a"})", given("a"), ""},
          {"access_token=a&token_type=bearer&scope=x+y", scoped({"x", "y"}),
           "application/x-www-form-urlencoded; charset=utf-8"},
          {"access_token=a&expires_in=60&token_type=bearer", lasting(60s), "text/plain"},
          {"access_token=a\n", given("a"), ""},
          // Beside what looks like an error.
          {R"({"access_token":"a","error":null})", given("a")},
          {R"({"access_token":"a","ok":true,"error":""})", given("a")},
      }) {
    EXPECT_EQ(read_token_answer(head(status, type), body, TokenKind::bearer), TokenAnswer(expected)) << body;
  }
}

TEST(TokenAnswer, WithoutAType_IsWhatWasAskedFor) {
  auto kind = [](std::string body) {
    return std::get<GivenTokens>(read_token_answer(head(200), body, TokenKind::dpop)).kind;
  };
  EXPECT_EQ(kind(R"({"access_token":"a"})"), TokenKind::dpop);
  EXPECT_EQ(kind(R"({"access_token":"a","token_type":"Bearer"})"), TokenKind::bearer);
}

TEST(TokenAnswer, ErrorsAreFoundHoweverTheyAreWritten) {
  using enum TokenFault;
  struct Case {
    int status;
    std::string body;
    TokenFault fault;
    std::string error;
    std::string description = "";
    std::string type = "application/json";
  };
  for (const auto& [status, body, fault, error, description, type] : std::vector<Case>{
           {400, R"({"error":"invalid_grant","error_description":"gone"})", invalid_grant, "invalid_grant", "gone"},
           // With status 200.
           {200, R"({"error":"invalid_grant"})", invalid_grant, "invalid_grant"},
           {200, R"({"ok":false,"error":"invalid_refresh_token"})", invalid_grant, "invalid_refresh_token"},
           {200, R"({"ok":false,"error":"no_such_thing"})", refused, "no_such_thing"},
           {200, R"({"ok":false})", refused, ""},
           {200, "error=bad_verification_code&error_description=The+code+is+over", invalid_grant,
            "bad_verification_code", "The code is over", "application/x-www-form-urlencoded"},
           {200, R"({"error":"invalid_grant","access_token":""})", invalid_grant, "invalid_grant"},
           // A token with a status of failure is not one.
           {400, R"({"error":"invalid_grant","access_token":"a"})", invalid_grant, "invalid_grant"},
           // Names of others.
           {400, R"({"error":"expired_refresh_token"})", invalid_grant, "expired_refresh_token"},
           {401, R"({"error":"token_expired"})", invalid_grant, "token_expired"},
           {400, R"({"error":"INVALID_GRANT"})", invalid_grant, "INVALID_GRANT"},
           {400, R"({"error":"bad_refresh_token"})", invalid_grant, "bad_refresh_token"},
           {400, R"({"error":"invalid_code"})", invalid_grant, "invalid_code"},
           {401, R"({"error":"invalid_client"})", invalid_client, "invalid_client"},
           {200, R"({"error":"incorrect_client_credentials"})", invalid_client, "incorrect_client_credentials"},
           {400, R"({"error":"invalid_scope"})", invalid_scope, "invalid_scope"},
           {400, R"({"error":"invalid_target"})", invalid_target, "invalid_target"},
           {400, R"({"error":"invalid_resource"})", invalid_target, "invalid_resource"},
           {400, R"({"error":"unauthorized_client"})", unauthorized_client, "unauthorized_client"},
           {400, R"({"error":"use_dpop_nonce"})", use_dpop_nonce, "use_dpop_nonce"},
           {401, R"({"error":"use_dpop_nonce"})", use_dpop_nonce, "use_dpop_nonce"},
           {400, R"({"error":"invalid_request","error_description":"no"})", refused, "invalid_request", "no"},
           // Inside of something.
           {400, R"({"error":{"code":"invalid_grant","message":"gone"}})", invalid_grant, "invalid_grant", "gone"},
           {400, R"({"error":{"code":400,"status":"INVALID_ARGUMENT","message":"no"}})", refused, "INVALID_ARGUMENT",
            "no"},
           {400, R"({"errors":[{"code":"invalid_grant","detail":"gone"}]})", invalid_grant, "invalid_grant", "gone"},
           {400, R"({"error_code":"invalid_client","message":"who?"})", invalid_client, "invalid_client", "who?"},
           {400, R"({"message":"no"})", refused, "", "no"},
           // Nothing about the token.
           {503, R"({"error":"temporarily_unavailable"})", temporary, "temporarily_unavailable"},
           {400, R"({"error":"server_error"})", temporary, "server_error"},
           {429, "", temporary, ""},
           {500, "<html>oops</html>", temporary, "", "", "text/html"},
           {502, "Bad Gateway", temporary, "", "Bad Gateway", "text/plain"},
           {503, R"({"error":"strange"})", temporary, "strange"},
           {500, R"({"error":"invalid_grant"})", invalid_grant, "invalid_grant"},
           {200, R"({"ok":false,"error":"ratelimited"})", temporary, "ratelimited"},
           // Not JSON.
           {400, "<html>no</html>", refused, "", "", "text/html"},
           {400, "invalid_grant", invalid_grant, "invalid_grant", "", "text/plain"},
           {401, "Unauthorized", refused, "", "Unauthorized", "text/plain"},
           {404, "", refused, ""},
           {400, "[]", refused, "", "[]"},
           {400, R"({"error":7})", refused, ""},
           // Neither.
           {200, "", not_understood, ""},
           {200, "{}", not_understood, ""},
           {200, "<html>welcome</html>", not_understood, "", "", "text/html"},
           {200, R"({"access_token":7})", not_understood, ""},
           {200, R"({"access_token":"a b"})", not_understood, ""},
           {200, R"({"access_token":"a\r\nX: y"})", not_understood, ""},
           {200, R"({"access_token":"\u00e9"})", not_understood, ""},
           {204, "", not_understood, ""},
           {302, "", not_understood, ""},
           {200, "access_token=a", not_understood, "", "access_token=a", "text/html"},
           // Words of a stranger.
           {400, R"({"error":"in\u001b[31mvalid","error_description":"a\u202eb\nc"})", refused, "invalid", "ab c"},
       }) {
    TokenRefusal expected;
    expected.fault = fault;
    expected.error = error;
    expected.description = description;
    expected.status = status;
    EXPECT_EQ(read_token_answer(head(status, type), body, TokenKind::bearer), TokenAnswer(expected))
        << status << " " << body;
  }
}

TEST(TokenAnswer, IsBounded) {
  const auto large =
      read_token_answer(head(200), R"({"access_token":"a","x":")" + std::string(1u << 20, 'x') + "\"}", {});
  EXPECT_EQ(std::get<TokenRefusal>(large).fault, TokenFault::not_understood);
  const auto token = read_token_answer(head(200), R"({"access_token":")" + std::string(300'000, 'x') + "\"}", {});
  EXPECT_EQ(std::get<TokenRefusal>(token).fault, TokenFault::not_understood);
  const auto words = std::get<TokenRefusal>(read_token_answer(
      head(400),
      R"({"error":")" + std::string(5000, 'e') + R"(","error_description":")" + std::string(5000, 'd') + "\"}", {}));
  EXPECT_EQ(words.error.size(), 100u);
  EXPECT_EQ(words.description.size(), 300u);
}

TEST(TokenAnswer, NonceIsTaken_WhateverElseIsSaid) {
  auto nonce = [](int status, std::string text) {
    return std::get<TokenRefusal>(read_token_answer(head(status, "", std::move(text)), "", {})).dpop_nonce;
  };
  EXPECT_EQ(nonce(400, "n-1"), "n-1");
  EXPECT_EQ(nonce(503, "n-1"), "n-1");
  EXPECT_EQ(nonce(400, std::string(3000, 'n')), "");
  EXPECT_EQ(nonce(400, "a b"), "");
}

TEST(TokenAnswer, WhatWasSentIsNotShown) {
  HttpHead head;
  head.status = 400;
  const std::array sent{Secret("refresh-token-1"), Secret(""), Secret("n")};
  const auto said = [&](const std::string& words) {
    const auto body = fmt::format(R"({{"error":"bad refresh-token-1","error_description":"{}"}})", words);
    return std::get<TokenRefusal>(read_token_answer(head, body, TokenKind::bearer, sent));
  };
  EXPECT_EQ(said("no refresh-token-1 and refresh-token-1").error, "bad ***");
  EXPECT_EQ(said("no refresh-token-1 and refresh-token-1").description, "no *** and ***");
  // Also where the words are cut off in the middle of it.
  for (std::size_t before = 250; before < 600; ++before) {
    EXPECT_THAT(said(std::string(before, 'x') + "refresh-token-1").description, Not(HasSubstr("refres"))) << before;
  }
}

TEST(TokenError, SaysWhoAndWhy) {
  using enum TokenFault;
  struct Case {
    TokenRefusal refusal;
    Errc code;
    std::string message;
  };
  for (const auto& [refusal, code, message] : std::vector<Case>{
           {{invalid_grant, "invalid_grant", "gone", 400, ""},
            Errc::unauthorized,
            "https://as.example does not accept this sign-in any more (400 Bad Request): invalid_grant: gone"},
           {{invalid_client, "invalid_client", "", 401, ""},
            Errc::unauthorized,
            "https://as.example does not know this client, or does not let it do this (401 Unauthorized): "
            "invalid_client"},
           {{invalid_scope, "invalid_scope", "", 400, ""},
            Errc::unauthorized,
            "https://as.example does not give the scopes that were asked for (400 Bad Request): invalid_scope"},
           {{invalid_target, "invalid_target", "", 400, ""},
            Errc::unauthorized,
            "https://as.example gives no tokens for this server (400 Bad Request): invalid_target"},
           {{refused, "", "no", 418, ""}, Errc::unauthorized, "https://as.example refuses to give a token (418): no"},
           {{temporary, "", "", 503, ""}, Errc::http, "https://as.example cannot answer now (503 Service Unavailable)"},
           {{not_understood, "", "", 200, ""},
            Errc::protocol,
            "https://as.example answered with neither a token nor an error (200 OK)"},
       }) {
    const auto error = token_error(refusal, "https://user:word@as.example");
    EXPECT_EQ(error.code(), code);
    EXPECT_EQ(error.message(), message);
    EXPECT_EQ(error.http_status(), refusal.status);
  }
}

}  // namespace
}  // namespace patchbay
