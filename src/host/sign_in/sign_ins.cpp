#include "host/sign_in/sign_ins.h"

#include <charconv>

#include <fmt/format.h>

#include <patchbay/version.h>

#include "auth/engine/loopback_visit.h"
#include "auth/engine/vault_sign_ins.h"
#include "base/as_result.h"
#include "base/crypto.h"
#include "entries/signature.h"
#include "host/sign_in/pasted_visit.h"
#include "host/start/stored_secrets.h"
#include "settings/connectors.h"
#include "text/clean_text.h"

namespace patchbay {
namespace {

std::optional<std::uint16_t> port_in(const std::optional<std::string>& text) {
  std::uint16_t port = 0;
  if (!text) return std::nullopt;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), port);
  if (error != std::errc{} || end != text->data() + text->size() || port == 0) return std::nullopt;
  return port;
}

GrantKind grant_of(const OAuthConfig& oauth) {
  if (oauth.xaa) return GrantKind::cross_app_access;
  if (oauth.grant == "client_credentials") return GrantKind::client_credentials;
  if (oauth.grant == "workload_identity") return GrantKind::workload_identity;
  return GrantKind::authorization_code;
}

// No secret where nothing is kept under the name.
Task<Secret> optional_secret(std::function<Task<Secret>(std::string)> secret, std::string name) {
  auto found = co_await as_result(secret(std::move(name)));
  if (found) co_return std::move(*found);
  if (found.error().code() != Errc::config) throw std::move(found).error();
  co_return Secret();
}

std::optional<std::string> callback_host_of(const SignInOptions& options, const VariableLookup& variables) {
  return options.callback_host ? options.callback_host : variables("MCP_OAUTH_CALLBACK_HOST");
}

// The code goes there. An entry was checked when it was read; a variable of the environment was not.
OpenVisit visits_of_this_machine(OpenVisit open) {
  return [open = std::move(open)](VisitWish wish) {
    if (wish.host != "localhost" && wish.host != "127.0.0.1") {
      throw Error(Errc::config,
                  fmt::format("the browser has to come back to this machine: MCP_OAUTH_CALLBACK_HOST must be localhost "
                              "or 127.0.0.1, not \"{}\"",
                              clean_line(wish.host)));
    }
    return open(std::move(wish));
  };
}

// What the program gives us.
Task<Secret> secret_by(Task<std::string> text) { co_return Secret(co_await std::move(text)); }

SignInSettings settings_of(const ServerConfig& written, const ServerConfig& expanded, const SignInOptions& options,
                           const std::shared_ptr<SignIns::Reading>& current) {
  const auto& reading = *current;
  const auto oauth = expanded.oauth.value_or(OAuthConfig{});
  SignInSettings settings;
  settings.server = written.name;
  settings.url = value_or_throw(parse_url(expanded.url));
  settings.grant = grant_of(oauth);
  settings.client_id = oauth.client_id;
  settings.key_algorithm = oauth.private_key_algorithm.value_or("");
  settings.client_issuer = oauth.issuer;
  settings.scopes = oauth.scopes;
  settings.issuer_metadata = oauth.auth_server_metadata_url;
  settings.resource = oauth.resource;
  settings.dpop = oauth.dpop;
  settings.callback_host = oauth.callback_host ? oauth.callback_host : callback_host_of(options, reading.variables);
  settings.callback_port = oauth.callback_port     ? oauth.callback_port
                           : options.callback_port ? options.callback_port
                                                   : port_in(reading.variables("MCP_OAUTH_CALLBACK_PORT"));
  settings.client_document = options.client_metadata_url
                                 ? *options.client_metadata_url
                                 : reading.variables("MCP_OAUTH_CLIENT_METADATA_URL").value_or("");
  settings.identity_provider = options.identity_provider;
  if (options.identity_token) settings.identity_token = [get = options.identity_token] { return secret_by(get()); };
  settings.users_own = is_users_own(written.origin);
  if (settings.client_id && options.client_secret && settings.users_own) {
    settings.client_secret = [get = options.client_secret, name = written.name] { return secret_by(get(name)); };
  } else if (settings.client_id && reading.secret && (settings.users_own || !oauth.auth_server_metadata_url)) {
    // A project that has the name and URL of a server of the user's must not choose who gets to see its secret.
    settings.client_secret = [current, name = client_secret_name(written)] {
      return optional_secret(current->secret, name);
    };
  }
  if (oauth.private_key_file) {
    settings.private_key = [current, file = *oauth.private_key_file] { return current->read_file(file); };
  }
  settings.workload_token = [current, file = oauth.token_file, name = written.name]() -> Task<Secret> {
    if (!file) {
      throw Error(
          Errc::config,
          fmt::format("server \"{}\" signs in by workload identity, and its entry has no \"oauth.tokenFile\"", name));
    }
    return current->read_file(*file);
  };
  return settings;
}

Task<SignInWay> find_way(asio::any_io_executor executor, Url server, HttpClientOptions http) {
  const auto network = co_await network_of(std::move(server));
  co_return SignInWay{auth_fetch(std::move(executor), std::move(http), network), network};
}

}  // namespace

std::string sign_in_fault(const ServerConfig& written) {
  if (!written.oauth) return {};
  const auto& oauth = *written.oauth;
  const auto& origin = written.origin;
  if (is_users_own(origin)) return {};
  for (const auto& [key, used] :
       {std::pair{"privateKeyFile", oauth.private_key_file.has_value()},
        std::pair{"tokenFile", oauth.token_file.has_value()},
        std::pair{"grant", oauth.grant && *oauth.grant != "authorization_code"}, std::pair{"xaa", oauth.xaa}}) {
    if (used) {
      return fmt::format("\"oauth.{}\" is not used in an entry of {} scope from {}; declare the server in user scope",
                         key, to_string(origin.scope), origin.file);
    }
  }
  return {};
}

bool may_sign_in(const ServerConfig& written) {
  if (written.kind != ServerKind::http && written.kind != ServerKind::sse) return false;
  if (written.headers_helper) return false;
  for (const auto& [name, value] : written.headers) {
    if (HttpHeaders::same_name(name, "Authorization")) return false;
  }
  return true;
}

SignIns::SignIns(SignInOptions options, const Runtime& runtime) : options_(std::move(options)), runtime_(runtime) {}

void SignIns::use(const std::shared_ptr<SecretVault>& vault, const std::string& state_directory) {
  if (store_ || options_.for_this_run || !vault) return;
  store_ = vault_sign_ins(vault, state_directory);
}

std::shared_ptr<SignInDesk> SignIns::desk(asio::any_io_executor executor) {
  if (!desk_) {
    if (!store_) store_ = memory_sign_ins();
    SignInDesk::Options options;
    options.store = store_;
    options.client_name = options_.client_name;
    options.software_version = std::string(version());
    options.runtime = runtime_;
    desk_ = std::make_shared<SignInDesk>(std::move(executor), std::move(options));
  }
  return desk_;
}

std::shared_ptr<ServerSignIn> SignIns::for_entry(asio::any_io_executor executor, const ServerConfig& written,
                                                 const ServerConfig& expanded, HttpClientOptions http,
                                                 Reading reading) {
  if (const auto fault = sign_in_fault(written); !fault.empty()) {
    throw Error(Errc::config, fmt::format("server \"{}\": {}", written.name, fault));
  }
  // Otherwise the user would agree to one server, and the token go to another.
  if (const auto& oauth = expanded.oauth; oauth && oauth->resource && !is_users_own(written.origin)) {
    const auto server = parse_url(expanded.url);
    const auto resource = parse_url(*oauth->resource);
    if (resource && (!server || !same_origin(*server, *resource))) {
      throw Error(Errc::config,
                  fmt::format("server \"{}\": \"oauth.resource\" of an entry of {} scope from {} names another "
                              "server; declare the server in user scope",
                              written.name, to_string(written.origin.scope), written.origin.file));
    }
  }
  // What it is reached by is part of it: another proxy or certificate is another way.
  auto identity = sha256_hex(
      fmt::format("{}\n{}\n{}\n{}", expanded.url, entry_hash(expanded), http.ca_file, http.client_certificate));
  auto& known = known_[written.name];
  if (known.sign_in && known.identity == identity) {
    if (known.reading) *known.reading = std::move(reading);
    return known.sign_in;
  }
  auto current = std::make_shared<Reading>(std::move(reading));
  auto settings = settings_of(written, expanded, options_, current);
  http.entry_url.clear();
  http.shown.clear();
  if (settings.identity_provider) {
    settings.provider_way = [executor, issuer = settings.identity_provider->issuer, http] {
      return find_way(executor, value_or_throw(parse_url(issuer)), http);
    };
  }
  auto way = [executor, server = settings.url, http] { return find_way(executor, server, http); };
  known = {std::move(identity), desk(executor)->server(std::move(settings), std::move(way)), std::move(current)};
  return known.sign_in;
}

std::shared_ptr<ServerSignIn> SignIns::for_address(asio::any_io_executor executor, const Url& address,
                                                   HttpClientOptions http, Reading reading) {
  auto& known = addresses_[address.text()];
  if (known.sign_in) {
    *known.reading = std::move(reading);
    return known.sign_in;
  }
  ServerConfig entry;
  entry.name = connectors_name;
  entry.kind = ServerKind::http;
  entry.url = address.text();
  entry.origin.scope = ConfigScope::user;
  known.reading = std::make_shared<Reading>(std::move(reading));
  auto settings = settings_of(entry, entry, options_, known.reading);
  http.entry_url.clear();
  http.shown.clear();
  auto way = [executor, address, http] { return find_way(executor, address, http); };
  known.sign_in = desk(executor)->server(std::move(settings), std::move(way));
  return known.sign_in;
}

void SignIns::use_for(const std::string& server, std::shared_ptr<ServerSignIn> sign_in) {
  known_[server] = {{}, std::move(sign_in), {}};
}

std::shared_ptr<ServerSignIn> SignIns::find(const std::string& server) const {
  const auto found = known_.find(server);
  return found == known_.end() ? nullptr : found->second.sign_in;
}

OpenVisit SignIns::visits() const {
  if (options_.paste) return visits_of_this_machine(pasted_visits(options_.paste));
  if (!options_.show) return {};
  return visits_of_this_machine([show = options_.show, wait = options_.wait, runtime = runtime_](VisitWish wish) {
    LoopbackOptions loopback;
    loopback.show = [show, server = wish.server](std::string url, std::string redirect_uri) {
      return show(SignInPage{server, std::move(url), std::move(redirect_uri)});
    };
    loopback.wait = wait;
    loopback.runtime = runtime;
    return loopback_visits(std::move(loopback))(std::move(wish));
  });
}

Task<void> SignIns::sign_in_at_provider(asio::any_io_executor executor, HttpClientOptions http) {
  if (!options_.identity_provider) {
    throw Error(Errc::config, "the settings name no identity provider (\"xaaIdp\")");
  }
  const auto provider = *options_.identity_provider;
  const auto host = callback_host_of(options_, http.environment);
  const auto port = provider.callback_port   ? provider.callback_port
                    : options_.callback_port ? options_.callback_port
                                             : port_in(http.environment("MCP_OAUTH_CALLBACK_PORT"));
  OpenVisit open;
  if (auto visit = visits()) {
    open = [visit, host, port](VisitWish wish) {
      if (host) wish.host = *host;
      wish.port = port;
      return visit(std::move(wish));
    };
  }
  auto issuer = value_or_throw(parse_url(provider.issuer));
  auto way = co_await find_way(executor, std::move(issuer), std::move(http));
  co_await desk(executor)->sign_in_at_provider(provider, std::move(way), std::move(open));
}

Task<void> SignIns::close() {
  if (desk_) co_await desk_->close();
}

}  // namespace patchbay
