#include "servers/entry_answers.h"

#include <algorithm>
#include <filesystem>

#include "entries/signature.h"
#include "servers/answer_place.h"
#include "settings/files.h"

namespace patchbay {
namespace {

namespace fs = std::filesystem;
using About = EntryAnswers::About;

bool lists(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

// enabledMcpjsonServers in ~/.claude.json has no hash of what was agreed to, so it is for the very file that was
// seen there: the one in the directory it names, and in other work trees of that.
bool approved_by_name(const ServerConfig& server, const AnswerFiles& files) {
  if (fs::path(server.origin.file).filename() != ".mcp.json") return false;
  const auto directory = fs::path(server.origin.file).parent_path().string();
  std::error_code error;
  std::vector<std::string> keys{directory, fs::canonical(directory, error).string()};
  if (directory == files.paths.directories.back()) {
    if (auto main = main_checkout(directory)) keys.push_back(*main);
  }
  return std::ranges::any_of(keys, [&](const std::string& key) {
    const auto* project = files.claude.project(key);
    return project != nullptr && lists(project->approved, server.name);
  });
}

// What was answered about this entry in this place. A rejection anywhere on the way up to the root counts until the
// entry as it is now is approved here. What was answered about another entry of the name hides nothing that was
// answered about this one.
void add_own_answers(EntryAnswers& out, const std::string& name, const std::string& hash, const AnswerPlace& place,
                     const AnswerFiles& files) {
  auto take = [&](About& about, const NamedTexts& answers) {
    for (const auto& [server, answered] : answers) {
      if (server != name || about == About::this_entry) continue;
      about = answered == hash ? About::this_entry : About::another_entry;
    }
  };
  for (const auto& key : place.keys) {
    const auto* project = files.own.project(key);
    if (project == nullptr) continue;
    take(out.approved, project->approved);
    take(out.rejected, project->rejected);
  }
  if (out.approved == About::this_entry) return;
  for (const auto& key : files.paths.project_keys) {
    if (const auto* project = files.own.project(key)) take(out.rejected, project->rejected);
  }
}

// Ours overrides Claude's, the project overrides everywhere, off overrides on.
std::optional<EntryAnswers::Switch> switch_of(const std::string& name, const AnswerFiles& files) {
  const auto ours = files.paths.own_file();
  auto said = [&](const auto& lists_of, bool for_project) -> std::optional<EntryAnswers::Switch> {
    if (lists(lists_of.disabled_servers, name)) return EntryAnswers::Switch{false, for_project, ours, {}};
    if (lists(lists_of.enabled_servers, name)) return EntryAnswers::Switch{true, for_project, ours, {}};
    return std::nullopt;
  };
  for (const auto& key : files.paths.project_keys) {
    const auto* project = files.own.project(key);
    if (project == nullptr) continue;
    if (auto found = said(*project, true)) return found;
  }
  if (auto found = said(files.own, false)) return found;
  for (const auto& key : files.paths.project_keys) {
    const auto* project = files.claude.project(key);
    if (project != nullptr && lists(project->disabled_servers, name)) {
      return EntryAnswers::Switch{false, true, files.paths.claude_json, "disabledMcpServers"};
    }
  }
  return std::nullopt;
}

}  // namespace

EntryAnswers answers_about(const ServerConfig& written, const AnswerFiles& files, const VariableLookup& variables) {
  EntryAnswers out;
  // Nobody but the organisation switches what the organisation set up.
  if (written.origin.scope != ConfigScope::enterprise) out.switched = switch_of(written.name, files);
  if (written.origin.trust != ConfigTrust::needs_approval) return out;
  const auto place = answer_place(written, files.paths, variables);
  out.elsewhere = place.elsewhere;
  add_own_answers(out, written.name, entry_hash(written), place, files);
  if (approved_by_name(written, files)) out.approved_in = files.paths.claude_json;
  const bool rejected = std::ranges::any_of(
      files.claude.projects, [&](const ClaudeProject& project) { return lists(project.rejected, written.name); });
  if (rejected) out.rejected_in = files.paths.claude_json;
  return out;
}

}  // namespace patchbay
