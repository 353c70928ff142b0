// `patchbay enable`, `disable`, `approve`, `reject` and `reset-project-choices`: what the person says about
// servers, kept in our own file. The files that declare the servers are not touched, but for an entry of
// ours that says it is disabled.
#include <fmt/format.h>

#include "cli/declared.h"
#include "cli/new_entry.h"
#include "cli/present.h"
#include "config/signature.h"

namespace patchbay::cli {
namespace {

Json names_json(const std::vector<std::string>& names) {
  Json out = Json::array();
  for (const auto& name : names) out.push_back(name);
  return out;
}

std::string listed(const std::vector<std::string>& names) {
  std::string out;
  for (const auto& name : names) out += (out.empty() ? "" : ", ") + safe_line(name, 80);
  return out;
}

void only_scopes(const Settings& settings, std::initializer_list<std::string_view> allowed, std::string_view why) {
  if (settings.scope.empty()) return;
  for (const auto scope : allowed) {
    if (settings.scope == scope) return;
  }
  throw Error(Errc::invalid_argument, std::string(why));
}

// The entry of the project that the person means.
const ServerConfig& project_entry(const Declared& declared, const std::string& name) {
  const auto entries = all_named(declared.config, name);
  for (const auto* entry : entries) {
    if (entry->origin.scope == ConfigScope::project && entry->standing != ServerStanding::broken) return *entry;
  }
  throw Error(
      Errc::invalid_argument,
      fmt::format("'{}' does not come from this project ({}), so there is nothing to say yes or no to; to switch "
                  "it off: patchbay disable {}",
                  safe_line(name, 80), place_text(declared, entries.front()->origin), safe_line(name, 80)));
}

std::vector<const ServerConfig*> meant_entries(const Declared& declared, const Settings& settings) {
  std::vector<const ServerConfig*> out;
  if (settings.all == !settings.words.empty()) {
    throw Error(Errc::invalid_argument, "name the servers, or say --all; see what there is with: patchbay list");
  }
  for (const auto& name : settings.words) out.push_back(&project_entry(declared, name));
  if (!settings.all) return out;
  for (const auto* entry : all_entries(declared.config)) {
    if (entry->origin.scope != ConfigScope::project || entry->standing == ServerStanding::broken) continue;
    if (std::ranges::none_of(out, [&](const auto* one) { return one->name == entry->name; })) out.push_back(entry);
  }
  if (out.empty()) {
    throw Error(Errc::invalid_argument, "this project brings no servers along; see what there is with: patchbay list");
  }
  return out;
}

std::vector<ConfigEdit> answer_edits(const Json& project, const std::vector<std::string>& path,
                                     const ServerConfig& server, bool yes) {
  std::vector<ConfigEdit> edits;
  auto below = [&](const char* list) {
    auto full = path;
    full.insert(full.end(), {list, server.name});
    return full;
  };
  const char* other = yes ? "rejected" : "approved";
  if (project[other].find(server.name) != nullptr) edits.push_back(remove_member(below(other)));
  edits.push_back(set_member(below(yes ? "approved" : "rejected"), entry_hash(server)));
  return edits;
}

int say(const Settings& settings, Io& io, bool yes) {
  only_scopes(settings, {"project"}, "only servers of the project are asked about; leave --scope out");
  const auto declared = load_declared(settings);
  const auto meant = meant_entries(declared, settings);
  const auto change = change_project_memory(declared, [&](const Json& project, const std::vector<std::string>& path) {
    std::vector<ConfigEdit> edits;
    for (const auto* server : meant) {
      for (auto& edit : answer_edits(project, path, *server, yes)) edits.push_back(std::move(edit));
    }
    return edits;
  });
  std::string text;
  std::vector<std::string> names;
  for (const auto* server : meant) {
    names.push_back(server->name);
    text +=
        fmt::format("{} '{}': {}\n", yes ? "Approved" : "Rejected", safe_line(server->name, 80), shown_target(*server));
  }
  say_notes(settings, io, change.warnings);
  // A setting can say no all the same.
  if (yes) {
    const auto now = load_servers(declared.request);
    for (const auto* entry : all_entries(now)) {
      if (entry->origin.scope != ConfigScope::project || entry->standing != ServerStanding::rejected) continue;
      if (std::ranges::find(names, entry->name) == names.end()) continue;
      throw Error(Errc::denied, fmt::format("'{}' stays rejected: {}", safe_line(entry->name, 80), entry->reason));
    }
  }
  answer(settings, io, {{"servers", names_json(names)}, {"file", change.file}, {"changed", change.changed}},
         text + modified_text(declared, ConfigScope::local, change.file));
  return 0;
}

// ---- on and off

bool is_disabled(const LoadedConfig& config, const std::string& name, std::string* reason) {
  for (const auto& server : config.servers) {
    if (server.name != name || server.standing != ServerStanding::disabled) continue;
    if (reason != nullptr) *reason = server.reason;
    return true;
  }
  return false;
}

void check_names(const Declared& declared, const Settings& settings) {
  only_scopes(settings, {"local", "user"},
              "a project's file is everybody's; use --scope local (this project) or --scope user (everywhere)");
  for (const auto& name : settings.words) {
    const auto& origin = all_named(declared.config, name).front()->origin;
    if (origin.scope != ConfigScope::enterprise) continue;
    throw Error(Errc::denied,
                fmt::format("'{}' comes from your organisation ({}) and cannot be switched on or off here",
                            safe_line(name, 80), place_text(declared, origin)));
  }
}

std::vector<std::string> list_path(const Declared& declared, std::string_view scope) {
  if (scope == "user") return {"disabledServers"};
  return {"projects", declared.project, "disabledServers"};
}

}  // namespace

Result<FileChange> remember_answer(const Declared& declared, const ServerConfig& server, bool yes) {
  const std::vector<std::string> path{"projects", declared.project};
  return declared.store.change_own_file([&](const Json& root) -> Result<std::vector<ConfigEdit>> {
    return answer_edits(root["projects"][declared.project], path, server, yes);
  });
}

int approve(const Settings& settings, Io& io) { return say(settings, io, true); }
int reject(const Settings& settings, Io& io) { return say(settings, io, false); }

int reset_choices(const Settings& settings, Io& io) {
  only_scopes(settings, {"project"}, "only servers of the project are asked about; leave --scope out");
  const auto declared = load_declared(settings);
  const auto change = change_project_memory(declared, [](const Json& project, const std::vector<std::string>& path) {
    std::vector<ConfigEdit> edits;
    for (const char* list : {"approved", "rejected"}) {
      if (project.find(list) == nullptr) continue;
      auto full = path;
      full.emplace_back(list);
      edits.push_back(remove_member(std::move(full)));
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
  auto change = declared.store.change_own_file([&](const Json&) -> Result<std::vector<ConfigEdit>> {
    std::vector<ConfigEdit> edits;
    for (const auto& name : settings.words) edits.push_back(add_item(list_path(declared, scope), name));
    return edits;
  });
  if (!change) throw std::move(change).error();
  say_notes(settings, io, change->warnings);
  answer(
      settings, io,
      {{"servers", names_json(settings.words)}, {"scope", scope}, {"file", change->file}, {"changed", change->changed}},
      fmt::format("{} {} {}\n{}", change->changed ? "Disabled" : "Already disabled:", listed(settings.words),
                  scope == "user" ? "everywhere" : "in this project",
                  modified_text(declared, scope_called(scope), change->file)));
  return 0;
}

int enable(const Settings& settings, Io& io) {
  const auto declared = load_declared(settings);
  check_names(declared, settings);
  bool changed = false;
  std::vector<std::string> notes;
  auto note = [&](const FileChange& change) {
    changed |= change.changed;
    notes.insert(notes.end(), change.warnings.begin(), change.warnings.end());
  };
  auto lists = declared.store.change_own_file([&](const Json& root) -> Result<std::vector<ConfigEdit>> {
    std::vector<ConfigEdit> edits;
    for (const auto& name : settings.words) {
      for (const char* scope : {"local", "user"}) {
        if (!settings.scope.empty() && settings.scope != scope) continue;
        auto path = list_path(declared, scope);
        const Json* list = &root;
        for (const auto& key : path) list = &std::as_const(*list)[key];
        if (list->is_array()) edits.push_back(remove_item(std::move(path), name));
      }
    }
    return edits;
  });
  if (!lists) throw std::move(lists).error();
  note(*lists);
  // An entry of ours that switches itself off.
  for (const auto& name : settings.words) {
    const auto& entry = *all_named(declared.config, name).front();
    if (!entry.disabled || !is_ours(declared, entry)) continue;
    note(
        change_scope(declared, entry.origin.scope,
                     [&](const Json& servers, const std::vector<std::string>& path) -> Result<std::vector<ConfigEdit>> {
                       if (servers[name].find("disabled") == nullptr) return std::vector<ConfigEdit>{};
                       auto full = path;
                       full.insert(full.end(), {name, "disabled"});
                       return std::vector{remove_member(std::move(full))};
                     }));
  }
  const auto now = load_servers(declared.request);
  for (const auto& name : settings.words) {
    std::string reason;
    if (!is_disabled(now, name, &reason)) continue;
    throw Error(Errc::config, fmt::format("'{}' is still disabled: {}", safe_line(name, 80), reason));
  }
  say_notes(settings, io, notes);
  answer(settings, io, {{"servers", names_json(settings.words)}, {"file", lists->file}, {"changed", changed}},
         fmt::format("{} {}\n", changed ? "Enabled" : "Already enabled:", listed(settings.words)));
  return 0;
}

}  // namespace patchbay::cli
