#include "auth/engine/discovery.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/as_result.h"
#include "protocol/wire.h"

namespace patchbay {
namespace {

bool is_document(const HttpAnswer& answer) { return answer.head.status == 200; }
// Nothing is there; anything else is a server that has a problem.
bool is_missing(const HttpAnswer& answer) { return answer.head.status >= 400 && answer.head.status < 500; }

[[noreturn]] void throw_status(std::string_view what, const std::string& url, int status) {
  throw Error(Errc::http, fmt::format("{} ({}) answered {}", what, redacted_url(url), status)).with_http_status(status);
}

Task<std::optional<ResourceMetadata>> find_resource(const DiscoveryWish& wish, AuthFetch fetch) {
  constexpr std::string_view what = "the sign-in information of the server";
  const bool named = !wish.named_metadata.empty();
  const auto urls = resource_metadata_urls(wish.server, named ? std::optional(wish.named_metadata) : std::nullopt);
  for (const auto& url : urls) {
    auto answer = co_await fetch_document(fetch, url, std::string(what), wish.network);
    if (is_document(answer)) {
      auto metadata = read_resource_metadata(answer.body);
      if (metadata) co_return std::move(*metadata);
      // A page for everything that is not there is common; a named address is meant.
      if (named || media_type(answer.head.headers.get("Content-Type")) == "application/json") {
        throw metadata.error().within(fmt::format("{} ({})", what, redacted_url(url)));
      }
    } else if (named || !is_missing(answer)) {
      throw_status(what, url, answer.head.status);
    }
  }
  co_return std::nullopt;
}

}  // namespace

Task<IssuerMetadata> discover_issuer(std::string issuer, ServerNetwork network, AuthFetch fetch) {
  const auto what = fmt::format("the description of the authorization server {}", redacted_url(issuer));
  const auto parsed = value_or_throw(check_endpoint(issuer, "the authorization server", network));
  std::optional<Error> wrong;
  for (const auto& url : issuer_metadata_urls(parsed)) {
    auto answer = co_await fetch_document(fetch, url, what, network);
    if (is_document(answer)) {
      auto metadata = read_issuer_metadata(answer.body, issuer);
      if (metadata) {
        value_or_throw(check_endpoints(*metadata, network));
        co_return std::move(*metadata);
      }
      if (!wrong) wrong = metadata.error().within(fmt::format("{} at {}", what, redacted_url(url)));
    } else if (!is_missing(answer)) {
      throw_status(what, url, answer.head.status);
    }
  }
  if (wrong) throw *wrong;
  throw Error(Errc::unsupported,
              fmt::format("{} was not found; the server names it, so its operator has to correct one of them", what));
}

namespace {

Task<IssuerMetadata> named_by_user(std::string url, const DiscoveryWish& wish, AuthFetch fetch) {
  constexpr std::string_view what = "\"oauth.authServerMetadataUrl\"";
  auto answer = co_await fetch_document(fetch, url, std::string(what), wish.network);
  if (!is_document(answer)) throw_status(what, url, answer.head.status);
  auto metadata = read_issuer_metadata(answer.body, std::nullopt);
  if (!metadata) throw metadata.error().within(fmt::format("{} ({})", what, redacted_url(url)));
  value_or_throw(check_endpoints(*metadata, wish.network));
  if (wish.issuer_at_its_document) {
    const auto named = parse_url(metadata->issuer);
    const auto document = parse_url(url);
    if (!named || !document || !same_origin(*named, *document)) {
      throw Error(Errc::protocol, fmt::format("{} ({}) describes an authorization server that is elsewhere ({})", what,
                                              redacted_url(url), redacted_url(metadata->issuer)));
    }
  }
  co_return std::move(*metadata);
}

// Before there was a description of servers, each was its own authorization server, or in front of it.
Task<IssuerMetadata> find_older(const DiscoveryWish& wish, AuthFetch fetch) {
  const auto origin = wish.server.origin();
  const auto url = origin + "/.well-known/oauth-authorization-server";
  // The revision of that time asks clients to say which one they speak.
  HttpHeaders headers;
  headers.set("MCP-Protocol-Version", std::string(legacy_versions().front()));
  auto answer =
      co_await fetch_document(fetch, url, "the description of the authorization server", wish.network, headers);
  if (is_document(answer)) {
    auto metadata = read_issuer_metadata(answer.body, origin);
    // The same address, written with the slash of a URL.
    if (!metadata) metadata = read_issuer_metadata(answer.body, origin + "/");
    if (!metadata) throw metadata.error().within(redacted_url(url));
    value_or_throw(check_endpoints(*metadata, wish.network));
    co_return std::move(*metadata);
  }
  if (!is_missing(answer)) throw_status("the description of the authorization server", url, answer.head.status);
  co_return usual_issuer(wish.server);
}

}  // namespace

Task<Discovered> discover(DiscoveryWish wish, AuthFetch fetch) {
  Discovered found;
  const auto resource = co_await find_resource(wish, fetch);
  if (resource) {
    value_or_throw(check_resource(resource->resource, wish.server, wish.expected_resource));
    found.resource = wish.expected_resource.value_or(resource->resource);
    found.resource_scopes = resource->scopes_supported;
    found.dpop_required = resource->dpop_required;
  } else {
    found.resource = wish.expected_resource.value_or(canonical_resource(wish.server));
  }
  if (wish.issuer_metadata) {
    found.issuer = co_await named_by_user(*wish.issuer_metadata, wish, fetch);
    found.named_document_scopes = found.issuer.scopes_supported;
    co_return found;
  }
  if (!resource) {
    found.issuer = co_await find_older(wish, fetch);
    co_return found;
  }
  auto issuers = resource->authorization_servers;
  const auto known = wish.is_known ? std::ranges::find_if(issuers, wish.is_known) : issuers.end();
  found.issuer = co_await discover_issuer(known != issuers.end() ? *known : issuers.front(), wish.network, fetch);
  co_return found;
}

}  // namespace patchbay
