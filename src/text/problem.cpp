#include <fmt/format.h>

#include <patchbay/problem.h>

namespace patchbay {

std::string ConfigProblem::text() const {
  return line == 0 ? fmt::format("{}: {}", file, message) : fmt::format("{}:{}:{}: {}", file, line, column, message);
}

}  // namespace patchbay
