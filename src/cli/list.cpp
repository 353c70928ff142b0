// `patchbay list` and `patchbay get`: what is declared and where each stands. Without --check nothing is
// started and no network touched; with it, and as `patchbay mcp list`, every server that may be started
// is, to see whether it answers.
#include <algorithm>
#include <map>
#include <span>

#include <fmt/format.h>

#include "base/strings.h"
#include "cli/context.h"
#include "cli/declared.h"
#include "cli/new_entry.h"
#include "cli/present.h"
#include "config/load.h"
#include "host/server_error.h"

namespace patchbay::cli {
namespace {

constexpr std::size_t most_last_words = 5;

// One declared server and how it is.
struct Row {
  const ServerConfig* server = nullptr;
  ServerState state = ServerState::pending;
  std::string reason;
  std::optional<Error> error;
};

Row row_of(const ServerConfig& server) {
  Row row{&server, ServerState::disabled, std::string(to_string(server.standing)), std::nullopt};
  switch (server.standing) {
    case ServerStanding::active:
      row.state = ServerState::pending;
      row.reason = "not started";
      break;
    case ServerStanding::awaiting_approval:
      row.state = ServerState::pending;
      break;
    case ServerStanding::broken:
      row.state = ServerState::failed;
      row.error = Error(Errc::config, server.reason);
      break;
    default:
      break;
  }
  return row;
}

bool in_scope(const Settings& settings, const ServerConfig& server) {
  return settings.scope.empty() || to_string(server.origin.scope) == settings.scope;
}

// Those that count; of one scope also those that another scope hides.
std::vector<Row> rows_of(const LoadedConfig& config, const Settings& settings) {
  std::vector<Row> rows;
  for (const auto& server : config.servers) {
    if (in_scope(settings, server)) rows.push_back(row_of(server));
  }
  if (settings.scope.empty()) return rows;
  for (const auto& server : config.shadowed) {
    if (in_scope(settings, server)) rows.push_back(row_of(server));
  }
  return rows;
}

// Notes are for who looks for them: doctor and lint.
std::vector<ConfigProblem> warnings_of(const LoadedConfig& config) {
  std::vector<ConfigProblem> out;
  for (const auto& problem : config.problems) {
    if (problem.severity != Severity::note) out.push_back(problem);
  }
  return out;
}

Json row_json(const Row& row) {
  return {{"name", row.server->name},
          {"scope", to_string(row.server->origin.scope)},
          {"source", source_json(row.server->origin)},
          {"transport", to_string(row.server->kind)},
          {"state", to_string(row.state)},
          {"reason", row.reason},
          {"error", row.error ? Json(row.error->message()) : Json()},
          {"shadows", shadows_json(*row.server)}};
}

Json list_json(const std::vector<Row>& rows, const std::vector<ConfigProblem>& warnings) {
  Json servers = Json::array();
  for (const auto& row : rows) servers.push_back(row_json(row));
  Json problems = Json::array();
  for (const auto& problem : warnings) problems.push_back(problem_json(problem));
  return {{"servers", std::move(servers)}, {"warnings", std::move(problems)}};
}

void say_warnings(const Settings& settings, Io& io, const std::vector<ConfigProblem>& warnings) {
  if (settings.json || settings.quiet) return;
  for (const auto& problem : warnings) {
    io.talk(fmt::format("patchbay: {}{}\n", problem.severity == Severity::warning ? "warning: " : "",
                        safe_line(problem.text(), 2000)));
  }
}

// ---- words for people

// How a server is, in the words of `claude mcp list`.
std::string health(const Row& row) {
  const auto name = safe_line(row.server->name, 80);
  const auto cause = row.error ? safe_line(without_name(row.server->name, row.error->message()), 400) : std::string();
  switch (row.server->standing) {
    case ServerStanding::awaiting_approval:
      return fmt::format("⏸ Pending approval (run `patchbay approve {}`)", name);
    case ServerStanding::rejected:
      return fmt::format("✘ Rejected ({})", safe_line(row.server->reason, 400));
    case ServerStanding::disabled:
      return "⊘ Disabled";
    case ServerStanding::not_configured:
      return "not configured";
    case ServerStanding::broken:
      return fmt::format("✘ Invalid configuration: {}", cause);
    case ServerStanding::policy:
    case ServerStanding::duplicate:
    case ServerStanding::shadowed:
      return fmt::format("⊘ Disabled ({})", safe_line(row.server->reason, 400));
    case ServerStanding::active:
      break;
  }
  switch (row.state) {
    case ServerState::connected:
      if (row.reason != "tools fetch failed") return "✔ Connected";
      return fmt::format("! Connected · tools fetch failed{}{}", cause.empty() ? "" : ": ", cause);
    case ServerState::needs_auth:
      return cause.empty() ? "! Needs authentication" : fmt::format("! Needs authentication: {}", cause);
    case ServerState::failed:
      return cause.empty() ? "✘ Failed to connect" : fmt::format("✘ Failed to connect: {}", cause);
    case ServerState::disabled:
      return "⊘ Disabled";
    case ServerState::pending:
      break;
  }
  return "not started";
}

// The end of what the server wrote to stderr, which often has the reason.
std::string last_words(const Row& row) {
  if (row.state != ServerState::failed || !row.error) return {};
  const auto detail = trim(row.error->detail());
  if (detail.empty()) return {};
  auto lines = split(detail, '\n');
  const auto skipped = lines.size() > most_last_words ? lines.size() - most_last_words : 0;
  std::string text;
  for (auto line : std::span(lines).subspan(skipped)) text += fmt::format("{}\n", safe_line(line, 300));
  return indented(text);
}

std::string transport_note(const ServerConfig& server) {
  if (server.kind == ServerKind::stdio) return {};
  auto kind = std::string(to_string(server.kind));
  for (char& c : kind) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return fmt::format(" ({})", kind);
}

std::string target_of(const ServerConfig& server) {
  return server.standing == ServerStanding::broken ? std::string() : shown_target(server);
}

std::string health_line(const Row& row) {
  const auto target = target_of(*row.server);
  return fmt::format("{}: {}{}- {}\n", safe_line(row.server->name, 80), safe_line(target, 300),
                     target.empty() ? "" : transport_note(*row.server) + " ", health(row)) +
         last_words(row);
}

// Where it stands, short.
std::string short_place(const Declared& declared, const ConfigOrigin& origin) {
  auto place = place_text(declared, origin);
  const auto home = config_paths(declared.request).home + "/";
  return place.starts_with(home) ? "~/" + place.substr(home.size()) : place;
}

std::string table(const Declared& declared, const std::vector<Row>& rows, const Io& io) {
  std::size_t names = 4;
  std::size_t states = 5;
  for (const auto& row : rows) {
    names = std::min<std::size_t>(std::max(names, row.server->name.size()), 40);
    states = std::max(states, row.reason.size());
  }
  std::string out;
  for (const auto& row : rows) {
    const auto place = short_place(declared, row.server->origin);
    const auto before = fmt::format("{:<{}}  {:<10}  {:<{}}  ", safe_line(row.server->name, 40), names,
                                    to_string(row.server->origin.scope), row.reason, states);
    const auto used = before.size() + place.size() + 4;
    const auto width = io.width();
    const std::size_t room = !io.out_is_terminal ? 2000 : width > used + 20 ? width - used : 20;
    const auto target = row.server->standing == ServerStanding::broken ? row.server->reason : target_of(*row.server);
    out += fmt::format("{}{}  ({})\n", before, safe_line(target, room), place);
  }
  return out;
}

void say_next(const Settings& settings, Io& io, const std::vector<Row>& rows) {
  if (settings.json || settings.quiet) return;
  std::string waiting;
  for (const auto& row : rows) {
    if (row.server->standing == ServerStanding::awaiting_approval) waiting += " " + safe_line(row.server->name, 80);
  }
  if (!waiting.empty())
    io.talk(fmt::format("This project brought servers along; if you trust them: patchbay approve{}\n", waiting));
}

constexpr std::string_view none_declared = "No MCP servers configured. Use `patchbay mcp add` to add a server.\n";

// ---- one server

std::string page(const Declared& declared, const Row& row, bool checked) {
  const auto& server = *row.server;
  const auto name = safe_line(server.name, 80);
  auto out = fmt::format("{}:\n  Scope: {}\n  Source: {}\n", name, scope_title(server.origin.scope),
                         place_text(declared, server.origin));
  const bool counts = server.standing == ServerStanding::active;
  out += fmt::format("  Status: {}\n",
                     counts && !checked ? "not started (see with: patchbay get " + name + " --check)" : health(row));
  out += last_words(row);
  if (server.standing == ServerStanding::broken) return out;
  const auto entry = shown_entry(server);
  out += fmt::format("  Type: {}\n", to_string(server.kind));
  auto line = [&](std::string_view title, const Json& value) {
    out += fmt::format("  {}: {}\n", title, safe_line(value.is_string() ? value.as_string() : to_text(value), 2000));
  };
  auto members = [&](std::string_view title, const Json& values, std::string_view sign) {
    out += fmt::format("  {}:\n", title);
    for (const auto& [key, value] : values.as_object()) {
      out += fmt::format("    {}{}{}\n", safe_line(key, 200), sign, safe_line(value.as_string(), 500));
    }
  };
  std::string args;
  for (const auto& arg : entry["args"].is_array() ? entry["args"].as_array() : Json::Array{}) {
    args += (args.empty() ? "" : " ") + arg.as_string();
  }
  if (server.kind == ServerKind::stdio) {
    line("Command", entry["command"]);
    if (!args.empty()) line("Args", args);
  } else {
    line("URL", entry["url"]);
  }
  for (const auto& [key, value] : entry.as_object()) {
    if (key == "env") {
      members("Environment", value, "=");
    } else if (key == "headers") {
      members("Headers", value, ": ");
    } else if (key != "type" && key != "args" && key != "command" && key != "url") {
      line(key, value);
    }
  }
  return out;
}

std::vector<ConfigProblem> issues_of(const std::vector<ConfigProblem>& warnings, const ServerConfig& server) {
  std::vector<ConfigProblem> out;
  for (const auto& problem : warnings) {
    if (problem.server == server.name) out.push_back(problem);
  }
  return out;
}

std::string after_page(const Declared& declared, const Row& row, const std::vector<ConfigProblem>& issues) {
  const auto& server = *row.server;
  const auto name = safe_line(server.name, 80);
  std::string out;
  for (const auto& issue : issues) out += fmt::format("  Issue: {}\n", safe_line(issue.text(), 1000));
  for (const auto& shadow : server.shadows) {
    out += fmt::format("  Goes before: {} config ({})\n", to_string(shadow.scope), place_text(declared, shadow));
  }
  if (is_ours(declared, server)) {
    out += fmt::format("\nTo remove this server, run: patchbay remove {} --scope {}\n", name,
                       to_string(server.origin.scope));
  } else if (server.origin.scope != ConfigScope::enterprise && server.origin.scope != ConfigScope::dynamic) {
    out += fmt::format("\nTo switch this server off, run: patchbay disable {}\n", name);
  }
  return out;
}

int show_list(const Declared& declared, const std::vector<Row>& rows, const Settings& settings, Io& io, bool checked) {
  const auto warnings = warnings_of(declared.config);
  say_warnings(settings, io, warnings);
  if (settings.json) {
    answer(settings, io, list_json(rows, warnings), {});
    return 0;
  }
  if (rows.empty()) {
    io.out(none_declared);
    return 0;
  }
  if (!checked) {
    io.out(table(declared, rows, io));
  } else {
    std::string lines;
    for (const auto& row : rows) lines += health_line(row);
    io.out(lines);
  }
  if (!checked) say_next(settings, io, rows);
  return 0;
}

int show_server(const Declared& declared, const Row& row, const Settings& settings, Io& io, bool checked) {
  const auto issues = issues_of(warnings_of(declared.config), *row.server);
  if (!settings.json) {
    io.out(page(declared, row, checked) + after_page(declared, row, issues));
    return 0;
  }
  auto json = row_json(row);
  json["config"] = row.server->standing == ServerStanding::broken ? Json() : shown_entry(*row.server);
  Json list = Json::array();
  for (const auto& issue : issues) list.push_back(problem_json(issue));
  json["issues"] = std::move(list);
  answer(settings, io, json, {});
  return 0;
}

// What the host found out about the servers that count.
void look(std::vector<Row>& rows, const std::vector<ServerStatus>& found) {
  for (auto& row : rows) {
    if (row.server->standing != ServerStanding::active) continue;
    const auto status = std::ranges::find(found, row.server->name, &ServerStatus::name);
    if (status == found.end()) continue;
    row.state = status->state;
    row.reason = status->reason;
    row.error = status->error;
    if (row.reason.empty() && row.error) row.reason = to_string(row.error->code());
  }
}

std::vector<std::string> startable(const std::vector<Row>& rows) {
  std::vector<std::string> names;
  for (const auto& row : rows) {
    if (row.server->standing == ServerStanding::active) names.push_back(row.server->name);
  }
  return names;
}

}  // namespace

int list(const Settings& settings, Io& io) {
  const auto declared = load_declared(settings);
  return show_list(declared, rows_of(declared.config, settings), settings, io, false);
}

int get(const Settings& settings, Io& io) {
  const auto declared = load_declared(settings);
  return show_server(declared, row_of(entry_named(declared, settings.words.at(0), settings.scope)), settings, io,
                     false);
}

Task<int> list_checked(Context& context) {
  const auto declared = load_declared(context.settings);
  auto rows = rows_of(declared.config, context.settings);
  const auto names = startable(rows);
  if (!names.empty()) {
    if (!context.settings.json && !context.settings.quiet) context.io.talk("Checking MCP server health…\n\n");
    co_await context.host.start(names);
    look(rows, context.host.status());
  }
  context.waiting.end();
  co_return show_list(declared, rows, context.settings, context.io, true);
}

Task<int> get_checked(Context& context) {
  const auto declared = load_declared(context.settings);
  std::vector<Row> rows{row_of(entry_named(declared, context.settings.words.at(0), context.settings.scope))};
  if (const auto names = startable(rows); !names.empty()) {
    co_await context.host.start(names);
    look(rows, context.host.status());
  }
  context.waiting.end();
  co_return show_server(declared, rows.front(), context.settings, context.io, true);
}

}  // namespace patchbay::cli
