// `patchbay mcp xaa setup|show|clear`: the identity provider that signs the user in for many servers at once (cross-app
// access). `login` is in login.cpp. The provider is in our config.json, its client secret in the store of secrets.
#include <fmt/format.h>

#include "auth/engine/sign_in.h"
#include "auth/identity_token.h"
#include "base/clock.h"
#include "base/strings.h"
#include "cli/approval.h"
#include "cli/declared.h"
#include "cli/sign_in.h"
#include "cli/texts/present.h"
#include "cli/texts/state_words.h"
#include "cli/vault.h"
#include "settings/settings_layers.h"
#include "text/visible_text.h"

namespace patchbay::cli {
namespace {

const KeyPath setting{"settings", "xaaIdp"};

template <class T>
T or_throw(Result<T> result) {
  if (!result) throw std::move(result).error();
  return std::move(*result);
}

Secret client_secret_of_user() {
  auto text = process_environment()("MCP_XAA_IDP_CLIENT_SECRET").value_or("");
  if (text.empty()) text = ask_secret("Client secret at the identity provider: ", "MCP_XAA_IDP_CLIENT_SECRET");
  if (text.empty() || !valid_utf8(text)) {
    throw Error(Errc::invalid_argument, "the client secret is empty or not valid UTF-8; nothing was changed");
  }
  return Secret(std::move(text));
}

int setup(const Settings& settings, Io& io) {
  if (settings.issuer.empty() || settings.client_id.empty()) {
    throw Error(
        Errc::invalid_argument,
        "xaa setup needs the issuer and your client ID there: patchbay mcp xaa setup --issuer URL --client-id ID");
  }
  Json value{{"issuer", settings.issuer}, {"clientId", settings.client_id}};
  if (settings.callback_port) value["callbackPort"] = *settings.callback_port;
  // Judged as it will be when it is read.
  const auto read = parse_settings(to_text(Json{{"xaaIdp", value}}), SettingsSource::flag, "--issuer");
  if (!read.problems.empty()) throw Error(Errc::invalid_argument, read.problems.front().message);
  const auto declared = load_declared(settings);
  std::optional<Secret> secret;
  if (settings.client_secret) secret = client_secret_of_user();
  const auto change = or_throw(declared.store.change_own_file(
      [&](const Json&) -> Result<std::vector<ConfigEdit>> { return std::vector{set_member(setting, value)}; }));
  if (secret) {
    const auto vault = open_vault(settings, io, declared.config.config_dir);
    const Json note{{"kind", "identity"}, {"issuer", settings.issuer}};
    const auto kept = vault->write(provider_secret_name(settings.issuer), *secret, note);
    if (!kept) throw kept.error().within("the identity provider was set, but its client secret could not be stored");
    if (*kept == SecretPlace::file && !settings.json) say_notes(settings, io, {protection_words(*vault)});
  }
  std::vector<std::string> notes = change.warnings;
  const auto counts = identity_provider(load_declared(settings).config);
  if (counts && counts->issuer != settings.issuer) {
    notes.push_back(fmt::format("settings of your organisation, or --settings, name {} instead, which counts",
                                visible_text(counts->issuer)));
  }
  say_notes(settings, io, notes);
  answer(settings, io, {{"issuer", settings.issuer}, {"clientId", settings.client_id}, {"file", change.file}},
         fmt::format("The identity provider is {}.\nFile modified: {}\nTo sign in there: patchbay mcp xaa login\n",
                     visible_text(settings.issuer), change.file));
  return 0;
}

int show(const Settings& settings, Io& io) {
  const auto declared = load_declared(settings);
  const auto* layer = identity_provider_layer(layers_of(declared.config.settings));
  if (layer == nullptr) {
    answer(settings, io, {{"issuer", Json()}},
           "No identity provider is set. To set one: patchbay mcp xaa setup --issuer URL --client-id ID\n");
    return 0;
  }
  const auto& provider = *layer->identity_provider;
  const auto vault = open_vault_quietly(declared.config.config_dir);
  const auto token = or_throw(vault->find(provider_token_name(provider.issuer)));
  const bool renewable = or_throw(vault->find(provider_refresh_name(provider.issuer))).has_value();
  const bool has_secret = or_throw(vault->find(provider_secret_name(provider.issuer))).has_value();
  const auto now = std::chrono::floor<std::chrono::seconds>(real_clock().wall());
  std::string state = "nobody is signed in there; to sign in: patchbay mcp xaa login";
  Json expires;
  if (token) {
    state = "signed in";
    if (const auto seconds = std::as_const(token->note)["expires"].to_int()) {
      expires = *seconds;
      const auto left = std::chrono::seconds(*seconds) - now.time_since_epoch();
      if (renewable) {
        state += ", renewed by itself";
      } else if (left.count() > 0) {
        state += fmt::format(", for {}", age_text(left));
      } else {
        state = fmt::format("the sign-in expired {}; to sign in again: patchbay mcp xaa login", ago_text(-left));
      }
    }
  }
  answer(settings, io,
         {{"issuer", provider.issuer},
          {"clientId", provider.client_id},
          {"callbackPort", provider.callback_port ? Json(*provider.callback_port) : Json()},
          {"file", layer->file},
          {"source", to_string(layer->source)},
          {"clientSecret", has_secret},
          {"signedIn", token.has_value()},
          {"expires", expires},
          {"refreshable", renewable}},
         fmt::format("Identity provider: {}\n  client ID: {}{}\n  set in: {}\n  {}\n", visible_text(provider.issuer),
                     visible_text(provider.client_id), has_secret ? ", with a client secret" : "",
                     visible_text(layer->file), state));
  return 0;
}

int clear(const Settings& settings, Io& io) {
  const auto declared = load_declared(settings);
  const auto provider = identity_provider(declared.config);
  const auto change = or_throw(declared.store.change_own_file([&](const Json& root) -> Result<std::vector<ConfigEdit>> {
    if (value_at(root, setting).is_null()) return std::vector<ConfigEdit>{};
    return std::vector{remove_member(setting)};
  }));
  bool forgotten = false;
  if (provider) {
    const auto vault = open_vault(settings, io, declared.config.config_dir);
    for (const auto& name : {provider_token_name(provider->issuer), provider_refresh_name(provider->issuer),
                             provider_secret_name(provider->issuer)}) {
      forgotten |= or_throw(vault->remove(name));
    }
  }
  say_notes(settings, io, change.warnings);
  const auto after = identity_provider(load_declared(settings).config);
  if (after) {
    say_notes(settings, io,
              {fmt::format("another settings file names {}, which counts now", visible_text(after->issuer))});
  }
  answer(settings, io, {{"cleared", change.changed}, {"signedOut", forgotten}},
         change.changed || forgotten ? "The identity provider and what was stored for it are forgotten.\n"
                                     : "No identity provider was set.\n");
  return 0;
}

}  // namespace

int xaa(const Settings& settings, Io& io) {
  const auto& what = settings.words.front();
  if (what == "setup") return setup(settings, io);
  if (what == "show") return show(settings, io);
  return clear(settings, io);
}

}  // namespace patchbay::cli
