// `session start|stop|status`: servers that stay up between commands.
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <fmt/format.h>

#include <patchbay/version.h>

#include "base/fd.h"
#include "base/strings.h"
#include "cli/context.h"
#include "cli/session/background.h"
#include "cli/session/control.h"
#include "cli/session/use.h"
#include "cli/texts/present.h"
#include "cli/texts/state_words.h"
#include "text/visible_text.h"

namespace patchbay::cli {
namespace {

constexpr int stop_limit_ms = 15'000;
constexpr int kill_limit_ms = 5'000;

std::string when_unused(const Settings& settings) {
  const auto minutes = settings.idle_minutes.value_or(default_idle_minutes);
  return minutes <= 0 ? std::string("it runs until `patchbay session stop`")
                      : fmt::format("it ends after {} minute{} without a command, or with `patchbay session stop`",
                                    minutes, minutes == 1 ? "" : "s");
}

int start(const Settings& settings, Io& io) {
  // Whoever denies something with them must not believe that it is denied.
  if (const auto flags = flags_against_session(settings); !flags.empty()) {
    throw Error(Errc::invalid_argument,
                fmt::format("a session uses servers and rules as files declare them, so `session start` does not take "
                            "{}; write that into a file, or give the flag to single commands",
                            flags));
  }
  const auto place = session_place();
  auto taken = SocketLock::take(place);
  if (!taken) throw std::move(taken).error();
  std::optional lock(std::move(*taken));
  if (const auto running = running_session()) {
    require_same_version(*running);
    auto json = session_json(*running);
    json["started"] = false;
    if (settings.json) {
      io.out(json_text(json, io.out_is_terminal));
    } else {
      print_lines(io, fmt::format("A session is already running in this directory since {} (pid {}).\n",
                                  safe_name(running->since, 40), running->pid));
    }
    return 0;
  }
  const auto pid = start_session(settings, *lock);
  lock.reset();
  if (settings.json) {
    // One with a short idle time may have ended by now.
    const auto running = running_session();
    auto json = running ? session_json(*running) : Json{{"running", false}, {"pid", pid}};
    json["started"] = true;
    io.out(json_text(json, io.out_is_terminal));
  } else {
    print_lines(io, fmt::format("Started a session for {} (pid {}); {}.\n", visible_text(session_directory()), pid,
                                when_unused(settings)));
  }
  return 0;
}

bool wait_for_end(const Fd& process, int limit_ms) {
  pollfd waiting{process.get(), POLLIN, 0};
  int ready = 0;
  do {
    ready = ::poll(&waiting, 1, limit_ms);
  } while (ready < 0 && errno == EINTR);
  return ready > 0;
}

int not_running(const Settings& settings, Io& io) {
  if (settings.json) {
    io.out(json_text(Json{{"running", false}, {"stopped", false}}, io.out_is_terminal));
  } else {
    print_lines(io, "No session is running in this directory.\n");
  }
  return 0;
}

// The process behind a connection. Nothing when it has ended: its number may be another's by now. As long as the
// connection is not hung up, it was still there when its number was looked up.
std::optional<Fd> process_of(const OwnSocket& socket) {
  Fd process(socket.pid > 0 ? static_cast<int>(::syscall(SYS_pidfd_open, socket.pid, 0)) : -1);
  pollfd hung_up{socket.fd.get(), 0, 0};
  if (!process || ::poll(&hung_up, 1, 0) != 0) return std::nullopt;
  return process;
}

int stop(const Settings& settings, Io& io) {
  const auto place = session_place();
  auto socket = connect_own_socket(place);
  if (!socket) throw std::move(socket).error();
  if (!*socket) return not_running(settings, io);
  const auto pid = (*socket)->pid;
  const auto process = process_of(**socket);
  if (!process) return not_running(settings, io);
  socket->reset();
  const auto said = ask_session(place, session_method::stop);
  // Only one that does not answer is killed. One that hangs up, or that nobody finds any more, is ending.
  const bool silent = said && !said->answer && said->answer.error().code() == Errc::timeout;
  bool killed = false;
  if (!wait_for_end(*process, silent ? 0 : stop_limit_ms)) {
    // Its wardens end what it leaves behind.
    killed = true;
    (void)::syscall(SYS_pidfd_send_signal, process->get(), SIGKILL, nullptr, 0);
    if (!wait_for_end(*process, kill_limit_ms)) {
      throw Error(Errc::timeout, fmt::format("the session (pid {}) did not end", pid));
    }
  }
  if (settings.json) {
    io.out(
        json_text(Json{{"running", false}, {"stopped", true}, {"pid", pid}, {"killed", killed}}, io.out_is_terminal));
  } else {
    print_lines(io, fmt::format("Stopped the session (pid {}){}.\n", pid,
                                killed ? ", which did not answer and was killed" : " and its servers"));
  }
  return 0;
}

int status(const Settings& settings, Io& io) {
  const auto running = running_session();
  if (settings.json) {
    if (!running) {
      io.out(json_text(Json{{"running", false}, {"directory", session_directory()}, {"socket", session_place().path()}},
                       io.out_is_terminal));
      return 0;
    }
    auto json = session_json(*running);
    for (const auto* key : {"idleMinutes", "commands", "servers"}) json[key] = std::as_const(running->all)[key];
    io.out(json_text(json, io.out_is_terminal));
    return 0;
  }
  if (!running) {
    print_lines(io, "No session is running in this directory. To start one: patchbay session start\n");
    return 0;
  }
  std::string text = session_line(*running);
  text += fmt::format("socket: {}\n", safe_name(running->place.path(), 300));
  if (running->version != version()) {
    text += fmt::format(
        "It is of patchbay {}, and this program is patchbay {}; to restart it: patchbay session stop && "
        "patchbay session start\n",
        safe_name(running->version, 40), version());
  }
  for (const auto& server : running->all["servers"].items()) {
    const auto name = server["name"].text();
    const auto said = name ? server_in(*running, *name) : std::nullopt;
    if (!said) continue;
    StateWords words;
    words.server = *name;
    words.state = said->state;
    words.reason = said->reason;
    words.error = said->error;
    words.tool_count = said->tool_count;
    words.attempt = said->attempt;
    words.attempts = said->attempts;
    words.last_failure = said->last_failure;
    text += fmt::format("  {}: {}\n", safe_name(words.server, 80), state_text(words, io.color));
  }
  print_lines(io, text);
  return 0;
}

}  // namespace

int session(const Settings& settings, Io& io) {
  const auto& word = settings.words.front();
  if (word == "start") return start(settings, io);
  return word == "stop" ? stop(settings, io) : status(settings, io);
}

}  // namespace patchbay::cli
