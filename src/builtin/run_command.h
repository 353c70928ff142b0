// The run_command tool: runs one program to its end and returns what it printed. The program
// runs under the same warden as servers do, so nothing it starts outlives the call: not when
// it ends, not when its time is over, not when the call is cancelled. Loop thread only.
//
// It confines nothing but the working directory it starts in.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include <patchbay/task.h>
#include <patchbay/types.h>

#include "builtin/confined_files.h"
#include "builtin/options.h"

namespace patchbay::builtin {

struct RunSettings {
  ConfinedRoot root;
  BuiltinLimits limits;
  Runtime runtime;
};

// Called once a second while the program runs: seconds so far, and what to tell a person.
using RunProgress = std::function<void(double seconds, std::string message)>;

// What is wrong with the arguments, or that the program could not be started, is a result
// with is_error, as is an exit status other than 0. Throws Errc::cancelled alone.
Task<CallToolResult> run_command(RunSettings settings, Json arguments, RunProgress progress);

Tool run_command_tool(const BuiltinLimits& limits);

// The beginning and the end of an output, each half of `limit` bytes; what lies between is
// counted and dropped while it arrives.
class HeadAndTail {
 public:
  explicit HeadAndTail(std::size_t limit) : half_(limit / 2) {}
  void append(std::string_view bytes);
  // As UTF-8, with a note in the place of what was dropped.
  std::string text() const;
  std::size_t dropped() const noexcept;

 private:
  std::size_t half_;
  std::string head_;
  std::string tail_;  // up to two halves, of which the last is shown
  std::size_t total_ = 0;
};

}  // namespace patchbay::builtin
