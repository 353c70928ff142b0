#include "inspect/lint.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "entries/expand.h"
#include "entries/signature.h"
#include "hooks/hook_set.h"
#include "host/channels/channel_rule.h"
#include "import/import.h"
#include "import/plan.h"
#include "permission/policy.h"
#include "permission/rule_check.h"
#include "servers/settle.h"
#include "settings/claude_file.h"
#include "settings/files.h"
#include "settings/own_file.h"
#include "settings/settings_layers.h"

namespace patchbay {
namespace {

namespace fs = std::filesystem;

void add(std::vector<ConfigProblem>& out, std::vector<ConfigProblem> more) {
  std::ranges::move(more, std::back_inserter(out));
}

// What would be committed with the file of the project.
void add_committed_secrets(std::vector<ConfigProblem>& out, std::span<const ServerConfig> servers) {
  for (const auto& server : servers) {
    if (server.origin.scope != ConfigScope::project || fs::path(server.origin.file).filename() != ".mcp.json") continue;
    auto entry = canonical_entry(server);
    for (const auto& secret : withhold_secrets(server.name, entry)) {
      out.push_back({server.origin.file, server.origin.line, server.origin.column,
                     fmt::format("MCP server {}: {}", quoted_name(server.name), committed_secret_text(secret)),
                     server.name, Severity::warning});
    }
  }
}

void add_servers(std::vector<ConfigProblem>& out, const ParsedServers& parsed, const VariableLookup& variables) {
  add(out, parsed.problems);
  add_committed_secrets(out, parsed.servers);
  for (const auto& use : parsed.uses) {
    const auto server = std::ranges::find(parsed.servers, use.server, &ServerConfig::name);
    if (server == parsed.servers.end() || variable_of(*server, use.variable, variables)) continue;
    out.push_back(
        {use.origin.file, use.line, use.column,
         fmt::format("MCP server {}: {}", quoted_name(use.server), unset_text(use.variable, use.place, use.required)),
         use.server, Severity::warning});
  }
}

void add_settings(std::vector<ConfigProblem>& out, std::string_view text, const std::string& file,
                  SettingsSource source, const VariableLookup& variables) {
  std::vector<SettingsLayer> layers{checked_settings(text, source, file)};
  add(out, layers.front().problems);
  add(out, ignored_approvals(layers));
  add(out, policy_problems(layers, variables));
  RuleRequest request;
  request.trusted = true;  // whether the directory is trusted is not the file's fault
  request.places = {"/", "/"};
  const auto rules = collect_rules(layers, request);
  add(out, rules.problems);
  add(out, pointless_rules(rules).problems);
  add(out, HookSet(layers, request.trusted).problems());
}

SettingsSource source_of(const std::string& file) {
  const auto name = fs::path(file).filename().string();
  if (name.starts_with("managed-") || fs::path(file).parent_path().filename() == "managed-settings.d") {
    return SettingsSource::enterprise;
  }
  return name == "settings.local.json" ? SettingsSource::project_local : SettingsSource::flag;
}

}  // namespace

std::string_view to_string(Severity severity) noexcept {
  switch (severity) {
    case Severity::warning:
      return "warning";
    case Severity::note:
      return "note";
    case Severity::error:
      break;
  }
  return "error";
}

std::string problem_line(const ConfigProblem& problem) {
  auto place = problem.file;
  if (problem.line > 0) place += fmt::format(":{}:{}", problem.line, problem.column);
  return fmt::format("{}: {}: {}", place, to_string(problem.severity), problem.message);
}

std::vector<ConfigProblem> sorted_problems(std::vector<ConfigProblem> problems, const std::string& cwd) {
  std::map<std::string, std::size_t> order;
  for (auto& problem : problems) {
    if (problem.file.starts_with('/')) problem.file = path_seen_from(cwd, problem.file);
    order.emplace(problem.file, order.size());
  }
  std::ranges::sort(problems, {}, [&](const ConfigProblem& problem) {
    return std::tuple(order.at(problem.file), problem.line, problem.column, std::string_view(problem.message));
  });
  std::vector<ConfigProblem> out;
  std::set<std::string> seen;
  for (auto& problem : problems) {
    if (seen.insert(problem.text()).second) out.push_back(std::move(problem));
  }
  return out;
}

std::vector<ConfigProblem> lint_config(const LoadedConfig& config, const Permissions& permissions,
                                       const VariableLookup& variables) {
  auto out = config.problems;
  add_committed_secrets(out, config.servers);
  add_committed_secrets(out, config.shadowed);
  add(out, policy_problems(layers_of(config.settings), variables));
  add(out, permissions.problems());
  add(out, pointless_rules(permissions.rules()).problems);
  add(out, HookSet(layers_of(config.settings), config.project_trusted).problems());
  add(out, channel_problems(config.servers, layers_of(config.settings), {}));
  std::vector<std::string> names;
  for (const auto& server : config.servers) names.push_back(server.name);
  add(out, permissions.unknown_names(names, Catalog()));
  return sorted_problems(std::move(out), config.cwd);
}

FileKind kind_of_file(const std::string& path, std::string_view text, const std::string& own_file) {
  const auto name = fs::path(path).filename().string();
  const auto folder = fs::path(path).parent_path().filename().string();
  if (path == own_file || (name == "config.json" && folder == "patchbay")) return FileKind::own;
  if (name == ".claude.json") return FileKind::claude;
  if (name == ".mcp.json" || name == "managed-mcp.json" || (name == "mcp.json" && folder == ".claude")) {
    return FileKind::servers;
  }
  if (const auto client = recognise_import(path, {}); client && *client != ImportClient::mcp_json) {
    return FileKind::foreign;
  }
  if (name == "settings.json" || name == "settings.local.json" || name == "managed-settings.json" ||
      folder == "managed-settings.d") {
    return FileKind::settings;
  }
  // Any other name: by what only one of them has.
  const auto document = read_document(text, path, "an object");
  if (!document || !document->root.is_object()) return FileKind::servers;
  auto has = [&](std::string_view key) { return document->root.find(key) != nullptr; };
  if (has("projects")) return has("version") ? FileKind::own : FileKind::claude;
  for (std::string_view key :
       {"permissions", "enableAllProjectMcpServers", "enabledMcpjsonServers", "disabledMcpjsonServers",
        "allowedMcpServers", "deniedMcpServers", "allowManagedMcpServersOnly", "enabledPlugins", "hooks"}) {
    if (has(key)) return FileKind::settings;
  }
  const auto client = recognise_import(path, text);
  return client && *client != ImportClient::mcp_json ? FileKind::foreign : FileKind::servers;
}

std::vector<ConfigProblem> lint_text(std::string_view text, const std::string& file, FileKind kind,
                                     const VariableLookup& variables) {
  std::vector<ConfigProblem> out;
  // What a repository brings along may use fewer references.
  const auto name = fs::path(file).filename().string();
  const auto scope = name == ".mcp.json" || name == "settings.local.json" ? ConfigScope::project : ConfigScope::dynamic;
  const ConfigOrigin origin{file, 0, scope, trust_of(scope), 0};
  switch (kind) {
    case FileKind::servers: {
      const bool wrapped = name == "managed-mcp.json";
      add_servers(out, parse_servers(text, origin, wrapped ? ServerMap::required : ServerMap::wrapped_or_bare),
                  variables);
      break;
    }
    case FileKind::foreign: {
      const auto client = recognise_import(file, text).value_or(ImportClient::mcp_json);
      out.push_back({file,
                     0,
                     0,
                     fmt::format("this is a file of {}, which Patchbay does not read",
                                 client == ImportClient::mcp_json ? "another client" : name_of(client).title),
                     {},
                     Severity::warning,
                     Remedy{.kind = Remedy::Kind::import_file, .file = file}});
      break;
    }
    case FileKind::settings:
      add_settings(out, text, file, source_of(file), variables);
      add_servers(out, parse_servers(text, origin, ServerMap::wrapped), variables);
      break;
    case FileKind::claude: {
      // Every project in it, not only the one we are in.
      std::vector<std::string> projects;
      if (const auto document = read_document(text, file, "an object")) {
        if (const auto* listed = std::as_const(document->root)["projects"].if_object()) {
          for (const auto& [path, value] : *listed) projects.emplace_back(path);
        }
      }
      add(out, read_claude_file(text, file, projects).problems);
      break;
    }
    case FileKind::own: {
      auto own = read_own_file(text, file);
      add(out, own.problems);
      own.user.problems.clear();
      add_servers(out, own.user, variables);
      for (auto& project : own.projects) {
        project.local.problems.clear();
        add_servers(out, project.local, variables);
      }
      if (!own.settings.empty()) add_settings(out, own.settings, file, SettingsSource::own, variables);
      break;
    }
  }
  // Nothing is below "/" that must be shortened: the file is named as it was given.
  return sorted_problems(std::move(out), {});
}

}  // namespace patchbay
