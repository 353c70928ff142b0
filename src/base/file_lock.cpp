#include "base/file_lock.h"

#include <sys/file.h>

#include <algorithm>
#include <cerrno>
#include <thread>

namespace patchbay {

LockOutcome wait_for_lock(int fd, std::chrono::milliseconds limit) {
  using namespace std::chrono_literals;
  const auto end = std::chrono::steady_clock::now() + limit;
  for (auto pause = 500us;; pause = std::min<std::chrono::microseconds>(pause * 2, 16ms)) {
    if (::flock(fd, LOCK_EX | LOCK_NB) == 0) return LockOutcome::taken;
    if (errno != EWOULDBLOCK && errno != EINTR) return LockOutcome::unavailable;
    if (std::chrono::steady_clock::now() >= end) return LockOutcome::busy;
    std::this_thread::sleep_for(pause);
  }
}

}  // namespace patchbay
