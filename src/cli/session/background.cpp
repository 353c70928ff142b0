#include "cli/session/background.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <filesystem>

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <patchbay/version.h>

#include "base/as_result.h"
#include "base/loop_clock.h"
#include "base/timeout.h"
#include "cli/declared.h"
#include "cli/kept.h"
#include "cli/known_secrets.h"
#include "cli/logging.h"
#include "cli/session/control.h"
#include "cli/sign_in.h"
#include "cli/texts/present.h"
#include "entries/limits.h"
#include "host/flight/flight_recorder.h"
#include "host/make_host.h"
#include "rpc/error_data.h"
#include "settings/folders.h"

namespace patchbay::cli {
namespace {

using namespace std::chrono_literals;

// Where the process finds what it was given.
constexpr int ready_descriptor = 3;
constexpr int lock_descriptor = 4;
constexpr int first_free_descriptor = 5;
constexpr int out_of_the_way = 10;

constexpr int ready_limit_ms = 30'000;
constexpr std::size_t most_said = 64u << 10;

// Everything the process says before it is ready: nothing on success, an error as JSON otherwise.
std::string read_until_ready(int descriptor) {
  std::string said;
  for (;;) {
    pollfd waiting{descriptor, POLLIN, 0};
    if (::poll(&waiting, 1, ready_limit_ms) == 0) throw Error(Errc::timeout, "the session did not begin in time");
    char buffer[4096];
    const auto got = ::read(descriptor, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0 || said.size() > most_said) return said;
    said.append(buffer, static_cast<std::size_t>(got));
  }
}

void say_ready(const std::optional<Error>& failure) {
  std::string text = "ready";
  if (failure) text = carrying(*failure).rpc_data();
  std::string_view rest = text;
  while (!rest.empty()) {
    const auto written = ::write(ready_descriptor, rest.data(), rest.size());
    if (written <= 0) break;
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
  ::close(ready_descriptor);
}

HostOptions host_options(const Settings& settings) {
  HostOptions options;
  options.load = load_request(settings);
  options.config = load_servers(*options.load);
  // Nothing is approved here, and nobody can be asked: who wants a server of the project approves it.
  options.follow_config = true;
  options.client.info = Implementation{.name = "patchbay", .version = std::string(version())};
  if (const auto cache = cache_folder(process_environment()); !cache.empty()) {
    options.client.protocol_memory = cache + "/older-servers.json";
  }
  options.failure_memory = failure_file();
  options.state_directory = state_directory();
  options.sign_in = sign_in_options(*options.config);
  options.asking.folders = {std::filesystem::current_path()};
  return options;
}

// The command that asks puts the remedy into its own words.
Error shown(const KnownSecrets& secrets, const Error& error) {
  auto hidden = secrets.without(std::move(Error(error)).without_remedy());
  return error.remedy() ? std::move(hidden).with_remedy(*error.remedy()) : hidden;
}

std::chrono::sys_seconds now_in(const asio::any_io_executor& executor) {
  return std::chrono::floor<std::chrono::seconds>(loop_clock(executor).wall());
}

// What the host reports, kept for commands that come later.
void remember(const HostEvent& event, const Host& host, SharedHost& shared, KnownSecrets& secrets,
              std::chrono::sys_seconds now) {
  if (const auto* status = std::get_if<ServerStatus>(&event)) shared.history.note(*status, now);
  if (std::holds_alternative<CatalogChange>(event)) shared.routes->catalog_changed();
  if (const auto* change = std::get_if<ConfigChange>(&event)) {
    secrets.follow(host.config());
    for (const auto& name : change->removed) shared.history.forget(name);
    for (const auto& name : change->changed) shared.history.replaced(name);
  }
}

Json server_json(const ServerStatus& status, const ServerHistory& history, const KnownSecrets& secrets,
                 std::chrono::sys_seconds now) {
  auto json = status_json(status.error ? secrets.without(status) : status);
  json["attempt"] = status.attempt;
  json["attempts"] = status.attempts;
  if (const auto failure = history.last_failure(status.name)) {
    json["lastFailure"] = Json{{"error", secrets.without(failure->error).message()},
                               {"age", std::max<std::int64_t>((now - failure->time).count(), 0)}};
  }
  return json;
}

std::string time_now(const asio::any_io_executor& executor) {
  const auto now = std::chrono::system_clock::to_time_t(loop_clock(executor).wall());
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(now));
}

Task<void> until_used(std::shared_ptr<SharedHost> shared) {
  while (shared->in_use == 0) co_await shared->use_changed.wait();
}
Task<void> until_unused(std::shared_ptr<SharedHost> shared) {
  while (shared->in_use > 0) co_await shared->use_changed.wait();
}

// Returns when nobody has used the session for so long.
Task<void> watch_use(std::shared_ptr<SharedHost> shared, std::chrono::milliseconds idle) {
  for (;;) {
    co_await until_unused(shared);
    auto used = co_await as_result(with_timeout(until_used(shared), as_duration(idle), "unused"));
    if (!used && used.error().code() == Errc::timeout) co_return;
    value_or_throw(std::move(used));
  }
}

// The frames of one server, or which servers have some.
Task<Json> recording_json(std::shared_ptr<FlightRecorder> flight, std::string server) {
  if (!flight) throw Error(Errc::config, "this session records nothing: it has no state directory");
  if (!server.empty()) co_return Json{{"text", co_await flight->recording_of(std::move(server))}};
  Json names = Json::array();
  for (const auto& name : flight->servers()) names.push_back(name);
  co_return Json{{"servers", std::move(names)}};
}

std::chrono::milliseconds idle_time(const Settings& settings) {
  const double minutes = settings.idle_minutes.value_or(default_idle_minutes);
  if (minutes <= 0) return std::chrono::milliseconds::max();
  return std::chrono::milliseconds(static_cast<std::int64_t>(std::min(minutes, 1e8) * 60'000));
}

}  // namespace

pid_t start_session(const Settings& settings, const SocketLock& lock) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw Error(Errc::internal, fmt::format("pipe: {}", std::strerror(errno)));
  const Fd from_it(ends[0]);
  Fd to_us(ends[1]);
  // Out of the way of the numbers they get.
  Fd ready(::fcntl(to_us.get(), F_DUPFD_CLOEXEC, out_of_the_way));
  const Fd held(::fcntl(lock.descriptor(), F_DUPFD_CLOEXEC, out_of_the_way));

  posix_spawn_file_actions_t files;
  ::posix_spawn_file_actions_init(&files);
  for (const int standard : {0, 1, 2}) {
    ::posix_spawn_file_actions_addopen(&files, standard, "/dev/null", O_RDWR, 0);
  }
  ::posix_spawn_file_actions_adddup2(&files, ready.get(), ready_descriptor);
  ::posix_spawn_file_actions_adddup2(&files, held.get(), lock_descriptor);
  ::posix_spawn_file_actions_addclosefrom_np(&files, first_free_descriptor);
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);

  std::vector<std::string> words{std::string(background_program)};
  if (settings.idle_minutes) words.insert(words.end(), {"--idle", fmt::format("{}", *settings.idle_minutes)});
  if (!settings.log_file.empty()) words.insert(words.end(), {"--log-file", settings.log_file});
  if (!settings.log_level.empty()) words.insert(words.end(), {"--log-level", settings.log_level});
  if (settings.trace) words.emplace_back("--trace");
  std::vector<char*> argv;
  for (auto& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  pid_t pid = 0;
  // The very program that runs now, whatever is installed under its name by now.
  const int failed = ::posix_spawn(&pid, "/proc/self/exe", &files, &attributes, argv.data(), environ);
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&files);
  if (failed != 0) throw Error(Errc::internal, fmt::format("the session cannot be started: {}", std::strerror(failed)));
  to_us.reset();
  ready.reset();
  const auto said = read_until_ready(from_it.get());
  if (said == "ready") return pid;
  RpcError told;
  if (auto data = Payload::parse(said)) told.data = std::move(*data);
  throw carried_error(told).value_or(Error(Errc::internal, "the session ended before it was ready"));
}

int run_session(const Settings& settings) {
  std::optional<SocketLock> lock;
  bool told = false;
  auto tell = [&](const std::optional<Error>& failure) {
    if (!std::exchange(told, true)) say_ready(failure);
  };
  try {
    // Servers must not inherit them.
    (void)::fcntl(ready_descriptor, F_SETFD, FD_CLOEXEC);
    const auto directory = session_directory();
    const auto place = session_place();
    lock = value_or_throw(SocketLock::inherited(place, lock_descriptor));
    asio::io_context loop(1);
    const auto executor = loop.get_executor();
    Runtime runtime;
    runtime.limits = limits_from(process_environment());

    auto options = host_options(settings);
    const auto secrets = std::make_shared<KnownSecrets>(*options.config);
    const auto nowhere = [](std::string_view) {};
    Log log;
    if (log_is_wanted(settings)) log = make_log(settings, nowhere, secrets);
    if (settings.trace) runtime.trace = make_trace(settings, nowhere, secrets);
    auto routes = std::make_shared<CallerRoutes>();
    routes->answer_for(options.client);
    // Made after the host that tells it.
    std::shared_ptr<SharedHost> shared;
    runtime.log = Log(std::min(log.threshold(), LogLevel::info), [&shared, log, executor](const LogEvent& event) {
      if (shared) shared->history.note(event, now_in(executor));
      log.pass(event);
    });
    std::function<void(const HostEvent&)> told_by_host;
    options.on_event = [&told_by_host](const HostEvent& event) {
      if (told_by_host) told_by_host(event);
    };
    auto host = make_host(std::move(options), runtime, "session");

    shared = std::make_shared<SharedHost>(host, routes);
    told_by_host = [&](const HostEvent& event) { remember(event, host, *shared, *secrets, now_in(executor)); };
    const auto since = time_now(executor);
    shared->version = std::string(version());
    shared->shown = [secrets](const Error& error) { return shown(*secrets, error); };
    shared->status = [&, held = shared.get()] {
      Json servers = Json::array();
      for (const auto& status : host.status()) {
        servers.push_back(server_json(status, held->history, *secrets, now_in(executor)));
      }
      return Json{{"version", version()},
                  {"pid", ::getpid()},
                  {"since", since},
                  {"directory", directory},
                  {"idleMinutes", settings.idle_minutes.value_or(default_idle_minutes)},
                  {"commands", held->in_use},
                  {"servers", std::move(servers)}};
    };
    shared->recording = [flight = flight_recorder_of(host)](std::string server) {
      return recording_json(flight, std::move(server));
    };
    Event stop;
    bool stopping = false;
    shared->stop = [&] {
      stopping = true;
      stop.notify_all();
    };
    asio::signal_set signals(loop, SIGINT, SIGTERM, SIGHUP);
    SocketDoor door(executor, place, *lock);
    lock.reset();
    tell(std::nullopt);

    Scope scope(executor);
    Scope side(executor);
    auto serving = scope.spawn([](SocketDoor& d, std::shared_ptr<SharedHost> s, Runtime r) -> Task<void> {
      (void)co_await as_result(d.run(std::move(s), std::move(r)));
    }(door, shared, runtime));
    side.spawn([](asio::signal_set& s, std::function<void()> end) -> Task<void> {
      (void)co_await s.async_wait(asio::use_awaitable);
      end();
    }(signals, shared->stop));
    side.spawn([](std::shared_ptr<SharedHost> s, std::chrono::milliseconds idle) -> Task<void> {
      co_await watch_use(s, idle);
      s->stop();
    }(shared, idle_time(settings)));
    side.spawn([](SocketDoor& d, std::shared_ptr<SharedHost> s) -> Task<void> {
      co_await d.until_gone();
      s->stop();
    }(door, shared));
    scope.spawn([](Event& end, const bool& ending, Spawned served, Scope& beside, Host& h) -> Task<void> {
      while (!ending) co_await end.wait();
      beside.cancel();
      served.cancel();
      co_await h.stop();
    }(stop, stopping, serving, side, host));
    loop.run();
    shared->stop = nullptr;
    told_by_host = nullptr;
    return 0;
  } catch (...) {
    const auto error = error_from(std::current_exception());
    tell(error);
    return 1;
  }
}

}  // namespace patchbay::cli
