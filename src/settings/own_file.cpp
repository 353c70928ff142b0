#include "settings/own_file.h"

#include <algorithm>
#include <array>
#include <span>
#include <tuple>

#include <fmt/format.h>

#include "base/strings.h"
#include "json/kind_text.h"
#include "settings/connectors.h"
#include "text/report.h"

namespace patchbay {
namespace {

using Member = ConfigDocument::Member;

constexpr auto top_keys = std::to_array<std::string_view>(
    {"$schema", "version", "mcpServers", "disabledServers", "enabledServers", "projects", "settings", "connectors"});
constexpr auto project_keys = std::to_array<std::string_view>(
    {"mcpServers", "approved", "rejected", "trusted", "disabledServers", "enabledServers"});

class OwnReader {
 public:
  OwnReader(std::string_view text, const std::string& file, OwnFile& out)
      : text_(text), file_(file), out_(out), report_(text, file, out.problems) {}

  void read(const Member& top) {
    if (!top.value->is_object()) {
      wrong_kind(top, "the file", "an object");
      out_.readable = false;
      return;
    }
    read_version(member_of(top, "version"));
    if (auto servers = member_of(top, "mcpServers")) out_.user = servers_of(servers, ConfigScope::user);
    out_.disabled_servers = texts(member_of(top, "disabledServers"), "disabledServers");
    out_.enabled_servers = texts(member_of(top, "enabledServers"), "enabledServers");
    if (auto projects = member_of(top, "projects")) read_projects(projects);
    if (auto settings = member_of(top, "settings")) read_settings(settings);
    if (auto connectors = member_of(top, "connectors")) out_.connectors = read_connector_directory(connectors, report_);
    warn_of_unknown(top, top_keys);
    // Parts are read by key; the person reads from the top.
    std::ranges::sort(out_.problems, {},
                      [](const auto& one) { return std::tuple(one.line, one.column, std::string_view(one.message)); });
  }

 private:
  void wrong_kind(const Member& at, std::string_view what, std::string_view expected) {
    report_.error(at.place->value, fmt::format("{} must be {}, found {}; {}", what, expected,
                                               kind_with_article(*at.value), fix_the_file));
  }

  void read_version(const Member& at) {
    if (!at) return;
    auto version = at.value->to_int();
    if (!version || *version < 1) {
      report_.error(at.place->value,
                    fmt::format("\"version\" must be a number from 1, found {}; {}", to_text(*at.value), fix_the_file));
      return;
    }
    out_.version = *version;
    if (out_.is_newer()) {
      report_.warning(at.place->value,
                      fmt::format("the file has version {}, but this program knows only version {}: it uses what it "
                                  "understands and does not change the file; to change it, use a newer patchbay",
                                  *version, own_file_version));
    }
  }

  ParsedServers servers_of(const Member& at, ConfigScope scope) {
    auto parsed = parse_server_map(text_, at, {file_, 0, scope, trust_of(scope), 0});
    out_.problems.insert(out_.problems.end(), parsed.problems.begin(), parsed.problems.end());
    return parsed;
  }

  void read_projects(const Member& at) {
    const auto* projects = at.value->if_object();
    if (projects == nullptr) return wrong_kind(at, "\"projects\"", "an object");
    std::size_t i = 0;
    for (const auto& [path, value] : *projects) {
      Member project{&value, &at.place->children[i++]};
      if (!path.starts_with('/')) {
        report_.warning(project.place->key,
                        fmt::format("the project {} is ignored: its name must be an absolute path", quoted_name(path)));
      } else if (!value.is_object()) {
        wrong_kind(project, "a project", "an object");
      } else {
        out_.projects.push_back(read_project(path, project));
      }
    }
  }

  OwnProject read_project(const std::string& path, const Member& at) {
    OwnProject project;
    project.path = path;
    if (auto servers = member_of(at, "mcpServers")) project.local = servers_of(servers, ConfigScope::local);
    project.approved = named(member_of(at, "approved"), "approved");
    project.rejected = named(member_of(at, "rejected"), "rejected");
    project.disabled_servers = texts(member_of(at, "disabledServers"), "disabledServers");
    project.enabled_servers = texts(member_of(at, "enabledServers"), "enabledServers");
    if (auto trusted = member_of(at, "trusted")) {
      if (const auto* value = trusted.value->if_bool()) {
        project.trusted = *value;
      } else {
        wrong_kind(trusted, "\"trusted\"", "true or false");
      }
    }
    warn_of_unknown(at, project_keys);
    return project;
  }

  std::vector<std::string> texts(const Member& at, std::string_view key) {
    std::vector<std::string> out;
    if (!at) return out;
    const auto* items = at.value->if_array();
    if (items == nullptr) {
      wrong_kind(at, fmt::format("\"{}\"", key), "an array of strings");
      return out;
    }
    for (std::size_t i = 0; i < items->size(); ++i) {
      if (const auto* text = (*items)[i].if_string()) {
        out.push_back(*text);
      } else {
        wrong_kind({&(*items)[i], &at.place->children[i]}, fmt::format("\"{}[{}]\"", key, i), "a string");
      }
    }
    return out;
  }

  NamedTexts named(const Member& at, std::string_view key) {
    NamedTexts out;
    if (!at) return out;
    const auto* members = at.value->if_object();
    if (members == nullptr) {
      wrong_kind(at, fmt::format("\"{}\"", key), "an object of strings");
      return out;
    }
    std::size_t i = 0;
    for (const auto& [name, value] : *members) {
      Member one{&value, &at.place->children[i++]};
      if (const auto* text = value.if_string()) {
        out.emplace_back(name, *text);
      } else {
        wrong_kind(one, fmt::format("the entry {} of \"{}\"", quoted_name(name), key), "a string");
      }
    }
    return out;
  }

  void read_settings(const Member& at) {
    // Handed on all the same: who reads rules in it must know that there may be some.
    if (!at.value->is_object()) wrong_kind(at, "\"settings\"", "an object");
    out_.settings = text_;
    for (std::size_t i = 0; i < text_.size(); ++i) {
      if ((i < at.place->value || i >= at.place->end) && text_[i] != '\n') out_.settings[i] = ' ';
    }
  }

  void warn_of_unknown(const Member& at, std::span<const std::string_view> known) {
    std::size_t i = 0;
    for (const auto& [key, value] : *at.value->if_object()) {
      const auto& place = at.place->children[i++];
      if (std::ranges::find(known, key) != known.end() || out_.is_newer()) continue;
      const std::vector<std::string> names(known.begin(), known.end());
      const auto meant = nearest(key, names);
      report_.warning(place.key, fmt::format("unknown key {} has no effect{}", quoted_name(key),
                                             meant.empty() ? "" : fmt::format("; did you mean \"{}\"?", meant)));
    }
  }

  std::string_view text_;
  const std::string& file_;
  OwnFile& out_;
  ConfigReport report_;
};

}  // namespace

const OwnProject* OwnFile::project(std::string_view path) const noexcept {
  auto found = std::ranges::find(projects, path, &OwnProject::path);
  return found == projects.end() ? nullptr : &*found;
}

OwnFile read_own_file(std::string_view text, const std::string& file) {
  OwnFile out;
  if (trim(text).empty()) return out;
  auto document = read_document(text, file, "an object");
  if (!document) {
    out.problems.push_back(std::move(document).error());
    out.readable = false;
    return out;
  }
  OwnReader(text, file, out).read(document->top());
  return out;
}

}  // namespace patchbay
