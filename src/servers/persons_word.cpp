#include "servers/persons_word.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "entries/signature.h"
#include "settings/files.h"
#include "text/shell_word.h"

namespace patchbay {
namespace {

namespace fs = std::filesystem;

bool lists(const std::vector<std::string>& names, const ServerConfig& server) {
  return std::ranges::find(names, server.name) != names.end();
}

}  // namespace

void PersonsWord::decide(ServerConfig& server, std::vector<SettingsLayer>& layers, bool trust_project) const {
  const auto place = answer_place(server, paths_, variables_);
  const auto hash = entry_hash(server);
  auto decision = decide_approval(server.name, hash, answers(place, server.name, hash), layers, trust_project);
  switch (decision.state) {
    case ApprovalDecision::State::approved:
      server.approved = true;
      // Also beside their own yes: it would pass without one, however its entry changes.
      if (decision.by_answer) decision = decide_approval(server.name, hash, {}, layers, trust_project);
      if (decision.state == ApprovalDecision::State::approved) {
        note_approval(layers, server.name, decision.file.empty() ? "--trust-project" : decision.file);
      } else if (!place.elsewhere && approved_by_name(server)) {
        note_approval(layers, server.name, paths_.claude_json);
      }
      return;
    case ApprovalDecision::State::pending:
      if (!place.elsewhere && approved_by_name(server)) {
        server.approved = true;
        note_approval(layers, server.name, paths_.claude_json);
        return;
      }
      server.standing = ServerStanding::awaiting_approval;
      if (place.elsewhere && !decision.changed) {
        decision.reason = fmt::format(
            "its relative paths name other files here than in {}; if you trust them, run `patchbay approve{}`",
            project_directory_of(server.origin.file), shell_operands({server.name}));
      }
      break;
    case ApprovalDecision::State::rejected:
      server.standing = ServerStanding::rejected;
      break;
  }
  server.reason = std::move(decision.reason);
}

// What counts as a yes whatever the entry says, for whoever explains it.
void PersonsWord::note_approval(std::vector<SettingsLayer>& layers, const std::string& name,
                                const std::string& by) const {
  auto layer = std::ranges::find_if(
      layers, [&](const SettingsLayer& one) { return one.file == by && !one.approved_servers.empty(); });
  if (layer == layers.end()) {
    SettingsLayer fresh;
    fresh.source = by == paths_.claude_json ? SettingsSource::user : SettingsSource::flag;
    fresh.file = by;
    layer = layers.insert(layers.end(), std::move(fresh));
  }
  layer->approved_servers.push_back(name);
}

// enabledMcpjsonServers in ~/.claude.json has no hash of what was agreed to, so it is for the very file the
// person saw there: the one in the directory it names, and in other work trees of that.
bool PersonsWord::approved_by_name(const ServerConfig& server) const {
  if (fs::path(server.origin.file).filename() != ".mcp.json") return false;
  const auto directory = fs::path(server.origin.file).parent_path().string();
  std::error_code error;
  std::vector<std::string> keys{directory, fs::canonical(directory, error).string()};
  if (directory == paths_.directories.back()) {
    if (auto main = main_checkout(directory)) keys.push_back(*main);
  }
  return std::ranges::any_of(keys, [&](const std::string& key) {
    const auto* project = claude_.project(key);
    return project != nullptr && std::ranges::find(project->approved, server.name) != project->approved.end();
  });
}

// What the person said about this entry in this place. A no that they said anywhere on the way up to the root
// counts until they say yes here, to the entry as it is now. What was said about another entry of the name hides
// nothing that was said about this one.
ApprovalMemory PersonsWord::answers(const AnswerPlace& place, const std::string& name, const std::string& now) const {
  ApprovalMemory out;
  auto keep = [&](auto& answers, const std::string& hash) {
    if (const auto [known, fresh] = answers.emplace(name, hash); !fresh && hash == now) known->second = hash;
  };
  auto take = [&](const std::string& key, bool approvals) {
    const auto* project = own_.project(key);
    if (project == nullptr) return;
    for (const auto& [server, hash] : project->approved) {
      if (approvals && server == name) keep(out.approved, hash);
    }
    for (const auto& [server, hash] : project->rejected) {
      if (server == name) keep(out.rejected, hash);
    }
  };
  for (const auto& key : place.keys) take(key, true);
  if (const auto yes = out.approved.find(name); yes != out.approved.end() && yes->second == now) return out;
  for (const auto& key : paths_.project_keys) take(key, false);
  return out;
}

// What our own file says about the name: on, off, or nothing. The project before everywhere, off before on.
// The switches of a person do not reach what their organisation set up.
std::optional<bool> PersonsWord::own_word(const ServerConfig& server, bool* for_project) const {
  if (server.origin.scope == ConfigScope::enterprise) return std::nullopt;
  for (const auto& key : paths_.project_keys) {
    const auto* project = own_.project(key);
    if (project == nullptr) continue;
    if (for_project != nullptr) *for_project = true;
    if (lists(project->disabled_servers, server)) return false;
    if (lists(project->enabled_servers, server)) return true;
  }
  if (for_project != nullptr) *for_project = false;
  if (lists(own_.disabled_servers, server)) return false;
  if (lists(own_.enabled_servers, server)) return true;
  return std::nullopt;
}

std::optional<std::string> PersonsWord::switched_off(const ServerConfig& server) const {
  if (server.origin.scope == ConfigScope::enterprise) return std::nullopt;
  const auto enable = "patchbay enable" + shell_operands({server.name});
  bool for_project = false;
  if (const auto word = own_word(server, &for_project)) {
    if (*word) return std::nullopt;
    return fmt::format("disabled {}in {}; to enable it: {}", for_project ? "for this project " : "", paths_.own_file(),
                       enable);
  }
  for (const auto& key : paths_.project_keys) {
    if (const auto* project = claude_.project(key); project != nullptr && lists(project->disabled_servers, server)) {
      return fmt::format("disabled for this project in {} (disabledMcpServers); to enable it: {}", paths_.claude_json,
                         enable);
    }
  }
  return std::nullopt;
}

}  // namespace patchbay
