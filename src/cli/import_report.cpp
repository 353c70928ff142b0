#include "cli/import_report.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/strings.h"
#include "cli/new_entry.h"
#include "cli/present.h"
#include "config/parse.h"

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

std::string entry_text(const PlannedEntry& planned, std::size_t width) {
  const auto server = read_planned(planned);
  auto out = fmt::format("  {} {:<{}}  {}\n", mark_of(planned), safe_line(planned.name, longest_name), width,
                         safe_line(shown_target(server), longest_line));
  if (!planned.reason.empty()) out += fmt::format("      {}\n", safe_line(planned.reason, longest_line));
  if (planned.action == ImportAction::add && server.disabled) {
    out += planned.missing.empty()
               ? std::string("      disabled, as it was\n")
               : fmt::format("      disabled; it needs {}\n", safe_line(join(planned.missing, ", "), longest_line));
  }
  return out;
}

std::string source_text(const ImportSource& source) {
  const auto& file = source.file;
  auto out = fmt::format("{}: {} to {} config\n", name_of(file.client).title, safe_line(file.file, longest_line),
                         to_string(source.scope));
  std::size_t width = 0;
  for (const auto& planned : source.plan) width = std::max(width, std::min(planned.name.size(), longest_name));
  for (const auto& planned : source.plan) out += entry_text(planned, width);
  for (const auto& problem : file.problems) out += fmt::format("  ! {}\n", safe_line(problem.text(), longest_line));
  for (const auto& note : file.notes) {
    if (!is_about(note, source.plan)) continue;
    const auto of = note.server.empty() ? std::string() : fmt::format("{}: ", safe_line(note.server, longest_name));
    out += fmt::format("    {}:{}:{}: {}{} {}: {}\n", safe_line(file.file, longest_line), note.line, note.column, of,
                       safe_line(note.field, 80), to_string(note.fate), safe_line(note.message, longest_line));
  }
  return out;
}

Json entry_json(const PlannedEntry& planned) {
  Json missing = Json::array();
  for (const auto& name : planned.missing) missing.push_back(name);
  const auto server = read_planned(planned);
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
  for (const auto& planned : source.plan) servers.push_back(entry_json(planned));
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
          {"servers", std::move(servers)},
          {"notes", std::move(notes)},
          {"problems", std::move(problems)}};
}

}  // namespace

ServerConfig read_planned(const PlannedEntry& planned) {
  Json file;
  file["mcpServers"]["server"] = planned.entry;
  auto read = parse_servers(to_text(file), {.file = {}}, ServerMap::wrapped);
  ServerConfig server = read.servers.empty() ? ServerConfig() : std::move(read.servers.front());
  server.name = planned.name;
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

std::string import_table(const std::vector<ImportSource>& sources) {
  std::string out;
  for (const auto& source : sources) {
    if (source.plan.empty() && source.file.problems.empty()) continue;
    out += source_text(source) + "\n";
  }
  return out;
}

Json import_json(const std::vector<ImportSource>& sources, bool written) {
  Json files = Json::array();
  for (const auto& source : sources) files.push_back(source_json(source));
  return {{"written", written}, {"files", std::move(files)}};
}

}  // namespace patchbay::cli
