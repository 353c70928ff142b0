// A configuration file of any content, read as each kind of file there is: every problem has a place in it, every
// entry that counts has a name of its own.
#include <algorithm>
#include <set>

#include "entries/expand.h"
#include "entries/parse.h"
#include "entries/signature.h"
#include "fuzz/fuzz.h"
#include "servers/merge.h"
#include "settings/claude_file.h"
#include "settings/own_file.h"
#include "settings/plugins.h"
#include "text/jsonc.h"

using namespace patchbay;
using fuzz::require;

namespace {

std::optional<std::string> variable(std::string_view name) {
  if (name == "HOME") return "/home/me";
  if (name == "EMPTY") return "";
  if (name == "NESTED") return "${HOME}";
  return std::nullopt;
}

void check(const ParsedServers& parsed, std::size_t lines) {
  std::set<std::string> names;
  for (const ServerConfig& server : parsed.servers) {
    require(names.insert(server.name).second, "two entries of one name");
    require(server_name_fault(server.name).empty(), "an entry with a name that may not be");
    require(server.origin.line >= 1 && server.origin.line <= lines, "an entry outside the file");
    const ServerConfig ready = expand_server(server, variable);
    require(
        ready.name == server.name && ready.args.size() == server.args.size() && ready.env.size() == server.env.size(),
        "expanding changed the shape of an entry");
  }
  for (const ConfigProblem& problem : parsed.problems) {
    require(problem.line <= lines, "a problem outside the file");
    require(!problem.message.empty() && !problem.text().empty(), "a problem that says nothing");
  }
}

}  // namespace

FUZZ_TARGET(config) {
  const ConfigOrigin origin{.file = "/project/.mcp.json", .scope = ConfigScope::project};
  const auto lines = static_cast<std::size_t>(std::ranges::count(input, '\n')) + 1;
  const auto any = parse_servers(input, origin, ServerMap::wrapped_or_bare);
  const auto wrapped = parse_servers(input, origin, ServerMap::wrapped);
  check(any, lines);
  check(wrapped, lines);

  const std::vector<ParsedServers> sources{any, wrapped};
  const auto merged = merge_sources(sources, [](const ServerConfig&) { return EntryAnswers(); }, {{}, false, variable});
  std::set<std::string> names;
  for (const auto& server : merged.servers) {
    require(names.insert(server.name).second, "a name counts twice");
    require(entry_hash(server).size() == 71, "an entry without a hash");
  }

  // Comments become blanks and nothing moves.
  if (const auto plain = without_comments(input)) {
    require(plain->size() == input.size(), "a comment changed the length");
    for (std::size_t i = 0; i < input.size(); ++i) {
      require((*plain)[i] == input[i] || (*plain)[i] == ' ', "a comment became something else than blanks");
    }
    require(without_comments(*plain) == *plain, "what has no comments has some");
  }

  // The same text as the files that hold more than servers.
  const std::string file = "/home/me/.config/patchbay/config.json";
  const auto own = read_own_file(input, file);
  check(own.user, lines);
  for (const auto& project : own.projects) {
    require(project.path.starts_with('/'), "a project that is no absolute path");
    check(project.local, lines);
  }
  require(own.settings.empty() || own.settings.size() == input.size(), "settings have moved");
  const std::vector<std::string> projects{"/p", "/project"};
  check(read_claude_file(input, file, projects).user, lines);
  PluginContext context;
  context.text_of = [&](const std::string& path) {
    return path.ends_with("plugin.json") || path.ends_with(".mcp.json") ? std::optional(std::string(input))
                                                                        : std::nullopt;
  };
  for (const auto& parsed : read_plugin({"/plugins/one", {}}, context)) {
    for (const auto& server : parsed.servers) {
      require(server.name.starts_with("plugin:"), "a plugin's server under another name");
      require(server.origin.scope == ConfigScope::plugin, "a plugin's server in another scope");
    }
  }
  PluginSettings settings;
  add_plugin_settings(settings, input, true);
  for (const auto& [id, on] : settings.enabled) require(!on, "a repository switched on a plugin");
}
