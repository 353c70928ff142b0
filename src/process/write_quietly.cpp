#include "process/write_quietly.h"

#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <ctime>

namespace patchbay {
namespace {

// Linux 6.18 has writes that raise no signal; headers of today's systems do not name the flag.
constexpr int without_signal = 0x00000100;
std::atomic<bool> kernel_knows{true};

}  // namespace

ssize_t write_quietly(int fd, std::string_view bytes) {
  while (kernel_knows.load(std::memory_order_relaxed)) {
    struct iovec part{const_cast<char*>(bytes.data()), bytes.size()};
    const ssize_t written = ::pwritev2(fd, &part, 1, -1, without_signal);
    if (written >= 0) return written;
    if (errno == EINTR) continue;
    // Not known, or forbidden by a filter.
    const bool refused = errno == EOPNOTSUPP || errno == ENOSYS || errno == EPERM || errno == EINVAL;
    if (!refused) return written;
    kernel_knows.store(false, std::memory_order_relaxed);
  }
  return write_with_signal_blocked(fd, bytes);
}

ssize_t write_with_signal_blocked(int fd, std::string_view bytes) {
  sigset_t pipe_only;
  sigset_t before;
  ::sigemptyset(&pipe_only);
  ::sigaddset(&pipe_only, SIGPIPE);
  ::pthread_sigmask(SIG_BLOCK, &pipe_only, &before);
  const bool was_blocked = ::sigismember(&before, SIGPIPE) == 1;
  bool was_pending = false;
  if (was_blocked) {
    sigset_t pending;
    was_pending = ::sigpending(&pending) == 0 && ::sigismember(&pending, SIGPIPE) == 1;
  }
  ssize_t written = 0;
  do {
    written = ::write(fd, bytes.data(), bytes.size());
  } while (written < 0 && errno == EINTR);
  const int failed = errno;
  if (written < 0 && failed == EPIPE && !was_pending) {
    const struct timespec now{};
    while (::sigtimedwait(&pipe_only, nullptr, &now) < 0 && errno == EINTR) {
    }
  }
  if (!was_blocked) ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = failed;
  return written;
}

}  // namespace patchbay
