#include "agent/definition_files.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <utility>

#include "base/whole_file.h"
#include "servers/entry_answers.h"
#include "servers/load.h"
#include "settings/real_path.h"

namespace patchbay {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t most_files = 500;  // of one folder
constexpr std::size_t most_own_bytes = 16u << 20;

struct Folder {
  std::string path;
  ConfigScope scope = ConfigScope::user;
  ConfigTrust trust = ConfigTrust::trusted;
};

ConfigPaths paths_of(const LoadedConfig& config) {
  LoadRequest request;
  request.cwd = config.cwd;
  if (!config.home.empty()) request.home = config.home;
  if (!config.config_dir.empty()) request.config_dir = config.config_dir;
  request.variables = variables_of(config);
  return config_paths(request);
}

// First the one that counts.
std::vector<Folder> folders_of(const LoadedConfig& config, const ConfigPaths& paths) {
  std::vector<Folder> out;
  const auto is_persons = [&](const std::string& directory) {
    return real_path(directory).value_or(directory) == real_path(paths.home).value_or(paths.home);
  };
  if (config.project_trusted) {
    for (const auto& directory : paths.directories) {
      if (is_persons(directory)) continue;  // in the home directory both have the same names
      for (const auto* name : {"/.patchbay/agents", "/.claude/agents"}) {
        out.push_back({directory + name, ConfigScope::project, ConfigTrust::needs_approval});
      }
    }
  }
  if (!paths.own_dir.empty()) out.push_back({paths.own_dir + "/agents"});
  if (!paths.claude_dir.empty()) out.push_back({paths.claude_dir + "/agents"});
  return out;
}

// What the person has said about this very entry, as about one of a .mcp.json.
void use_answer(ServerConfig& server, const AnswerFiles& files, const VariableLookup& variables) {
  if (server.origin.trust == ConfigTrust::trusted) return;
  const auto answers = answers_about(server, files, variables);
  server.approved = answers.approved == EntryAnswers::About::this_entry;
  if (server.approved || answers.rejected != EntryAnswers::About::this_entry) return;
  server.standing = ServerStanding::rejected;
  server.reason = "it was rejected";
}

std::vector<std::string> files_in(const std::string& folder, std::vector<ConfigProblem>& problems) {
  std::vector<std::string> out;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    if (at->path().extension() != ".md") continue;
    if (out.size() == most_files) {
      problems.push_back({folder, 0, 0, "there are too many files; some are not read", {}, Severity::warning});
      break;
    }
    out.push_back(at->path().string());
  }
  std::ranges::sort(out);
  return out;
}

}  // namespace

FoundDefinitions find_definitions(const LoadedConfig& config) {
  FoundDefinitions out;
  std::set<std::string> names;
  const auto paths = paths_of(config);
  const auto variables = variables_of(config);
  const auto answers = read_whole_file(paths.own_file(), most_own_bytes);
  const auto own = read_own_file(answers && *answers ? **answers : "{}", paths.own_file());
  const ClaudeFile claude;  // has answers about other files
  for (const auto& folder : folders_of(config, paths)) {
    for (const auto& file : files_in(folder.path, out.problems)) {
      const auto text = read_whole_file(file, DefinitionBounds().bytes);
      if (!text || !*text) {
        const auto why = text ? std::string("it is gone") : text.error().message();
        out.problems.push_back({file, 0, 0, why, {}, Severity::error});
        continue;
      }
      auto read = read_definition(**text, file, folder.scope, folder.trust);
      std::ranges::move(read.problems, std::back_inserter(out.problems));
      if (!read.definition || !names.insert(read.definition->name).second) continue;
      for (auto& server : read.definition->own_servers) use_answer(server, {own, claude, paths}, variables);
      out.definitions.push_back(std::move(*read.definition));
    }
  }
  std::ranges::sort(out.definitions, {}, &AgentDefinition::name);
  return out;
}

}  // namespace patchbay
