// write(2) that can fail with EPIPE but not end the program. The disposition of SIGPIPE
// belongs to the embedder, so the signal is blocked for this thread and taken back if the
// write raised it. Used by every channel that writes to a pipe.
#pragma once

#include <sys/types.h>

#include <string_view>

namespace patchbay {

// As write(2), and not interrupted by signals.
ssize_t write_quietly(int fd, std::string_view bytes);

}  // namespace patchbay
