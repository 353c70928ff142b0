#include "net/write_quietly.h"

#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <ctime>

namespace patchbay {

ssize_t write_quietly(int fd, std::string_view bytes) {
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
