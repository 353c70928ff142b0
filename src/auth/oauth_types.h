// The values of sign-in: what a server says about itself (RFC 9728), what its authorization server says (RFC 8414),
// who we are there, and what we were given. Everything in src/auth/ is said in these words. Values only.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/secret.h"

namespace patchbay {

using Scopes = std::vector<std::string>;  // in the order in which they were named, each once

// What a protected server says of itself.
struct ResourceMetadata {
  std::string resource;  // as written: what tokens are asked for
  std::vector<std::string> authorization_servers;
  std::optional<Scopes> scopes_supported;
  bool dpop_required = false;
  bool operator==(const ResourceMetadata&) const = default;
};

enum class ClientAuthentication : std::uint8_t { none, basic, post, private_key_jwt };

// What an authorization server says of itself.
struct IssuerMetadata {
  std::string issuer;  // as written, compared by the byte
  std::string authorization_endpoint;
  std::string token_endpoint;
  std::string registration_endpoint;
  std::string revocation_endpoint;
  std::optional<Scopes> scopes_supported;
  std::optional<std::vector<std::string>> code_challenge_methods;
  std::optional<std::vector<std::string>> token_authentications;  // token_endpoint_auth_methods_supported
  std::vector<std::string> grant_types;                           // empty: not said
  std::vector<std::string> grant_profiles;                        // authorization_grant_profiles_supported
  std::vector<std::string> dpop_algorithms;                       // empty: no DPoP
  bool takes_client_documents = false;                            // client_id_metadata_document_supported
  bool names_itself_in_answers = false;                           // authorization_response_iss_parameter_supported
  bool guessed = false;  // revision 2025-03-26: no document was found, the endpoints are the usual ones
  bool operator==(const IssuerMetadata&) const = default;
};

// Who we are at one authorization server.
struct OAuthClient {
  enum class Source : std::uint8_t { configured, document, registered };
  Source source = Source::registered;
  std::string issuer;  // where it is valid, and nowhere else
  std::string id;
  Secret secret;                                    // empty: a public client
  std::optional<std::chrono::sys_seconds> expires;  // of the secret
  ClientAuthentication authentication = ClientAuthentication::none;
  Secret private_key;         // PEM, for private_key_jwt
  std::string key_algorithm;  // "ES256"; empty: what fits the key
  std::vector<std::string> redirect_uris;
  std::optional<Scopes> scopes = {};  // that it was registered for; unset: the issuer named none
  bool operator==(const OAuthClient&) const = default;
};

enum class TokenKind : std::uint8_t { bearer, dpop };

// What we were given for one resource by one issuer.
struct TokenSet {
  std::string issuer;
  std::string resource;
  std::string client_id;
  // Of the registration that it was given to, which may have been replaced by one for more scopes since. Empty: a
  // public client, or one that is kept elsewhere.
  Secret client_secret;
  std::string token_endpoint;       // where it was given; refreshed there and nowhere else
  std::string revocation_endpoint;  // empty: the issuer has none
  ClientAuthentication authentication = ClientAuthentication::none;  // at that endpoint
  TokenKind kind = TokenKind::bearer;
  Secret access;
  Secret refresh;                                     // empty: none was given
  Secret dpop_key;                                    // PEM; empty with bearer tokens
  std::optional<std::chrono::sys_seconds> expires;    // of the access token
  Scopes requested;                                   // for step-up: RFC 6750 does not tell what a refusal adds to
  std::optional<Scopes> granted;                      // unset: as requested
  std::chrono::sys_seconds obtained{};                // by signing in
  std::optional<std::chrono::sys_seconds> refreshed;  // last
  bool operator==(const TokenSet&) const = default;
};

}  // namespace patchbay
