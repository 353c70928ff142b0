#include "auth/metadata.h"

#include <algorithm>

#include <fmt/format.h>

#include <patchbay/json.h>

#include "auth/scopes.h"
#include "base/limit_text.h"
#include "json/kind_text.h"
#include "text/clean_text.h"

namespace patchbay {
namespace {

constexpr std::size_t largest_document = 1u << 20;
constexpr std::size_t most_items = 1000;
constexpr std::size_t longest_text = 8192;
constexpr std::size_t deepest = 32;

constexpr std::string_view protected_resource = "/.well-known/oauth-protected-resource";
constexpr std::string_view authorization_server = "/.well-known/oauth-authorization-server";
constexpr std::string_view openid = "/.well-known/openid-configuration";

// The members of one document; the first that is wrong is the error. null counts as absent.
class Members {
 public:
  Members(const Json& document, std::string_view what) : document_(document), what_(what) {}

  std::string text(std::string_view name) {
    const auto* value = find(name);
    return value ? text_of(*value, name) : std::string();
  }
  bool flag(std::string_view name) {
    const auto* value = find(name);
    if (!value) return false;
    if (!value->is_bool()) wrong(name, "a boolean", *value);
    return value->to_bool().value_or(false);
  }
  std::optional<std::vector<std::string>> texts(std::string_view name) {
    const auto* value = find(name);
    if (!value) return std::nullopt;
    if (!value->is_array()) {
      wrong(name, "an array", *value);
      return std::nullopt;
    }
    if (value->size() > most_items) {
      say(fmt::format("\"{}\" has {} items; {} are allowed", name, value->size(), most_items));
      return std::nullopt;
    }
    std::vector<std::string> out;
    for (const auto& item : value->items()) out.push_back(text_of(item, name));
    return out;
  }
  // Without those that no request can hold.
  std::optional<Scopes> scopes(std::string_view name) {
    auto found = texts(name);
    if (!found) return std::nullopt;
    std::erase_if(*found, [](const std::string& scope) {
      return scope.empty() || !std::ranges::all_of(scope, [](char c) { return c > ' ' && c < 0x7F && c != '"'; });
    });
    return scope_union({}, *found);
  }
  void say(std::string why) {
    if (!error_) error_ = Error(Errc::protocol, fmt::format("{}: {}", what_, why));
  }
  std::optional<Error> error() { return std::move(error_); }

 private:
  const Json* find(std::string_view name) const {
    const auto* value = document_.find(name);
    return value && !value->is_null() ? value : nullptr;
  }
  std::string text_of(const Json& value, std::string_view name) {
    const auto text = value.text();
    if (!text) {
      wrong(name, "a string", value);
    } else if (text->size() > longest_text) {
      say(fmt::format("\"{}\" is longer than {}", name, limit_text(longest_text)));
    } else {
      return std::string(*text);
    }
    return {};
  }
  void wrong(std::string_view name, std::string_view expected, const Json& found) {
    say(fmt::format("\"{}\" must be {}, found {}", name, expected, kind_with_article(found)));
  }

  const Json& document_;
  std::string_view what_;
  std::optional<Error> error_;
};

Result<Json> read_document(std::string_view text, std::string_view what) {
  if (text.size() > largest_document) {
    return fail(Errc::protocol, fmt::format("{} is larger than {}", what, limit_text(largest_document)));
  }
  auto document = parse_json(text, {.max_depth = deepest});
  if (!document) return fail(Errc::protocol, fmt::format("{} is not JSON: {}", what, document.error().message()));
  if (!document->is_object()) {
    return fail(Errc::protocol, fmt::format("{} must be an object, found {}", what, kind_with_article(*document)));
  }
  return document;
}

std::string shown(std::string_view text) { return clean_line(redacted_url(text)); }

// The path as it goes behind a well-known one: nothing for "/".
std::string path_behind(const Url& url) { return url.path == "/" ? std::string() : url.path; }
std::string without_last_slash(std::string path) {
  if (path.ends_with('/')) path.pop_back();
  return path;
}

}  // namespace

std::vector<std::string> resource_metadata_urls(const Url& server, const std::optional<std::string>& named) {
  if (named) return {*named};
  const auto root = server.origin() + std::string(protected_resource);
  const auto query = server.query ? "?" + *server.query : std::string();
  const auto path = path_behind(server);
  std::vector<std::string> urls;
  auto add = [&](std::string url) {
    if (std::ranges::find(urls, url) == urls.end()) urls.push_back(std::move(url));
  };
  add(root + path + query);
  // Servers that write "/mcp/" mean "/mcp" here.
  add(root + without_last_slash(path) + query);
  add(root);
  return urls;
}

Result<ResourceMetadata> read_resource_metadata(std::string_view document) {
  constexpr std::string_view what = "the metadata of the server (RFC 9728)";
  const auto json = read_document(document, what);
  if (!json) return std::unexpected(json.error());
  Members members(*json, what);
  ResourceMetadata metadata;
  metadata.resource = members.text("resource");
  metadata.authorization_servers = members.texts("authorization_servers").value_or(std::vector<std::string>());
  metadata.scopes_supported = members.scopes("scopes_supported");
  metadata.dpop_required = members.flag("dpop_bound_access_tokens_required");
  if (metadata.resource.empty()) members.say("\"resource\" is missing");
  if (metadata.authorization_servers.empty()) members.say("\"authorization_servers\" names none");
  if (auto error = members.error()) return std::unexpected(std::move(*error));
  return metadata;
}

Result<void> check_resource(const std::string& resource, const Url& server,
                            const std::optional<std::string>& expected) {
  if (expected) {
    if (resource == *expected) return {};
    return fail(Errc::protocol, fmt::format("the server's metadata is for {}, and its entry expects {}",
                                            shown(resource), shown(*expected)));
  }
  const auto wrong = [&] {
    return fail(Errc::protocol,
                fmt::format("the server's metadata is for {}, which is not {}; a token for it would be sent to the "
                            "wrong server",
                            shown(resource), server.redacted()));
  };
  const auto url = parse_url(resource);
  if (!url || url->fragment || !url->userinfo.empty() || !same_origin(*url, server)) return wrong();
  if (url->query && url->query != server.query) return wrong();
  // "/mcp" and "/mcp/" are one to most servers.
  const auto whole = [](const std::string& path) { return path.ends_with('/') ? path : path + "/"; };
  if (!whole(server.path).starts_with(whole(url->path))) return wrong();
  return {};
}

std::string canonical_resource(const Url& server) {
  auto text = server.origin() + path_behind(server);
  if (server.query) text += "?" + *server.query;
  return text;
}

std::vector<std::string> issuer_metadata_urls(const Url& issuer) {
  const auto origin = issuer.origin();
  const auto path = without_last_slash(path_behind(issuer));
  std::vector<std::string> urls{fmt::format("{}{}{}", origin, authorization_server, path),
                                fmt::format("{}{}{}", origin, openid, path)};
  if (!path.empty()) urls.push_back(fmt::format("{}{}{}", origin, path, openid));
  return urls;
}

Result<IssuerMetadata> read_issuer_metadata(std::string_view document, const std::optional<std::string>& issuer) {
  constexpr std::string_view what = "the metadata of the authorization server";
  const auto json = read_document(document, what);
  if (!json) return std::unexpected(json.error());
  Members members(*json, what);
  const std::vector<std::string> none;
  IssuerMetadata metadata;
  metadata.issuer = members.text("issuer");
  metadata.authorization_endpoint = members.text("authorization_endpoint");
  metadata.token_endpoint = members.text("token_endpoint");
  metadata.registration_endpoint = members.text("registration_endpoint");
  metadata.revocation_endpoint = members.text("revocation_endpoint");
  metadata.scopes_supported = members.scopes("scopes_supported");
  metadata.code_challenge_methods = members.texts("code_challenge_methods_supported");
  metadata.token_authentications = members.texts("token_endpoint_auth_methods_supported");
  metadata.grant_types = members.texts("grant_types_supported").value_or(none);
  metadata.grant_profiles = members.texts("authorization_grant_profiles_supported").value_or(none);
  metadata.dpop_algorithms = members.texts("dpop_signing_alg_values_supported").value_or(none);
  metadata.takes_client_documents = members.flag("client_id_metadata_document_supported");
  metadata.names_itself_in_answers = members.flag("authorization_response_iss_parameter_supported");
  if (metadata.issuer.empty()) members.say("\"issuer\" is missing");
  if (issuer && metadata.issuer != *issuer) {
    members.say(fmt::format("it is of {}, and was asked for as {}; the two must be the same text",
                            shown(metadata.issuer), shown(*issuer)));
  }
  if (auto error = members.error()) return std::unexpected(std::move(*error));
  return metadata;
}

Result<void> check_endpoints(const IssuerMetadata& issuer, const ServerNetwork& server) {
  if (!issuer.authorization_endpoint.empty()) {
    if (auto url = check_browser_url(issuer.authorization_endpoint); !url) {
      return std::unexpected(url.error().within("the authorization endpoint"));
    }
  }
  for (const auto& [url, what] : {std::pair(&issuer.token_endpoint, "the token endpoint"),
                                  std::pair(&issuer.registration_endpoint, "the registration endpoint"),
                                  std::pair(&issuer.revocation_endpoint, "the revocation endpoint")}) {
    if (url->empty()) continue;
    if (auto good = check_endpoint(*url, what, server); !good) return std::unexpected(std::move(good).error());
  }
  return {};
}

IssuerMetadata usual_issuer(const Url& server) {
  const auto origin = server.origin();
  IssuerMetadata metadata;
  metadata.issuer = origin;
  metadata.authorization_endpoint = origin + "/authorize";
  metadata.token_endpoint = origin + "/token";
  metadata.registration_endpoint = origin + "/register";
  metadata.guessed = true;
  return metadata;
}

}  // namespace patchbay
