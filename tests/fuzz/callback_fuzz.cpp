// What comes to the callback address: only an answer with our state, of our issuer, gives a code. Input: the query;
// then it is taken as an address that was pasted.
#include "auth/authorization.h"
#include "base/strings.h"
#include "fuzz/fuzz.h"

using namespace patchbay;
using fuzz::require;

FUZZ_TARGET(callback) {
  AuthorizationAttempt attempt;
  attempt.issuer.issuer = "https://as.example";
  attempt.issuer.authorization_endpoint = "https://as.example/authorize?" + std::string(input);
  attempt.issuer.code_challenge_methods = {{"S256"}};
  attempt.state = "state";
  attempt.redirect_uri = "http://127.0.0.1:7/callback";
  if (const auto url = authorization_url(attempt)) {
    require(url->starts_with("https://as.example/authorize?"), "the browser is sent elsewhere");
    require(url->ends_with("&code_challenge_method=S256") && !url->contains('#'), "something is behind it");
  }

  (void)read_pasted_callback(input, attempt.redirect_uri);
  const auto pasted = read_pasted_callback(attempt.redirect_uri + "?" + std::string(input), attempt.redirect_uri);
  const auto answer = read_callback(input);
  if (!answer) return;
  const auto code = judge_callback(attempt, *answer);
  if (pasted && !input.contains('#') && trim(input) == input) require(*pasted == *answer, "pasting changes it");
  if (code) {
    require(answer->state == "state" && !answer->error && !code->empty(), "a code out of a wrong answer");
    require(!answer->iss || answer->iss == attempt.issuer.issuer, "a code of another issuer");
    attempt.issuer.names_itself_in_answers = true;
    require(judge_callback(attempt, *answer).has_value() == answer->iss.has_value(), "a code of nobody");
    attempt.state = "other";
    require(!judge_callback(attempt, *answer), "a code for another attempt");
  } else {
    require(code.error().message().size() < 3000, "words without bound");
    if (answer->iss && answer->iss != attempt.issuer.issuer)
      require(code.error().code() == Errc::protocol, "it is believed");
  }
}
