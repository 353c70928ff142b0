// Keys, signatures and proofs of sign-in: PKCE (RFC 7636), JWS in compact form (RFC 7515), JWK and its thumbprint (RFC
// 7517, 7638), DPoP proofs (RFC 9449). OpenSSL does the work, in jose.cpp alone. Pure but for randomness and time,
// which are handed in.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <patchbay/error.h>
#include <patchbay/json.h>

#include "base/clock.h"
#include "base/secret.h"

namespace patchbay {

struct Pkce {
  Secret verifier;
  std::string challenge;  // S256
};
Pkce make_pkce(const Random& random);
std::string pkce_challenge(std::string_view verifier);
// base64url of so many random bytes: state, jti.
std::string random_token(const Random& random, std::size_t bytes = 32);

// A private key: EC P-256, P-384, RSA or Ed25519, out of PEM (PKCS#8 or the older forms). Copies share it.
class SigningKey {
 public:
  // Errc::config says what is wrong: no private key in it, encrypted with a password, another kind, RSA below 2048
  // bits.
  static Result<SigningKey> from_pem(const Secret& pem);
  static SigningKey make_p256(const Random& random);
  Secret pem() const;  // PKCS#8
  // The public half, members in the order of RFC 7638.
  Json public_jwk() const;
  std::string thumbprint() const;
  std::string default_algorithm() const;  // "ES256", "ES384", "RS256", "EdDSA"
  // Compact; "alg" is put into the header. Errc::config when the key cannot do that algorithm (ES256, ES384, RS256,
  // RS384, RS512, PS256, EdDSA).
  Result<std::string> sign(const Json& header, const Json& payload, std::string_view algorithm) const;
  // Of these bytes as they are; ECDSA as r and s, each of the length of the curve.
  Result<std::string> signature(std::string_view bytes, std::string_view algorithm) const;

 private:
  struct Key;
  explicit SigningKey(std::shared_ptr<const Key> key) : key_(std::move(key)) {}
  std::shared_ptr<const Key> key_;
};

// The payload of a compact JWS, if it was made by the private half of this key; for tests and for identity tokens.
// Errc::denied when it was not. The algorithm is the header's, and must be one of the key's kind.
Result<Json> verify_jws(std::string_view compact, const Json& public_jwk);
bool verifies(std::string_view bytes, std::string_view signature, std::string_view algorithm, const Json& public_jwk);
// RFC 7638, of the public half of whatever is in it. Empty when it is not a key of a kind that is known here.
std::string jwk_thumbprint(const Json& jwk);
// Without looking at the signature. Nothing when it is not a JWT.
std::optional<Json> jwt_payload(std::string_view compact);

// private_key_jwt and JWT grants: iss and sub, audience, iat, exp, jti. Lives one minute unless told.
struct JwtClaims {
  std::string issuer;
  std::string subject;
  std::string audience;
  std::chrono::seconds lifetime{60};
};
Result<std::string> signed_jwt(const SigningKey& key, const std::string& algorithm, const JwtClaims& claims,
                               std::chrono::sys_seconds now, const Random& random);

// One proof for one request. `access` is hashed into it at the resource, empty at the token endpoint.
struct DpopRequest {
  std::string method;
  std::string url;  // query and fragment are left out
  std::string_view access_token = {};
  std::string nonce = {};
};
Result<std::string> dpop_proof(const SigningKey& key, const DpopRequest& request, std::chrono::sys_seconds now,
                               const Random& random);

}  // namespace patchbay
