// `patchbay auth status`: how the sign-ins of this directory's servers are, from notes without secrets. Nothing is
// started, no keyring is asked and nothing goes over the network.
#include <algorithm>

#include <fmt/format.h>

#include "auth/engine/vault_sign_ins.h"
#include "auth/metadata.h"
#include "base/clock.h"
#include "base/strings.h"
#include "cli/declared.h"
#include "cli/kept.h"
#include "cli/sign_in.h"
#include "cli/texts/present.h"
#include "cli/texts/sign_in_words.h"
#include "cli/vault.h"
#include "entries/expand.h"
#include "host/sign_in/sign_ins.h"
#include "http/url.h"
#include "settings/connectors.h"

namespace patchbay::cli {
namespace {

bool is_by_http(const ServerConfig& server) {
  return server.kind == ServerKind::http || server.kind == ServerKind::sse;
}

// Why nobody signs in there; empty: they can.
std::string why_not(const ServerConfig& server) {
  if (server.standing == ServerStanding::broken) return "its entry cannot be used";
  if (!is_by_http(server)) return "not reached by HTTP, so nobody signs in";
  if (!may_sign_in(server)) return "its entry has credentials of its own, so nobody signs in";
  return sign_in_fault(server);
}

SignInLine line_of(const ServerConfig& server, const std::vector<KeptSignIn>& kept, const VariableLookup& variables) {
  SignInLine line{server.name, {}, why_not(server)};
  auto& status = line.status;
  status.server = server.name;
  status.url = redacted_url(server.url);
  if (!line.not_possible.empty()) return line;
  // A secret in the address is not fetched for this.
  if (!secret_references(server.url, "url").empty()) {
    line.not_possible = "its URL has a secret in it, so what is kept for it cannot be found without asking for that";
    return line;
  }
  const auto url = parse_url(expand(server.url, variables).text);
  if (!url) return line;
  const auto resource = canonical_resource(*url);
  const auto mark = server_mark(resource);
  if (const auto failure = kept_failure(state_directory(), resource)) {
    status.failed_step = to_string(failure->step);
    status.failure = failure->message;
    status.failed_at = failure->time;
  }
  const auto found = std::ranges::find_if(
      kept, [&](const KeptSignIn& one) { return std::ranges::find(one.servers, mark) != one.servers.end(); });
  if (found == kept.end()) return line;
  status.signed_in = true;
  status.issuer = found->issuer;
  status.resource = found->resource;
  status.client_id = found->client_id;
  status.scopes = found->scopes;
  status.expires = found->expires;
  status.obtained = found->obtained;
  status.refreshed = found->refreshed;
  status.can_refresh = found->can_refresh;
  status.kept_in = to_string(found->place);
  return line;
}

// The directory of connectors itself, as if it were a server.
ServerConfig directory_entry(const ConnectorDirectory& directory) {
  ServerConfig entry;
  entry.name = connectors_name;
  entry.kind = ServerKind::http;
  entry.url = directory.url.substr(0, directory.url.find('?'));
  entry.origin.scope = ConfigScope::user;
  return entry;
}

// Where its user signs in: at the proxy, for a server that is behind one.
ServerConfig signed_in_at(const LoadedConfig& config, ServerConfig server) {
  const auto& directory = config.connectors;
  if (directory && signs_in_at_connectors(*directory) && is_behind_proxy(*directory, server)) {
    server.url = proxy_address(*directory);
  }
  return server;
}

}  // namespace

int auth(const Settings& settings, Io& io) {
  const auto declared = load_declared(settings);
  const auto& config = declared.config;
  const std::vector<std::string> names(settings.words.begin() + 1, settings.words.end());
  for (const auto& name : names) {
    if (!means_connectors(config, name)) (void)all_named(config, name);
  }
  const auto vault = open_vault_quietly(config.config_dir);
  const auto kept = kept_sign_ins(*vault);
  if (!kept) throw kept.error();
  const auto variables = variables_of(config);
  const auto now = std::chrono::floor<std::chrono::seconds>(real_clock().wall());
  Json rows = Json::array();
  std::string text;
  std::vector<ServerConfig> places;
  for (const auto& server : config.servers) places.push_back(signed_in_at(config, server));
  if (means_connectors(config, std::string(connectors_name))) places.push_back(directory_entry(*config.connectors));
  for (const auto& server : places) {
    const bool named = std::ranges::find(names, server.name) != names.end();
    if (names.empty() ? !is_by_http(server) : !named) continue;
    const auto line = line_of(server, *kept, variables);
    rows.push_back(sign_in_json(line, now));
    text += sign_in_text(line, now);
  }
  if (text.empty() && !settings.json && !settings.quiet) {
    io.talk("No server of this directory is reached by HTTP, so nobody signs in.\n");
  }
  answer(settings, io, {{"servers", std::move(rows)}}, text);
  return 0;
}

}  // namespace patchbay::cli
