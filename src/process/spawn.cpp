#include "process/spawn.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include <fmt/format.h>

#include "base/as_result.h"
#include "process/command_lookup.h"
#include "process/confinement_file.h"
#include "process/domain_proxy.h"
#include "sandbox/confinement.h"

extern char** environ;

namespace patchbay {
namespace {

constexpr int first_free = PB_WARDEN_PROXY + 1;
constexpr int large_pipe = 1 << 20;
constexpr int most_large_pipes = 32;

std::atomic<int> large_pipes{0};

// Numbers 0 to 6 are where posix_spawn puts the child's own: a host that runs with some of
// those closed must not get its pipes there.
Fd lifted(Fd fd) {
  if (!fd || fd.get() >= first_free) return fd;
  return Fd(::fcntl(fd.get(), F_DUPFD_CLOEXEC, first_free));
}

FdPair make_pipe(bool we_write, std::string_view command) {
  std::array<int, 2> ends{-1, -1};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw_errno(errno, "cannot create a pipe for", command);
  Fd read_end(ends[0]);
  Fd write_end(ends[1]);
  FdPair pair{lifted(we_write ? std::move(write_end) : std::move(read_end)), {}};
  pair.theirs = lifted(we_write ? std::move(read_end) : std::move(write_end));
  if (!pair.ours || !pair.theirs) throw_errno(errno, "cannot create a pipe for", command);
  if (::fcntl(pair.ours.get(), F_SETFL, O_NONBLOCK) != 0) throw_errno(errno, "cannot create a pipe for", command);
  return pair;
}

FdPair make_socket(std::string_view command) {
  std::array<int, 2> ends{-1, -1};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    throw_errno(errno, "cannot create a socket for", command);
  }
  FdPair pair{Fd(ends[0]), Fd(ends[1])};
  pair.ours = lifted(std::move(pair.ours));
  pair.theirs = lifted(std::move(pair.theirs));
  if (!pair.ours || !pair.theirs) throw_errno(errno, "cannot create a socket for", command);
  if (::fcntl(pair.ours.get(), F_SETFL, O_NONBLOCK) != 0) throw_errno(errno, "cannot create a socket for", command);
  return pair;
}

bool has_nul(std::string_view text) { return text.find('\0') != text.npos; }

void check(const ProcessSpec& spec) {
  if (has_nul(spec.command)) throw Error(Errc::invalid_argument, "the command contains a NUL character");
  if (has_nul(spec.cwd)) throw Error(Errc::invalid_argument, "the working directory contains a NUL character");
  for (std::size_t i = 0; i < spec.args.size(); ++i) {
    if (has_nul(spec.args[i])) {
      throw Error(Errc::invalid_argument, fmt::format("argument {} contains a NUL character", i + 1));
    }
  }
  for (const auto& [name, value] : spec.env) {
    if (name.empty() || has_nul(name) || name.find('=') != name.npos) {
      throw Error(Errc::invalid_argument, "the name of an environment variable is empty or contains '=' or NUL");
    }
    if (has_nul(value)) {
      throw Error(Errc::invalid_argument, fmt::format("the environment variable {} contains a NUL character", name));
    }
  }
}

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> out;
  out.reserve(strings.size() + 1);
  for (auto& text : strings) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

// posix_spawn: no copy of the host's page tables, however large it is. Everything the host
// changed about signals is undone in the child.
int spawn_with(SpawnPlan& plan, const std::vector<int>& fds, pid_t& pid) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  int failed = ::posix_spawn_file_actions_init(&actions);
  if (failed != 0) return failed;
  failed = ::posix_spawnattr_init(&attributes);
  if (failed != 0) {
    ::posix_spawn_file_actions_destroy(&actions);
    return failed;
  }
  sigset_t all;
  ::sigfillset(&all);
  // The warden begins with every signal blocked and makes its session itself. Here we wait
  // until it has been executed, and on a busy machine a new session waits for its first turn.
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  ::posix_spawnattr_setsigmask(&attributes, &all);
  ::posix_spawnattr_setsigdefault(&attributes, &all);
  for (int target = 0; failed == 0 && target < static_cast<int>(fds.size()); ++target) {
    failed = ::posix_spawn_file_actions_adddup2(&actions, fds[static_cast<std::size_t>(target)], target);
  }
  if (failed == 0 && !plan.cwd.empty()) failed = ::posix_spawn_file_actions_addchdir_np(&actions, plan.cwd.c_str());
  auto arguments = pointers(plan.argv);
  auto variables = pointers(plan.environment);
  for (int tries = 0; failed == 0 && tries < 20; ++tries) {
    failed = ::posix_spawn(&pid, plan.image.path.c_str(), &actions, &attributes, arguments.data(), variables.data());
    // Another thread that starts a program at this moment may still hold the writable side
    // of the memory file.
    if (failed != ETXTBSY) break;
    failed = tries < 19 ? 0 : ETXTBSY;
    ::usleep(1000);
  }
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&actions);
  return failed;
}

}  // namespace

void throw_errno(int number, std::string_view what, std::string_view command) {
  if (number == EMFILE || number == ENFILE) {
    struct rlimit limit{};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    throw Error(Errc::connect, fmt::format("no file descriptors are left to start {} (the limit is {}); close some "
                                           "servers, or raise the limit: ulimit -n {}",
                                           command, limit.rlim_cur, limit.rlim_cur * 4));
  }
  if (number == EAGAIN) {
    throw Error(Errc::connect,
                fmt::format("{} cannot be started, because the limit of processes is reached; raise it with ulimit -u",
                            command));
  }
  if (number == E2BIG) {
    throw Error(
        Errc::connect,
        fmt::format("the arguments and environment of {} are too long for the system; make them shorter", command));
  }
  throw Error(Errc::connect, fmt::format("{} {}: {}", what, command, std::strerror(number)));
}

LargePipe::~LargePipe() {
  if (held_) --large_pipes;
}

void LargePipe::enlarge(int fd) {
  held_ = ++large_pipes <= most_large_pipes;
  // EPERM: the user's ration is used up. The pipe then stays as it is.
  if (held_) held_ = ::fcntl(fd, F_SETPIPE_SZ, large_pipe) > 0;
  if (!held_) --large_pipes;
}

namespace {

// The plan goes to the warden in a file of memory, so that it has no bound but the warden's. Behind bubblewrap a second
// warden applies it: Landlock forbids the mounts that bubblewrap makes.
void add_confinement(SpawnPlan& plan, const Confinement& wanted, const std::string& command) {
  plan.confinement = lifted(value_or_throw(confinement_file(wanted, command)));
  if (!plan.confinement) throw_errno(errno, "cannot make the sandbox of", command);
  if (wanted.front.empty()) {
    // Without a network of its own nothing would keep the command from going around the proxy.
    if (wanted.domains) throw Error(Errc::internal, "a sandbox of domains has nothing in front of it");
    plan.argv.emplace_back(PB_WARDEN_CONFINES);
    return;
  }
  plan.itself = lifted(Fd(::open(plan.image.path.c_str(), O_RDONLY | O_CLOEXEC)));
  if (!plan.itself) throw_errno(errno, "cannot open the guard process of", command);
  if (wanted.domains) {
    plan.proxy = make_socket(command);
    for (auto& [name, value] : proxy_variables(*wanted.domains)) {
      std::erase_if(plan.environment, [&](const std::string& one) { return one.starts_with(name + "="); });
      plan.environment.push_back(name + "=" + value);
    }
  }
  plan.argv.emplace_back(wanted.domains ? PB_WARDEN_BEHIND_PROXY : PB_WARDEN_BEHIND);
  plan.argv.push_back(wanted.front.front());
  plan.argv.insert(plan.argv.end(), wanted.front.begin(), wanted.front.end());
  plan.argv.insert(plan.argv.end(), {fmt::format("/proc/self/fd/{}", +PB_WARDEN_ITSELF),
                                     wanted.domains ? PB_WARDEN_INSIDE_PROXY : PB_WARDEN_INSIDE});
}

}  // namespace

SpawnPlan plan_spawn(const ProcessSpec& spec) {
  check(spec);
  auto environment = overlay_environment(environ, spec.env, spec.unset);
  std::error_code failed_path;
  auto directory =
      std::filesystem::absolute(spec.cwd.empty() ? "." : spec.cwd, failed_path).lexically_normal().string();
  if (!spec.cwd.empty()) {
    struct stat info{};
    if (::stat(spec.cwd.c_str(), &info) != 0) {
      throw Error(Errc::connect, fmt::format("the working directory {} of {} cannot be used: {}; correct its cwd",
                                             spec.cwd, spec.command, std::strerror(errno)));
    }
    if (!S_ISDIR(info.st_mode)) {
      throw Error(Errc::connect, fmt::format("the working directory {} of {} is not a directory; correct its cwd",
                                             spec.cwd, spec.command));
    }
    if (::access(spec.cwd.c_str(), X_OK) != 0) {
      throw Error(Errc::connect, fmt::format("the working directory {} of {} cannot be entered: {}; correct its cwd",
                                             spec.cwd, spec.command, std::strerror(errno)));
    }
  }
  const std::string path(variable(environment, "PATH", default_path));
  const auto file = value_or_throw(find_command(spec.command, path, directory));
  SpawnPlan plan;
  plan.file = file;
  plan.image = value_or_throw(find_warden());
  plan.cwd = spec.cwd;
  plan.environment = std::move(environment);
  plan.argv = {"patchbay-warden"};
  if (spec.confinement) {
    add_confinement(plan, *spec.confinement, spec.command);
  } else {
    plan.argv.emplace_back(PB_WARDEN_VERSION);
  }
  plan.argv.insert(plan.argv.end(), {file, spec.command});
  plan.argv.insert(plan.argv.end(), spec.args.begin(), spec.args.end());
  plan.input = make_pipe(true, spec.command);
  plan.output = make_pipe(false, spec.command);
  plan.errors = make_pipe(false, spec.command);
  plan.control = make_socket(spec.command);
  return plan;
}

pid_t spawn_warden(SpawnPlan& plan, const std::string& command) {
  pid_t pid = 0;
  std::vector<int> fds{plan.input.theirs.get(), plan.output.theirs.get(), plan.errors.theirs.get(),
                       plan.control.theirs.get()};
  for (const auto* more : {&plan.confinement, &plan.itself, &plan.proxy.theirs}) {
    if (*more) fds.push_back(more->get());
  }
  const int failed = spawn_with(plan, fds, pid);
  if (failed != 0) throw_errno(failed, fmt::format("the guard process {} cannot start", plan.image.path), command);
  for (auto* pair : {&plan.input, &plan.output, &plan.errors, &plan.control}) pair->theirs.reset();
  plan.image.memory.reset();
  plan.confinement.reset();
  plan.itself.reset();
  plan.proxy.theirs.reset();
  return pid;
}

void throw_not_started(const pb_warden_record& said, const SpawnPlan& plan, const std::string& command) {
  switch (said.place) {
    case PB_AT_VERSION:
      throw Error(Errc::connect, fmt::format("the guard process {} is of another version; reinstall patchbay, or run: "
                                             "unset PATCHBAY_WARDEN",
                                             plan.image.path));
    case PB_AT_PROC:
      throw Error(Errc::connect, "servers cannot be started without /proc; run: mount -t proc proc /proc");
    case PB_AT_EXEC:
      if (said.value == ENOEXEC) {
        throw Error(Errc::connect, fmt::format("{} is not a program for this machine and has no #! line", plan.file));
      }
      if (said.value == ENOENT) {
        throw Error(Errc::connect,
                    fmt::format("{} cannot be executed: its interpreter (the #! line or dynamic loader) is missing",
                                plan.file));
      }
      throw_errno(said.value, "cannot execute", plan.file);
    case PB_AT_PLAN:
    case PB_AT_LIMITS:
      throw_errno(said.value, "cannot set the limits of the sandbox for", command);
    case PB_AT_LANDLOCK:
      throw_errno(said.value, "cannot limit files by Landlock for", command);
    case PB_AT_FILTER:
      throw_errno(said.value, "cannot set the seccomp filter for", command);
    default:
      throw_errno(said.value, "cannot start", command);
  }
}

}  // namespace patchbay
