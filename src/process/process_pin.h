// ProcessPin: a process by a descriptor, which never means another process; a number may, once it has been
// waited for. Beside it, what can only be done safely with such descriptors: ending a whole session, and
// waiting for wardens that outlive their Process. Used by process.cpp.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <mutex>
#include <vector>

#include "base/fd.h"

namespace patchbay {

class ProcessPin {
 public:
  ProcessPin() = default;
  // Any process; false when there is no such process, or no descriptor of it to be had.
  explicit ProcessPin(pid_t pid);
  // A child of ours that nobody has waited for. Where the system refuses such descriptors (old containers do),
  // its number stands in: it stays the child's own until somebody waits for it. errno says why there is no descriptor.
  static ProcessPin of_child(pid_t pid);
  explicit operator bool() const noexcept { return fd_ || child_ > 0; }
  bool has_descriptor() const noexcept { return static_cast<bool>(fd_); }
  void send(int signal) const;
  // True when it is no child of ours that could be waited for any more: waited for here, or by somebody else before.
  bool reap(int flags) const;
  // Whether it is a child that nobody has waited for, so that its number is still its own.
  bool unreaped() const;
  Fd duplicate() const;

 private:
  int wait(siginfo_t& info, int flags) const;

  Fd fd_;
  pid_t child_ = 0;  // without a descriptor
};

// Wardens that could not end yet when we gave up waiting: something they guard hangs in the kernel. They are waited
// for whenever another one is started or ended, so that none stays behind as a zombie. Any thread.
class LeftWardens {
 public:
  void add(ProcessPin pin);
  void reap();

 private:
  std::mutex mutex_;
  std::vector<ProcessPin> pins_;
};
LeftWardens& left_wardens();

// Ends what lives in this session, also where descriptors are refused. Its number must be one that cannot have been
// given to another.
void end_session(pid_t session);

}  // namespace patchbay
