// The binary. main wires the pieces: command line, log, configuration, host, the command
// itself, signals, and the way out. The library below never touches any of them.
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <fmt/format.h>

#include <patchbay/version.h>

#include "base/as_result.h"
#include "base/exit_code.h"
#include "base/loop_clock.h"
#include "base/offload.h"
#include "base/scope.h"
#include "base/strings.h"
#include "builtin/builtin_server.h"
#include "catalog/naming.h"
#include "cli/answering.h"
#include "cli/approval.h"
#include "cli/changed_tool.h"
#include "cli/context.h"
#include "cli/declared.h"
#include "cli/host_options.h"
#include "cli/kept.h"
#include "cli/logging.h"
#include "cli/recordings.h"
#include "cli/session/background.h"
#include "cli/session/control.h"
#include "cli/session/use.h"
#include "cli/sign_in.h"
#include "cli/texts/help.h"
#include "cli/texts/model_words.h"
#include "cli/texts/present.h"
#include "cli/texts/remedy_words.h"
#include "cli/texts/usage_error.h"
#include "cli/vault.h"
#include "cli/words/channel_flags.h"
#include "cli/words/command_line.h"
#include "cli/words/flag_sources.h"
#include "cli/words/named_server.h"
#include "cli/words/permission_flags.h"
#include "entries/limits.h"
#include "host/ide/ide.h"
#include "host/make_host.h"
#include "host/server_error.h"
#include "permission/policy.h"
#include "settings/folders.h"
#include "text/shell_word.h"

namespace patchbay::cli {

int show_version(const Settings& settings, Io& io) {
  if (settings.json) {
    io.out(json_text({{"name", "patchbay"}, {"version", version()}}, io.out_is_terminal));
  } else {
    io.out(fmt::format("patchbay {}\n", version()));
  }
  return 0;
}

int report(const Error& given, bool json, Io& io) {
  const auto error = with_remedy_in_words(given);
  const auto in_words = [&] { io.talk(error_text(error)); };
  if (!json) {
    in_words();
  } else {
    try {
      io.out(json_text(error_json(error), io.out_is_terminal));
    } catch (const Error&) {
      // stdout takes nothing, which is often what the error is about.
      if (!*io.reader_left) in_words();
    }
  }
  return exit_code(error);
}

namespace {

Task<int> dispatch(Context& context) {
  switch (context.settings.command) {
    case Command::tools:
      return tools(context);
    case Command::call:
      return call(context);
    case Command::search:
      return search(context);
    case Command::resources:
      return resources(context);
    case Command::read:
      return read(context);
    case Command::skills:
      return skills(context);
    case Command::prompts:
      return prompts(context);
    case Command::prompt:
      return prompt(context);
    case Command::list:
      return list_checked(context);
    case Command::status:
      return status_checked(context);
    case Command::reconnect:
      return reconnect(context);
    case Command::get:
      return get_checked(context);
    case Command::doctor:
      return doctor_checked(context);
    case Command::why:
      return why_checked(context);
    case Command::login:
      return login(context);
    case Command::logout:
      return logout(context);
    case Command::xaa:
      return xaa_login(context);
    case Command::lock:
      return lock(context);
    case Command::verify:
      return verify(context);
    default:
      return overview(context);
  }
}

// Commands that show states and problems themselves, and ask nobody.
bool tells_states(Command command) {
  return command == Command::list || command == Command::get || command == Command::doctor || command == Command::why ||
         command == Command::status;
}

// Commands about a sign-in, which say themselves how the server is.
bool is_about_sign_in(Command command) {
  return command == Command::login || command == Command::logout || command == Command::xaa;
}

// Whose connection ends while one thing is asked of it is told by the answer.
bool asks_one_thing(Command command) {
  return command == Command::call || command == Command::read || command == Command::prompt;
}

// Which servers were seen to start, and when: one that is there at once is not worth a line.
struct Starts {
  std::map<std::string, Clock::TimePoint> begun;

  bool worth_telling(const ServerStatus& status, Clock::TimePoint now) const {
    const auto found = begun.find(status.name);
    return begun.size() > 1 || (found != begun.end() && now - found->second > std::chrono::seconds(1));
  }
};

// Says how servers are while they are started.
void say_status(const ServerStatus& status, Io& io, Waiting& waiting, std::map<std::string, Error>& told,
                bool worth_telling, bool one) {
  const auto name = safe_name(status.name, 80);
  if (status.state == ServerState::connected) {
    if (!worth_telling) return;
    waiting.pause();
    io.talk(fmt::format("[mcp] Connected to \"{}\" — {}\n", name, plural(status.tool_count, "tool")));
  } else if (status.error && (status.state == ServerState::failed || status.state == ServerState::needs_auth)) {
    const bool lost = status.reason == ServerReason::connection_lost;
    if (lost && one) return;
    waiting.pause();
    told.insert_or_assign(status.name, *status.error);
    const auto failure = shown_failure(status.name, status.origin.scope, *status.error);
    io.talk(fmt::format("[mcp] {} \"{}\": {}\n{}", lost ? "Lost the connection to" : "Failed to connect to", name,
                        failure.cause, failure.below));
  }
}

HostOptions command_options(const Settings& settings, Io& io, Waiting& waiting, std::map<std::string, Error>& told,
                            Answering& answering) {
  auto options = host_options(settings);
  options.follow_changes = false;
  options.keep_connected = false;
  // Each command is a conversation of its own, unless a session makes it a part of a longer one (use_session).
  options.results.conversation = command_conversation();
  options.results.reading = reading_words();
  options.warm_start = false;  // who asks for tools gets the servers' answer; --cached is another command
  const bool someone = io.in_is_terminal && io.talk_is_terminal && !settings.json;
  if (someone && !tells_states(settings.command)) {
    options.approve = [&, declared = options.config->servers](const ApprovalQuestion& question) {
      // As it is declared: it may be reached through a session.
      const auto entry = std::ranges::find(declared, question.server.name, &ServerConfig::name);
      const auto& server = entry == declared.end() ? question.server : *entry;
      return ask_and_remember(settings, io, waiting, told, server);
    };
  }
  if (someone && asks_one_thing(settings.command)) {
    options.approve_change = [&](ChangedToolQuestion question) {
      return ask_about_change(io, waiting, std::move(question));
    };
  }
  const auto who = !asks_one_thing(settings.command) ? WhoAnswers::nobody
                   : someone                         ? WhoAnswers::person
                                                     : WhoAnswers::given_alone;
  let_answer(options, answering, who, settings, io, waiting);
  return options;
}

// Looks at the object each time: while a person is asked, it holds back.
Talk log_of(Io& io) {
  return [&io](std::string_view text) { io.log(text); };
}

// The server that the words of a command name; empty when any may be meant.
std::string named_server(const Settings& settings, const LoadedConfig& config) {
  if (settings.words.empty()) return {};
  const auto& word = settings.words.front();
  for (const auto& server : config.servers) {
    if (word == server.name || addresses_server(word, server.name)) return server.name;
  }
  return {};
}

// What concerns this command: a hint about a server that it does not start is for those who look at it.
std::vector<ConfigProblem> concerning(const Settings& settings, const LoadedConfig& config) {
  const auto named = named_server(settings, config);
  std::vector<ConfigProblem> out;
  for (const auto& problem : config.problems) {
    const bool hint = problem.severity == Severity::warning && !problem.server.empty();
    if (hint && !named.empty() && problem.server != named) continue;
    const auto server = std::ranges::find(config.servers, problem.server, &ServerConfig::name);
    if (hint && server != config.servers.end() && server->standing != ServerStanding::active) continue;
    out.push_back(problem);
  }
  return out;
}

Task<void> run_to_end(Context& context, Result<int>& outcome) {
  outcome = co_await as_result(dispatch(context));
  context.waiting.end();
  say_rule_problems(context);
  co_await asio::this_coro::throw_if_cancelled(false);
  co_await context.host.stop_quickly();
}

int run_with_host(const Settings& settings, Io& io, const Runtime& given) {
  asio::io_context loop(1);
  Waiting waiting(io);
  std::map<std::string, Error> told;
  Answering answering;
  if (!settings.answers.empty()) answering.given = GivenAnswers::read(settings.answers);
  auto options = command_options(settings, io, waiting, told, answering);
  if (const auto& refused = options.config->refused_flags) {
    return report(Error(Errc::config, *refused), settings.json, io);
  }
  // Whoever can be asked about one server can be asked about several.
  if (options.approve &&
      offer_approvals_of_claude(settings, *options.config, named_server(settings, *options.config), io)) {
    options = command_options(settings, io, waiting, told, answering);
  }
  const bool listing = tells_states(settings.command);
  if (!listing) {
    say_problems(concerning(settings, *options.config), settings, io, named_server(settings, *options.config));
  }
  const bool no_servers = std::ranges::all_of(options.config->servers,
                                              [](const auto& one) { return one.standing == ServerStanding::broken; });
  const auto secrets = std::make_shared<const KnownSecrets>(*options.config);
  const auto page_shown = std::make_shared<bool>(false);
  if (settings.command == Command::login || settings.command == Command::xaa) {
    if (settings.timeout_seconds) options.sign_in.wait = timeout_of(settings);
    let_user_sign_in(options.sign_in, *options.config, settings, io, waiting, page_shown);
  }
  if (!settings.json && !settings.quiet && !listing && !is_about_sign_in(settings.command)) {
    options.on_event = [&, secrets, starts = Starts()](const HostEvent& event) mutable {
      const auto* status = std::get_if<ServerStatus>(&event);
      if (!status) return;
      const auto now = loop_clock(loop.get_executor()).now();
      if (status->reason == ServerReason::connecting) starts.begun.try_emplace(status->name, now);
      say_status(secrets->without(*status), io, waiting, told, settings.verbose || starts.worth_telling(*status, now),
                 asks_one_thing(settings.command));
    };
  }
  Runtime runtime = given;
  if (settings.timeout_seconds) runtime.limits.list = std::min(runtime.limits.list, timeout_of(settings));
  if (log_is_wanted(settings)) {
    runtime.log = make_log(settings, log_of(io), secrets);
  } else {
    runtime.log = words_for_people(
        settings,
        [&io, &waiting](const std::string& text) {
          waiting.pause();
          io.talk(text);
        },
        secrets);
  }
  if (settings.trace) runtime.trace = make_trace(settings, log_of(io), secrets);
  bool broken = false;
  for (const auto& problem : options.config->problems) broken |= problem.severity == Severity::error;
  if (no_servers && broken && !settings.builtin && !listing) {
    const auto& problems = options.config->problems;
    auto worst = std::ranges::find(problems, Severity::error, &ConfigProblem::severity);
    if (settings.json) io.out(json_text(error_json(Error(Errc::config, worst->text())), io.out_is_terminal));
    return 2;
  }

  const auto vault = open_vault(settings, io, options.config->config_dir);
  auto host = make_host(std::move(options), runtime, std::string(command_name(settings.command)), {}, vault);
  const auto session = use_session(settings, io, host, [&](const std::string& line) {
    if (settings.quiet) return;
    waiting.pause();
    io.talk(line);
  });
  if (settings.ide) {
    const auto entry = ide_server("--ide");
    for (const auto& server : host.config().servers) {
      if (server.name != entry.name) continue;
      io.talk(fmt::format("patchbay: warning: --ide overrides the server \"{}\" declared in {}\n", entry.name,
                          safe_name(server.origin.file, 200)));
    }
    host.add_server(entry, ide_transport(ide_search(process_environment(), std::filesystem::current_path())));
  }
  // A tool of the built-in server can be asked about like the others.
  const bool offers_builtin = !listing || settings.command == Command::why;
  if (settings.builtin || (no_servers && !settings.strict && offers_builtin && !settings.ide)) {
    BuiltinOptions builtin;
    builtin.root = settings.root.empty() ? std::filesystem::current_path() : std::filesystem::path(settings.root);
    builtin.allow_run = settings.allow_run;
    builtin.runtime = runtime;
    host.add_server("patchbay", make_builtin_server(builtin));
  }
  std::vector<std::string> names;
  for (const auto& status : host.status()) names.push_back(status.name);
  const auto meant = with_named_tool(settings, names);
  if (auto error = unknown_server(meant, names, host.config().elsewhere)) {
    if (settings.command == Command::call) error = std::move(*error).with_carried_out(CarriedOut::no);
    return report(*error, settings.json, io);
  }
  Context context{meant, io, runtime, host, waiting, told, secrets, session};
  context.page_shown = page_shown;

  Result<int> outcome = 0;
  int stopped_by = 0;
  Scope scope(loop.get_executor());
  Scope side(loop.get_executor());
  asio::signal_set signals(loop, SIGINT, SIGTERM, SIGHUP);
  auto command = scope.spawn([](Context& c, Result<int>& o, Scope& beside, asio::signal_set& s) -> Task<void> {
    co_await run_to_end(c, o);
    beside.cancel();
    s.cancel();
  }(context, outcome, side, signals));
  side.spawn(waiting.draw());
  side.spawn([](asio::signal_set& s, Spawned running, int& by) -> Task<void> {
    for (;;) {
      by = co_await s.async_wait(asio::use_awaitable);
      running.cancel();
      // A second signal means now. The wardens end what we leave.
      (void)co_await s.async_wait(asio::use_awaitable);
      _exit(128 + by);
    }
  }(signals, command, stopped_by));
  loop.run();

  if (stopped_by != 0) {
    // What was under way may have happened; whoever would repeat it has to know.
    if (!outcome && settings.command == Command::call &&
        (settings.json || outcome.error().carried_out() == CarriedOut::unknown)) {
      (void)report(secrets->without(outcome.error()), settings.json, io);
    }
    return 128 + stopped_by;
  }
  if (*io.reader_left) return 0;
  if (outcome) say_unused_answers(answering, settings, io);
  // What was given was not the answer: whoever counts on it has to know.
  if (outcome && *outcome == 0 && answering.fault) return exit_code(*answering.fault);
  if (outcome) return *outcome;
  const auto error = secrets->without(outcome.error());
  const bool said =
      !settings.json && std::ranges::any_of(told, [&](const auto& one) { return error.is_same_failure(one.second); });
  if (said) return exit_code(error);
  const int code = report(error, settings.json, io);
  // What it wrote last stands above; all of it is in its log.
  const auto& servers = host.config().servers;
  const auto server = std::ranges::find(servers, named_server(meant, host.config()), &ServerConfig::name);
  const bool ended = error.code() == Errc::closed && !error.detail().empty() && !settings.json;
  if (ended && server != servers.end() && server->origin.scope != ConfigScope::dynamic &&
      has_log(*server, host.config())) {
    io.talk(fmt::format("    {}\n", log_words(server->name)));
  }
  return code;
}

// The commands about declared servers that start none.
std::optional<int> run_declared(const Settings& settings, Io& io) {
  const bool check = settings.check || settings.as_mcp;
  switch (settings.command) {
    case Command::add:
    case Command::add_json:
      return add(settings, io);
    case Command::remove:
      return remove(settings, io);
    case Command::enable:
      return enable(settings, io);
    case Command::disable:
      return disable(settings, io);
    case Command::approve:
      return approve(settings, io);
    case Command::reject:
      return reject(settings, io);
    case Command::reset_choices:
      return reset_choices(settings, io);
    case Command::import_servers:
    case Command::add_from_desktop:
      return import_servers(settings, io);
    case Command::lint:
      return lint(settings, io);
    case Command::trust:
      return trust(settings, io);
    case Command::secret:
      return secret(settings, io);
    case Command::pins:
      return pins(settings, io);
    case Command::results:
      return results(settings, io);
    case Command::auth:
      return auth(settings, io);
    case Command::xaa:
      return settings.words.front() == "login" ? std::nullopt : std::optional(xaa(settings, io));
    case Command::doctor:
      // TODO(cleanup): the old spelling goes with the next version.
      if (settings.no_check && !settings.offline && !settings.quiet) {
        io.talk("patchbay: note: `doctor --no-check` is now called `doctor --offline`\n");
      }
      return settings.offline || settings.no_check ? std::optional(doctor(settings, io)) : std::nullopt;
    case Command::why:
      return settings.check ? std::nullopt : std::optional(why(settings, io));
    case Command::tools:
    case Command::search:
    case Command::prompts:
    case Command::resources:
      return settings.cached ? std::optional(cached(settings, io)) : std::nullopt;
    case Command::status:
      return settings.check ? std::nullopt : std::optional(status(settings, io));
    case Command::logs:
      return logs(settings, io);
    case Command::record:
      return record(settings, io);
    case Command::list:
      return check ? std::nullopt : std::optional(list(settings, io));
    case Command::get:
      return check ? std::nullopt : std::optional(get(settings, io));
    default:
      return std::nullopt;
  }
}

// Whether it changes what servers there are or may be used, which a session of this directory should hear of at once.
bool changes_servers(Command command) {
  switch (command) {
    case Command::add:
    case Command::add_json:
    case Command::remove:
    case Command::enable:
    case Command::disable:
    case Command::approve:
    case Command::reject:
    case Command::reset_choices:
    case Command::import_servers:
    case Command::add_from_desktop:
    case Command::trust:
      return true;
    default:
      return false;
  }
}

int report_usage(const UsageFault& fault, Io& io) {
  const auto usage = usage_error(fault);
  if (fault.json) return report(Error(Errc::invalid_argument, usage.message), true, io);
  io.talk(fmt::format("patchbay: {}\nRun `{}` to see what is possible.\n", usage.message, usage.help));
  return 2;
}

int run_settings(const Settings& settings, Io& io) {
  if (settings.command == Command::version) return show_version(settings, io);
  if (settings.command == Command::completion) return completion(settings, io);
  if (settings.command == Command::manual) return manual(io);
  if (settings.command == Command::session) return session(settings, io);
  if (settings.command != Command::serve && settings.command != Command::replay) check_flag_sources(settings);
  if (auto done = run_declared(settings, io)) {
    if (*done == 0 && changes_servers(settings.command)) tell_session_of_change();
    return *done;
  }
  Runtime runtime;
  runtime.limits = limits_from(process_environment());
  if (settings.command == Command::chat) {
    return settings.print ? print_answer(settings, io, runtime) : chat(settings, io, runtime);
  }
  if (settings.command == Command::acp) return acp(settings, io, runtime);
  if (settings.command == Command::serve || settings.command == Command::replay) {
    const auto secrets = std::make_shared<const KnownSecrets>();
    runtime.log = make_log(settings, log_of(io), secrets);
    if (settings.trace) runtime.trace = make_trace(settings, log_of(io), secrets);
    return settings.command == Command::serve ? serve(settings, io, runtime) : replay(settings, io, runtime);
  }
  return run_with_host(settings, io, runtime);
}

}  // namespace

void say_rule_problems(Context& context) {
  // doctor has a place of its own for them.
  if (context.settings.command == Command::doctor || std::exchange(context.rules_told, true)) return;
  say_problems(context.host.permission_problems(), context.settings, context.io);
}

}  // namespace patchbay::cli

int main(int argc, char** argv) {
  using namespace patchbay;
  using namespace patchbay::cli;
  // A reader that leaves is noticed by the write that fails, not by a signal.
  ::signal(SIGPIPE, SIG_IGN);
  // One of these that is closed would become a descriptor of ours, and somebody else would write to it.
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (::fcntl(fd, F_GETFD) == -1) (void)!::open("/dev/null", O_RDONLY);  // the lowest one that is free
  }
  // This process holds secrets: no core file of it, and nobody else's debugger. What it starts is as it would be
  // without us: a new program begins anew, and limits, which it would inherit, are not touched.
  (void)::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  const bool background = argc > 0 && argv[0] == background_program;
  if (background) words.insert(words.begin(), {"session", "start"});
  const auto read = read_command_line(words);
  const auto* settings = std::get_if<Settings>(&read);
  auto io = process_io(settings && settings->no_color);
  try {
    if (const auto* fault = std::get_if<UsageFault>(&read)) return report_usage(*fault, io);
    if (const auto* topic = std::get_if<HelpTopic>(&read)) {
      io.out(help_page(*topic, io.width()));
      return 0;
    }
    if (background) return run_session(*settings);
    return run_settings(*settings, io);
  } catch (...) {
    if (*io.reader_left) return 0;
    return report(error_from(std::current_exception()), settings && settings->json, io);
  }
}
