// `patchbay why SERVER|TOOL`: which file and line, what overrides it, which rule decided, and what to do.
// Without --check nothing is started and no network touched.
#include <algorithm>
#include <array>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "base/as_result.h"
#include "base/exit_code.h"
#include "base/strings.h"
#include "catalog/naming.h"
#include "cli/context.h"
#include "cli/declared.h"
#include "cli/kept.h"
#include "cli/texts/present.h"
#include "cli/texts/remedy_words.h"
#include "cli/texts/time_words.h"
#include "cli/words/channel_flags.h"
#include "cli/words/named_server.h"
#include "cli/words/permission_flags.h"
#include "entries/consent_text.h"
#include "host/failure_memory.h"
#include "host/server_error.h"
#include "inspect/explanation.h"
#include "inspect/lint.h"
#include "servers/load.h"
#include "settings/settings_layers.h"
#include "text/call_arguments.h"
#include "text/shell_word.h"
#include "text/visible_text.h"

namespace patchbay::cli {
namespace {

// What the words ask about.
struct Question {
  const ServerConfig* server = nullptr;  // null: a bare tool name that only servers can tell
  std::string tool;                      // as its server calls it, or as typed; empty: about the server
  std::vector<std::string> arguments;    // as `call` takes them
};

// What a server answered, when it was asked.
struct Answered {
  std::optional<ServerStatus> status;
  std::optional<CatalogEntry> entry;
  std::optional<Error> error;
  // The tool as it was listed in an earlier run, when nothing was asked now: for the types of its arguments.
  std::shared_ptr<const Tool> kept = nullptr;

  bool types_known() const { return entry || kept; }
};

// Why a server that was tried does not serve; nothing when it does, or was not tried.
std::optional<Error> failure_of(const Answered& answered) {
  if (!answered.status) return std::nullopt;
  const auto state = answered.status->state;
  if (state != ServerState::failed && state != ServerState::needs_auth) return std::nullopt;
  return answered.status->error.value_or(Error(Errc::connect, std::string(to_string(answered.status->reason))));
}

std::string failure_text(const std::string& server, const Error& error) {
  return message_line(without_name(server, error.message()), 500);
}

bool is_argument(const std::string& word) {
  return word == "-" || word.starts_with('{') || word.find('=') != std::string::npos;
}

std::vector<std::string> names_of(const LoadedConfig& config) {
  std::vector<std::string> names;
  for (const auto* entry : all_entries(config)) {
    if (std::ranges::find(names, entry->name) == names.end()) names.push_back(entry->name);
  }
  return names;
}

// A name nobody has: the server part may have a slip in it.
[[noreturn]] void unknown(const std::string& word, const std::vector<std::string>& names) {
  const bool full = word.starts_with("mcp__");
  auto server = server_typed(word);
  const auto rest = server.empty() ? std::string() : word.substr((full ? 5 : 0) + server.size());
  const auto tool =
      server.empty() ? fmt::format(" If it is a tool: patchbay why SERVER/{}", pasted_word(word)) : std::string();
  if (server.empty()) server = word;
  const auto meant = nearest(server, names);
  throw Error(Errc::invalid_argument,
              fmt::format("there is no server and no tool called \"{}\"{}", safe_name(word, 120),
                          meant.empty() ? "; to list the servers: patchbay list. For a tool write server/tool (with "
                                          "--check the name of the tool is enough)"
                                        : fmt::format("; did you mean \"{}{}{}\"?{}", full ? "mcp__" : "",
                                                      safe_name(meant, 80), safe_name(rest, 80), tool)));
}

Question question_of(const Declared& declared, const Settings& given) {
  const auto names = names_of(declared.config);
  const auto settings = with_named_tool(given, names);
  const auto& words = settings.words;
  const auto& typed = server_typed(words.front());
  if (auto text = elsewhere_text(typed.empty() ? words.front() : typed, declared.config.elsewhere); !text.empty()) {
    throw Error(Errc::invalid_argument, std::move(text));
  }
  Question out;
  if (std::ranges::find(names, words.front()) != names.end()) {
    out.server = &entry_named(declared, words.front(), settings.scope);
    if (words.size() == 1) return out;
    if (is_argument(words[1])) {
      throw Error(Errc::invalid_argument,
                  fmt::format("\"{}\" is a server, and only a tool has arguments: patchbay why{} TOOL {}",
                              safe_name(words[0], 80), shell_operands({words[0]}), pasted_word(words[1])));
    }
    out.tool = words[1];
    out.arguments.assign(words.begin() + 2, words.end());
    return out;
  }
  out.arguments.assign(words.begin() + 1, words.end());
  const auto tools = tools_named(words.front(), names);
  if (tools.empty()) {
    const bool of_server = words.front().starts_with("mcp__") || words.front().find('/') != std::string::npos;
    // The built-in server is nobody's entry.
    const bool builtin = addresses_server(words.front(), "patchbay");
    // A bare name may be a tool's, unless it is all but the name of a server.
    const bool slip = !builtin && !nearest(words.front(), names).empty();
    if (!settings.check || slip || (of_server && !builtin)) unknown(words.front(), names);
    out.tool = words.front();
    return out;
  }
  if (tools.size() > 1) {
    std::string meant;
    for (const auto& one : tools) meant += fmt::format("{}{}/{}", meant.empty() ? "" : ", ", one.server, one.tool);
    throw Error(Errc::invalid_argument, fmt::format("\"{}\" can mean {}; write the one you mean",
                                                    safe_name(words.front(), 120), safe_line(meant, 400)));
  }
  out.server = &entry_named(declared, tools.front().server, settings.scope);
  out.tool = tools.front().tool;
  return out;
}

// ---- a server

Json failure_json(const std::optional<KnownFailure>& failure) {
  if (!failure) return {};
  const auto time = fmt::gmtime(std::chrono::system_clock::to_time_t(failure->time));
  return {{"time", fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", time)},
          {"message", failure->message},
          {"detail", failure->detail.empty() ? Json() : Json(failure->detail)},
          {"command", failure->during.empty() ? Json() : Json(failure->during)}};
}

std::string failure_text(const ServerConfig& server, const KnownFailure& failure) {
  auto when = local_time(failure.time);
  if (!failure.during.empty()) when += fmt::format(", during `patchbay {}`", safe_line(failure.during, 40));
  auto out =
      fmt::format("  Last error: {} ({})\n", message_line(without_name(server.name, failure.message), 1200), when);
  return failure.detail.empty() ? out : out + indented(failure.detail);
}

std::string note_words(const EntryNote& note) {
  const auto fix = fix_words(note.fix);
  return continued(note.text, fix);
}

Json server_json(const LoadedConfig& config, const ServerExplanation& why, const Answered& answered) {
  Json notes = Json::array();
  for (const auto& note : why.notes) notes.push_back(note_words(note));
  Json issues = Json::array();
  for (const auto& problem : why.problems) {
    auto one = problem_json(problem);
    one["severity"] = to_string(problem.severity);
    issues.push_back(std::move(one));
  }
  const auto fix = fix_words(why.fix);
  Json rule;
  if (!why.rule.empty()) rule = {{"text", why.rule}, {"file", why.rule_file}, {"line", why.rule_line}};
  return {{"name", why.server.name},
          {"used", why.counts},
          {"standing", to_string(why.server.standing)},
          {"reason", why.cause},
          {"rule", std::move(rule)},
          {"fix", fix.empty() ? Json() : Json(fix)},
          {"scope", to_string(why.server.origin.scope)},
          {"source", source_json(why.server.origin)},
          {"shadows", shadows_json(why.server)},
          {"others", others_json(config, why.server)},
          {"notes", std::move(notes)},
          {"issues", std::move(issues)},
          {"lastError", failure_json(recall_failure(failure_file(), failure_key(why.server)))},
          {"check", answered.status ? status_json(*answered.status) : Json()}};
}

std::string server_text(const Declared& declared, const ServerExplanation& why, const Answered& answered,
                        std::size_t columns) {
  const auto& server = why.server;
  auto line = [](std::string_view title, std::string_view text) {
    return fmt::format("  {}: {}\n", title, message_line(text, 2000));
  };
  // Whoever asked it to be tried wants to know that first.
  const auto failure = failure_of(answered);
  auto out = fmt::format("{} {}\n", safe_name(server.name, 80),
                         failure      ? fmt::format("is used, but failed: {}", failure_text(server.name, *failure))
                         : why.counts ? std::string("is used")
                                      : fmt::format("is not used: {}", to_string(server.standing)));
  out += fmt::format("  Declared: {} ({})\n", place_text(declared, server.origin), scope_title(server.origin.scope));
  if (!why.cause.empty()) out += line("Because", why.cause);
  if (!why.rule.empty()) {
    out += line("Decided by",
                fmt::format("{} ({})", why.rule, place_text(declared, {why.rule_file, why.rule_line, {}, {}, 0})));
  }
  if (const auto fix = fix_words(why.fix); !fix.empty()) out += line("To change this", fix);
  for (const auto& shadow : server.shadows) {
    out += fmt::format("  Overrides: {} entry in {}\n", to_string(shadow.scope), place_text(declared, shadow));
  }
  for (const auto& other : why.others) {
    const bool known = std::ranges::find(server.shadows, other.origin) != server.shadows.end();
    if (known) continue;
    out += fmt::format("  Also declared: {} entry in {}, {}{}\n", to_string(other.origin.scope),
                       place_text(declared, other.origin),
                       other.standing == ServerStanding::active ? "which is used" : to_string(other.standing),
                       other.reason.empty() ? "" : ": " + message_line(reason_words(other), 400));
    if (other.standing == ServerStanding::awaiting_approval) out += consent_block(other, "    ", columns);
  }
  for (const auto& note : why.notes) out += line("Note", note_words(note));
  for (const auto& problem : why.problems) out += fmt::format("  Issue: {}\n", visible_message(problem_line(problem)));
  if (answered.status) {
    const auto& status = *answered.status;
    out += line("State", status.state == ServerState::connected
                             ? fmt::format("connected, {}{}", plural(status.tool_count, "tool"),
                                           status.error ? "; " + status.error->message() : std::string())
                             : fmt::format("{}{}", to_string(status.state),
                                           status.error && !failure ? ": " + status.error->message() : std::string()));
    if (status.error && !status.error->detail().empty()) out += indented(status.error->detail());
    return out;
  }
  if (why.counts) out += "  State: not started (to start it, add --check)\n";
  if (const auto earlier = recall_failure(failure_file(), failure_key(server))) out += failure_text(server, *earlier);
  return out;
}

// ---- a tool

Json hooks_json(const HookList& hooks) {
  static constexpr std::array kinds{"command", "http", "mcp_tool"};
  Json out = Json::array();
  for (const auto& hook : hooks) {
    const auto& setting = hook->setting;
    out.push_back({{"event", to_string(setting.event)},
                   {"type", kinds.at(static_cast<std::size_t>(setting.kind))},
                   {"target", shown_target(setting)},
                   {"file", hook->file},
                   {"line", setting.place.line},
                   {"onError", hook->refuses_on_error() ? "deny" : "allow"},
                   {"fault", setting.fault.empty() ? Json() : Json(setting.fault)}});
  }
  return out;
}

Json decision_json(const ToolExplanation& why, bool known, bool arguments_given) {
  Json rules = Json::array();
  for (const auto& rule : why.rules) {
    rules.push_back({{"list", to_string(rule.list)},
                     {"rule", rule.text},
                     {"file", rule.file},
                     {"line", rule.line},
                     {"column", rule.column},
                     {"looksAtArguments", !rule.conditions.empty()}});
  }
  const auto& decision = why.decision;
  Json rule;
  if (!decision.rule.empty()) {
    rule = {{"text", decision.rule}, {"file", decision.file}, {"line", decision.line}, {"column", decision.column}};
  }
  return {{"name", why.entry.name},
          {"server", why.entry.server},
          {"tool", why.entry.tool->name},
          {"known", known},
          {"outcome", to_string(decision.outcome)},
          {"reason", decision.reason},
          {"rule", std::move(rule)},
          {"mode", to_string(why.mode)},
          {"modeFrom", why.mode_from.empty() ? Json() : Json(why.mode_from)},
          {"dependsOnArguments", why.by_arguments && !arguments_given},
          {"withheld", why.withheld.empty() ? Json() : Json(why.withheld)},
          {"rules", std::move(rules)},
          {"hooks", hooks_json(why.hooks)}};
}

std::string decision_text(const Declared& declared, const ToolExplanation& why, const Answered& answered,
                          bool arguments_given) {
  const auto name = safe_name(why.entry.name, 120);
  const auto& decision = why.decision;
  const bool open = why.by_arguments && !arguments_given;
  auto out = fmt::format("{}: {}{}\n", name, to_string(decision.outcome), open ? " (without arguments)" : "");
  out += fmt::format("  Because: {}\n", message_line(decision.reason, 2000));
  if (const auto fix = fix_words(why.fix); !fix.empty()) {
    out += fmt::format("  To change this: {}\n", message_line(fix, 500));
  }
  if (!why.withheld.empty()) out += fmt::format("  Not offered: {}\n", message_line(why.withheld, 1000));
  for (const auto& rule : why.rules) {
    out += fmt::format("  Rule: {} {} ({})\n", to_string(rule.list), message_line(to_text(Json(rule.text)), 1000),
                       place_text(declared, {rule.file, rule.line, {}, {}, 0}));
  }
  for (const auto& hook : why.hooks) {
    const auto& fault = hook->setting.fault;
    out += fmt::format("  Hook: {} {} ({}){}\n", to_string(hook->setting.event), shown_target(hook->setting),
                       place_text(declared, {hook->file, hook->setting.place.line, {}, {}, 0}),
                       fault.empty() ? "" : fmt::format(": cannot be run: {}", message_line(fault, 300)));
  }
  out += fmt::format("  Mode: {}{}\n", to_string(why.mode),
                     why.mode_from.empty() ? "" : fmt::format(" (from {})", safe_name(why.mode_from, 300)));
  if (open) {
    out += fmt::format("  Note: some rules check the arguments; add them: patchbay why{} key=value\n",
                       shell_operands({why.entry.name}));
  }
  if (why.by_arguments && arguments_given && !answered.types_known()) {
    out +=
        "  Note: the types of the arguments are not known, so numbers are taken for texts where rules look at them; to "
        "get them, add --check\n";
  }
  if (decision.outcome == PermissionOutcome::ask) {
    out +=
        "  Note: `patchbay call` runs without a question, because you typed it yourself; a program that calls tools "
        "for you asks first\n";
  }
  if (!answered.entry) {
    out += fmt::format("  Note: the hints of the tool itself (destructive, read-only) are not known{}\n",
                       answered.error ? ", because its server did not answer" : "; to get them, add --check");
  }
  return out;
}

// ---- both

// That what was asked for is not there, or does not work, is not a success.
int code_of(const Answered& answered) {
  if (answered.error) return exit_code(*answered.error);
  const auto failure = failure_of(answered);
  return failure ? exit_code(*failure) : 0;
}

int show(const Declared& declared, const Question& question, const Answered& answered, const Settings& settings,
         Io& io) {
  const auto own_file = declared.store.places().config_file;
  std::optional<ServerExplanation> server;
  if (question.server != nullptr) {
    server = explain_server(declared.config, *question.server, own_file, channel_options(settings));
  }
  if (question.tool.empty()) {
    answer(settings, io, {{"server", server_json(declared.config, *server, answered)}, {"tool", Json()}},
           settings.json ? std::string() : server_text(declared, *server, answered, out_columns(io)));
    return code_of(answered);
  }
  const auto entry = answered.entry ? *answered.entry : assumed_entry({question.server->name, question.tool});
  ArgumentSources sources;
  sources.read_stdin = [&io]() -> Result<std::string> { return io.read_input(); };
  sources.read_file = read_argument_file;
  Json arguments;
  if (!question.arguments.empty()) {
    const auto* tool = answered.entry ? entry.tool.get() : answered.kept.get();
    auto given = call_arguments(question.arguments, tool ? tool->input_schema : Json(), sources);
    if (!given) throw std::move(given).error();
    arguments = std::move(*given);
  }
  auto why =
      explain_tool(entry, question.server, permissions_of(declared.config, settings),
                   layers_of(declared.config.settings), arguments, declared.request.cwd, variables_of(declared.config));
  why.hooks = hooks_about(entry, declared.config);
  const bool known = answered.entry.has_value();
  const bool given = !question.arguments.empty();
  // What rules would say of a tool that is not there helps nobody.
  const bool absent = answered.error && answered.error->code() == Errc::invalid_argument;
  std::string text;
  if (!settings.json) {
    if (answered.error) text = message_line(answered.error->message(), 1000) + "\n";
    if (!absent) text += decision_text(declared, why, answered, given);
    if (server) text += server_text(declared, *server, answered, out_columns(io));
  }
  answer(settings, io,
         {{"server", server ? server_json(declared.config, *server, answered) : Json()},
          {"tool", decision_json(why, known, given)},
          {"error", answered.error ? error_json(*answered.error)["error"] : Json()}},
         text);
  return code_of(answered);
}

}  // namespace

int why(const Settings& settings, Io& io) {
  const auto declared = load_declared(settings);
  const auto question = question_of(declared, settings);
  Answered answered;
  if (question.server != nullptr && !question.tool.empty() && !question.arguments.empty()) {
    answered.kept = kept_view(settings).tool(question.server->name, question.tool);
  }
  return show(declared, question, answered, settings, io);
}

Task<int> why_checked(Context& context) {
  const auto declared = load_declared(context.settings);
  const auto question = question_of(declared, context.settings);
  Answered answered;
  const bool may_start = question.server != nullptr && question.server->standing == ServerStanding::active;
  context.waiting.begin(fmt::format("asking {}", context.settings.words.front()));
  if (question.server == nullptr) {
    // Only the servers know whose tool it is, so that they do not is the answer. One that rules deny may have it.
    std::vector<std::string> all;
    for (const auto& status : context.statuses()) all.push_back(status.name);
    co_await context.host.start(std::move(all));
    answered.entry = co_await context.host.find_tool(question.tool);
  } else if (may_start) {
    co_await context.host.start({question.server->name});
    if (!question.tool.empty()) {
      auto found =
          co_await as_result(context.host.find_tool(fmt::format("{}/{}", question.server->name, question.tool)));
      // A name a model sees may be another one than the server's own.
      const auto& typed = context.settings.words.front();
      if (!found && typed != question.server->name) found = co_await as_result(context.host.find_tool(typed));
      if (found) {
        answered.entry = std::move(*found);
      } else {
        answered.error = context.secrets->without(found.error());
      }
    }
  }
  const auto statuses = context.statuses();
  const auto name = question.server != nullptr ? question.server->name : answered.entry->server;
  if (auto status = std::ranges::find(statuses, name, &ServerStatus::name); may_start && status != statuses.end()) {
    answered.status = *status;
  }
  context.waiting.end();
  auto asked = question;
  // A bare name turned out to be this server's.
  if (asked.server == nullptr) {
    for (const auto* entry : all_entries(declared.config)) {
      if (entry->name == name && entry->standing == ServerStanding::active) asked.server = entry;
    }
    if (auto status = std::ranges::find(statuses, name, &ServerStatus::name); status != statuses.end()) {
      answered.status = *status;
    }
  }
  co_return show(declared, asked, answered, context.settings, context.io);
}

}  // namespace patchbay::cli
