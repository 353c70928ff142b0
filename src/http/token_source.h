// TokenSource: where the bearer token of a proxy comes from, for whoever sends requests with
// it, when it is not one of ours (those are renewed by auth/engine/sign_in): it is read where the
// settings say. transport/proxy calls it, on the loop thread, never two renewals at once. Other
// processes may use the same place at the same time.
#pragma once

#include <patchbay/error.h>
#include <patchbay/task.h>

#include "base/secret.h"

namespace patchbay {

class TokenSource {
 public:
  virtual ~TokenSource() = default;

  // The token in use; empty when nobody is signed in. Asked before every request, so it comes
  // from memory where it can.
  virtual Task<Secret> token() = 0;
  // The same from the store itself: another process may have put a newer one there.
  virtual Task<Secret> read_again() = 0;
  // Gets a new token in place of `refused` and stores it; read_again() gives it out. The Error
  // says why there is none, for instance because another process holds the lock of the store
  // and did not let go of it within a bounded wait.
  virtual Task<Result<void>> renew(Secret refused) = 0;
};

}  // namespace patchbay
