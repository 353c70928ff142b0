// Waiting for the lock of a file (flock): one owner at a time, among processes and inside this one, as long as each
// opens the file for itself. It goes with the descriptor. Blocking, within a limit.
#pragma once

#include <chrono>
#include <cstdint>

namespace patchbay {

enum class LockOutcome : std::uint8_t {
  taken,
  busy,         // another owner kept it for the whole time
  unavailable,  // this file system has no such locks; errno says why
};
LockOutcome wait_for_lock(int fd, std::chrono::milliseconds limit);

}  // namespace patchbay
