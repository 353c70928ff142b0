// KeepAlive: how the kernel finds out that the other side of a silent connection is gone, or the way
// to it. Set on every socket of the HTTP client when it is opened. Streams that may be silent for hours need it:
// without, a path that died silently is never noticed.
#pragma once

#include <chrono>

namespace patchbay {

struct KeepAlive {
  std::chrono::seconds idle{60};      // of silence before the first question
  std::chrono::seconds interval{15};  // between two
  int count = 4;                      // without an answer, and the connection has failed
};

// Of a TCP socket; on any other nothing happens.
void keep_alive(int socket, const KeepAlive& how);

}  // namespace patchbay
