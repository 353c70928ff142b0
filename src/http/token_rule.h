// What to do when a server refuses a bearer token that several requests share. Pure; the
// decisions of transport/proxy.
//
// A refusal is about the token that was sent, not about the one that is current when the
// refusal arrives: a request that was sent before a renewal must not cause another one. So
// every request remembers what it carried, and how many renewals had ended by then.
#pragma once

#include <cstdint>

#include "base/secret.h"
#include "http/auth.h"

namespace patchbay {

// The token in use and what is going on about it.
struct HeldToken {
  Secret token;
  std::uint64_t generation = 0;  // renewals that have ended, whether they brought a token or not
  bool renewing = false;
};

enum class AfterRefusal {
  retry,    // there is another token by now
  wait,     // for the renewal that is under way; then ask again
  renew,    // it was the current one, and nobody has tried yet
  sign_in,  // a renewal has ended since it was sent, and brought nothing
};

AfterRefusal after_refusal(const SentCredentials& sent, const HeldToken& held);

// Whether `candidate` is worth a request after `refused` was refused.
bool replaces(const Secret& candidate, const Secret& refused);

}  // namespace patchbay
