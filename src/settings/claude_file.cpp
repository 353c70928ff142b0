#include "settings/claude_file.h"

#include <algorithm>

#include <fmt/format.h>

#include "json/kind_text.h"
#include "text/jsonc.h"
#include "text/report.h"

namespace patchbay {
namespace {

using Member = ConfigDocument::Member;

// Root, "projects", a project, its keys. Servers are looked at more closely one by one: most of the file is
// history, and it can be large.
constexpr std::size_t outline_depth = 3;

class ClaudeReader {
 public:
  ClaudeReader(std::string_view text, const std::string& file, ClaudeFile& out)
      : text_(text), file_(file), out_(out), report_(text, file, out.problems) {}

  void read(const Json& root, const Place& place, std::string_view plain, std::span<const std::string> projects) {
    plain_ = plain;
    Member top{&root, &place};
    if (!root.is_object()) {
      wrong_kind(top, "the file", "an object");
      out_.readable = false;
      return;
    }
    if (auto servers = member_of(top, "mcpServers")) out_.user = servers_of(servers, ConfigScope::user);
    auto known = member_of(top, "projects");
    if (!known) return;
    if (!known.value->is_object()) return wrong_kind(known, "\"projects\"", "an object");
    for (const auto& path : projects) {
      if (auto project = member_of(known, path)) read_project(path, project);
    }
  }

 private:
  void wrong_kind(const Member& at, std::string_view what, std::string_view expected) {
    report_.error(at.place->value, fmt::format("{} must be {}, found {}; {}", what, expected,
                                               kind_with_article(*at.value), fix_the_file));
  }

  ParsedServers servers_of(const Member& at, ConfigScope scope) {
    auto place = places_at(plain_, at.place->value, document_depth);
    place.key = at.place->key;
    auto parsed = parse_server_map(text_, {at.value, &place}, {file_, 0, scope, trust_of(scope), 0});
    out_.problems.insert(out_.problems.end(), parsed.problems.begin(), parsed.problems.end());
    return parsed;
  }

  void read_project(const std::string& path, const Member& at) {
    if (!at.value->is_object()) return wrong_kind(at, "a project", "an object");
    ClaudeProject project;
    project.path = path;
    if (auto servers = member_of(at, "mcpServers")) project.local = servers_of(servers, ConfigScope::local);
    project.disabled_servers = names(member_of(at, "disabledMcpServers"), "disabledMcpServers");
    project.approved = names(member_of(at, "enabledMcpjsonServers"), "enabledMcpjsonServers");
    project.rejected = names(member_of(at, "disabledMcpjsonServers"), "disabledMcpjsonServers");
    auto trusted = member_of(at, "hasTrustDialogAccepted");
    project.trusted = trusted && trusted.value->if_bool() != nullptr && *trusted.value->if_bool();
    out_.projects.push_back(std::move(project));
  }

  // What is no name is left out: the file is not ours to be strict about.
  std::vector<std::string> names(const Member& at, std::string_view key) {
    std::vector<std::string> out;
    if (!at) return out;
    const auto* items = at.value->if_array();
    if (items == nullptr) {
      wrong_kind(at, fmt::format("\"{}\"", key), "an array of strings");
      return out;
    }
    for (const auto& item : *items) {
      if (const auto* text = item.if_string()) out.push_back(*text);
    }
    return out;
  }

  std::string_view text_;
  std::string_view plain_;  // the text without comments
  const std::string& file_;
  ClaudeFile& out_;
  ConfigReport report_;
};

}  // namespace

const ClaudeProject* ClaudeFile::project(std::string_view path) const noexcept {
  auto found = std::ranges::find(projects, path, &ClaudeProject::path);
  return found == projects.end() ? nullptr : &*found;
}

ClaudeFile read_claude_file(std::string_view text, const std::string& file, std::span<const std::string> projects) {
  ClaudeFile out;
  auto document = read_document(text, file, "an object", outline_depth);
  if (!document) {
    out.problems.push_back(std::move(document).error());
    out.readable = false;
    return out;
  }
  auto plain = without_comments(text);
  ClaudeReader(text, file, out).read(document->root, document->place, *plain, projects);
  return out;
}

}  // namespace patchbay
