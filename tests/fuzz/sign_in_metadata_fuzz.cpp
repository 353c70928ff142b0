// The two documents of sign-in: nothing that nobody may be sent to passes, everything is bounded, and where to ask is
// always on the machine that was named. Input: a URL, a line break, a document.
#include <algorithm>

#include "auth/metadata.h"
#include "fuzz/fuzz.h"

using namespace patchbay;
using fuzz::require;

namespace {

void check_list(const std::vector<std::string>& list) {
  require(list.size() <= 1000, "a list without bound");
  for (const auto& item : list) require(item.size() <= 8192, "a text without bound");
}

void check_scopes(const std::optional<Scopes>& scopes) {
  if (!scopes) return;
  check_list(*scopes);
  for (const auto& scope : *scopes) {
    require(!scope.empty() && std::ranges::all_of(scope, [](char c) { return c > ' ' && c < 0x7F; }), "an unfit scope");
    require(std::ranges::count(*scopes, scope) == 1, "a scope twice");
  }
}

void check_asked(const Url& named, const std::vector<std::string>& urls) {
  require(!urls.empty() && urls.size() <= 3, "too many to ask, or nobody");
  for (const auto& text : urls) {
    const auto url = parse_url(text);
    require(url && same_origin(*url, named), "another server is asked");
    require(url->userinfo.empty() && !url->fragment, "user information or a fragment is sent");
    require(url->path.contains("/.well-known/"), "something else is asked");
  }
}

void check_rule(std::string_view text) {
  for (const auto kind : {AddressKind::common, AddressKind::private_network, AddressKind::loopback}) {
    const auto url = check_endpoint(text, "it", {kind});
    if (!url) continue;
    require(url->userinfo.empty() && !url->fragment, "user information or a fragment passes");
    const auto place = host_kind(url->host);
    require(url->scheme == "https" || (url->scheme == "http" && place == AddressKind::loopback),
            "another scheme passes");
    require(place == AddressKind::common || kind != AddressKind::common, "a special address passes");
    require(place != AddressKind::link_local && place != AddressKind::other_special, "a reserved address passes");
    require(check_endpoint(url->text(), "it", {kind}) == *url, "what passes is another URL the second time");
    require(check_browser_url(text).has_value(), "we may go where the browser may not");
  }
}

}  // namespace

FUZZ_TARGET(sign_in_metadata) {
  const auto line = fuzz::take_line(input);
  check_rule(line);
  const auto server = parse_url(line);
  if (server) {
    check_asked(*server, resource_metadata_urls(*server, std::nullopt));
    check_asked(*server, issuer_metadata_urls(*server));
    const auto resource = canonical_resource(*server);
    require(server->host.empty() || check_resource(resource, *server, std::nullopt).has_value(),
            "its own resource is another");
  }
  if (const auto resource = read_resource_metadata(input)) {
    require(!resource->resource.empty() && !resource->authorization_servers.empty(), "something is missing");
    check_list(resource->authorization_servers);
    check_scopes(resource->scopes_supported);
    if (server && check_resource(resource->resource, *server, std::nullopt)) {
      const auto url = parse_url(resource->resource);
      require(url && same_origin(*url, *server), "a token for another server");
    }
  }
  const auto issuer = read_issuer_metadata(input, std::nullopt);
  if (!issuer) return;
  require(read_issuer_metadata(input, issuer->issuer) == *issuer, "it is not of its own issuer");
  require(!read_issuer_metadata(input, issuer->issuer + "/"), "it is of another issuer");
  check_scopes(issuer->scopes_supported);
  check_list(issuer->grant_types);
  check_list(issuer->dpop_algorithms);
  if (!check_endpoints(*issuer, {})) return;
  for (const auto* endpoint : {&issuer->token_endpoint, &issuer->registration_endpoint, &issuer->revocation_endpoint}) {
    if (!endpoint->empty())
      require(endpoint->size() <= 8192 && host_kind(parse_url(*endpoint)->host) == AddressKind::common, "unfit");
  }
}
