// Who we are at an authorization server: a client that the user configured there, a document about us at a URL, or a
// registration that we make (RFC 7591). Pure: which of them, the request, and what its answer may say.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <patchbay/error.h>

#include "auth/oauth_types.h"
#include "http/message.h"

namespace patchbay {

enum class ClientChoice : std::uint8_t { configured, document, kept, register_now, none };

struct ClientSources {
  bool configured = false;                 // "oauth.clientId"
  std::string document;                    // URL of a client id metadata document; empty: none
  const OAuthClient* kept = nullptr;       // of an earlier registration
  std::string issuer;                      // the one in question
  std::vector<std::string> redirect_uris;  // that we will use; ports of loopback addresses do not count (RFC 8252, 7.3)
  Scopes scopes;                           // that we will ask for
  std::chrono::sys_seconds now{};
};
// A configured client is used alone, never beside a registration. A kept one only at its issuer, with its redirect
// URIs, for scopes that it may ask for, until its secret expires.
ClientChoice choose_client(const ClientSources& sources, const IssuerMetadata& issuer);

struct RegistrationWish {
  std::string client_name;
  std::vector<std::string> redirect_uris;
  Scopes scopes;  // empty: left out
  std::string software_version;
};
// As a public client where the issuer takes one ("none"), native when every redirect goes to this machine or its own
// scheme.
HttpRequest registration_request(const IssuerMetadata& issuer, const RegistrationWish& wish);
// What the server made of us: its words count, not what we asked for. Errc::unauthorized when it refused,
// Errc::unsupported when it wants a proof that we do not have, Errc::protocol for what is not an answer.
Result<OAuthClient> read_registration(int status, std::string_view body, const IssuerMetadata& issuer,
                                      const RegistrationWish& wish);
// "client_secret_basic": what the specifications call it, in documents, registrations and what is kept.
std::string_view method_name(ClientAuthentication method) noexcept;
std::optional<ClientAuthentication> method_named(std::string_view name) noexcept;
// How such a client proves itself at the token endpoint: as registered, else what the issuer supports (nothing said:
// basic), basic before post; without a secret and a key: not at all.
ClientAuthentication authentication_for(const OAuthClient& client, const IssuerMetadata& issuer);

}  // namespace patchbay
