#include "auth/challenge_rule.h"

namespace patchbay {

RefusalStep after_refusal(const RefusedRequest& refused) {
  if (refused.challenge.error == "use_dpop_nonce") {
    return refused.brings_nonce ? RefusalStep::again : RefusalStep::stands;
  }
  // Who is known and may not: renewing the same token does not help.
  if (refused.challenge.error == "insufficient_scope") return RefusalStep::sign_in;
  if (refused.status == 403 && refused.had_token) return RefusalStep::stands;
  if (refused.renewing) return RefusalStep::wait;
  if (refused.has_other_token) return RefusalStep::again;
  if (refused.can_renew && !refused.renewed_since) return RefusalStep::renew;
  return RefusalStep::sign_in;
}

}  // namespace patchbay
