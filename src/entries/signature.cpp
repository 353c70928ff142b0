#include "entries/signature.h"

#include <algorithm>

#include "base/crypto.h"

namespace patchbay {
namespace {

// Objects with their keys in order, at every depth a file can have. Bounded by the reader's depth.
Json sorted(const Json& value) {
  if (const auto* items = value.if_array()) {
    Json out = Json::array();
    for (const auto& item : *items) out.push_back(sorted(item));
    return out;
  }
  const auto* members = value.if_object();
  if (members == nullptr) return value;
  std::vector<std::pair<std::string_view, const Json*>> order;
  for (const auto& [name, member] : *members) order.emplace_back(name, &member);
  std::ranges::sort(order, {}, &std::pair<std::string_view, const Json*>::first);
  Json::Object out;
  for (const auto& [name, member] : order) out.append(name, sorted(*member));
  return out;
}

Json texts(const std::vector<std::string>& list) {
  Json out = Json::array();
  for (const auto& text : list) out.push_back(text);
  return out;
}

Json named(const NamedTexts& list) {
  Json out = Json::object();
  for (const auto& [name, value] : list) out[name] = value;
  return out;
}

Json oauth_json(const OAuthConfig& oauth) {
  Json out = oauth.extra.is_object() ? oauth.extra : Json::object();
  if (oauth.client_id) out["clientId"] = *oauth.client_id;
  if (oauth.callback_port) out["callbackPort"] = *oauth.callback_port;
  if (oauth.scopes) out["scopes"] = *oauth.scopes;
  if (oauth.auth_server_metadata_url) out["authServerMetadataUrl"] = *oauth.auth_server_metadata_url;
  if (oauth.xaa) out["xaa"] = true;
  if (oauth.callback_host) out["callbackHost"] = *oauth.callback_host;
  if (oauth.resource) out["resource"] = *oauth.resource;
  if (oauth.issuer) out["issuer"] = *oauth.issuer;
  if (oauth.grant) out["grant"] = *oauth.grant;
  if (oauth.private_key_file) out["privateKeyFile"] = *oauth.private_key_file;
  if (oauth.private_key_algorithm) out["privateKeyAlgorithm"] = *oauth.private_key_algorithm;
  if (oauth.token_file) out["tokenFile"] = *oauth.token_file;
  if (oauth.dpop) out["dpop"] = true;
  return out;
}

Json tls_json(const TlsConfig& tls) {
  Json out = Json::object();
  if (!tls.ca.empty()) out["ca"] = tls.ca;
  if (!tls.cert.empty()) out["cert"] = tls.cert;
  if (!tls.key.empty()) out["key"] = tls.key;
  if (!tls.passphrase.empty()) out["passphrase"] = tls.passphrase;
  return out;
}

}  // namespace

Json canonical_entry(const ServerConfig& server) {
  Json out = server.extra.is_object() ? server.extra : Json::object();
  out["type"] = to_string(server.kind);
  if (server.kind == ServerKind::stdio) {
    out["command"] = server.command;
    if (!server.args.empty()) out["args"] = texts(server.args);
    if (!server.env.empty()) out["env"] = named(server.env);
    if (server.env_file) out["envFile"] = *server.env_file;
    if (server.cwd) out["cwd"] = *server.cwd;
  } else {
    out["url"] = server.url;
    if (!server.headers.empty()) out["headers"] = named(server.headers);
    if (server.headers_helper) out["headersHelper"] = *server.headers_helper;
    if (server.oauth) out["oauth"] = oauth_json(*server.oauth);
    if (server.tls != TlsConfig{}) out["tls"] = tls_json(server.tls);
  }
  if (server.timeout) out["timeout"] = server.timeout->count();
  if (server.request_timeout) out["request_timeout_ms"] = server.request_timeout->count();
  if (server.disabled) out["disabled"] = true;
  if (server.required) out["required"] = true;
  if (server.always_load) out["alwaysLoad"] = true;
  if (!server.protocol.empty()) out["protocol"] = server.protocol;
  if (server.enabled_tools) out["enabledTools"] = texts(*server.enabled_tools);
  if (!server.disabled_tools.empty()) out["disabledTools"] = texts(server.disabled_tools);
  return sorted(out);
}

// Whether it is switched on is not part of what somebody agrees to: a switch must not undo an answer.
std::string entry_hash(const ServerConfig& server) {
  auto entry = canonical_entry(server);
  if (auto* members = entry.if_object()) members->erase("disabled");
  return "sha256:" + sha256_hex(to_text(entry));
}

std::string content_signature(const ServerConfig& expanded) {
  if (expanded.kind != ServerKind::stdio) return expanded.url.empty() ? std::string() : "url:" + expanded.url;
  if (expanded.command.empty()) return {};
  Json argv = Json::array({expanded.command});
  for (const auto& arg : expanded.args) argv.push_back(arg);
  auto signature = "stdio:" + to_text(argv) + to_text(sorted(named(expanded.env)));
  // The same words are another server with other variables, or where relative paths lead elsewhere.
  if (expanded.env_file) signature += "envFile:" + to_text(Json(*expanded.env_file));
  if (expanded.cwd) signature += "cwd:" + to_text(Json(*expanded.cwd));
  return signature;
}

std::string connection_identity(const ServerConfig& written, const ServerConfig& expanded) {
  Json parts = Json::array({written.name, canonical_entry(written), canonical_entry(expanded)});
  return "sha256:" + sha256_hex(to_text(parts));
}

}  // namespace patchbay
