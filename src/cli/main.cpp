// The binary. main wires the pieces: command line, log, configuration, host, the command
// itself, signals, and the way out. The library below never touches any of them.
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <fmt/format.h>

#include <patchbay/version.h>

#include "base/as_result.h"
#include "base/exit_code.h"
#include "base/scope.h"
#include "builtin/builtin_server.h"
#include "cli/approval.h"
#include "cli/context.h"
#include "cli/logging.h"
#include "cli/present.h"
#include "config/limits.h"

namespace patchbay::cli {

int show_version(const Settings& settings, Io& io) {
  if (settings.json) {
    io.out(to_text(Json{{"name", "patchbay"}, {"version", version()}}) + "\n");
  } else {
    io.out(fmt::format("patchbay {}\n", version()));
  }
  return 0;
}

namespace {

Task<int> dispatch(Context& context) {
  switch (context.settings.command) {
    case Command::tools:
      return tools(context);
    case Command::call:
      return call(context);
    case Command::resources:
      return resources(context);
    case Command::read:
      return read(context);
    case Command::prompts:
      return prompts(context);
    case Command::prompt:
      return prompt(context);
    default:
      return overview(context);
  }
}

HostOptions host_options(const Settings& settings, Io& io, Waiting& waiting) {
  HostOptions options;
  LoadRequest request;
  request.cwd = std::filesystem::current_path();
  request.mcp_configs = settings.mcp_config;
  request.strict = settings.strict;
  options.config = load_servers(request);
  options.trust_project = settings.trust_project;
  options.follow_changes = false;
  options.client.info = Implementation{.name = "patchbay", .version = std::string(version())};
  options.client.roots = [cwd = request.cwd]() -> Task<std::vector<Root>> {
    co_return std::vector{Root{.uri = file_uri(cwd)}};
  };
  if (io.in_is_terminal && io.talk_is_terminal) {
    options.approve = [&io, &waiting](const ServerConfig& server) { return ask_approval(io, waiting, server); };
  }
  if (!settings.json && !settings.quiet) {
    options.on_status = [&io, &waiting](const ServerStatus& status) {
      waiting.pause();
      if (status.state == ServerState::connected) {
        io.talk(fmt::format("[mcp] Connected to '{}' — {} tools\n", safe_line(status.name, 80), status.tool_count));
      } else if (status.error && status.state == ServerState::failed) {
        io.talk(fmt::format("[mcp] Failed to connect to '{}': {}\n", safe_line(status.name, 80),
                            safe_line(status.error->message(), 500)));
      }
    };
  }
  return options;
}

// Problems that cost an entry are always said; hints only to people.
void say_problems(const LoadedConfig& config, const Settings& settings, Io& io) {
  for (const auto& problem : config.problems) {
    if (problem.severity == Severity::warning && (settings.json || settings.quiet)) continue;
    io.talk(fmt::format("patchbay: {}{}\n", problem.severity == Severity::warning ? "warning: " : "", problem.text()));
  }
}

Task<void> run_to_end(Context& context, Result<int>& outcome) {
  outcome = co_await as_result(dispatch(context));
  context.waiting.end();
  co_await asio::this_coro::throw_if_cancelled(false);
  co_await context.host.stop_quickly();
}

int report(const Error& error, const Settings& settings, Io& io) {
  if (settings.json) {
    io.out(to_text(error_json(error)) + "\n");
  } else {
    io.talk(error_text(error));
  }
  return exit_code(error);
}

int run_with_host(const Settings& settings, Io& io, const Runtime& runtime) {
  asio::io_context loop(1);
  Waiting waiting(io);
  auto options = host_options(settings, io, waiting);
  say_problems(options.config.value(), settings, io);
  const bool no_servers = options.config->servers.empty();
  bool broken = false;
  for (const auto& problem : options.config->problems) broken |= problem.severity == Severity::error;
  if (no_servers && broken && !settings.builtin) {
    const auto& problems = options.config->problems;
    auto worst = std::ranges::find(problems, Severity::error, &ConfigProblem::severity);
    if (settings.json) io.out(to_text(error_json(Error(Errc::config, worst->text()))) + "\n");
    return 2;
  }

  Host host(std::move(options), runtime);
  if (settings.builtin || (no_servers && !settings.strict)) {
    BuiltinOptions builtin;
    builtin.root = settings.root.empty() ? std::filesystem::current_path() : std::filesystem::path(settings.root);
    builtin.allow_run = settings.allow_run;
    builtin.runtime = runtime;
    host.add_server("patchbay", make_builtin_server(builtin));
  }
  Context context{settings, io, runtime, host, waiting};

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

  if (stopped_by != 0) return 128 + stopped_by;
  if (!outcome) return report(outcome.error(), settings, io);
  return *outcome;
}

int run_settings(const Settings& settings, Io& io) {
  if (settings.command == Command::version) return show_version(settings, io);
  Runtime runtime;
  runtime.limits = limits_from(process_environment());
  runtime.log = make_log(settings);
  if (settings.trace) runtime.trace = make_trace(settings);
  if (settings.command == Command::serve) return serve(settings, io, runtime);
  return run_with_host(settings, io, runtime);
}

}  // namespace
}  // namespace patchbay::cli

int main(int argc, char** argv) {
  using namespace patchbay;
  using namespace patchbay::cli;
  // A reader that leaves is noticed by the write that fails, not by a signal.
  ::signal(SIGPIPE, SIG_IGN);
  auto parsed = parse_command_line(argc, argv);
  const auto* settings = std::get_if<Settings>(&parsed);
  auto io = process_io(settings && settings->no_color);
  try {
    if (!settings) {
      const auto& stop = std::get<Stop>(parsed);
      if (!stop.out.empty()) io.out(stop.out);
      if (!stop.talk.empty()) io.talk(stop.talk);
      return stop.code;
    }
    return run_settings(*settings, io);
  } catch (const BrokenPipe&) {
    return 0;
  } catch (...) {
    auto error = error_from(std::current_exception());
    io.talk(error_text(error));
    return exit_code(error);
  }
}
