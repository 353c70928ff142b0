// Walks a directory tree in the order of paths, entering only directories that a pattern
// leads into, and never through a symbolic link. Blocking; called on a helper thread by glob
// and grep.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <string>

#include "builtin/confined_files.h"
#include "builtin/glob_pattern.h"

namespace patchbay::builtin {

using Stop = std::atomic<bool>;

struct WalkLimits {
  std::size_t visited = 0;  // directory entries
  std::size_t depth = 0;
};

struct Visit {
  const std::string& path;  // from the root
  FileKind kind;
};

struct WalkOutcome {
  bool stopped = false;        // by the visitor or by Stop
  bool incomplete = false;     // a limit was reached
  std::size_t unreadable = 0;  // directories
};

// `visitor` gets what the pattern matches, of every kind, and returns whether to go on. An
// error when `base` itself cannot be read.
Result<WalkOutcome> walk(const ConfinedRoot& root, const std::string& base, const GlobPattern& pattern,
                         WalkLimits limits, const Stop& stop, const std::function<bool(const Visit&)>& visitor);

}  // namespace patchbay::builtin
