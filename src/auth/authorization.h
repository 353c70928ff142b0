// The part of sign-in that happens in a browser: the address it is sent to, and whether what comes back is the answer
// to it. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <patchbay/error.h>

#include "auth/jose.h"
#include "auth/oauth_types.h"

namespace patchbay {

// Everything that is remembered of one attempt.
struct AuthorizationAttempt {
  IssuerMetadata issuer;
  OAuthClient client;
  std::string resource;
  Scopes scopes;
  std::string redirect_uri;
  std::string state;
  Pkce pkce;
  std::string nonce = {};  // of OpenID Connect: comes back in the identity token; empty: none is asked for
};

// Errc::unsupported when the issuer does not say that it knows PKCE with S256 (a guessed one need not), Errc::protocol
// without an endpoint.
Result<void> check_pkce(const IssuerMetadata& issuer);
// With offline_access also prompt=consent, without which OpenID Connect gives no refresh token.
Result<std::string> authorization_url(const AuthorizationAttempt& attempt);

// What came to the callback address: the query, as received.
struct CallbackAnswer {
  std::optional<std::string> code, state, iss, error, error_description;
  bool operator==(const CallbackAnswer&) const = default;
};
// Errc::protocol when it is not a query, is too long, or says one thing twice.
Result<CallbackAnswer> read_callback(std::string_view query);
// The same out of the address that the user pasted from the browser. Only a whole address counts, never the code alone,
// so that state and issuer are checked. Errc::invalid_argument says what to paste.
Result<CallbackAnswer> read_pasted_callback(std::string_view text, std::string_view redirect_uri);

// The code. First the issuer (RFC 9207), so that nothing of a mixed-up server is shown; then the state; then the error
// it tells of (its words cleaned). Errc::denied when the user said no (access_denied), Errc::protocol for what is not
// an answer to this attempt, Errc::unauthorized for every other error.
Result<Secret> judge_callback(const AuthorizationAttempt& attempt, const CallbackAnswer& answer);

// What to try when the authorization server does not take `redirect_uri` for a client that the user created there.
// `server` is the name of the entry; empty: an identity provider.
std::string redirect_hint(const std::string& redirect_uri, std::string_view server);
// `error` with that, when it may be the reason: nobody came back, or the authorization server speaks of the address.
Error with_redirect_hint(Error error, const std::string& redirect_uri, std::string_view server);
// The same for a registration that was refused, where the other name of this machine is all that can be tried.
Error with_other_host(Error error, const std::string& redirect_uri, std::string_view server);

}  // namespace patchbay
