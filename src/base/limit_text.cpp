#include "base/limit_text.h"

#include <fmt/format.h>

namespace patchbay {

std::string limit_text(std::chrono::nanoseconds limit) {
  const auto count = std::chrono::duration_cast<std::chrono::milliseconds>(limit).count();
  return count % 1000 == 0 ? fmt::format("{} s", count / 1000) : fmt::format("{} ms", count);
}

std::string limit_text(std::size_t bytes) {
  if (bytes >= (1u << 20) && bytes % (1u << 20) == 0) return fmt::format("{} MiB", bytes >> 20);
  if (bytes >= 1024 && bytes % 1024 == 0) return fmt::format("{} KiB", bytes >> 10);
  return fmt::format("{} bytes", bytes);
}

}  // namespace patchbay
