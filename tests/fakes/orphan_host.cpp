// A program that starts one server and then ends, for the orphan test:
//   orphan-host warden|direct exit|abort|kill|kill-after:MICROSECONDS SERVER ARGS...
// "warden" uses the library. "direct" starts the child as a careful program without a warden
// would (TERM, then KILL, to the child on a normal end): the control that shows
// that the test can fail. "kill-after" does not wait for the server: it is killed that long
// after it begins to start it. The environment is passed on.
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include <time.h>

#include "base/as_result.h"
#include "base/timeout.h"
#include "process/process.h"

extern char** environ;

namespace {

using namespace patchbay;

int end_by(std::string_view way) {
  const struct rlimit no_core{};
  ::setrlimit(RLIMIT_CORE, &no_core);
  if (way == "abort") {
    ::signal(SIGABRT, SIG_DFL);
    ::abort();
  }
  if (way == "kill") ::kill(::getpid(), SIGKILL);
  return 0;
}

Task<int> with_warden(std::string way, std::vector<std::string> command) {
  if (way.starts_with("kill-after:")) {
    // By the kernel's timer, wherever this program is by then.
    const auto delay = std::stol(way.substr(way.find(':') + 1));
    struct sigevent event{};
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = SIGKILL;
    timer_t timer{};
    ::timer_create(CLOCK_MONOTONIC, &event, &timer);
    const struct itimerspec when{{}, {0, delay * 1000}};
    ::timer_settime(timer, 0, &when, nullptr);
  }
  ProcessSpec spec{.command = command[0], .args = {command.begin() + 1, command.end()}};
  auto process = co_await Process::start(std::move(spec), Runtime{});
  std::string seen;
  while (seen.find("ready\n") == seen.npos) {
    char buffer[256];
    const auto length = co_await process->read_some(buffer);
    if (!length || *length == 0) co_return 71;
    seen.append(buffer, *length);
  }
  if (way == "exit") co_await process->shutdown({});
  co_return end_by(way);
}

int without_warden(std::string_view way, std::vector<std::string> command) {
  int in[2];
  int out[2];
  if (::pipe2(in, O_CLOEXEC) != 0 || ::pipe2(out, O_CLOEXEC) != 0) return 72;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in[0], 0);
  posix_spawn_file_actions_adddup2(&actions, out[1], 1);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  std::vector<char*> argv;
  for (auto& text : command) argv.push_back(text.data());
  argv.push_back(nullptr);
  pid_t pid = 0;
  const int failed = ::posix_spawn(&pid, argv[0], &actions, &attributes, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (failed != 0) return 73;
  ::close(out[1]);
  std::string seen;
  for (char byte; seen.find("ready\n") == seen.npos;) {
    if (::read(out[0], &byte, 1) != 1) return 74;
    seen += byte;
  }
  if (way == "exit") {
    ::close(in[1]);
    ::kill(pid, SIGTERM);
    ::usleep(100'000);
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
  }
  return end_by(way);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return 64;
  const std::string how = argv[1];
  const std::string way = argv[2];
  std::vector<std::string> command(argv + 3, argv + argc);
  if (how == "direct") return without_warden(way, std::move(command));
  return run(with_warden(way, std::move(command)));
}
