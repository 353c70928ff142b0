#include "process/sandbox_probe.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <climits>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>

#include <patchbay/json.h>

#include "base/fd.h"
#include "base/kept_file.h"
#include "process/command_lookup.h"

namespace patchbay {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::milliseconds longest_trial{3000};
constexpr std::size_t kept_size = 8u << 10;
constexpr long create_ruleset = 444;
constexpr long pidfd_open = 434;
constexpr unsigned ask_version = 1;     // LANDLOCK_CREATE_RULESET_VERSION
constexpr unsigned ask_for_action = 2;  // SECCOMP_GET_ACTION_AVAIL

int landlock_version() {
  const long version = ::syscall(create_ruleset, nullptr, 0, ask_version);
  return version > 0 ? static_cast<int>(version) : 0;
}

bool has_filters() {
  const std::uint32_t with_errno = 0x00050000;
#ifdef SYS_seccomp
  return ::syscall(SYS_seccomp, ask_for_action, 0, &with_errno) == 0;
#else
  return false;
#endif
}

std::string kernel_version() {
  struct utsname name{};
  if (::uname(&name) != 0) return "?";
  // "6.1.0-28-amd64" is 6.1 for people.
  const std::string_view release(name.release);
  const auto major = release.find('.');
  if (major == release.npos) return std::string(release.substr(0, 20));
  return std::string(release.substr(0, release.find_first_not_of("0123456789", major + 1)));
}

std::string first_line(const std::string& file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  return line.substr(0, 200);
}

std::string link_of(const std::string& path) {
  std::error_code failed;
  return fs::read_symlink(path, failed).string();
}

// Everything that what a trial showed depends on.
std::string circumstances(const std::string& program) {
  struct stat info{};
  if (::stat(program.c_str(), &info) != 0) return {};
  std::string seccomp;
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("Seccomp") || line.starts_with("NoNewPrivs") || line.starts_with("CapBnd")) {
      seccomp += line.substr(0, 100) + ";";
    }
  }
  return fmt::format("{} {} {} {} {} {} {} {} {}", first_line("/proc/sys/kernel/random/boot_id"), program, info.st_ino,
                     info.st_size, info.st_mtim.tv_sec, ::geteuid(), link_of("/proc/self/ns/user"),
                     link_of("/proc/self/ns/mnt"), seccomp);
}

// Whether bubblewrap can do here what we would ask of it.
bool try_bubblewrap(const std::string& program) {
  auto words = bubblewrap_front(program, true);
  words.insert(words.end(), {program, "--version"});
  std::vector<char*> arguments;
  for (auto& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  char nothing[] = "PATH=/usr/bin:/bin";
  std::array<char*, 2> environment{nothing, nullptr};
  posix_spawn_file_actions_t actions;
  if (::posix_spawn_file_actions_init(&actions) != 0) return false;
  int failed = ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  for (const int fd : {STDOUT_FILENO, STDERR_FILENO}) {
    if (failed == 0) failed = ::posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_WRONLY, 0);
  }
  pid_t pid = 0;
  if (failed == 0) {
    failed = ::posix_spawn(&pid, program.c_str(), &actions, nullptr, arguments.data(), environment.data());
  }
  ::posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) return false;
  const Fd pin(static_cast<int>(::syscall(pidfd_open, pid, 0)));
  struct pollfd watched{pin.get(), POLLIN, 0};
  // Without a descriptor it is waited for; it starts nothing that could hang.
  if (pin && ::poll(&watched, 1, static_cast<int>(longest_trial.count())) <= 0) ::kill(pid, SIGKILL);
  int status = 0;
  pid_t ended = 0;
  do {
    ended = ::waitpid(pid, &status, 0);
  } while (ended < 0 && errno == EINTR);
  return ended == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

std::string bubblewrap_that_works(const SandboxProbe& probe) {
  const auto found = find_command("bwrap", probe.path, "/");
  if (!found) return {};
  const auto now = circumstances(*found);
  const auto file = probe.state_directory.empty() ? std::string() : probe.state_directory + "/bubblewrap-trial.json";
  const bool keeps = !file.empty() && !now.empty();
  if (keeps) {
    const auto kept = parse_json(read_kept_file(file, kept_size));
    if (kept && (*kept)["circumstances"].text() == now) {
      return (*kept)["works"].to_bool().value_or(false) ? *found : std::string();
    }
  }
  const bool works = try_bubblewrap(*found);
  // What is not kept is tried again.
  if (keeps) {
    (void)change_kept_file(file, kept_size, [&](std::string_view) {
      return std::optional(to_text(Json{{"circumstances", now}, {"works", works}}));
    });
  }
  return works ? *found : std::string();
}

}  // namespace

SandboxMachine look_at_sandbox_machine(const SandboxProbe& probe) {
  SandboxMachine out;
  out.landlock = landlock_version();
  out.filters = has_filters();
  out.native_calls = knows_native_calls();
  out.kernel = kernel_version();
  out.root = ::geteuid() == 0;
  out.bubblewrap = bubblewrap_that_works(probe);
  return out;
}

}  // namespace patchbay
