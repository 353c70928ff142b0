// Finds out who signs people in for a server: asks the addresses of auth/metadata in their order and judges what they
// answer. Nothing is remembered between calls, so a server that has moved to another authorization server is noticed.
// Loop thread only.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include <patchbay/task.h>

#include "auth/endpoint_rule.h"
#include "auth/engine/fetch.h"
#include "auth/metadata.h"
#include "auth/oauth_types.h"

namespace patchbay {

struct DiscoveryWish {
  Url server;
  std::string named_metadata;                  // by the server's refusal (resource_metadata); empty: none
  std::optional<std::string> issuer_metadata;  // "oauth.authServerMetadataUrl": asked instead of what the server names
  bool issuer_at_its_document = false;         // whom that document describes has to be where it is
  std::optional<std::string> expected_resource;  // "oauth.resource": what the server is called at its issuer
  std::function<bool(const std::string& issuer)>
      is_known;  // one that we have been at before is preferred; unset: none is
  ServerNetwork network;
};

struct Discovered {
  std::string resource;  // what tokens are asked for, as the server wrote it
  std::optional<Scopes> resource_scopes;
  std::optional<Scopes> named_document_scopes;  // of `issuer_metadata`
  bool dpop_required = false;
  IssuerMetadata issuer;
};

// Errc::protocol for documents that cannot be right, Errc::unsupported where nobody says who signs people in; others as
// requests end.
Task<Discovered> discover(DiscoveryWish wish, AuthFetch fetch);
// The description of one that is known by name.
Task<IssuerMetadata> discover_issuer(std::string issuer, ServerNetwork network, AuthFetch fetch);

}  // namespace patchbay
