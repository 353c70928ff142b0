#include "settings/sources.h"

#include <algorithm>
#include <array>
#include <filesystem>

namespace patchbay {
namespace {

constexpr auto table = std::to_array<SourceRow>({
    {ConfigScope::enterprise, SourcePlace::enterprise_dir, "managed-mcp.json", SourceFormat::wrapped_servers,
     ConfigTrust::trusted},

    {ConfigScope::dynamic, SourcePlace::elsewhere, "", SourceFormat::none, ConfigTrust::trusted},

    {ConfigScope::local, SourcePlace::own_dir, "config.json", SourceFormat::own, ConfigTrust::trusted},
    {ConfigScope::local, SourcePlace::claude_json, "", SourceFormat::claude, ConfigTrust::trusted},
    {ConfigScope::local, SourcePlace::project, ".claude/settings.local.json", SourceFormat::settings,
     ConfigTrust::needs_approval},
    {ConfigScope::local, SourcePlace::project, ".claude/local.json", SourceFormat::servers,
     ConfigTrust::needs_approval},

    {ConfigScope::project, SourcePlace::project, ".mcp.json", SourceFormat::servers, ConfigTrust::needs_approval},
    {ConfigScope::project, SourcePlace::project, ".claude/settings.json", SourceFormat::settings,
     ConfigTrust::needs_approval},
    {ConfigScope::project, SourcePlace::project, ".claude.json", SourceFormat::mixed, ConfigTrust::needs_approval},

    {ConfigScope::user, SourcePlace::own_dir, "config.json", SourceFormat::own, ConfigTrust::trusted},
    {ConfigScope::user, SourcePlace::claude_json, "", SourceFormat::claude, ConfigTrust::trusted},
    {ConfigScope::user, SourcePlace::claude_dir, "settings.json", SourceFormat::settings, ConfigTrust::trusted},
    {ConfigScope::user, SourcePlace::claude_dir, "mcp.json", SourceFormat::servers, ConfigTrust::trusted},

    {ConfigScope::plugin, SourcePlace::elsewhere, "", SourceFormat::none, ConfigTrust::trusted},
    {ConfigScope::connector, SourcePlace::elsewhere, "", SourceFormat::none, ConfigTrust::trusted},
});

std::string below(const std::string& directory, std::string_view file) {
  return (std::filesystem::path(directory) / file).lexically_normal().string();
}

// Files that belong to the user wherever they are.
std::vector<std::string> personal_files(const ConfigPaths& paths) {
  return {paths.claude_json, below(paths.claude_dir, "settings.json"), below(paths.claude_dir, "settings.local.json"),
          below(paths.claude_dir, "local.json"), below(paths.home, ".claude.json")};
}

void add_of_projects(const SourceRow& row, const ConfigPaths& paths, const std::string& file,
                     std::vector<SourceFile>& out) {
  if (row.scope != ConfigScope::local) {
    out.push_back({row.scope, file, row.format, row.trust, {}});
    return;
  }
  for (const auto& key : paths.project_keys) out.push_back({row.scope, file, row.format, row.trust, key});
}

}  // namespace

std::span<const SourceRow> source_table() noexcept { return table; }

std::vector<SourceFile> files_of(ConfigScope scope, const ConfigPaths& paths) {
  std::vector<SourceFile> out;
  const auto personal = personal_files(paths);
  for (const auto& row : table) {
    if (row.scope != scope) continue;
    switch (row.place) {
      case SourcePlace::enterprise_dir:
        out.push_back({scope, below(paths.enterprise_dir, row.file), row.format, row.trust, {}});
        break;
      case SourcePlace::claude_dir:
        out.push_back({scope, below(paths.claude_dir, row.file), row.format, row.trust, {}});
        break;
      case SourcePlace::claude_json:
        add_of_projects(row, paths, paths.claude_json, out);
        break;
      case SourcePlace::own_dir:
        add_of_projects(row, paths, below(paths.own_dir, row.file), out);
        break;
      case SourcePlace::project:
        for (const auto& directory : paths.directories) {
          auto file = below(directory, row.file);
          if (std::ranges::find(personal, file) == personal.end()) {
            out.push_back({scope, std::move(file), row.format, row.trust, {}});
          }
        }
        break;
      case SourcePlace::elsewhere:
        break;
    }
  }
  return out;
}

ConfigPaths person_paths(const LoadRequest& request, const VariableLookup& variables) {
  // An empty or relative directory is not a place to look: the specification of these variables says so.
  auto directory = [&](std::string_view name, std::string fallback) {
    auto value = variables(name);
    return value && value->starts_with('/') ? *value : fallback;
  };
  ConfigPaths paths;
  paths.home = request.home.value_or(directory("HOME", "/nonexistent"));
  paths.own_dir = request.config_dir.value_or(directory("XDG_CONFIG_HOME", paths.home + "/.config") + "/patchbay");
  paths.cache_dir = directory("XDG_CACHE_HOME", paths.home + "/.cache") + "/patchbay";
  const auto usual = paths.home + "/.claude";
  paths.claude_dir = request.claude_dir.value_or(directory("CLAUDE_CONFIG_DIR", usual));
  // Whoever moves the directory moves the file beside it into it.
  paths.claude_json = below(paths.claude_dir == usual ? paths.home : paths.claude_dir, ".claude.json");
  paths.enterprise_dir = request.enterprise_dir.path();
  return paths;
}

}  // namespace patchbay
