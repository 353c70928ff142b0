#include "http/client/named_file.h"

#include <sys/stat.h>

#include <string_view>

#include <fmt/format.h>

namespace patchbay {
namespace {

std::string_view what_is(mode_t mode) noexcept {
  if (S_ISDIR(mode)) return "a directory";
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

}  // namespace

std::optional<std::string> why_no_file(const std::string& path, std::size_t limit) {
  // Not opened here: whoever reads it opens it anew, and a device may act on being opened.
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) return std::nullopt;
  if (!S_ISREG(status.st_mode))
    return fmt::format("it is {}, not a file; replace it with a file", what_is(status.st_mode));
  if (static_cast<std::size_t>(status.st_size) > limit) {
    return fmt::format("it is larger than {} MiB; is it the right file?", limit >> 20);
  }
  return std::nullopt;
}

}  // namespace patchbay
