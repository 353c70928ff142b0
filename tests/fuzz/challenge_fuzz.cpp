// WWW-Authenticate: whatever is in it, what is read is bounded and written in small letters, and a challenge that is
// written down again is read as the same. Each line of the input is a field.
#include <algorithm>

#include "fuzz/fuzz.h"
#include "http/challenge.h"

using namespace patchbay;
using fuzz::require;

namespace {

std::string written(const HttpChallenge& challenge) {
  std::string out = challenge.scheme;
  if (!challenge.token68.empty()) return out + " " + challenge.token68;
  const char* before = " ";
  for (const auto& [name, value] : challenge.parameters) {
    out += before + name + "=\"";
    for (char c : value) {
      if (c == '"' || c == '\\') out += '\\';
      out += c;
    }
    out += '"';
    before = ", ";
  }
  return out;
}

bool is_small(std::string_view text) {
  return !text.empty() && std::ranges::none_of(text, [](char c) { return c >= 'A' && c <= 'Z'; });
}

}  // namespace

FUZZ_TARGET(challenge) {
  HttpHeaders headers;
  while (!input.empty()) headers.add("WWW-Authenticate", std::string(fuzz::take_line(input)));
  const auto challenges = parse_challenges(headers);
  require(challenges.size() <= 32, "too many challenges");
  HttpHeaders again;
  for (const auto& challenge : challenges) {
    require(is_small(challenge.scheme), "a scheme in other letters, or none");
    require(challenge.parameters.size() <= 64, "too many parameters");
    require(challenge.token68.empty() || challenge.parameters.empty(), "a challenge of both kinds");
    for (const auto& [name, value] : challenge.parameters) require(is_small(name), "a name in other letters, or none");
    again.add("www-authenticate", written(challenge));
  }
  require(parse_challenges(again) == challenges, "what is written down is read as something else");
  const auto sum = sign_in_challenge(headers);
  require(sum == sign_in_challenge(again), "the sum of it is another");
  require(sum.present || sum == SignInChallenge(), "nobody asked for a sign-in, and something was taken");
}
