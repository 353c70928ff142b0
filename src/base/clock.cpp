#include "base/clock.h"

#include <sys/random.h>

#include <patchbay/error.h>

namespace patchbay {

Random system_random() {
  return [](std::span<std::uint8_t> out) {
    while (!out.empty()) {
      auto got = getrandom(out.data(), out.size(), 0);
      if (got < 0) {
        if (errno == EINTR) continue;
        throw Error(Errc::internal, "the system did not provide random bytes");
      }
      out = out.subspan(static_cast<std::size_t>(got));
    }
  };
}

}  // namespace patchbay
