#include "cli/declared.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "base/strings.h"
#include "cli/organisation.h"
#include "cli/texts/present.h"
#include "cli/texts/remedy_words.h"
#include "cli/words/named_server.h"
#include "servers/load.h"
#include "settings/files.h"
#include "settings/folders.h"
#include "settings/settings_layers.h"
#include "settings/sources.h"
#include "text/file_and_line.h"
#include "text/shell_word.h"
#include "text/visible_text.h"

namespace patchbay::cli {
namespace {

namespace fs = std::filesystem;

// The nearest .mcp.json that applies here; where there is none it is made at the root of the project.
std::string project_directory(const Declared& declared) {
  for (const auto& directory : project_directories(declared.request.cwd)) {
    if (config_file_seen(directory + "/.mcp.json")) return directory;
  }
  return declared.config.project_dir;
}

// Servers at the top of the file instead of under "mcpServers".
bool is_bare(const Json& root) {
  const auto& top = root.as_object();
  return !top.contains("mcpServers") &&
         std::ranges::any_of(top, [](const auto& member) { return !member.name.starts_with('$'); });
}

FileChange require(Result<FileChange> change) {
  if (!change) throw std::move(change).error();
  return std::move(*change);
}

FileChange change_project(const Declared& declared, const std::string& directory, const ScopeEdits& edits) {
  return require(declared.store.change_project_file(directory, declared.config.project_dir, [&](const Json& root) {
    return edits(root, {is_bare(root) ? KeyPath{} : KeyPath{"mcpServers"}});
  }));
}

}  // namespace

LoadRequest load_request(const Settings& settings) {
  LoadRequest request;
  std::error_code gone;
  request.cwd = fs::current_path(gone);
  if (gone) {
    throw Error(Errc::config, fmt::format("the current directory does not exist any more ({}); change to another one",
                                          gone.message()));
  }
  request.mcp_configs = settings.mcp_config;
  request.mcp_servers = settings.mcp_servers;
  request.settings = settings.settings;
  // One more settings text of this run, so that it is merged as all settings are.
  if (!settings.sandbox.empty()) {
    request.settings.push_back(to_text(Json{{"sandbox", Json{{"default", settings.sandbox}}}}));
  }
  request.plugin_dirs = settings.plugin_dirs;
  request.strict = settings.strict;
  request.trust_project = settings.trust_project;
  request.names = {"--mcp-config", "--mcp-server", "--settings", "--plugin-dir", "--trust-project"};
  const auto organisation = organisation_place();
  request.enterprise_dir = OrganisationAccess::make(organisation.directory, organisation.owner);
  return request;
}

std::string failure_file() {
  const auto folder = state_folder(process_environment());
  return folder.empty() ? folder : folder + "/last-failures.json";
}

void require_flag_settings(const LoadedConfig& config) {
  if (auto fault = flag_settings_fault(layers_of(config.settings))) throw Error(Errc::config, fault->text());
}

Declared load_declared(const Settings& settings) {
  auto request = load_request(settings);
  auto config = load_servers(request);
  config.problems = with_remedies_in_words(std::move(config.problems));
  require_flag_settings(config);
  if (config.refused_flags) throw Error(Errc::config, *config.refused_flags);
  const auto paths = config_paths(request);
  auto places = store_places(paths.own_dir, paths.home, process_environment());
  if (!places) throw std::move(places).error();
  // The root of the project names it, wherever in it one stands.
  std::vector<std::string> keys{paths.project_root};
  for (const auto& key : paths.project_keys) {
    if (key != keys.front()) keys.push_back(key);
  }
  return Declared{std::move(request), std::move(config), ConfigStore(std::move(*places)), std::move(keys)};
}

std::vector<const ServerConfig*> all_entries(const LoadedConfig& config) {
  std::vector<const ServerConfig*> out;
  for (const auto* list : {&config.servers, &config.shadowed}) {
    for (const auto& server : *list) out.push_back(&server);
  }
  return out;
}

std::vector<const ServerConfig*> all_named(const LoadedConfig& config, const std::string& name) {
  std::vector<const ServerConfig*> out;
  std::vector<std::string> names;
  for (const auto* server : all_entries(config)) {
    if (server->name == name) out.push_back(server);
    names.push_back(server->name);
  }
  if (!out.empty()) return out;
  throw no_such_server(name, std::move(names), config.elsewhere);
}

const ServerConfig& entry_named(const Declared& declared, const std::string& name, const std::string& scope) {
  const auto entries = all_named(declared.config, name);
  for (const auto* entry : entries) {
    if (scope.empty() || to_string(entry->origin.scope) == scope) return *entry;
  }
  throw Error(
      Errc::invalid_argument,
      fmt::format("there is no server called \"{}\" in {} config; it is in {} config ({})", safe_name(name, 80), scope,
                  to_string(entries.front()->origin.scope), place_text(declared, entries.front()->origin)));
}

std::string scope_title(ConfigScope scope) {
  switch (scope) {
    case ConfigScope::local:
      return "Local config (private to you in this project)";
    case ConfigScope::project:
      return "Project config (shared via .mcp.json)";
    case ConfigScope::user:
      return "User config (available in all your projects)";
    case ConfigScope::enterprise:
      return "Enterprise config (from your organisation)";
    case ConfigScope::plugin:
      return "Plugin";
    case ConfigScope::connector:
      return "Connector (a server of your account with a service)";
    case ConfigScope::dynamic:
      return "Flags of this command";
    case ConfigScope::embedded:
      return "This program";
  }
  return {};
}

ConfigScope scope_called(std::string_view name) {
  if (name == "project") return ConfigScope::project;
  return name == "user" ? ConfigScope::user : ConfigScope::local;
}

bool is_ours(const Declared& declared, const ServerConfig& server) {
  const auto& origin = server.origin;
  if (origin.scope == ConfigScope::project) return fs::path(origin.file).filename() == ".mcp.json";
  if (origin.scope != ConfigScope::local && origin.scope != ConfigScope::user) return false;
  return origin.file == declared.store.places().config_file;
}

std::string place_text(const Declared& declared, const ConfigOrigin& origin) {
  const auto file = safe_name(path_seen_from(declared.request.cwd, origin.file), 300);
  return file_and_line(file, origin.line);
}

const Json& value_at(const Json& root, const KeyPath& path) {
  const Json* found = &root;
  for (const auto& key : path) found = &std::as_const(*found)[key];
  return *found;
}

KeyPath operator/(KeyPath path, std::string key) {
  path.push_back(std::move(key));
  return path;
}

KeyPath find_server(const Json& root, const std::vector<KeyPath>& maps, const std::string& name) {
  for (const auto& map : maps) {
    if (value_at(root, map).find(name) != nullptr) return map / name;
  }
  return {};
}

FileChange change_scope(const Declared& declared, ConfigScope scope, const ScopeEdits& edits) {
  if (scope == ConfigScope::project) return change_project(declared, project_directory(declared), edits);
  std::vector<KeyPath> maps;
  if (scope == ConfigScope::user) {
    maps.push_back({"mcpServers"});
  } else {
    if (!valid_utf8(declared.project())) {
      throw Error(Errc::config,
                  "the name of this directory is not valid UTF-8, so nothing can be kept for it; for every "
                  "directory: --scope user");
    }
    for (const auto& key : declared.project_keys) maps.push_back({"projects", key, "mcpServers"});
  }
  return require(declared.store.change_own_file([&](const Json& root) { return edits(root, maps); }));
}

FileChange change_entry(const Declared& declared, const ServerConfig& entry, const ScopeEdits& edits) {
  if (entry.origin.scope != ConfigScope::project) return change_scope(declared, entry.origin.scope, edits);
  return change_project(declared, fs::path(entry.origin.file).parent_path().string(), edits);
}

std::string removal_command(const std::string& name, ConfigScope scope) {
  // Behind -- a flag would be a name.
  return name.starts_with('-') ? fmt::format("patchbay remove --scope {}{}", to_string(scope), shell_operands({name}))
                               : fmt::format("patchbay remove{} --scope {}", shell_operands({name}), to_string(scope));
}

std::string modified_text(const Declared& declared, ConfigScope scope, const std::string& file) {
  return modified_text(file,
                       scope == ConfigScope::local ? std::vector{declared.project()} : std::vector<std::string>());
}

std::string modified_text(const std::string& file, const std::vector<std::string>& projects) {
  return fmt::format("File modified: {}{}\n", visible_text(file),
                     projects.empty() ? "" : fmt::format(" [project: {}]", visible_text(join(projects, ", "))));
}

Json source_json(const ConfigOrigin& origin) { return {{"file", origin.file}, {"line", origin.line}}; }

std::vector<const ServerConfig*> unapproved_rivals(const LoadedConfig& config, const ServerConfig& server) {
  std::vector<const ServerConfig*> out;
  // Of those that do not count themselves none is before another.
  const bool first = std::ranges::any_of(config.servers, [&](const auto& one) {
    return one.name == server.name && one.origin == server.origin &&
           one.standing != ServerStanding::awaiting_approval && one.standing != ServerStanding::rejected;
  });
  if (!first) return out;
  for (const auto& other : config.shadowed) {
    if (other.name != server.name) continue;
    if (other.standing == ServerStanding::awaiting_approval || other.standing == ServerStanding::rejected) {
      out.push_back(&other);
    }
  }
  return out;
}

Json shadows_json(const ServerConfig& server) {
  Json shadows = Json::array();
  for (const auto& origin : server.shadows) {
    shadows.push_back({{"scope", to_string(origin.scope)}, {"file", origin.file}, {"line", origin.line}});
  }
  return shadows;
}

Json others_json(const LoadedConfig& config, const ServerConfig& server) {
  Json others = Json::array();
  for (const auto* other : all_entries(config)) {
    if (other->name != server.name || other->origin == server.origin) continue;
    others.push_back({{"scope", to_string(other->origin.scope)},
                      {"file", other->origin.file},
                      {"line", other->origin.line},
                      {"standing", to_string(other->standing)},
                      {"reason", reason_words(*other)}});
  }
  return others;
}

// With the file as the entries name it: absolute, or a flag.
Json problem_json(const ConfigProblem& problem) {
  const bool relative = !problem.file.empty() && problem.file.front() != '/' && problem.file.front() != '-';
  const auto file =
      relative ? (std::filesystem::current_path() / problem.file).lexically_normal().string() : problem.file;
  return {{"file", file}, {"line", problem.line}, {"column", problem.column}, {"message", problem.message}};
}

void answer(const Settings& settings, Io& io, const Json& json, std::string_view text) {
  if (!settings.json) {
    io.out(wrapped_lines(text, out_columns(io)));
    return;
  }
  io.out(json_text(json, io.out_is_terminal));
}

void say_notes(const Settings& settings, Io& io, const std::vector<std::string>& notes) {
  if (settings.json) return;
  for (const auto& note : notes) io.talk(fmt::format("patchbay: note: {}\n", message_text(note)));
}

}  // namespace patchbay::cli
