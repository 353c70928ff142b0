// What a caller says about one call, and what it gets back from a list. Free of coroutines,
// so that both faces of the library share it.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <patchbay/types.h>

namespace patchbay {

struct CallOptions {
  // For the whole call, not counting the time a person is asked. Unset: the default of the kind.
  std::optional<std::chrono::milliseconds> total;
  // Without an answer or progress. Unset: none.
  std::optional<std::chrono::milliseconds> idle;
  std::function<void(const Progress&)> on_progress;
};

// All pages of a list, within bounds.
template <class T>
struct Listing {
  std::vector<T> items;
  std::vector<DecodeProblem> problems;  // items that could not be read
  std::optional<std::string> cut;       // why the list is not complete
};

// A child process that speaks MCP on stdin and stdout. The command is looked up along the
// PATH of `env` overlaid on the parent's environment; no shell is involved.
struct StdioOptions {
  std::string command;
  std::vector<std::string> args;
  std::map<std::string, std::string> env;  // overlays the environment; nothing is removed
  std::string cwd;                         // empty: the current directory
  std::string shown;                       // in messages, instead of the command line with secrets taken out
};

}  // namespace patchbay
