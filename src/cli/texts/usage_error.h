// The words for what is wrong with a command line, and for what was meant. main prints them. Pure.
#pragma once

#include <string>

#include "cli/words/command_line.h"

namespace patchbay::cli {

struct UsageError {
  std::string message;
  std::string help;  // the command that says more
};

UsageError usage_error(const UsageFault& fault);

}  // namespace patchbay::cli
