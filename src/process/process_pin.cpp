#include "process/process_pin.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "process/process_stat.h"

namespace patchbay {
ProcessPin::ProcessPin(pid_t pid) : fd_(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))) {}

ProcessPin ProcessPin::of_child(pid_t pid) {
  ProcessPin pin(pid);
  if (!pin.fd_) pin.child_ = pid;
  return pin;
}

void ProcessPin::send(int signal) const {
  if (fd_) {
    (void)::syscall(SYS_pidfd_send_signal, fd_.get(), signal, nullptr, 0);
  } else if (unreaped()) {
    (void)::kill(child_, signal);
  }
}

int ProcessPin::wait(siginfo_t& info, int flags) const {
  int failed = 0;
  do {
    failed = fd_ ? ::waitid(P_PIDFD, static_cast<id_t>(fd_.get()), &info, WEXITED | flags)
                 : ::waitid(P_PID, static_cast<id_t>(child_), &info, WEXITED | flags);
  } while (failed != 0 && errno == EINTR);
  return failed;
}

bool ProcessPin::reap(int flags) const {
  siginfo_t info{};
  return wait(info, flags) != 0 || info.si_pid != 0;
}

bool ProcessPin::unreaped() const {
  siginfo_t info{};
  return *this && wait(info, WNOHANG | WNOWAIT) == 0;
}

Fd ProcessPin::duplicate() const { return Fd(::fcntl(fd_.get(), F_DUPFD_CLOEXEC, 0)); }

void LeftWardens::add(ProcessPin pin) {
  const std::lock_guard lock(mutex_);
  pins_.push_back(std::move(pin));
}

void LeftWardens::reap() {
  const std::lock_guard lock(mutex_);
  std::erase_if(pins_, [](const ProcessPin& pin) { return pin.reap(WNOHANG); });
}

LeftWardens& left_wardens() {
  static auto& left = *new LeftWardens;
  return left;
}

void end_session(pid_t session) {
  constexpr int most_rounds = 8;  // they may fork meanwhile
  const auto lives_there = [session](pid_t pid) {
    const auto stat = process_stat(pid);
    return stat && stat->session == session && !stat->ended();
  };
  for (int round = 0; round < most_rounds; ++round) {
    bool found = false;
    std::error_code failed;
    for (std::filesystem::directory_iterator at("/proc", failed), end; !failed && at != end; at.increment(failed)) {
      const pid_t pid = std::atoi(at->path().filename().c_str());
      if (pid <= 0 || !lives_there(pid)) continue;
      const ProcessPin pin(pid);
      // Asked once more: until here the number was only a number.
      if ((!pin && errno == ESRCH) || !lives_there(pid)) continue;
      if (pin) {
        pin.send(SIGKILL);
      } else {
        // Descriptors are refused here. What had this number a moment ago and has it still, in a session whose own
        // number nobody else can have, is what we mean; the system gives a number out again only after all others.
        (void)::kill(pid, SIGKILL);
      }
      found = true;
    }
    if (!found) return;
  }
}

}  // namespace patchbay
