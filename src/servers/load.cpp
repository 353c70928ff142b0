#include "servers/load.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <ranges>
#include <unordered_set>

#include <fmt/format.h>
#include <pwd.h>

#include "entries/expand.h"
#include "entries/server_argument.h"
#include "permission/policy.h"
#include "permission/rules.h"
#include "servers/entry_answers.h"
#include "servers/merge.h"
#include "servers/settle.h"
#include "settings/claude_file.h"
#include "settings/connectors.h"
#include "settings/files.h"
#include "settings/managed_servers.h"
#include "settings/own_file.h"
#include "settings/plugins.h"
#include "settings/real_path.h"
#include "settings/settings_layers.h"
#include "settings/sources.h"
#include "text/file_and_line.h"

namespace patchbay {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t most_plugins = 500;
constexpr std::string_view settings_hint =
    "servers in a settings file are used by patchbay but not by Claude Code; for both, move them to .mcp.json";

std::string home_of_user() {
  std::string buffer(16384, '\0');
  struct passwd entry{};
  struct passwd* found = nullptr;
  if (::getpwuid_r(::getuid(), &entry, buffer.data(), buffer.size(), &found) != 0 || found == nullptr) return {};
  return found->pw_dir;
}

std::string first_directory(const std::vector<std::string>& candidates) {
  for (const auto& candidate : candidates) {
    std::error_code error;
    if (fs::is_directory(candidate, error)) return candidate;
  }
  return "/";
}

void add_unique(std::vector<std::string>& list, const std::string& text) {
  if (!text.empty() && std::ranges::find(list, text) == list.end()) list.push_back(text);
}

class Loader {
 public:
  Loader(const LoadRequest& request, ConfigMemory& memory)
      : request_(request),
        memory_(memory),
        startup_(request.variables ? request.variables : process_environment()),
        paths_(config_paths(request)) {}

  LoadedConfig load() {
    read_person_files();
    read_settings();
    environment_ = settings_variables(layers_, claude_.env, paths_.claude_json);
    variables_ = overlaid(environment_, startup_);
    read_sources();
    auto config = merge_sources(
        sources_,
        [this](const ServerConfig& server) { return answers_about(server, {own_, claude_, paths_}, variables_); },
        {layers_, request_.trust_project, variables_, startup_, request_.names.trust_project});
    // Problems of files come first, in the order of the files; then those of entries, which know of each other.
    config.problems.insert(config.problems.begin(), problems_.begin(), problems_.end());
    config.exclusive = exclusive_;
    config.refused_flags = refused_flags_;
    config.connectors = connectors_;
    config.project_trusted = project_trusted_;
    config.cwd = request_.cwd;
    config.project_dir = paths_.directories.empty() ? request_.cwd : paths_.directories.back();
    config.config_dir = paths_.own_dir;
    config.helper_dir = first_directory({paths_.claude_dir, paths_.own_dir, paths_.home});
    config.settings = settings_layers(std::move(layers_));
    config.environment = std::move(environment_);
    config.elsewhere = elsewhere(config);
    config.home = paths_.home;
    tidy(config.problems);
    return config;
  }

 private:
  // A problem may be found twice: a settings file is read for settings and for servers.
  void tidy(std::vector<ConfigProblem>& problems) const {
    std::vector<ConfigProblem> once;
    std::unordered_set<std::string> seen;
    for (auto& problem : problems) {
      problem.file = problem.file.starts_with('/') ? path_seen_from(request_.cwd, problem.file) : problem.file;
      if (seen.insert(problem.text()).second) once.push_back(std::move(problem));
    }
    problems = std::move(once);
  }

  void cannot_read(const std::string& file, const std::string& why) {
    problems_.push_back({file, 0, 0, "cannot be read: " + why, {}, Severity::error});
  }

  // The text of a file that need not be there.
  std::optional<std::string> text_of(const std::string& file) {
    memory_.looked_for.insert(file);
    if (!config_file_exists(file)) {
      memory_.good.erase(file);
      return std::nullopt;
    }
    return checked(file, read_config_text(file));
  }

  // What cannot be used any more is replaced by what was there before, if there was anything.
  std::optional<std::string> checked(const std::string& file, std::expected<std::string, std::string> text) {
    auto before = memory_.good.find(file);
    if (!text) {
      if (before == memory_.good.end()) {
        cannot_read(file, text.error());
        lost_.insert(file);
        return std::nullopt;
      }
      problems_.push_back(
          {file, 0, 0, fmt::format("cannot be read: {}; {}", text.error(), kept_), {}, Severity::error});
      return before->second;
    }
    if (memory_.remembers && (before == memory_.good.end() || before->second != *text)) {
      auto document = read_document(*text, file, "an object");
      if (document) {
        memory_.good[file] = *text;
      } else if (before != memory_.good.end()) {
        auto problem = std::move(document).error();
        problem.message += fmt::format("; {}", kept_);
        problems_.push_back(std::move(problem));
        return before->second;
      }
    }
    return std::move(*text);
  }

  void read_person_files() {
    if (auto text = text_of(paths_.own_file())) own_ = read_own_file(*text, paths_.own_file());
    if (auto text = text_of(paths_.claude_json)) {
      claude_ = read_claude_file(*text, paths_.claude_json, paths_.project_keys);
    }
    problems_.insert(problems_.end(), own_.problems.begin(), own_.problems.end());
    problems_.insert(problems_.end(), claude_.problems.begin(), claude_.problems.end());
    project_trusted_ = request_.trust_project;
    for (const auto& key : paths_.project_keys) {
      if (const auto* project = own_.project(key)) project_trusted_ |= project->trusted;
    }
    // Theirs is about one directory and not about those below it.
    if (const auto* here = claude_.project(request_.cwd)) project_trusted_ |= here->trusted;
  }

  void add_layer(std::string_view text, SettingsSource source, const std::string& file) {
    add_plugin_settings(plugins_, text, is_inside_repository(source));
    auto layer = checked_settings(text, source, file);
    problems_.insert(problems_.end(), layer.problems.begin(), layer.problems.end());
    layers_.push_back(std::move(layer));
  }

  // What it forbids is not known, and whoever decides must know that.
  void add_lost_layer(SettingsSource source, const std::string& file) {
    SettingsLayer layer;
    layer.source = source;
    layer.file = file;
    layer.unreadable = true;
    for (const auto& problem : problems_) {
      if (problem.file == file && problem.severity == Severity::error) layer.problems.push_back(problem);
    }
    layers_.push_back(std::move(layer));
  }

  // What an organisation forbids must not depend on who may read its files.
  void read_managed_settings() {
    std::string fault;
    for (const auto& file : managed_settings_files(paths_.enterprise_dir, &fault)) {
      memory_.looked_for.insert(file);
      auto owned = enterprise_text(file);
      if (owned.state == OwnedText::State::text) {
        add_layer(owned.text, SettingsSource::enterprise, file);
        managed_.push_back(managed_servers(owned.text, file));
      } else if (owned.state != OwnedText::State::absent) {
        add_lost_layer(SettingsSource::enterprise, file);
      }
    }
    if (fault.empty()) return;
    const auto directory = paths_.enterprise_dir + "/managed-settings.d";
    cannot_read(directory, fault);
    add_lost_layer(SettingsSource::enterprise, directory);
  }

  void read_settings() {
    read_managed_settings();
    for (const auto& argument : request_.settings) {
      if (is_inline_config(argument)) {
        add_layer(argument, SettingsSource::flag, request_.names.settings);
      } else if (auto text = named_text(argument)) {
        add_layer(text->second, SettingsSource::flag, text->first);
      } else {
        add_lost_layer(SettingsSource::flag, named_path(argument));
      }
    }
    if (!own_.settings.empty()) add_layer(own_.settings, SettingsSource::own, paths_.own_file());
    if (lost_.contains(paths_.own_file()) || !own_.readable) add_lost_layer(SettingsSource::own, paths_.own_file());
    for (auto scope : {ConfigScope::local, ConfigScope::project, ConfigScope::user}) {
      for (const auto& source : files_of(scope, paths_)) {
        if (source.format != SourceFormat::settings) continue;
        const auto from = scope == ConfigScope::local     ? SettingsSource::project_local
                          : scope == ConfigScope::project ? SettingsSource::project
                                                          : SettingsSource::user;
        if (auto text = text_of(source.file)) {
          add_layer(*text, from, source.file);
        } else if (lost_.contains(source.file)) {
          add_lost_layer(from, source.file);
        }
      }
    }
    auto ignored = ignored_approvals(layers_);
    problems_.insert(problems_.end(), ignored.begin(), ignored.end());
  }

  // A file of the organisation counts when only an administrator can have written it. Says why one does not.
  OwnedText enterprise_text(const std::string& file) {
    auto owned = read_owned_text(file, OrganisationAccess::owner(request_.enterprise_dir));
    if (owned.state == OwnedText::State::writable || owned.state == OwnedText::State::foreign) {
      problems_.push_back({file, 0, 0, "is not used: " + owned.text, {}, Severity::error});
    } else if (owned.state == OwnedText::State::unreadable) {
      cannot_read(file, owned.text);
    }
    return owned;
  }

  std::string named_path(const std::string& argument) const {
    return (fs::path(request_.cwd) / argument).lexically_normal().string();
  }

  // A file that a flag names must be there.
  std::optional<std::pair<std::string, std::string>> named_text(const std::string& argument) {
    auto path = named_path(argument);
    memory_.looked_for.insert(path);
    auto text = checked(path, read_config_text(path));
    if (!text) return std::nullopt;
    return std::pair(std::move(path), std::move(*text));
  }

  void read_sources() {
    // As for other settings of an organisation, a later file overrides those before it.
    for (auto& parsed : std::views::reverse(managed_)) add(std::move(parsed));
    const auto* closed = sideload_disabled(layers_);
    if (closed != nullptr && (!request_.plugin_dirs.empty() || has_server_flags())) {
      const auto& names = request_.names;
      refuse_flags(fmt::format("{}, {} and {} are switched off by your organisation: \"disableSideloadFlags\" in {}",
                               names.mcp_config, names.mcp_server, names.plugin_dir,
                               file_and_line(closed->file, closed->no_sideload->place.line)));
    }
    if (read_enterprise()) {
      if (has_server_flags()) refuse_flags(std::string(enterprise_dynamic_refusal));
      if (connectors_beside_enterprise(layers_)) read_connectors();
      return;
    }
    if (!refused_flags_) read_flags();
    if (request_.strict) return;
    for (auto scope : {ConfigScope::local, ConfigScope::project, ConfigScope::user}) {
      for (const auto& source : files_of(scope, paths_)) read_source(source);
    }
    read_plugins();
    read_connectors();
  }

  std::vector<ServerElsewhere> elsewhere(const LoadedConfig& config) const {
    std::vector<ServerElsewhere> out;
    auto add = [&](const std::string& name, const std::string& directory) {
      const bool here = std::ranges::find(config.servers, name, &ServerConfig::name) != config.servers.end();
      if (!here) out.push_back({name, directory});
    };
    for (const auto& project : own_.projects) {
      if (std::ranges::find(paths_.project_keys, project.path) != paths_.project_keys.end()) continue;
      for (const auto& server : project.local.servers) add(server.name, project.path);
    }
    for (const auto& [name, directory] : claude_.elsewhere) add(name, directory);
    return out;
  }

  // What the directory said last; asking it is somebody else's work.
  void read_connectors() {
    if (!own_.connectors || !own_.connectors->enabled || connectors_disabled(layers_)) return;
    if (auto wanted = variables_("ENABLE_CLAUDEAI_MCP_SERVERS"); wanted == "false" || wanted == "0") return;
    connectors_ = own_.connectors;
    connectors_->cache_file = paths_.cache_dir + "/connectors.json";
    memory_.looked_for.insert(connectors_->cache_file);
    auto text = read_owned_text(connectors_->cache_file, ::getuid());
    if (text.state != OwnedText::State::text) return;
    const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
    if (auto cache = read_connector_cache(text.text, *connectors_, now)) {
      add(connector_servers(*connectors_, cache->connectors));
    }
  }

  // Those a flag names, ours, and those of Claude Code, whether installed by it or put there by hand.
  void read_plugins() {
    const auto theirs = paths_.claude_dir + "/plugins";
    std::vector<PluginPlace> places;
    for (const auto& directory : refused_flags_ ? std::vector<std::string>() : request_.plugin_dirs) {
      auto root = (fs::path(request_.cwd) / directory).lexically_normal().string();
      std::error_code error;
      if (!fs::is_directory(root, error)) cannot_read(root, "there is no such directory");
      places.push_back({std::move(root), {}});
    }
    add_directories(places, paths_.own_dir + "/plugins");
    if (auto text = text_of(theirs + "/installed_plugins.json")) {
      auto installed = installed_plugins(*text, theirs + "/installed_plugins.json", plugins_, problems_);
      places.insert(places.end(), installed.begin(), installed.end());
    }
    add_directories(places, theirs);
    PluginContext context;
    context.data_dir = theirs + "/data";
    context.project_dir = request_.cwd;
    context.settings = plugins_;
    for (const auto& place : places) {
      // A plugin is its directory: a link in it must not make a file of somebody else part of it.
      context.text_of = [this, &place](const std::string& file) -> std::optional<std::string> {
        if (!config_file_exists(file) || really_inside(file, place.root)) return text_of(file);
        memory_.looked_for.insert(file);
        cannot_read(file, "its symbolic links point outside the directory of the plugin; replace them with files");
        return std::nullopt;
      };
      for (auto& parsed : read_plugin(place, context)) add(std::move(parsed));
    }
  }

  // Every directory below that looks like a plugin, by name.
  void add_directories(std::vector<PluginPlace>& places, const std::string& parent) {
    memory_.looked_for.insert(parent);
    std::vector<std::string> found;
    std::error_code error;
    for (fs::directory_iterator it(parent, error), end; !error && it != end && found.size() < most_plugins;
         it.increment(error)) {
      auto root = it->path().string();
      if (config_file_exists(root + "/.claude-plugin/plugin.json") || config_file_exists(root + "/plugin.json") ||
          config_file_exists(root + "/.mcp.json")) {
        found.push_back(std::move(root));
      }
    }
    if (error && config_file_exists(parent)) cannot_read(parent, error.message());
    std::ranges::sort(found);
    for (auto& root : found) places.push_back({std::move(root), {}});
  }

  // Whether an organisation decides alone. One whose file cannot be understood still does: otherwise a slip in
  // it would lift every restriction.
  bool read_enterprise() {
    for (const auto& source : files_of(ConfigScope::enterprise, paths_)) {
      memory_.looked_for.insert(source.file);
      const auto owned = enterprise_text(source.file);
      if (owned.state == OwnedText::State::absent || owned.state == OwnedText::State::foreign) continue;
      exclusive_ = source.file;
      if (owned.state == OwnedText::State::text) {
        add(parse_servers(owned.text, {source.file, 0, source.scope, source.trust, 0}, ServerMap::required));
      }
    }
    return exclusive_.has_value();
  }

  bool has_server_flags() const { return !request_.mcp_configs.empty() || !request_.mcp_servers.empty(); }

  void refuse_flags(std::string why) {
    const auto& flag = !request_.mcp_configs.empty()   ? request_.names.mcp_config
                       : !request_.mcp_servers.empty() ? request_.names.mcp_server
                                                       : request_.names.plugin_dir;
    problems_.push_back({flag, 0, 0, why, {}, Severity::error});
    if (!refused_flags_) refused_flags_ = std::move(why);
  }

  // A later flag overrides an earlier one.
  void read_flags() {
    for (auto it = request_.mcp_servers.rbegin(); it != request_.mcp_servers.rend(); ++it) {
      add(parse_server_argument(*it, request_.names.mcp_server));
    }
    for (auto it = request_.mcp_configs.rbegin(); it != request_.mcp_configs.rend(); ++it) {
      if (is_inline_config(*it)) {
        add(parse_servers(*it, {request_.names.mcp_config, 0, ConfigScope::dynamic, ConfigTrust::trusted, 0}));
      } else if (auto text = named_text(*it)) {
        auto parsed = parse_servers(text->second, {text->first, 0, ConfigScope::dynamic, ConfigTrust::trusted, 0});
        if (is_of_repository(text->first)) refuse_secrets(parsed);
        add(std::move(parsed));
      }
    }
  }

  // Whether a file that a flag names may have come with the project. The home directory is nobody else's.
  bool is_of_repository(const std::string& file) const {
    if (project_trusted_ || paths_.directories.empty()) return false;
    const auto& root = paths_.directories.back();
    auto within = [&](const std::string& directory) {
      return really_inside(file, directory) && !really_inside(paths_.home, directory);
    };
    if (within(root)) return true;
    // Where an unpacked archive begins nobody says, so it may begin in any directory above that is not the
    // person's own. A .git further down says nothing about that: an archive can bring one, or a submodule.
    const auto here = real_path(root);
    for (auto above = fs::path(here.value_or(root)); above.has_relative_path(); above = above.parent_path()) {
      if (within(above.string())) return true;
    }
    return false;
  }

  // Naming a file says that its commands may run. It does not hand out what the user keeps elsewhere.
  static void refuse_secrets(ParsedServers& parsed) {
    for (auto it = parsed.servers.begin(); it != parsed.servers.end();) {
      const auto references = secret_references(*it);
      // A command runs from no such file, wherever it is: that is reported before what can be helped.
      auto secret = std::ranges::find(references, SecretKind::command, &SecretReference::kind);
      if (secret == references.end()) {
        secret = std::ranges::find_if(references, [](const auto& one) { return one.kind != SecretKind::environment; });
      }
      if (secret == references.end()) {
        ++it;
        continue;
      }
      const bool command = secret->kind == SecretKind::command;
      auto reason = command ? reference_fault(*secret, it->origin)
                            : fmt::format(
                                  "${{{}:…}} in \"{}\" is not used, because {} is inside a project that you do "
                                  "not trust",
                                  to_string(secret->kind), secret->place, it->origin.file);
      const auto remedy = command ? std::nullopt : std::optional(Remedy{Remedy::Kind::trust_project});
      parsed.problems.push_back({it->origin.file, it->origin.line, it->origin.column,
                                 fmt::format("MCP server \"{}\": {}", it->name, reason), it->name, Severity::error,
                                 remedy});
      parsed.broken.push_back({it->name, it->origin, std::move(reason), true, remedy});
      it = parsed.servers.erase(it);
    }
  }

  void read_source(const SourceFile& source) {
    switch (source.format) {
      case SourceFormat::own:
        if (source.scope == ConfigScope::user) return add_read(own_.user);
        if (const auto* project = own_.project(source.project)) add_read(project->local);
        return;
      case SourceFormat::claude:
        if (source.scope == ConfigScope::user) return add_read(claude_.user);
        if (const auto* project = claude_.project(source.project)) add_read(project->local);
        return;
      case SourceFormat::none:
        return;
      case SourceFormat::servers:
      case SourceFormat::wrapped_servers:
      case SourceFormat::settings:
      case SourceFormat::mixed:
        break;
    }
    auto text = text_of(source.file);
    if (!text) return;
    const auto map = source.format == SourceFormat::servers           ? ServerMap::wrapped_or_bare
                     : source.format == SourceFormat::wrapped_servers ? ServerMap::required
                                                                      : ServerMap::wrapped;
    auto parsed = parse_servers(*text, {source.file, 0, source.scope, source.trust, 0}, map);
    if (source.format == SourceFormat::settings && (!parsed.servers.empty() || !parsed.broken.empty())) {
      const auto& first = parsed.servers.empty() ? parsed.broken.front().origin : parsed.servers.front().origin;
      problems_.push_back({source.file, first.line, first.column, std::string(settings_hint), {}, Severity::warning});
    }
    add(std::move(parsed));
  }

  // Its problems are known already.
  void add_read(ParsedServers parsed) {
    parsed.problems.clear();
    add(std::move(parsed));
  }

  void add(ParsedServers parsed) { sources_.push_back(std::move(parsed)); }

  static constexpr std::string_view kept_ = "its previous content stays in use until it can be read again";

  const LoadRequest& request_;
  ConfigMemory& memory_;
  VariableLookup startup_;    // what this program was started with
  VariableLookup variables_;  // with those of settings over them: what entries mean
  std::vector<SettingsVariable> environment_;
  ConfigPaths paths_;
  OwnFile own_;
  ClaudeFile claude_;
  std::vector<SettingsLayer> layers_;
  PluginSettings plugins_;
  std::vector<ParsedServers> sources_;
  std::vector<ConfigProblem> problems_;
  std::set<std::string> lost_;  // files that are there and cannot be read
  std::vector<ParsedServers> managed_;
  std::optional<std::string> exclusive_;
  std::optional<std::string> refused_flags_;
  std::optional<ConnectorDirectory> connectors_;
  bool project_trusted_ = false;
};

}  // namespace

ConfigPaths config_paths(const LoadRequest& request) {
  const auto variables = request.variables ? request.variables : process_environment();
  auto copy = request;
  if (auto home = variables("HOME"); !copy.home && (!home || !home->starts_with('/'))) copy.home = home_of_user();
  auto paths = person_paths(copy, variables);
  paths.directories = project_directories(request.cwd);
  // Other programs write down the real path, whatever links led here.
  for (const auto& directory : paths.directories) {
    add_unique(paths.project_keys, directory);
    std::error_code error;
    add_unique(paths.project_keys, fs::canonical(directory, error).string());
  }
  // What belongs to a repository belongs to all of its work trees, and is kept where it was cloned to. What is kept for
  // one work tree alone comes behind it.
  paths.project_root = paths.directories.back();
  if (auto main = main_checkout(paths.project_root)) {
    auto& keys = paths.project_keys;
    std::erase(keys, *main);
    keys.insert(std::ranges::find(keys, paths.project_root), *main);
    paths.project_root = std::move(*main);
  }
  return paths;
}

LoadedConfig load_servers(const LoadRequest& request, ConfigMemory& memory) {
  memory.looked_for.clear();
  return Loader(request, memory).load();
}

LoadedConfig load_servers(const LoadRequest& request) {
  ConfigMemory memory;
  memory.remembers = false;
  return load_servers(request, memory);
}

}  // namespace patchbay
