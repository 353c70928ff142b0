#include "settings/claude_file.h"

#include <algorithm>

#include <fmt/format.h>

#include "settings/file_reader.h"
#include "text/jsonc.h"

namespace patchbay {
namespace {

// Root, "projects", a project, its keys. Servers are looked at more closely one by one: most of the file is
// history, and it can be large.
constexpr std::size_t outline_depth = 3;

// For a hint about a server that is not here; more would help nobody.
constexpr std::size_t most_elsewhere = 1000;

class ClaudeReader : ServerFileReader {
 public:
  ClaudeReader(std::string_view text, const std::string& file, ClaudeFile& out)
      : ServerFileReader(text, file, out.problems), out_(out) {}

  void read(const Json& root, const Place& place, std::string_view plain, std::span<const std::string> projects) {
    plain_ = plain;
    Member top{&root, &place};
    if (!root.is_object()) {
      wrong_kind(top, "the file", "an object");
      out_.readable = false;
      return;
    }
    if (auto servers = member_of(top, "mcpServers")) out_.user = servers_at(servers, ConfigScope::user);
    if (auto env = member_of(top, "env")) out_.env = read_variables(env, report_);
    auto known = member_of(top, "projects");
    if (!known) return;
    if (!known.value->is_object()) return wrong_kind(known, "\"projects\"", "an object");
    for (const auto& path : projects) {
      if (auto project = member_of(known, path)) read_project(path, project);
    }
    for (const auto& [path, project] : known.value->as_object()) {
      const auto* servers = project["mcpServers"].if_object();
      if (!servers || std::ranges::find(projects, path) != projects.end()) continue;
      for (const auto& [name, entry] : *servers) {
        if (out_.elsewhere.size() < most_elsewhere) out_.elsewhere.emplace_back(name, path);
      }
    }
  }

 private:
  ParsedServers servers_at(const Member& at, ConfigScope scope) {
    auto place = places_at(plain_, at.place->value, document_depth);
    place.key = at.place->key;
    return servers_of({at.value, &place}, scope);
  }

  void read_project(const std::string& path, const Member& at) {
    if (!at.value->is_object()) return wrong_kind(at, fmt::format("the project {}", quoted_name(path)), "an object");
    ClaudeProject project;
    project.path = path;
    if (auto servers = member_of(at, "mcpServers")) project.local = servers_at(servers, ConfigScope::local);
    project.disabled_servers = names(at, "disabledMcpServers");
    project.approved = names(at, "enabledMcpjsonServers");
    project.rejected = names(at, "disabledMcpjsonServers");
    auto trusted = member_of(at, "hasTrustDialogAccepted");
    project.trusted = trusted && trusted.value->to_bool().value_or(false);
    out_.projects.push_back(std::move(project));
  }

  std::vector<std::string> names(const Member& at, std::string_view key) {
    return texts(member_of(at, key), key, Items::readable);
  }

  std::string_view plain_;  // the text without comments
  ClaudeFile& out_;
};

}  // namespace

const ClaudeProject* ClaudeFile::project(std::string_view path) const noexcept { return project_at(projects, path); }

ClaudeFile read_claude_file(std::string_view text, const std::string& file, std::span<const std::string> projects) {
  ClaudeFile out;
  const auto document = outline_of(text, file, outline_depth, out);
  if (!document) return out;
  auto plain = without_comments(text);
  ClaudeReader(text, file, out).read(document->root, document->place, *plain, projects);
  return out;
}

}  // namespace patchbay
