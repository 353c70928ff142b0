// Collects what is wrong while one configuration text is read, with line and column. A helper of the
// readers in this folder. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <patchbay/problem.h>

#include "text/places.h"

namespace patchbay {

class ConfigReport {
 public:
  ConfigReport(std::string_view text, std::string file, std::vector<ConfigProblem>& problems)
      : positions_(text), file_(std::move(file)), problems_(problems) {}

  Position position(std::size_t offset) noexcept { return positions_.at(offset); }

  void error(std::size_t offset, std::string message, std::string_view server = {}) {
    add(offset, std::move(message), server, Severity::error);
  }
  void warning(std::size_t offset, std::string message, std::string_view server = {}) {
    add(offset, std::move(message), server, Severity::warning);
  }

 private:
  void add(std::size_t offset, std::string message, std::string_view server, Severity severity) {
    auto [line, column] = positions_.at(offset);
    problems_.push_back({file_, line, column, std::move(message), std::string(server), severity});
  }

  PositionCounter positions_;
  std::string file_;
  std::vector<ConfigProblem>& problems_;
};

}  // namespace patchbay
