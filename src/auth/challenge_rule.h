// What to do when a server refuses a request, given what the request carried and what is known since. Pure; the
// decision of auth/engine/sign_in. Builds on http/token_rule: a refusal is about the token that was sent.
#pragma once

#include <cstdint>

#include "http/challenge.h"

namespace patchbay {

struct RefusedRequest {
  int status = 401;
  SignInChallenge challenge;
  bool had_token = false;
  bool has_other_token = false;  // there is another one by now
  bool renewing = false;         // a renewal is under way
  bool renewed_since = false;    // one has ended since it was sent
  bool can_renew = false;        // there is a refresh token, or a grant that needs no person
  bool brings_nonce = false;     // the answer has a number for proofs that the request did not have
};

enum class RefusalStep : std::uint8_t {
  again,    // there is another token, or a number for the proof
  wait,     // for the renewal; then ask again
  renew,    // then ask again
  sign_in,  // a person is needed, or more rights are
  stands,   // not about who we are
};

RefusalStep after_refusal(const RefusedRequest& refused);

}  // namespace patchbay
