#include "cli/sandboxes.h"

#include "cli/kept.h"
#include "host/start/sandbox_start.h"
#include "process/sandbox_probe.h"
#include "settings/settings_layers.h"

namespace patchbay::cli {

SandboxState Sandboxes::of(const ServerConfig& server) {
  if (server.kind != ServerKind::stdio || server.standing == ServerStanding::broken) return {};
  const auto layers = layers_of(config_.settings);
  if (!wants_sandbox(sandbox_levels(server, layers))) return {};
  if (!machine_) machine_ = look_at_sandbox_machine({.state_directory = state_directory()});
  return sandbox_of(server, layers, variables_of(config_), config_.cwd, config_.config_dir, *machine_);
}

}  // namespace patchbay::cli
