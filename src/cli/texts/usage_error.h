// What is wrong with the words of a command line, and what was meant. settings.cpp asks when parsing failed. Pure.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace patchbay::cli {

// Flags that may stand with this command, and those of all commands.
struct KnownFlags {
  std::vector<std::string> here;
  std::vector<std::string> anywhere;
};
using FlagLookup = std::function<KnownFlags(const std::string& command)>;

struct UsageError {
  std::string message;
  std::string help;  // the command that says more
};

// `message` is what the parser said of the words `typed`.
UsageError usage_error(const std::string& message, const std::vector<std::string>& typed, const FlagLookup& known_flags,
                       const std::vector<std::string>& flags_with_value);

}  // namespace patchbay::cli
