// Requests to a token endpoint: one for each grant, with the proof of who we are (RFC 6749, 7521, 7523, 8693). Pure but
// for time and randomness. Bodies are forms; secrets are in the body or in Authorization, never in a URL.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <patchbay/error.h>

#include "auth/jose.h"
#include "auth/oauth_types.h"
#include "base/clock.h"
#include "base/secret.h"
#include "http/form.h"
#include "http/message.h"

namespace patchbay {

struct CodeGrant {
  Secret code;
  std::string redirect_uri;
  Secret verifier;
};
struct RefreshGrant {
  Secret refresh;
};
struct ClientCredentialsGrant {};
// A signed statement of somebody else: an ID-JAG, or the identity of a workload.
struct JwtBearerGrant {
  Secret assertion;
};
// RFC 8693 at the identity provider, for an ID-JAG.
struct TokenExchangeGrant {
  Secret subject_token;
  std::string subject_token_type;  // urn:ietf:params:oauth:token-type:id_token
  std::string audience;            // the issuer that the ID-JAG is for
};
using Grant = std::variant<CodeGrant, RefreshGrant, ClientCredentialsGrant, JwtBearerGrant, TokenExchangeGrant>;

struct TokenRequest {
  std::string endpoint;
  std::string issuer;  // the audience of a private_key_jwt
  Grant grant;
  const OAuthClient* client = nullptr;  // null: no client at all (workload identity)
  ClientAuthentication authentication = ClientAuthentication::none;
  std::string resource;  // empty: left out
  Scopes scopes;         // empty: left out
};
// Errc::protocol without an endpoint, Errc::config when a key cannot be used.
Result<HttpRequest> token_request(const TokenRequest& request, std::chrono::sys_seconds now, const Random& random);

// What of it must not be shown when a server repeats it, as it was meant and as it was sent (`http` is what
// token_request made of it).
std::vector<Secret> secrets_in(const TokenRequest& request, const HttpRequest& http);

// RFC 7009. The refresh token where there is one.
Result<HttpRequest> revocation_request(const std::string& endpoint, const TokenSet& tokens, const OAuthClient& client,
                                       ClientAuthentication authentication, const std::string& issuer,
                                       std::chrono::sys_seconds now, const Random& random);

}  // namespace patchbay
