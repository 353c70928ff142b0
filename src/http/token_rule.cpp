#include "http/token_rule.h"

namespace patchbay {

bool replaces(const Secret& candidate, const Secret& refused) { return !candidate.empty() && candidate != refused; }

AfterRefusal after_refusal(const SentCredentials& sent, const HeldToken& held) {
  // Even when the current token is another one: it is being renewed because it was refused too,
  // and a request is repeated only once.
  if (held.renewing) return AfterRefusal::wait;
  if (replaces(held.token, sent.token)) return AfterRefusal::retry;
  return sent.generation == held.generation ? AfterRefusal::renew : AfterRefusal::sign_in;
}

}  // namespace patchbay
