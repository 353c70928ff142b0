// `patchbay list` and `patchbay get`: what is declared and where each stands. Without --check nothing is
// started and no network touched; with it, and as `patchbay mcp list`, every server that may be started
// is, to see whether it answers.
#include <algorithm>
#include <filesystem>
#include <map>
#include <span>

#include <boost/asio/this_coro.hpp>
#include <fmt/format.h>

#include "base/scope.h"
#include "base/strings.h"
#include "cli/commands/list_warnings.h"
#include "cli/context.h"
#include "cli/declared.h"
#include "cli/sandboxes.h"
#include "cli/session/control.h"
#include "cli/texts/present.h"
#include "cli/texts/remedy_words.h"
#include "cli/texts/sandbox_words.h"
#include "entries/consent_text.h"
#include "entries/entry.h"
#include "entries/expand.h"
#include "entries/signature.h"
#include "host/server_error.h"
#include "servers/load.h"
#include "settings/files.h"
#include "text/file_and_line.h"
#include "text/shell_word.h"
#include "text/visible_text.h"

namespace patchbay::cli {
namespace {

// One declared server and how it is.
struct Row {
  const ServerConfig* server = nullptr;
  ServerState state = ServerState::pending;
  std::string reason;
  std::optional<Error> error;
  bool tools_missing = false;  // it is connected, and its tools could not be listed
  bool tools_changed = false;  // ... or some of them wait for approval
  SandboxState sandbox = {};   // what would hold
};

std::string state_word(const Row& row) { return row.reason.empty() ? std::string(to_string(row.state)) : row.reason; }

Row row_of(const ServerConfig& server, Sandboxes& sandboxes) {
  Row row{.server = &server,
          .state = ServerState::disabled,
          .reason = std::string(to_string(server.standing)),
          .error = std::nullopt,
          .sandbox = sandboxes.of(server)};
  switch (server.standing) {
    case ServerStanding::active:
      row.state = ServerState::pending;
      row.reason = to_string(ServerReason::not_started);
      break;
    case ServerStanding::awaiting_approval:
      row.state = ServerState::pending;
      break;
    case ServerStanding::broken:
      row.state = ServerState::failed;
      row.error = Error(Errc::config, reason_words(server));
      break;
    default:
      break;
  }
  return row;
}

bool in_scope(const Settings& settings, const ServerConfig& server) {
  return settings.scope.empty() || to_string(server.origin.scope) == settings.scope;
}

// The order of a list: yours for every project first, then the project's, then yours for the project. Within a scope
// the order of the files.
constexpr int last_rank = 4;
int rank_of(ConfigScope scope) {
  switch (scope) {
    case ConfigScope::enterprise:
      return 0;
    case ConfigScope::user:
      return 1;
    case ConfigScope::project:
      return 2;
    case ConfigScope::local:
      return 3;
    default:
      return last_rank;
  }
}

// Those that count; of one scope also those that another scope hides.
std::vector<Row> rows_of(const LoadedConfig& config, const Settings& settings) {
  std::vector<Row> rows;
  Sandboxes sandboxes(config);
  // Names that were given are there, or it is an error.
  for (const auto& name : settings.words) (void)all_named(config, name);
  auto is_meant = [&](const ServerConfig& server) {
    const auto& names = settings.words;
    return in_scope(settings, server) && (names.empty() || std::ranges::find(names, server.name) != names.end());
  };
  for (const auto& server : config.servers) {
    if (is_meant(server)) rows.push_back(row_of(server, sandboxes));
  }
  for (const auto& server : config.shadowed) {
    if (!settings.scope.empty() && is_meant(server)) rows.push_back(row_of(server, sandboxes));
  }
  std::vector<Row> ordered;
  for (int rank = 0; rank <= last_rank; ++rank) {
    for (auto& row : rows) {
      if (rank_of(row.server->origin.scope) == rank) ordered.push_back(std::move(row));
    }
  }
  return ordered;
}

Json row_json(const LoadedConfig& config, const Row& row) {
  const bool broken = row.server->standing == ServerStanding::broken;
  Json out{{"name", row.server->name},
           {"scope", to_string(row.server->origin.scope)},
           {"source", source_json(row.server->origin)},
           {"transport", broken ? Json() : Json(to_string(row.server->kind))},
           {"state", to_string(row.state)},
           {"reason", row.reason},
           {"standing", to_string(row.server->standing)},
           {"detail", row.server->reason.empty() ? Json() : Json(reason_words(*row.server))},
           {"error", row.error ? Json(row.error->message()) : Json()},
           {"errorDetail", row.error ? detail_json(row.error->detail()) : Json()},
           {"config", broken ? Json() : shown_entry(*row.server)},
           {"shadows", shadows_json(*row.server)},
           {"others", others_json(config, *row.server)}};
  if (row.sandbox.mode != SandboxMode::off) out["sandbox"] = sandbox_json(row.sandbox);
  return out;
}

Json list_json(const LoadedConfig& config, const std::vector<Row>& rows, const std::vector<ConfigProblem>& warnings) {
  Json servers = Json::array();
  for (const auto& row : rows) servers.push_back(row_json(config, row));
  Json problems = Json::array();
  for (const auto& problem : warnings) problems.push_back(problem_json(problem));
  return {{"servers", std::move(servers)}, {"warnings", std::move(problems)}};
}

// ---- words for people

// A name in a line that may be pasted.
std::string operand(const std::string& name) { return shell_operands({name}); }

// How a server is, in the words of `claude mcp list`.
std::string health(const Row& row) {
  const auto cause =
      row.error ? shown_failure(row.server->name, row.server->origin.scope, *row.error).cause : std::string();
  switch (row.server->standing) {
    case ServerStanding::awaiting_approval:
      return fmt::format("⏸ Pending approval (run `patchbay approve{}`)", operand(row.server->name));
    case ServerStanding::rejected:
      return fmt::format("✘ Rejected ({})", message_line(reason_words(*row.server), 400));
    case ServerStanding::disabled:
      return "⊘ Disabled";
    case ServerStanding::not_configured:
      return fmt::format("not configured ({})", message_line(reason_words(*row.server), 400));
    case ServerStanding::broken:
      return fmt::format("✘ Invalid configuration: {}", cause);
    case ServerStanding::policy:
    case ServerStanding::duplicate:
    case ServerStanding::shadowed:
      return fmt::format("⊘ Disabled ({})", message_line(reason_words(*row.server), 400));
    case ServerStanding::active:
      break;
  }
  switch (row.state) {
    case ServerState::connected:
      if (row.tools_changed) return fmt::format("! Connected · {}", cause);
      if (!row.tools_missing) return "✔ Connected";
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

// What the server wrote to stderr, which often has the reason.
std::string last_words(const Row& row) {
  if (row.state != ServerState::failed || !row.error) return {};
  return shown_failure(row.server->name, row.server->origin.scope, *row.error).below;
}

std::string transport_note(const ServerConfig& server) {
  if (server.kind == ServerKind::stdio) return {};
  auto kind = std::string(to_string(server.kind));
  for (char& c : kind) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return fmt::format(" ({})", kind);
}

std::string target_of(const ServerConfig& server) {
  return server.standing == ServerStanding::broken ? std::string() : consent_target(server);
}

std::string health_line(const Row& row, std::size_t columns) {
  const auto target = target_of(*row.server);
  return fmt::format("{}: {}{}- {}\n", safe_name(row.server->name, 80), safe_line(target, 300),
                     target.empty() ? "" : transport_note(*row.server) + " ", health(row)) +
         last_words(row) +
         (row.server->standing == ServerStanding::awaiting_approval ? consent_block(*row.server, "    ", columns) : "");
}

// Where it is, short.
std::string short_place(const Declared& declared, const ConfigOrigin& origin) {
  auto place = place_text(declared, origin);
  const auto home = config_paths(declared.request).home + "/";
  return place.starts_with(home) ? "~/" + place.substr(home.size()) : place;
}

// What must be known about a row beside what is in it: why it does not count, what somebody who is asked about
// it agrees to, and whom it hides.
std::string below(const Declared& declared, const ServerConfig& server, std::size_t columns) {
  std::string out;
  auto line = [&out](std::string_view text) { out += fmt::format("    {}\n", message_line(text, 1000)); };
  const bool waits = server.standing == ServerStanding::awaiting_approval;
  if (waits) out += consent_block(server, "    ", columns);
  if (!server.reason.empty() && !waits && server.standing != ServerStanding::broken) line(reason_words(server));
  for (const auto& shadow : server.shadows) {
    line(fmt::format("overrides the {} entry of the same name in {}", scope_word(shadow.scope),
                     short_place(declared, shadow)));
  }
  for (const auto* rival : unapproved_rivals(declared.config, server)) {
    if (rival->standing != ServerStanding::awaiting_approval) continue;
    line(
        fmt::format("the {} entry of the same name in {} needs approval and would then override this one; to approve "
                    "it: patchbay approve{}",
                    scope_word(rival->origin.scope), short_place(declared, rival->origin), operand(server.name)));
    out += consent_block(*rival, "      ", columns);
  }
  return out;
}

std::string table(const Declared& declared, const std::vector<Row>& rows, const Io& io) {
  std::size_t names = 4;
  std::size_t states = 5;
  for (const auto& row : rows) {
    names = std::min<std::size_t>(std::max(names, row.server->name.size()), 40);
    states = std::max(states, state_word(row).size());
  }
  std::string out;
  for (const auto& row : rows) {
    const auto place = short_place(declared, row.server->origin);
    const auto before = fmt::format("{:<{}}  {:<10}  {:<{}}  ", safe_name(row.server->name, 40), names,
                                    scope_word(row.server->origin.scope), state_word(row), states);
    // What waits for approval is shown whole below.
    const bool waits = row.server->standing == ServerStanding::awaiting_approval;
    const auto target = waits                                            ? std::string()
                        : row.server->standing == ServerStanding::broken ? visible_message(reason_words(*row.server))
                                                                         : target_of(*row.server);
    // Where both do not fit, each has a line.
    constexpr std::size_t most = 2000;
    const auto columns = out_columns(io);
    const bool apart = !waits && columns > 0 && before.size() + target.size() + place.size() + 4 > columns;
    // One less for the sign of what was cut, which may take two columns.
    const auto room = columns > before.size() + 20 ? columns - before.size() - 1 : most;
    out += waits ? fmt::format("{}({})\n", before, place)
                 : fmt::format("{}{}{}({})\n", before, safe_line(target, apart ? room : most), apart ? "\n    " : "  ",
                               place);
    if (row.sandbox.mode != SandboxMode::off && !waits) {
      out += fmt::format("    sandbox: {}\n", sandbox_words(row.sandbox));
    }
    out += below(declared, *row.server, out_columns(io));
  }
  return out;
}

// What would take the place of an entry of the user is agreed to by itself, where it is shown.
void say_next(const LoadedConfig& config, const Settings& settings, Io& io, const std::vector<Row>& rows) {
  if (settings.json || settings.quiet) return;
  std::vector<std::string> waiting;
  for (const auto& row : rows) {
    const bool first = std::ranges::any_of(config.servers, [&](const auto& one) { return &one == row.server; });
    if (first && row.server->standing == ServerStanding::awaiting_approval) waiting.push_back(row.server->name);
  }
  if (waiting.empty()) return;
  io.talk(
      fmt::format("This project declares servers. If you trust them: patchbay approve{}\n", shell_operands(waiting)));
}

// Outside a repository a directory above is somebody else's business, and easily overlooked.
void say_above(const Declared& declared, Io& io) {
  const auto looked_at = project_directories(declared.request.cwd);
  for (auto above = std::filesystem::path(declared.request.cwd).parent_path();; above = above.parent_path()) {
    if (std::ranges::find(looked_at, above.string()) == looked_at.end() &&
        config_file_seen((above / ".mcp.json").string())) {
      io.talk(
          fmt::format("{} is not used here: outside a git repository only the current directory is searched; to use "
                      "it, change to its directory\n",
                      safe_name((above / ".mcp.json").string(), 300)));
      return;
    }
    if (above == above.parent_path()) return;
  }
}

constexpr std::string_view none_read = "No MCP server could be read; to see why: patchbay lint\n";
constexpr std::string_view none_declared = "No MCP servers configured. Use `patchbay mcp add` to add a server.\n";

// ---- one server

std::string title_line(std::string_view title, std::string_view visible, std::size_t columns) {
  std::string out;
  for (const auto& one : wrapped(fmt::format("{}: {}", title, visible), columns > 2 ? columns - 2 : 0, "  | ")) {
    out += fmt::format("  {}\n", one);
  }
  return out;
}

std::string page(const Declared& declared, const Row& row, bool checked, std::size_t columns) {
  const auto& server = *row.server;
  const auto name = safe_name(server.name, 80);
  auto out = fmt::format("{}:\n  Scope: {}\n  Source: {}\n", name, scope_title(server.origin.scope),
                         place_text(declared, server.origin));
  const bool counts = server.standing == ServerStanding::active;
  out += fmt::format(
      "  Status: {}\n",
      counts && !checked ? "not started (to check it: patchbay get --check" + operand(server.name) + ")" : health(row));
  out += last_words(row);
  if (server.standing == ServerStanding::broken) return out;
  out += fmt::format("  Type: {}\n", to_string(server.kind));
  if (server.kind == ServerKind::stdio) {
    out += title_line("Command", visible_word(server.command), columns);
    if (const auto args = consent_args(server); !args.empty()) out += title_line("Args", args, columns);
  } else {
    out += title_line("URL", consent_target(server), columns);
  }
  if (row.sandbox.mode != SandboxMode::off) out += fmt::format("  Sandbox: {}\n", sandbox_words(row.sandbox));
  const auto details = consent_text(server).details;
  if (!details.empty()) out += "  It also\n";
  for (const auto& detail : details) {
    for (const auto& one : wrapped(detail, columns > 4 ? columns - 4 : 0, "  | ")) out += fmt::format("    {}\n", one);
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

std::string after_page(const Declared& declared, const Row& row, const std::vector<ConfigProblem>& issues,
                       std::size_t columns) {
  const auto& server = *row.server;
  std::string out;
  for (const auto& issue : issues) out += fmt::format("  Issue: {}\n", problem_text(issue));
  if (server.standing == ServerStanding::disabled) {
    out += fmt::format("  Disabled because: {}\n", message_line(reason_words(server), 1000));
  }
  for (const auto& shadow : server.shadows) {
    out += fmt::format("  Overrides: {} config ({})\n", to_string(shadow.scope), place_text(declared, shadow));
  }
  for (const auto* rival : unapproved_rivals(declared.config, server)) {
    out += fmt::format("  Also declared: {} config ({}), {}\n", to_string(rival->origin.scope),
                       place_text(declared, rival->origin), to_string(rival->standing));
    if (rival->standing == ServerStanding::awaiting_approval) out += consent_block(*rival, "    ", columns);
  }
  if (is_ours(declared, server)) {
    out += fmt::format("\nTo remove this server, run: {}\n", removal_command(server.name, server.origin.scope));
  } else if (server.origin.scope != ConfigScope::enterprise && server.origin.scope != ConfigScope::dynamic) {
    out += fmt::format("\nTo {0} this server, run: patchbay {0}{1}\n",
                       server.standing == ServerStanding::disabled ? "enable" : "disable", operand(server.name));
  }
  return out;
}

// Somebody who looks for a server may be in the wrong directory.
void say_elsewhere(const Declared& declared, Io& io) {
  constexpr std::size_t most = 10;
  std::vector<std::string> places;
  for (const auto& [name, directory] : declared.config.elsewhere) {
    if (places.size() == most) break;
    places.push_back(fmt::format("{} (for {})", safe_name(name, 80), safe_name(directory, 300)));
  }
  if (places.empty()) return;
  io.talk(fmt::format("Declared for other directories only: {}{}\n", join(places, ", "),
                      declared.config.elsewhere.size() > most ? ", …" : ""));
}

// How a server is in a session that runs here.
void look(Row& row, const SessionState& session) {
  if (row.server->standing != ServerStanding::active) return;
  auto said = server_in(session, row.server->name);
  if (!said || said->state == ServerState::pending) return;
  row.state = said->state;
  row.reason = std::move(said->reason);
  if (!said->error.empty()) row.error = Error(Errc::closed, std::move(said->error));
}

int show_list(const Declared& declared, std::vector<Row> rows, const Settings& settings, Io& io, bool checked) {
  const auto warnings = warnings_of(declared.config);
  say_warnings(settings, io, warnings);
  const bool failed = std::ranges::find(warnings, Severity::error, &ConfigProblem::severity) != warnings.end();
  const int code = rows.empty() && failed ? 2 : 0;
  const auto session = session_seen();
  if (session && !checked && flags_against_session(settings).empty()) {
    for (auto& row : rows) look(row, *session);
  }
  if (settings.json) {
    auto json = list_json(declared.config, rows, warnings);
    if (session) json["session"] = session_json(*session);
    answer(settings, io, json, {});
    return code;
  }
  if (rows.empty()) {
    io.out(failed ? none_read : none_declared);
    if (!failed && !settings.quiet) say_above(declared, io);
    if (!failed && !settings.quiet) say_elsewhere(declared, io);
    return code;
  }
  if (!checked) {
    io.out(wrapped_lines(table(declared, rows, io), out_columns(io)));
  } else {
    std::string lines;
    for (const auto& row : rows) lines += health_line(row, out_columns(io));
    io.out(wrapped_lines(lines, out_columns(io)));
  }
  if (session) print_lines(io, "\n" + session_line(*session));
  if (!checked) say_next(declared.config, settings, io, rows);
  return 0;
}

int show_server(const Declared& declared, const Row& row, const Settings& settings, Io& io, bool checked) {
  const auto issues = issues_of(warnings_of(declared.config), *row.server);
  if (!settings.json) {
    io.out(wrapped_lines(
        page(declared, row, checked, out_columns(io)) + after_page(declared, row, issues, out_columns(io)),
        out_columns(io)));
    return 0;
  }
  auto json = row_json(declared.config, row);
  Json list = Json::array();
  for (const auto& issue : issues) list.push_back(problem_json(issue));
  json["issues"] = std::move(list);
  answer(settings, io, json, {});
  return 0;
}

// What the host found out about a server that counts.
void look(Row& row, const std::vector<ServerStatus>& found) {
  if (row.server->standing != ServerStanding::active) return;
  const auto status = std::ranges::find(found, row.server->name, &ServerStatus::name);
  if (status == found.end()) return;
  row.state = status->state;
  row.reason = to_string(status->reason);
  row.tools_missing = status->reason == ServerReason::tools_fetch_failed;
  row.tools_changed = status->reason == ServerReason::changed_tools;
  row.error = status->error;
  if (row.reason.empty() && row.error) row.reason = to_string(row.error->code());
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
  Sandboxes sandboxes(declared.config);
  return show_server(declared, row_of(entry_named(declared, settings.words.at(0), settings.scope), sandboxes), settings,
                     io, false);
}

namespace {

// Shows rows in their order, each as soon as it and all before it are known.
class RowsInOrder {
 public:
  RowsInOrder(Context& context, const std::vector<Row>& rows) : context_(context), rows_(rows), known_(rows.size()) {}

  void know(const Row& row) {
    known_[static_cast<std::size_t>(&row - rows_.data())] = true;
    context_.waiting.pause();
    for (; shown_ < rows_.size() && known_[shown_]; ++shown_) {
      const auto columns = out_columns(context_.io);
      context_.io.out(wrapped_lines(health_line(rows_[shown_], columns), columns));
    }
  }

 private:
  Context& context_;
  const std::vector<Row>& rows_;
  std::vector<bool> known_;
  std::size_t shown_ = 0;
};

Task<void> check_row(Context& context, Row& row, RowsInOrder& shown) {
  co_await context.host.start({row.server->name});
  look(row, context.statuses());
  shown.know(row);
}

}  // namespace

// A server that does not answer keeps the rows behind it waiting, and no longer than its own limit.
Task<int> list_checked(Context& context) {
  const auto& settings = context.settings;
  const auto declared = load_declared(settings);
  auto rows = rows_of(declared.config, settings);
  const auto count = startable(rows).size();
  if (count == 0 || settings.json) {
    if (count > 0) {
      context.waiting.begin(fmt::format("checking {}", plural(count, "server")));
      co_await context.host.start(startable(rows));
      for (auto& row : rows) look(row, context.statuses());
      context.waiting.end();
    }
    co_return show_list(declared, rows, settings, context.io, true);
  }
  say_warnings(settings, context.io, warnings_of(declared.config));
  if (!settings.quiet) context.io.talk("Checking MCP server health…\n\n");
  context.waiting.begin(fmt::format("checking {}", plural(count, "server")));
  RowsInOrder shown(context, rows);
  for (const auto& row : rows) {
    if (row.server->standing != ServerStanding::active) shown.know(row);
  }
  Scope scope(co_await asio::this_coro::executor);
  for (auto& row : rows) {
    if (row.server->standing == ServerStanding::active) scope.spawn(check_row(context, row, shown));
  }
  co_await scope.finish();
  context.waiting.end();
  co_return 0;
}

Task<int> get_checked(Context& context) {
  const auto declared = load_declared(context.settings);
  Sandboxes sandboxes(declared.config);
  std::vector<Row> rows{row_of(entry_named(declared, context.settings.words.at(0), context.settings.scope), sandboxes)};
  if (const auto names = startable(rows); !names.empty()) {
    context.waiting.begin(fmt::format("checking {}", names.front()));
    co_await context.host.start(names);
    look(rows.front(), context.statuses());
  }
  context.waiting.end();
  co_return show_server(declared, rows.front(), context.settings, context.io, true);
}

}  // namespace patchbay::cli
