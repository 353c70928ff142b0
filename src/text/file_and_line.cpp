#include "text/file_and_line.h"

#include <fmt/format.h>

namespace patchbay {

std::string file_and_line(const std::string& file, std::size_t line) {
  return line == 0 ? file : fmt::format("{}:{}", file, line);
}

}  // namespace patchbay
