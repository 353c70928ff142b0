// What the sandbox of each declared server would come to here, for commands that show servers. Asks the machine once,
// and not at all where no server has one. Blocking; no loop is needed.
#pragma once

#include <optional>

#include <patchbay/config.h>

#include "sandbox/confinement.h"

namespace patchbay::cli {

class Sandboxes {
 public:
  // `config` outlives this.
  explicit Sandboxes(const LoadedConfig& config) : config_(config) {}

  SandboxState of(const ServerConfig& server);
  // What was asked of the machine; only after a server with a sandbox.
  const SandboxMachine& machine() const { return *machine_; }

 private:
  const LoadedConfig& config_;
  std::optional<SandboxMachine> machine_;
};

}  // namespace patchbay::cli
