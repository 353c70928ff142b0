// Servers that plugins bring along. A plugin is a directory with a manifest (.claude-plugin/plugin.json or
// plugin.json), a .mcp.json, or both. Its servers are called plugin:<plugin>:<server>, and in their entries
// ${CLAUDE_PLUGIN_ROOT}, ${CLAUDE_PLUGIN_DATA}, ${CLAUDE_PROJECT_DIR} and ${user_config.KEY} have a meaning. Pure:
// files are read through a function.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <patchbay/config.h>

#include "entries/parse.h"

namespace patchbay {

struct PluginPlace {
  std::string root;  // absolute
  std::string id;    // "name@marketplace" of an installed one, else empty
  bool operator==(const PluginPlace&) const = default;
};

// Among ServerConfig::variables of a plugin's server: the PluginPlace::id of the plugin.
inline constexpr std::string_view plugin_id_variable = "CLAUDE_PLUGIN_ID";

// What settings say about plugins.
struct PluginSettings {
  std::map<std::string, bool> enabled;       // enabledPlugins, by id
  std::map<std::string, NamedTexts> values;  // pluginConfigs[id].options, by id or name
};

// Adds what one settings text says. A file inside the repository can switch a plugin off and nothing else: it
// comes with somebody else's wishes.
void add_plugin_settings(PluginSettings& settings, std::string_view text, bool inside_repository);

// Where plugins were installed, from installed_plugins.json; those that are switched on.
std::vector<PluginPlace> installed_plugins(std::string_view text, const std::string& file,
                                           const PluginSettings& settings, std::vector<ConfigProblem>& problems);

struct PluginContext {
  std::string data_dir;  // the parent of every plugin's own
  std::string project_dir;
  PluginSettings settings;
  // The text of a file that need not be there; a problem with it is somebody else's to tell.
  std::function<std::optional<std::string>(const std::string& file)> text_of;
};

// Highest first: what the manifest names, then .mcp.json.
std::vector<ParsedServers> read_plugin(const PluginPlace& plugin, const PluginContext& context);

}  // namespace patchbay
