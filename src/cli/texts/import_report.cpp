#include "cli/texts/import_report.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/strings.h"
#include "cli/texts/present.h"
#include "entries/consent_text.h"
#include "entries/parse.h"
#include "text/visible_text.h"

namespace patchbay::cli {
namespace {

constexpr std::size_t longest_name = 40;
constexpr std::size_t longest_line = 400;

bool is_about(const ImportNote& note, const std::vector<PlannedEntry>& plan) {
  return note.server.empty() || std::ranges::find(plan, note.server, &PlannedEntry::original) != plan.end();
}

char mark_of(const PlannedEntry& planned) {
  switch (planned.action) {
    case ImportAction::add:
      return '+';
    case ImportAction::already_there:
      return '=';
    case ImportAction::skip:
      return '-';
  }
  return '-';
}

std::string entry_text(const PlannedEntry& planned, ConfigTrust trust, std::size_t width, std::size_t columns) {
  const auto server = read_planned(planned, trust);
  std::string out;
  auto add = [&](std::string_view indent, const std::string& line) {
    for (const auto& one : wrapped(line, columns > indent.size() ? columns - indent.size() : 0, "  | ")) {
      out += fmt::format("{}{}\n", indent, one);
    }
  };
  add("  ", fmt::format("{} {:<{}}  {}", mark_of(planned), safe_name(planned.name, longest_name), width,
                        consent_target(server)));
  // All that becomes the user's word with it.
  if (planned.action == ImportAction::add) {
    for (const auto& detail : consent_text(server).details) {
      if (!detail.starts_with("disabled: ")) add("      ", detail);
    }
  }
  if (!planned.reason.empty()) add("      ", visible_message(planned.reason));
  if (planned.action == ImportAction::add && server.disabled) {
    add("      ", planned.missing.empty() ? std::string("disabled, as in the file it comes from")
                                          : fmt::format("disabled until this is set or checked: {}",
                                                        safe_line(join(planned.missing, ", "), longest_line)));
  }
  return out;
}

std::string source_text(const ImportSource& source, std::size_t columns) {
  const auto& file = source.file;
  std::string out;
  auto add = [&](const std::string& line) {
    for (const auto& one : wrapped(line, columns, "      | ")) out += one + "\n";
  };
  add(fmt::format("{}: {} to {} config", name_of(file.client).title, visible_text(file.file), to_string(source.scope)));
  std::size_t width = 0;
  for (const auto& planned : source.plan) width = std::max(width, std::min(planned.name.size(), longest_name));
  for (const auto& planned : source.plan) out += entry_text(planned, source.trust, width, columns);
  for (const auto& problem : file.problems) add(fmt::format("  ! {}", problem_text(problem)));
  for (const auto& note : file.notes) {
    if (!is_about(note, source.plan)) continue;
    const auto of = note.server.empty() ? std::string() : fmt::format("{}: ", safe_name(note.server, longest_name));
    add(fmt::format("    {}:{}:{}: {}{} {}: {}", visible_text(file.file), note.line, note.column, of,
                    safe_name(note.field, 80), to_string(note.fate), visible_message(note.message)));
  }
  return out;
}

Json entry_json(const PlannedEntry& planned, ConfigTrust trust) {
  Json missing = Json::array();
  for (const auto& name : planned.missing) missing.push_back(name);
  const auto server = read_planned(planned, trust);
  return {{"name", planned.name},
          {"original", planned.original},
          {"action", to_string(planned.action)},
          {"reason", planned.reason.empty() ? Json() : Json(planned.reason)},
          {"disabled", server.disabled},
          {"missing", std::move(missing)},
          {"line", planned.line},
          {"column", planned.column},
          {"entry", shown_entry(server)}};
}

Json source_json(const ImportSource& source) {
  Json servers = Json::array();
  Json notes = Json::array();
  Json problems = Json::array();
  for (const auto& planned : source.plan) servers.push_back(entry_json(planned, source.trust));
  for (const auto& note : source.file.notes) {
    if (!is_about(note, source.plan)) continue;
    notes.push_back({{"server", note.server.empty() ? Json() : Json(note.server)},
                     {"field", note.field},
                     {"fate", to_string(note.fate)},
                     {"line", note.line},
                     {"column", note.column},
                     {"message", note.message}});
  }
  for (const auto& problem : source.file.problems) {
    problems.push_back({{"server", problem.server.empty() ? Json() : Json(problem.server)},
                        {"line", problem.line},
                        {"column", problem.column},
                        {"message", problem.message}});
  }
  return {{"client", name_of(source.file.client).id},
          {"file", source.file.file},
          {"scope", to_string(source.scope)},
          {"trusted", source.trust == ConfigTrust::trusted},
          {"servers", std::move(servers)},
          {"notes", std::move(notes)},
          {"problems", std::move(problems)}};
}

}  // namespace

ServerConfig read_planned(const PlannedEntry& planned, ConfigTrust trust) {
  Json file;
  file["mcpServers"]["server"] = planned.entry;
  auto read = parse_servers(to_text(file), {.file = {}}, ServerMap::wrapped);
  ServerConfig server = read.servers.empty() ? ServerConfig() : std::move(read.servers.front());
  server.name = planned.name;
  server.origin.trust = trust;
  return server;
}

ImportCounts count_import(const std::vector<ImportSource>& sources) {
  ImportCounts counts;
  for (const auto& source : sources) {
    for (const auto& planned : source.plan) {
      if (planned.action == ImportAction::add) ++counts.add;
      if (planned.action == ImportAction::already_there) ++counts.already_there;
      if (planned.action == ImportAction::skip) ++counts.not_carried;
    }
    for (const auto& problem : source.file.problems) counts.not_carried += problem.server.empty() ? 0 : 1;
    for (const auto& note : source.file.notes) counts.fields += is_about(note, source.plan) ? 1 : 0;
  }
  return counts;
}

std::string import_table(const std::vector<ImportSource>& sources, std::size_t columns) {
  std::string out;
  for (const auto& source : sources) {
    if (source.plan.empty() && source.file.problems.empty()) continue;
    out += source_text(source, columns) + "\n";
  }
  return out;
}

Json import_json(const std::vector<ImportSource>& sources, bool written) {
  Json files = Json::array();
  for (const auto& source : sources) files.push_back(source_json(source));
  return {{"written", written}, {"files", std::move(files)}};
}

}  // namespace patchbay::cli
