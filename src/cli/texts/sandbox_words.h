// What is said about the sandbox of a server: what holds, what was asked for and does not, and why. From values alone.
#pragma once

#include <string>

#include <patchbay/json.h>

#include "sandbox/confinement.h"

namespace patchbay::cli {

// "writes limited, network open: kernel 6.1 has no Landlock"; "off" without a sandbox.
std::string sandbox_words(const SandboxState& state);

// With what is there for scripts; null without a sandbox.
Json sandbox_json(const SandboxState& state);

}  // namespace patchbay::cli
