// `patchbay add`, `add-json` and `remove`: servers come into our two files and out of them.
#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "base/strings.h"
#include "cli/approval.h"
#include "cli/declared.h"
#include "cli/sign_in.h"
#include "cli/texts/present.h"
#include "cli/vault.h"
#include "cli/words/new_entry.h"
#include "entries/consent_text.h"
#include "entries/signature.h"
#include "host/start/stored_secrets.h"
#include "import/plan.h"
#include "permission/policy.h"
#include "settings/settings_layers.h"
#include "text/shell_word.h"

namespace patchbay::cli {
namespace {

// An organisation has the last word.
void check_policy(const Declared& declared, const NewEntry& entry) {
  if (declared.config.exclusive) throw Error(Errc::denied, std::string(enterprise_exclusive_refusal));
  const auto verdict =
      judge_policy(expand_server(entry.server, variables_of(declared.config)), layers_of(declared.config.settings));
  if (verdict.allowed()) return;
  throw Error(Errc::denied, policy_refusal(entry.name, verdict)).with_detail(verdict.reason);
}

NewEntry read_entry(const Settings& settings, Io& io) {
  auto entry =
      settings.command == Command::add
          ? entry_from_words(settings)
          : entry_from_json(settings.words.at(0), settings.words.at(1) == "-" ? io.read_input() : settings.words.at(1));
  if (!entry) throw std::move(entry).error();
  return std::move(*entry);
}

std::string added_text(const NewEntry& entry, std::string_view scope) {
  const auto& server = entry.server;
  if (server.kind == ServerKind::stdio) {
    return fmt::format("Added stdio MCP server {} with command: {} to {} config\n", entry.name, consent_target(server),
                       scope);
  }
  auto kind = std::string(to_string(server.kind));
  for (char& c : kind) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return fmt::format("Added {} MCP server {} with URL: {} to {} config\n", kind, entry.name, consent_target(server),
                     scope);
}

// Where it is used, and what to type next.
std::string next_text(const NewEntry& entry, ConfigScope scope) {
  const auto where = scope == ConfigScope::user      ? "It is used in every directory."
                     : scope == ConfigScope::project ? "It is used in this project, by everybody who has its .mcp.json "
                                                       "and approves it."
                                                     : "It is used in this project only, by you; for every directory "
                                                       "add it with --scope user.";
  return fmt::format("{}\nNext: patchbay tools{}\n", where, shell_operands({entry.name}));
}

// What the new entry will meet: an entry that overrides it, or that it overrides.
void note_neighbours(const Declared& declared, NewEntry& entry, ConfigScope scope) {
  for (const auto* other : all_entries(declared.config)) {
    if (other->name != entry.name || other->origin.scope == scope) continue;
    if (other->standing == ServerStanding::shadowed) continue;
    entry.notes.push_back(fmt::format(
        "{} config already has a server with this name ({}); local overrides project, and project overrides user",
        to_string(other->origin.scope), place_text(declared, other->origin)));
  }
}

// A file that is going to be committed is not a place for a secret.
void warn_of_secrets(NewEntry& entry) {
  auto copy = entry.entry;
  for (const auto& secret : withhold_secrets(entry.name, copy)) {
    entry.notes.push_back(fmt::format(
        "{} ({}, then add it again with '{}' in single quotes), or keep the server private with --scope local",
        committed_secret_text(secret), removal_command(entry.name, ConfigScope::project), secret.instead));
  }
}

// Whoever types an entry has agreed to it; others who have the project are asked.
void approve_own(const Settings& settings, NewEntry& entry) {
  entry.server.origin.scope = ConfigScope::project;
  auto remembered = remember_answer(settings, entry.server, true);
  if (remembered) return;
  entry.notes.push_back(
      fmt::format("\"{}\" was added, but it could not be approved: {}; to approve it: patchbay approve{}", entry.name,
                  remembered.error().message(), shell_operands({entry.name})));
}

// ---- the identity provider

// Said now and not at the first sign-in: an entry of a project does not use it, and there has to be one.
void check_identity_provider(const Settings& settings, const Declared& declared, NewEntry& entry, ConfigScope scope) {
  if (!settings.xaa || !entry.server.oauth) return;
  if (scope == ConfigScope::project) {
    throw Error(Errc::invalid_argument,
                "an entry of the project cannot use your identity provider (\"oauth.xaa\"); nothing was added. Add it "
                "for yourself, with --scope local or --scope user");
  }
  if (identity_provider(declared.config)) return;
  entry.notes.emplace_back(
      "no identity provider is set; to set one: patchbay mcp xaa setup --issuer URL --client-id ID");
}

// ---- the secret of a client

std::string client_secret_for(const NewEntry& entry) {
  if (!entry.server.oauth || !entry.server.oauth->client_id) {
    throw Error(
        Errc::invalid_argument,
        "--client-secret needs a client ID; give it with --client-id, or for add-json as \"oauth\": {\"clientId\": …}");
  }
  std::string secret = process_environment()("MCP_CLIENT_SECRET").value_or("");
  if (secret.empty()) secret = ask_secret(fmt::format("Client secret of \"{}\": ", entry.name), "MCP_CLIENT_SECRET");
  if (secret.empty() || !valid_utf8(secret)) {
    throw Error(Errc::invalid_argument, "the client secret is empty or not valid UTF-8; nothing was added");
  }
  return secret;
}

// Beside the entry and never in it: what is in a file of servers is shown and shared.
void keep_client_secret(const Settings& settings, Io& io, const Declared& declared, NewEntry& entry,
                        const std::string& secret) {
  const auto vault = open_vault(settings, io, declared.config.config_dir);
  const auto protection = vault->protection();
  const auto kept = keep_secret(*vault, declared.store, client_secret_name(entry.server), Secret(secret));
  if (!kept) throw kept.error().within("the server was added, but its client secret could not be stored");
  entry.notes.push_back(fmt::format("the client secret of \"{}\" is stored in {}", entry.name, place_words(*kept)));
  // Said once, when the file is made.
  if (*kept == SecretPlace::file && protection && !*protection) entry.notes.push_back(protection_words(*vault));
}

void forget_client_secret(const Settings& settings, Io& io, const Declared& declared, const ServerConfig& entry) {
  if (entry.kind == ServerKind::stdio) return;
  const auto vault = open_vault(settings, io, declared.config.config_dir);
  const auto forgotten = forget_secret(*vault, declared.store, client_secret_name(entry));
  if (forgotten) return;
  say_notes(settings, io,
            {fmt::format("the client secret of \"{}\" is still stored: {}", safe_name(entry.name, 80),
                         forgotten.error().message())});
}

// ---- remove

// The one entry of ours that is meant; throws what to do when there are several or none.
const ServerConfig& entry_to_remove(const Declared& declared, const Settings& settings, const std::string& name) {
  const auto entries = all_named(declared.config, name);
  std::vector<const ServerConfig*> ours;
  const ServerConfig* foreign = nullptr;
  for (const auto* entry : entries) {
    if (!settings.scope.empty() && to_string(entry->origin.scope) != settings.scope) continue;
    if (!is_ours(declared, *entry)) {
      if (foreign == nullptr) foreign = entry;
    } else if (std::ranges::none_of(ours, [&](const auto* one) { return one->origin.scope == entry->origin.scope; })) {
      ours.push_back(entry);
    }
  }
  if (ours.size() == 1) return *ours.front();
  const auto shown = safe_name(name, 80);
  if (ours.size() > 1) {
    std::string text = fmt::format("MCP server \"{}\" exists in multiple scopes:", shown);
    std::string commands;
    for (const auto* entry : ours) {
      text += fmt::format("\n  - {}", scope_title(entry->origin.scope));
      commands += fmt::format("\n  {}", removal_command(name, entry->origin.scope));
    }
    throw Error(Errc::invalid_argument, text + "\nTo remove it from one of them:" + commands);
  }
  if (foreign != nullptr) {
    if (foreign->origin.scope == ConfigScope::enterprise) {
      throw Error(Errc::denied, fmt::format("MCP server \"{}\" comes from your organisation ({}) and cannot be removed "
                                            "here; ask the administrator who maintains that file",
                                            shown, place_text(declared, foreign->origin)));
    }
    throw Error(Errc::config, fmt::format("MCP server \"{}\" is declared in {}, a file that patchbay does not change. "
                                          "Remove it there, or disable it here: patchbay disable{}",
                                          shown, place_text(declared, foreign->origin), shell_operands({name})));
  }
  std::vector<std::string> others;
  for (const auto* entry : entries) others.emplace_back(to_string(entry->origin.scope));
  throw Error(Errc::invalid_argument,
              fmt::format("there is no server called \"{}\" in {} config; it is in {} config ({})", shown,
                          settings.scope, others.front(), place_text(declared, entries.front()->origin)));
}

}  // namespace

int add(const Settings& settings, Io& io) {
  auto entry = read_entry(settings, io);
  const auto declared = load_declared(settings);
  check_policy(declared, entry);
  const auto secret = settings.client_secret ? client_secret_for(entry) : std::string();
  const auto scope = scope_called(settings.scope);
  note_neighbours(declared, entry, scope);
  check_identity_provider(settings, declared, entry, scope);
  const auto change = change_scope(
      declared, scope, [&](const Json& root, const std::vector<KeyPath>& maps) -> Result<std::vector<ConfigEdit>> {
        if (!find_server(root, maps, entry.name).empty()) {
          return fail(Errc::config,
                      fmt::format("MCP server {} already exists in {} config; to replace it, remove it first: {}",
                                  entry.name, to_string(scope), removal_command(entry.name, scope)));
        }
        return std::vector{set_member(maps.front() / entry.name, entry.entry)};
      });
  entry.notes.insert(entry.notes.end(), change.warnings.begin(), change.warnings.end());
  if (scope == ConfigScope::project) {
    warn_of_secrets(entry);
    approve_own(settings, entry);
  }
  if (settings.client_secret) keep_client_secret(settings, io, declared, entry, secret);
  say_notes(settings, io, entry.notes);
  Json notes = Json::array();
  for (const auto& note : entry.notes) notes.push_back(note);
  answer(settings, io,
         {{"name", entry.name},
          {"scope", to_string(scope)},
          {"file", change.file},
          {"transport", to_string(entry.server.kind)},
          {"changed", change.changed},
          {"notes", std::move(notes)}},
         added_text(entry, to_string(scope)) + modified_text(declared, scope, change.file) + next_text(entry, scope));
  return 0;
}

namespace {

// Removes one, and returns what is to be said of it.
struct Removed {
  Json json;
  std::string text;
};
Removed remove_entry(const Declared& declared, const ServerConfig& entry, const Settings& settings, Io& io) {
  const auto& name = entry.name;
  const auto scope = entry.origin.scope;
  // Which name of the project it was under: in a work tree there may be two.
  std::vector<std::string> projects;
  const auto change = change_entry(
      declared, entry, [&](const Json& root, const std::vector<KeyPath>& maps) -> Result<std::vector<ConfigEdit>> {
        auto path = find_server(root, maps, name);
        if (path.empty()) {
          return fail(Errc::config,
                      fmt::format("MCP server {} is no longer in {} config", safe_name(name, 80), to_string(scope)));
        }
        projects = scope == ConfigScope::local ? std::vector{path.at(1)} : std::vector<std::string>();
        return std::vector{remove_member(std::move(path))};
      });
  forget_client_secret(settings, io, declared, entry);
  say_notes(settings, io, change.warnings);
  return {{{"name", name}, {"scope", to_string(scope)}, {"file", change.file}, {"changed", change.changed}},
          fmt::format("Removed MCP server {} from {} config\n{}", safe_name(name, 80), to_string(scope),
                      modified_text(change.file, projects))};
}

}  // namespace

int remove(const Settings& settings, Io& io) {
  const auto declared = load_declared(settings);
  // All of them are looked for before the first is removed.
  std::vector<const ServerConfig*> entries;
  for (const auto& name : settings.words) {
    const auto* entry = &entry_to_remove(declared, settings, name);
    if (std::ranges::find(entries, entry) == entries.end()) entries.push_back(entry);
  }
  Json list = Json::array();
  std::string text;
  for (const auto* entry : entries) {
    auto removed = remove_entry(declared, *entry, settings, io);
    list.push_back(std::move(removed.json));
    text += removed.text;
  }
  answer(settings, io, entries.size() == 1 ? list.as_array().front() : Json{{"removed", list}}, text);
  return 0;
}

}  // namespace patchbay::cli
