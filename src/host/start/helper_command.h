// Runs a short shell command to its end for what it prints: a headersHelper, ${cmd:...}. Bounded in time and
// output; nothing of it is left behind. Used by ServerStart and HelperHeaders; loop thread only. What the output
// means is decided elsewhere.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

#include <patchbay/task.h>

#include "base/runtime.h"
#include "entries/child_env.h"

namespace patchbay {

struct HelperCommand {
  std::string line;  // for sh
  std::string cwd;
  ChildEnvironment environment;
  std::string label;  // in messages: "headersHelper of 'db'"
  std::chrono::milliseconds time{10'000};
  std::size_t output = 64u << 10;
};

// What it printed, without the line breaks at the end. Throws Errc::config when it fails, and says how it did:
// its status and the last it wrote to stderr. What it printed is in no message: it is a secret.
Task<std::string> run_helper(HelperCommand command, Runtime runtime);

}  // namespace patchbay
