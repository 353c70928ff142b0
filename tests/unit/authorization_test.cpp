// The part of sign-in in a browser: the address, and whether what comes back is the answer to it. A1.
#include "auth/authorization.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "http/form.h"
#include "http/url.h"
#include "support/fails_with.h"

namespace patchbay {
namespace {

using test::FailsWith;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

AuthorizationAttempt attempt() {
  AuthorizationAttempt out;
  out.issuer.issuer = "https://as.example";
  out.issuer.authorization_endpoint = "https://as.example/authorize";
  out.issuer.code_challenge_methods = {{"plain", "S256"}};
  out.client.id = "client 1";
  out.resource = "https://h.example/mcp";
  out.scopes = {"a", "b"};
  out.redirect_uri = "http://127.0.0.1:7/callback";
  out.state = "st";
  out.pkce = {.verifier = Secret("secret-verifier"), .challenge = "challenge"};
  return out;
}

FormMembers query_of(const Result<std::string>& url) { return read_form(*parse_url(url.value())->query).value(); }

TEST(AuthorizationUrl, HasAllThatIsNeededAndNothingSecret) {
  const auto url = authorization_url(attempt());
  EXPECT_THAT(url.value(),
              AllOf(testing::StartsWith("https://as.example/authorize?"), Not(HasSubstr("secret-verifier"))));
  EXPECT_EQ(query_of(url), (FormMembers{{"response_type", "code"},
                                        {"client_id", "client 1"},
                                        {"redirect_uri", "http://127.0.0.1:7/callback"},
                                        {"state", "st"},
                                        {"code_challenge", "challenge"},
                                        {"code_challenge_method", "S256"},
                                        {"resource", "https://h.example/mcp"},
                                        {"scope", "a b"}}));
  auto plain = attempt();
  plain.scopes = {};
  plain.resource = "";
  for (const auto& [name, value] : query_of(authorization_url(plain))) {
    EXPECT_NE(name, "scope");
    EXPECT_NE(name, "resource");
  }
}

TEST(AuthorizationUrl, QueryOfTheEndpointStays_ButNotWhatIsOurs) {
  auto one = attempt();
  one.issuer.authorization_endpoint = "https://as.example/authorize?tenant=1&client_id=evil&%73tate=x&flag#there";
  const auto url = authorization_url(one);
  EXPECT_THAT(url.value(), AllOf(testing::StartsWith("https://as.example/authorize?tenant=1&flag&response_type=code&"),
                                 Not(HasSubstr("evil")), Not(HasSubstr("#"))));
}

TEST(AuthorizationUrl, OfflineAccess_AsksForConsent) {
  auto one = attempt();
  one.scopes = {"a", "offline_access"};
  EXPECT_THAT(authorization_url(one).value(), HasSubstr("&prompt=consent"));
  EXPECT_THAT(authorization_url(attempt()).value(), Not(HasSubstr("prompt")));
}

TEST(AuthorizationUrl, WithoutPkceOrPage_ThereIsNone) {
  auto silent = attempt(), plain = attempt(), nowhere = attempt(), guessed = attempt(), script = attempt();
  silent.issuer.code_challenge_methods.reset();
  plain.issuer.code_challenge_methods = {{"plain"}};
  nowhere.issuer.authorization_endpoint = "";
  guessed.issuer.code_challenge_methods.reset();
  guessed.issuer.guessed = true;
  script.issuer.authorization_endpoint = "javascript:alert(1)";
  EXPECT_THAT(authorization_url(silent), FailsWith(Errc::unsupported, HasSubstr("code_challenge_methods_supported")));
  EXPECT_THAT(check_pkce(silent.issuer), FailsWith(Errc::unsupported));
  EXPECT_THAT(authorization_url(plain), FailsWith(Errc::unsupported, HasSubstr("S256")));
  EXPECT_THAT(authorization_url(nowhere), FailsWith(Errc::protocol, HasSubstr("authorization_endpoint")));
  EXPECT_TRUE(authorization_url(guessed));
  EXPECT_THAT(authorization_url(script), FailsWith(Errc::protocol));
  script.issuer.authorization_endpoint = "http://as.example/authorize";
  EXPECT_THAT(authorization_url(script), FailsWith(Errc::denied));
}

TEST(Callback, IsReadOnce) {
  EXPECT_EQ(read_callback("?code=a%2Bb&state=s+t&iss=https%3A%2F%2Fas.example&session_state=x").value(),
            (CallbackAnswer{.code = "a+b", .state = "s t", .iss = "https://as.example"}));
  EXPECT_EQ(read_callback("error=e&error_description=d").value(),
            (CallbackAnswer{.error = "e", .error_description = "d"}));
  EXPECT_EQ(read_callback("").value(), CallbackAnswer());
  for (const char* bad : {"code=a&code=a", "state=a&state=b", "iss=a&iss=a", "code=%zz", "code=a&c%6fde=b"}) {
    EXPECT_THAT(read_callback(bad), FailsWith(Errc::protocol)) << bad;
  }
  EXPECT_THAT(read_callback("code=" + std::string(40'000, 'a')),
              FailsWith(Errc::protocol, HasSubstr("longer than 32 KiB")));
}

TEST(PastedCallback, OnlyTheWholeAddressCounts) {
  const std::string redirect = "http://127.0.0.1:7/callback";
  EXPECT_EQ(read_pasted_callback("  http://127.0.0.1:7/callback?code=c&state=s#_=_ \n", redirect).value(),
            (CallbackAnswer{.code = "c", .state = "s"}));
  for (const char* bad : {"", "c", "code=c&state=s", "http://127.0.0.1:7/callback",
                          "http://127.0.0.1:8/callback?code=c", "http://127.0.0.1:7/other?code=c",
                          "https://127.0.0.1:7/callback?code=c", "http://evil.example:7/callback?code=c"}) {
    EXPECT_THAT(read_pasted_callback(bad, redirect),
                FailsWith(Errc::invalid_argument,
                          "paste the whole address at which the browser ended; it begins with "
                          "http://127.0.0.1:7/callback"))
        << bad;
  }
}

TEST(Callback, IsJudgedInOrder) {
  auto says_iss = attempt(), no_state = attempt();
  says_iss.issuer.names_itself_in_answers = true;
  no_state.state = "";
  const std::string issuer = "https://as.example";
  struct Case {
    std::string name;
    AuthorizationAttempt attempt;
    CallbackAnswer answer;
    Errc code;
    std::string says;
  };
  for (const auto& [name, one, answer, code, says] : std::vector<Case>{
           {"another issuer",
            attempt(),
            {"c", "st", "https://evil.example", {}, {}},
            Errc::protocol,
            "another authorization server"},
           {"a slash more",
            attempt(),
            {"c", "st", "https://as.example/", {}, {}},
            Errc::protocol,
            "another authorization server"},
           {"no issuer", says_iss, {"c", "st", {}, {}, {}}, Errc::protocol, "does not say from which"},
           {"an empty issuer", attempt(), {"c", "st", "", {}, {}}, Errc::protocol, "another authorization server"},
           {"wrong state",
            attempt(),
            {"c", "ST", issuer, {}, {}},
            Errc::protocol,
            "\"state\" is not the one that was sent"},
           {"no state", attempt(), {"c", {}, {}, {}, {}}, Errc::protocol, "\"state\" is not the one that was sent"},
           {"no state on either side", no_state, {"c", "", {}, {}, {}}, Errc::protocol, "\"state\""},
           {"an error with a wrong state",
            attempt(),
            {{}, "x", {}, "access_denied", "hm"},
            Errc::protocol,
            "\"state\""},
           {"the user said no",
            attempt(),
            {{}, "st", {}, "access_denied", {}},
            Errc::denied,
            "the sign-in was not allowed"},
           {"a reason with it",
            attempt(),
            {{}, "st", {}, "access_denied", "by\x1b[31m you\n<b>"},
            Errc::denied,
            "the sign-in was not allowed: by you <b>"},
           {"another error",
            attempt(),
            {{}, "st", issuer, "invalid_scope", "which?"},
            Errc::unauthorized,
            "the sign-in failed: invalid_scope: which?"},
           {"an error with a code",
            attempt(),
            {"c", "st", {}, "server_error", {}},
            Errc::unauthorized,
            "the sign-in failed: server_error"},
           {"nothing", attempt(), {{}, "st", {}, {}, {}}, Errc::protocol, "neither a code nor an error"},
           {"an empty code", attempt(), {"", "st", {}, {}, {}}, Errc::protocol, "neither a code nor an error"},
       }) {
    EXPECT_THAT(judge_callback(one, answer), FailsWith(code, HasSubstr(says))) << name;
  }
  EXPECT_EQ(judge_callback(attempt(), {"c", "st", {}, {}, {}})->reveal(), "c");
  EXPECT_EQ(judge_callback(says_iss, {"c", "st", issuer, {}, {}})->reveal(), "c");
}

// What a mixed-up server says is not shown.
TEST(Callback, OfAnotherIssuer_SaysNothingOfIt) {
  const auto result =
      judge_callback(attempt(), {{}, "st", "https://evil.example", "access_denied", "click https://evil"});
  EXPECT_THAT(result, FailsWith(Errc::protocol, Not(HasSubstr("evil"))));
  const auto long_one = judge_callback(attempt(), {{}, "st", {}, std::string(5000, 'e'), std::string(5000, 'd')});
  EXPECT_LT(test::failure_of(long_one).message().size(), 700u);
}

TEST(RedirectHint, IsGivenWhereTheAddressMayBeTheReason) {
  struct Row {
    Errc code;
    const char* message;
    bool says;
  };
  const std::string here = "http://localhost:8123/callback";
  for (const auto& [code, message, says] : std::vector<Row>{
           {Errc::timeout, "nobody signed in within 10 minutes", true},
           {Errc::unauthorized, "the sign-in failed: redirect_uri_mismatch", true},
           {Errc::unauthorized, "invalid_request: The Redirect URI is not registered", true},
           {Errc::denied, "the sign-in was not allowed", false},
       }) {
    const Error error(code, message);
    const auto hint = HasSubstr(
        "enter http://localhost:8123/callback for your client there, or, if "
        "http://127.0.0.1:8123/callback is entered there, ");
    const auto with = with_redirect_hint(error, here, "docs");
    EXPECT_EQ(with.code(), code);
    EXPECT_THAT(with.message(), testing::StartsWith(message));
    EXPECT_EQ(testing::Matches(hint)(with.message()), says) << message;
  }
  EXPECT_THAT(redirect_hint(here, "docs"),
              testing::EndsWith(R"("callbackHost": "127.0.0.1"} into the entry of "docs")"));
  EXPECT_THAT(redirect_hint(here, ""), testing::EndsWith("set MCP_OAUTH_CALLBACK_HOST=127.0.0.1"));
  EXPECT_THAT(
      with_other_host(Error(Errc::unauthorized, "invalid_redirect_uri"), "http://127.0.0.1:7/callback", "docs")
          .message(),
      testing::EndsWith(
          R"(the other name of this machine: write "oauth": {"callbackHost": "localhost"} into the entry of "docs")"));
  EXPECT_EQ(with_other_host(Error(Errc::unauthorized, "no"), here, "docs").message(), "no");
}

}  // namespace
}  // namespace patchbay
