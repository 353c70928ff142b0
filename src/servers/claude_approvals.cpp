#include "servers/claude_approvals.h"

#include <algorithm>

#include "settings/settings_layers.h"

namespace patchbay {
namespace {

bool approves(const SettingsLayer& layer, const std::string& name) {
  if (layer.source != SettingsSource::project_local) return false;
  if (layer.enable_all_project_servers && layer.enable_all_project_servers->value) return true;
  return std::ranges::find(layer.enabled_project_servers, name, &TextSetting::value) !=
         layer.enabled_project_servers.end();
}

}  // namespace

ClaudeApprovals claude_approvals(const LoadedConfig& config) {
  ClaudeApprovals out;
  const auto& layers = layers_of(config.settings);
  for (const auto* list : {&config.servers, &config.shadowed}) {
    for (const auto& server : *list) {
      if (server.standing != ServerStanding::awaiting_approval) continue;
      const auto layer = std::ranges::find_if(layers, [&](const auto& one) { return approves(one, server.name); });
      if (layer == layers.end()) continue;
      if (std::ranges::find(out.files, layer->file) == out.files.end()) out.files.push_back(layer->file);
      out.servers.push_back(&server);
    }
  }
  return out;
}

}  // namespace patchbay
