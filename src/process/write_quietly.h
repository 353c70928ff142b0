// write(2) that can fail with EPIPE but not end the program. The disposition of SIGPIPE
// belongs to the embedder. Newer kernels write without raising it; on others the signal is
// blocked for this thread and taken back if the write raised it, at the price of two more
// system calls. Used by every channel that writes to a pipe; from any thread.
#pragma once

#include <sys/types.h>

#include <string_view>

namespace patchbay {

// As write(2), and not interrupted by signals.
ssize_t write_quietly(int fd, std::string_view bytes);
// The way for kernels that cannot do it themselves.
ssize_t write_with_signal_blocked(int fd, std::string_view bytes);

}  // namespace patchbay
