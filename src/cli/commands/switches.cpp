// `patchbay enable`, `disable`, `approve`, `reject` and `reset-project-choices`: what the user says about
// servers, kept in our own file. No other file is touched, whoever declares the servers.
#include <algorithm>

#include <fmt/format.h>

#include "cli/declared.h"
#include "cli/texts/present.h"
#include "cli/texts/remedy_words.h"
#include "entries/consent_text.h"
#include "entries/expand.h"
#include "entries/signature.h"
#include "servers/answer_place.h"
#include "servers/load.h"
#include "settings/files.h"
#include "text/shell_word.h"

namespace patchbay::cli {
namespace {

Json names_json(const std::vector<std::string>& names) {
  Json out = Json::array();
  for (const auto& name : names) out.push_back(name);
  return out;
}

std::string listed(const std::vector<std::string>& names) {
  std::string out;
  for (const auto& name : names) out += (out.empty() ? "" : ", ") + safe_name(name, 80);
  return out;
}

void only_scopes(const Settings& settings, std::initializer_list<std::string_view> allowed, std::string_view why) {
  if (settings.scope.empty() || std::ranges::find(allowed, settings.scope) != allowed.end()) return;
  throw Error(Errc::invalid_argument, std::string(why));
}

FileChange change_own(const Declared& declared, const ConfigStore::Decide& decide) {
  auto change = declared.store.change_own_file(decide);
  if (!change) throw std::move(change).error();
  return std::move(*change);
}

// ---- yes and no

// The project declares it.
bool needs_word(const ServerConfig& entry) {
  return entry.origin.trust == ConfigTrust::needs_approval && entry.standing != ServerStanding::broken;
}

// The entry of the project that the user means.
const ServerConfig& project_entry(const Declared& declared, const std::string& name) {
  const auto entries = all_named(declared.config, name);
  for (const auto* entry : entries) {
    if (needs_word(*entry)) return *entry;
  }
  const auto shown = safe_name(name, 80);
  const auto& first = *entries.front();
  if (first.standing == ServerStanding::broken) {
    throw Error(Errc::config, fmt::format("\"{}\" cannot be used ({}): {}", shown, place_text(declared, first.origin),
                                          reason_words(first)));
  }
  throw Error(Errc::invalid_argument, fmt::format("\"{}\" is not declared by this project but by {}, so it needs no "
                                                  "approval; to disable it: patchbay disable{}",
                                                  shown, place_text(declared, first.origin), shell_operands({name})));
}

// With --all, those that await approval are approved; a rejected one has to be named.
std::vector<const ServerConfig*> meant_entries(const Declared& declared, const Settings& settings, Io& io, bool yes) {
  if (settings.all == !settings.words.empty()) {
    throw Error(Errc::invalid_argument, fmt::format("{}; to list the servers: patchbay list",
                                                    settings.all ? "name the servers or use --all, not both"
                                                                 : "name the servers, or use --all"));
  }
  std::vector<const ServerConfig*> out;
  for (const auto& name : settings.words) out.push_back(&project_entry(declared, name));
  if (!settings.all) return out;
  std::vector<std::string> denied;
  for (const auto* entry : all_entries(declared.config)) {
    if (!needs_word(*entry) || (yes && entry->standing == ServerStanding::rejected)) continue;
    if (yes && entry->decided_by.kind == StandingBy::Kind::policy) {
      denied.push_back(fmt::format("\"{}\" is not approved: {}", safe_name(entry->name, 80), reason_words(*entry)));
      continue;
    }
    if (std::ranges::none_of(out, [&](const auto* one) { return one->name == entry->name; })) out.push_back(entry);
  }
  say_notes(settings, io, denied);
  if (out.empty()) {
    throw Error(Errc::invalid_argument,
                "this project declares no server that awaits approval; to list all servers: patchbay list");
  }
  return out;
}

// One answer under the first name of the place it is for, and none under the others.
std::vector<ConfigEdit> answer_edits(const Json& root, const Declared& declared, const ServerConfig& server, bool yes) {
  std::vector<ConfigEdit> edits;
  const auto keys = answer_place(server, config_paths(declared.request), variables_of(declared.config)).keys;
  const KeyPath now{"projects", keys.front(), yes ? "approved" : "rejected", server.name};
  for (const auto& key : keys) {
    for (const char* list : {"approved", "rejected"}) {
      KeyPath path{"projects", key, list, server.name};
      if (path != now && !value_at(root, path).is_null()) edits.push_back(remove_member(std::move(path)));
    }
  }
  edits.push_back(set_member(now, entry_hash(server)));
  return edits;
}

// The entry of the project's nearest file that says what this one says.
const ServerConfig& just_written(const Declared& declared, const ServerConfig& server) {
  const ServerConfig* found = nullptr;
  for (const auto* entry : all_entries(declared.config)) {
    if (entry->name != server.name || !needs_word(*entry) || entry_hash(*entry) != entry_hash(server)) continue;
    if (found == nullptr || entry->origin.file.size() > found->origin.file.size()) found = entry;
  }
  if (found == nullptr) throw Error(Errc::config, fmt::format("\"{}\" is not declared by this project", server.name));
  return *found;
}

int say(const Settings& settings, Io& io, bool yes) {
  only_scopes(settings, {"project"}, "only servers of the project need approval; leave --scope out");
  const auto declared = load_declared(settings);
  const auto meant =
      settings.from_claude ? taken_from_claude(declared, settings, io) : meant_entries(declared, settings, io, yes);
  if (meant.empty()) {
    io.talk("Nothing was approved.\n");
    return 2;
  }
  std::vector<std::string> places;
  for (const auto* server : meant) {
    auto place = answer_place(*server, config_paths(declared.request), variables_of(declared.config)).keys.front();
    if (std::ranges::find(places, place) == places.end()) places.push_back(std::move(place));
  }
  const auto change = remember_answers(declared, meant, yes);
  say_notes(settings, io, change.warnings);
  std::string text;
  std::vector<std::string> names;
  for (const auto* server : meant) {
    names.push_back(server->name);
    const bool already = server->decided_by.kind == StandingBy::Kind::answer &&
                         (yes ? server->approved : server->standing == ServerStanding::rejected);
    // Whole: this is what was agreed to.
    text += fmt::format("{}{} \"{}\":\n{}", already ? "Already " : "",
                        already ? (yes ? "approved" : "rejected") : (yes ? "Approved" : "Rejected"),
                        safe_name(server->name, 80), consent_block(*server, "  ", out_columns(io)));
  }
  if (yes) {
    // A setting can say no all the same.
    const auto now = load_servers(declared.request);
    for (const auto* entry : all_entries(now)) {
      if (!needs_word(*entry) || entry->standing != ServerStanding::rejected) continue;
      if (std::ranges::find(names, entry->name) == names.end()) continue;
      throw Error(Errc::denied,
                  fmt::format("\"{}\" is still rejected: {}", safe_name(entry->name, 80), reason_words(*entry)));
    }
  }
  answer(settings, io, {{"servers", names_json(names)}, {"file", change.file}, {"changed", change.changed}},
         change.changed ? text + modified_text(change.file, places) : text);
  return 0;
}

// ---- on and off

void check_names(const Declared& declared, const Settings& settings) {
  only_scopes(settings, {"local", "user"},
              "a server cannot be enabled or disabled in the file of the project, which is shared; use --scope local "
              "(only for you, in this project) or --scope user (in every project)");
  for (const auto& name : settings.words) {
    const auto& origin = all_named(declared.config, name).front()->origin;
    if (origin.scope != ConfigScope::enterprise) continue;
    throw Error(Errc::denied, fmt::format("\"{}\" comes from your organisation ({}) and cannot be enabled or disabled "
                                          "here; ask the administrator who maintains that file",
                                          safe_name(name, 80), place_text(declared, origin)));
  }
}

// An entry that was written off for want of a value would be started with ${NAME} in the value's place.
void check_values(const Declared& declared, const Settings& settings) {
  for (const auto& name : settings.words) {
    const auto& entry = *all_named(declared.config, name).front();
    const auto missing = missing_values(entry, variables_of(declared.config));
    if (!entry.disabled || missing.empty()) continue;
    const auto place = place_text(declared, entry.origin);
    throw Error(
        Errc::config,
        fmt::format("\"{}\" stays disabled: {}; {}", safe_name(name, 80), message_line(missing_text(missing), 1000),
                    missing.references.empty()
                        ? fmt::format("set {} and run the command again, or write a default in {}: ${{{}:-value}}",
                                      missing.variables.size() == 1 ? "it" : "them", place, missing.variables.front())
                        : fmt::format("write the value in {} and run the command again", place)));
  }
}

// What an entry that is switched on takes from elsewhere when it starts. One that came from another client's file
// may never have been looked at.
std::vector<std::string> readings(const Declared& declared, const Settings& settings) {
  std::vector<std::string> out;
  for (const auto& name : settings.words) {
    const auto& entry = *all_named(declared.config, name).front();
    if (entry.standing != ServerStanding::disabled) continue;
    for (const auto& reference : secret_references(entry)) {
      if (reference.kind == SecretKind::environment || !reference_fault(reference, entry.origin).empty()) continue;
      out.push_back(
          fmt::format("when \"{}\" starts, ${{{}:{}}} in \"{}\" {}; if you do not want that: patchbay disable{}", name,
                      to_string(reference.kind), reference.argument, reference.place,
                      reference.kind == SecretKind::file      ? "reads this file and gives it to the server"
                      : reference.kind == SecretKind::command ? "runs this command and gives its output to the server"
                                                              : "gives this secret to the server",
                      shell_operands({name})));
    }
  }
  return out;
}

// What begins to run with it.
std::string switched_on_text(const Declared& declared, const Settings& settings, std::size_t columns) {
  std::string out;
  for (const auto& name : settings.words) {
    auto entry = *all_named(declared.config, name).front();
    if (entry.standing != ServerStanding::disabled) continue;
    entry.disabled = false;
    out += consent_block(entry, "  ", columns);
  }
  return out;
}

// Where names of servers that are off (or on) stand; the first is where a new one goes.
std::vector<KeyPath> switch_lists(const Declared& declared, std::string_view scope, const std::string& list) {
  if (scope == "user") return {{list}};
  std::vector<KeyPath> out;
  for (const auto& key : declared.project_keys) out.push_back({"projects", key, list});
  return out;
}

// Takes the names out of a list; with no scope out of those of both.
void take_out(const Declared& declared, const Settings& settings, std::string_view only, const std::string& list,
              const Json& root, std::vector<ConfigEdit>& edits) {
  for (const std::string_view scope : {"local", "user"}) {
    if (!only.empty() && only != scope) continue;
    for (const auto& path : switch_lists(declared, scope, list)) {
      if (!value_at(root, path).is_array()) continue;
      for (const auto& name : settings.words) edits.push_back(remove_item(path, name));
    }
  }
}

// In a file that is this person's alone.
bool is_private(const Declared& declared, const ServerConfig& entry) {
  return is_ours(declared, entry) && entry.origin.scope != ConfigScope::project;
}

// An entry in our own file that switches itself off no longer does.
FileChange switch_entry_on(const Declared& declared, const ServerConfig& entry) {
  return change_entry(declared, entry,
                      [&](const Json& root, const std::vector<KeyPath>& maps) -> Result<std::vector<ConfigEdit>> {
                        auto path = find_server(root, maps, entry.name);
                        if (path.empty() || value_at(root, path).find("disabled") == nullptr) {
                          return std::vector<ConfigEdit>{};
                        }
                        return std::vector{remove_member(path / "disabled")};
                      });
}

}  // namespace

FileChange remember_answers(const Declared& declared, const std::vector<const ServerConfig*>& entries, bool yes) {
  return change_own(declared, [&](const Json& root) -> Result<std::vector<ConfigEdit>> {
    std::vector<ConfigEdit> edits;
    for (const auto* entry : entries) {
      for (auto& edit : answer_edits(root, declared, *entry, yes)) edits.push_back(std::move(edit));
    }
    return edits;
  });
}

Result<FileChange> remember_answer(const Settings& settings, const ServerConfig& server, bool yes) {
  try {
    const auto declared = load_declared(settings);
    // What somebody just typed stands in no file that it knows of.
    const auto& meant = server.origin.file.starts_with('/') ? server : just_written(declared, server);
    return change_own(declared, [&](const Json& root) -> Result<std::vector<ConfigEdit>> {
      return answer_edits(root, declared, meant, yes);
    });
  } catch (const Error& error) {
    return std::unexpected(error);
  }
}

int approve(const Settings& settings, Io& io) { return say(settings, io, true); }
int reject(const Settings& settings, Io& io) { return say(settings, io, false); }

int reset_choices(const Settings& settings, Io& io) {
  only_scopes(settings, {"project"}, "only servers of the project need approval; leave --scope out");
  const auto declared = load_declared(settings);
  const auto change = change_own(declared, [&](const Json& root) -> Result<std::vector<ConfigEdit>> {
    std::vector<ConfigEdit> edits;
    const auto* projects = value_at(root, {"projects"}).if_object();
    if (projects == nullptr) return edits;
    for (const auto& [path, value] : *projects) {
      const std::string key(path);
      // Also what was said about files further down, but for those of other projects.
      const auto ours = [&](const std::string& name) {
        return std::ranges::find(declared.project_keys, name) != declared.project_keys.end();
      };
      if (!ours(key) && !ours(project_directories(key).back())) continue;
      const KeyPath project{"projects", key};
      std::vector<ConfigEdit> answers;
      for (const char* list : {"approved", "rejected", "notTakenOver"}) {
        if (value.find(list) != nullptr) answers.push_back(remove_member(project / list));
      }
      // Nothing is kept of a project of which nothing else is known.
      if (!answers.empty() && answers.size() == value.size()) answers = {remove_member(project)};
      edits.insert(edits.end(), answers.begin(), answers.end());
    }
    return edits;
  });
  say_notes(settings, io, change.warnings);
  answer(settings, io, {{"file", change.file}, {"changed", change.changed}},
         "All approvals and rejections of servers of this project (.mcp.json) have been reset.\n"
         "You will be asked again when one of them is needed.\n");
  return 0;
}

int disable(const Settings& settings, Io& io) {
  const auto declared = load_declared(settings);
  check_names(declared, settings);
  const std::string scope = settings.scope.empty() ? "local" : settings.scope;
  const auto change = change_own(declared, [&](const Json& root) -> Result<std::vector<ConfigEdit>> {
    std::vector<ConfigEdit> edits;
    take_out(declared, settings, scope, "enabledServers", root, edits);
    const auto off = switch_lists(declared, scope, "disabledServers").front();
    for (const auto& name : settings.words) edits.push_back(add_item(off, name));
    return edits;
  });
  say_notes(settings, io, change.warnings);
  answer(
      settings, io,
      {{"servers", names_json(settings.words)}, {"scope", scope}, {"file", change.file}, {"changed", change.changed}},
      fmt::format("{} {} {}\n{}", change.changed ? "Disabled" : "Already disabled:", listed(settings.words),
                  scope == "user" ? "everywhere" : "in this project",
                  change.changed ? modified_text(declared, scope_called(scope), change.file) : ""));
  return 0;
}

int enable(const Settings& settings, Io& io) {
  const auto declared = load_declared(settings);
  check_names(declared, settings);
  check_values(declared, settings);
  auto change = change_own(declared, [&](const Json& root) -> Result<std::vector<ConfigEdit>> {
    std::vector<ConfigEdit> edits;
    take_out(declared, settings, settings.scope, "disabledServers", root, edits);
    return edits;
  });
  const auto more = [&](const FileChange& next) {
    change.changed |= next.changed;
    change.warnings.insert(change.warnings.end(), next.warnings.begin(), next.warnings.end());
  };
  for (const auto& name : settings.words) {
    const auto& entry = *all_named(declared.config, name).front();
    if (entry.disabled && is_private(declared, entry)) more(switch_entry_on(declared, entry));
  }
  // What another file switches off stays as it is there: our own says that it is on all the same.
  std::vector<std::string> overruled;
  const auto now = load_servers(declared.request);  // after what was written
  for (const auto& server : now.servers) {
    if (std::ranges::find(settings.words, server.name) == settings.words.end()) continue;
    if (server.standing == ServerStanding::disabled || server.disabled) overruled.push_back(server.name);
  }
  if (!overruled.empty()) {
    more(change_own(declared, [&](const Json&) -> Result<std::vector<ConfigEdit>> {
      std::vector<ConfigEdit> edits;
      const auto on =
          switch_lists(declared, settings.scope.empty() ? "local" : settings.scope, "enabledServers").front();
      for (const auto& name : overruled) edits.push_back(add_item(on, name));
      return edits;
    }));
  }
  auto notes = readings(declared, settings);
  say_notes(settings, io, change.warnings);
  for (const auto& server : load_servers(declared.request).servers) {
    if (std::ranges::find(settings.words, server.name) == settings.words.end()) continue;
    if (server.standing == ServerStanding::awaiting_approval) {
      notes.push_back(fmt::format("\"{}\" still needs approval before it can start: patchbay approve{}", server.name,
                                  shell_operands({server.name})));
    }
    if (server.standing != ServerStanding::disabled) continue;
    throw Error(Errc::config,
                fmt::format("\"{}\" is still disabled: {}", safe_name(server.name, 80), reason_words(server)));
  }
  say_notes(settings, io, notes);
  answer(settings, io,
         {{"servers", names_json(settings.words)},
          {"file", change.file},
          {"changed", change.changed},
          {"notes", names_json(notes)}},
         fmt::format("{} {}\n{}{}", change.changed ? "Enabled" : "Already enabled:", listed(settings.words),
                     switched_on_text(declared, settings, out_columns(io)),
                     change.changed ? modified_text(declared, scope_called(settings.scope), change.file) : ""));
  return 0;
}

}  // namespace patchbay::cli
