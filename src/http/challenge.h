// What a server that answers 401 or 403 asks for: the fields WWW-Authenticate (RFC 9110, 11.6.1), any number of them,
// any number of challenges in each. Pure; the transports word refusals by it, sign-in acts on it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "http/message.h"

namespace patchbay {

struct HttpChallenge {
  std::string scheme;                                           // in small letters
  std::vector<std::pair<std::string, std::string>> parameters;  // names in small letters, values unquoted
  std::string token68;                                          // instead of parameters

  // The first of that name; empty without one.
  std::string_view get(std::string_view name) const noexcept;
  bool operator==(const HttpChallenge&) const = default;
};

// In order. What cannot be read as a challenge is passed over, and so is all beyond 32 challenges or 64 parameters of
// one.
std::vector<HttpChallenge> parse_challenges(const HttpHeaders& headers);

// What matters to sign-in, out of the challenges of one answer: those of Bearer and DPoP, the first that says something
// counts.
struct SignInChallenge {
  bool present = false;  // Bearer or DPoP was named
  bool dpop = false;
  std::optional<std::string> resource_metadata;
  std::optional<std::string> scope;
  std::string error;
  std::string error_description;
  bool operator==(const SignInChallenge&) const = default;
};
SignInChallenge sign_in_challenge(const HttpHeaders& headers);

}  // namespace patchbay
