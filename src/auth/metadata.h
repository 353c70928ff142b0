// Finding out who signs people in for a server (RFC 9728, RFC 8414, OpenID Connect Discovery): which addresses to ask,
// in which order, and what their answers may say. Pure; auth/engine/discovery asks.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <patchbay/error.h>

#include "auth/endpoint_rule.h"
#include "auth/oauth_types.h"
#include "http/url.h"

namespace patchbay {

// The address that the challenge named, and no other; else the well-known one for the path of the server's URL, then
// the one of its origin.
std::vector<std::string> resource_metadata_urls(const Url& server, const std::optional<std::string>& named);
// Errc::protocol says what is wrong with the document: its size (1 MiB, 1,000 items in a list), a member of the wrong
// type, no "resource", nobody in "authorization_servers". Members that nobody here reads may be anything.
Result<ResourceMetadata> read_resource_metadata(std::string_view document);
// Whether a token for `resource` may go to `server`: same origin, and its path is the server's or a leading part of it
// by whole segments. `expected`: what the user wrote instead, compared by the byte.
Result<void> check_resource(const std::string& resource, const Url& server, const std::optional<std::string>& expected);
// The resource of a server that does not name one: its URL in canonical form, without fragment.
std::string canonical_resource(const Url& server);

// With a path: RFC 8414 with the path behind, OpenID with the path behind, OpenID with the path in front; never the
// root.
std::vector<std::string> issuer_metadata_urls(const Url& issuer);
// `issuer` must be what the document says, by the byte; unset: any (a document that the user named). Endpoints may be
// missing, and are not judged yet: whoever asked knows where the server is and calls check_endpoints().
Result<IssuerMetadata> read_issuer_metadata(std::string_view document, const std::optional<std::string>& issuer);
// Whether we, or the browser, may be sent to all that it names (auth/endpoint_rule).
Result<void> check_endpoints(const IssuerMetadata& issuer, const ServerNetwork& server);
// Revision 2025-03-26, where no document is found: endpoints at the root of the server's origin.
IssuerMetadata usual_issuer(const Url& server);

}  // namespace patchbay
