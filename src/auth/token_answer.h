// What a token endpoint said. Real ones do not keep to the book: an error comes with status 200, expires_in is a text,
// token_type is missing, an error is a page. What is meant is found here, once. Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include <patchbay/error.h>

#include "auth/oauth_types.h"
#include "base/secret.h"
#include "http/message.h"

namespace patchbay {

struct GivenTokens {
  TokenKind kind = TokenKind::bearer;
  Secret access;
  Secret refresh;
  Secret id_token;
  std::string issued_token_type;                 // of an exchange
  std::optional<std::chrono::seconds> lifetime;  // unset: not said, or nothing that makes sense
  std::optional<Scopes> scope;
  bool operator==(const GivenTokens&) const = default;
};

enum class TokenFault : std::uint8_t {
  invalid_grant,   // the code or refresh token is over; also invalid_refresh_token, expired_refresh_token,
                   // token_expired, …
  invalid_client,  // we are not known there (any more)
  invalid_scope,
  invalid_target,  // the resource is not known there
  unauthorized_client,
  use_dpop_nonce,
  temporary,       // 5xx, 429, temporarily_unavailable: nothing is said about the token
  refused,         // any other error
  not_understood,  // neither tokens nor an error
};

struct TokenRefusal {
  TokenFault fault = TokenFault::refused;
  std::string error;        // as sent, cleaned and cut
  std::string description;  // the same
  int status = 0;
  std::string dpop_nonce;  // of the answer, whatever the fault
  bool operator==(const TokenRefusal&) const = default;
};

using TokenAnswer = std::variant<GivenTokens, TokenRefusal>;
// `expected`: what was asked for; an answer without token_type is taken for that. `sent`: what must not be shown when
// the texts of an error repeat it.
TokenAnswer read_token_answer(const HttpHead& head, std::string_view body, TokenKind expected,
                              std::span<const Secret> sent = {});

// Nothing but a new sign-in helps: what was sent is not accepted any more.
bool is_over(TokenFault fault) noexcept;

// Why there is no token, for people. Errc::http while nothing is said about the token (temporary), Errc::protocol for
// what is not understood, else Errc::unauthorized.
Error token_error(const TokenRefusal& refusal, std::string_view issuer);
// It gave a token that needs proofs (DPoP) and for which there is no key.
Error unasked_proof(std::string_view issuer);

}  // namespace patchbay
