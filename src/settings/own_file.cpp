#include "settings/own_file.h"

#include <algorithm>
#include <array>
#include <span>
#include <tuple>

#include <fmt/format.h>

#include "base/strings.h"
#include "settings/connectors.h"
#include "settings/file_reader.h"

namespace patchbay {
namespace {

constexpr auto top_keys = std::to_array<std::string_view>(
    {"$schema", "version", "mcpServers", "disabledServers", "enabledServers", "projects", "settings", "connectors"});
constexpr auto project_keys = std::to_array<std::string_view>(
    {"mcpServers", "approved", "rejected", "notTakenOver", "trusted", "disabledServers", "enabledServers"});

class OwnReader : ServerFileReader {
 public:
  OwnReader(std::string_view text, const std::string& file, OwnFile& out)
      : ServerFileReader(text, file, out.problems), out_(out) {}

  void read(const ConfigDocument& document) {
    const auto top = document.top();
    if (!top.value->is_object()) {
      wrong_kind(top, "the file", "an object");
      out_.readable = false;
      return;
    }
    read_version(member_of(top, "version"));
    if (auto servers = member_of(top, "mcpServers")) out_.user = servers_of(servers, ConfigScope::user);
    out_.disabled_servers = texts(member_of(top, "disabledServers"), "disabledServers", Items::all);
    out_.enabled_servers = texts(member_of(top, "enabledServers"), "enabledServers", Items::all);
    if (auto projects = member_of(top, "projects")) read_projects(projects);
    if (auto settings = member_of(top, "settings")) read_settings(settings);
    if (auto connectors = member_of(top, "connectors")) out_.connectors = read_connector_directory(connectors, report_);
    warn_of_unknown(top, top_keys);
    // Parts are read by key; the user reads from the top.
    std::ranges::sort(out_.problems, {},
                      [](const auto& one) { return std::tuple(one.line, one.column, std::string_view(one.message)); });
  }

 private:
  void read_version(const Member& at) {
    if (!at) return;
    auto version = at.value->to_int();
    if (!version || *version < 1) {
      report_.error(at.place->value, fmt::format("\"version\" must be a whole number that is at least 1, found {}; {}",
                                                 to_text(*at.value), fix_the_file));
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
        wrong_kind(project, fmt::format("the project {}", quoted_name(path)), "an object");
      } else {
        out_.projects.push_back(read_project(path, project));
      }
    }
  }

  OwnProject read_project(std::string_view path, const Member& at) {
    OwnProject project;
    project.path = path;
    if (auto servers = member_of(at, "mcpServers")) project.local = servers_of(servers, ConfigScope::local);
    project.approved = named(member_of(at, "approved"), "approved");
    project.rejected = named(member_of(at, "rejected"), "rejected");
    project.not_taken_over = named(member_of(at, "notTakenOver"), "notTakenOver");
    project.disabled_servers = texts(member_of(at, "disabledServers"), "disabledServers", Items::all);
    project.enabled_servers = texts(member_of(at, "enabledServers"), "enabledServers", Items::all);
    if (auto trusted = member_of(at, "trusted")) {
      if (const auto value = trusted.value->to_bool()) {
        project.trusted = *value;
      } else {
        wrong_kind(trusted, "\"trusted\"", "true or false");
      }
    }
    warn_of_unknown(at, project_keys);
    return project;
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
      if (const auto text = value.text()) {
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

  OwnFile& out_;
};

}  // namespace

const OwnProject* OwnFile::project(std::string_view path) const noexcept { return project_at(projects, path); }

OwnFile read_own_file(std::string_view text, const std::string& file) {
  OwnFile out;
  if (trim(text).empty()) return out;
  if (const auto document = outline_of(text, file, document_depth, out)) OwnReader(text, file, out).read(*document);
  return out;
}

}  // namespace patchbay
