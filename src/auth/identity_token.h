// The identity token of an OpenID Connect provider (id_token): whether it is the answer to our sign-in (OpenID Connect
// Core, 3.1.3.7). It comes straight from the token endpoint over TLS, so who made it is known by that; its signature is
// judged by whoever it is shown to. Pure.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include <patchbay/error.h>

#include "base/secret.h"

namespace patchbay {

struct IdentityExpectation {
  std::string issuer;
  std::string client_id;
  std::optional<std::string> nonce;  // unset: of a renewal, where none was sent
  std::chrono::sys_seconds now;
};

struct IdentityClaims {
  std::chrono::sys_seconds expires;
  bool operator==(const IdentityClaims&) const = default;
};

// Errc::protocol says what is wrong: not a JWT, another issuer, audience or nonce, expired. Never what is in it.
Result<IdentityClaims> read_identity_token(const Secret& token, const IdentityExpectation& expected);

// Whether it is over, or about to be. One that does not say so is not.
bool has_expired(const Secret& token, std::chrono::sys_seconds now);

}  // namespace patchbay
