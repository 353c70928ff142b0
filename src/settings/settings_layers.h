// What several settings files say together: the layers that travel in LoadedConfig::settings, and for each question
// that only one of them answers, which one. Pure; any thread. Permission rules, lists of servers and hooks are asked
// about where they are known: permission/rules.h, permission/policy.h, hooks/hook_set.h.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include <patchbay/config.h>

#include "pins/pin_mode.h"
#include "settings/settings_file.h"

namespace patchbay {

// What a LoadedConfig holds of them. The view lives as long as `settings`, or a copy of it.
SettingsLayers settings_layers(std::vector<SettingsLayer> layers);
std::span<const SettingsLayer> layers_of(const SettingsLayers& settings) noexcept;

// What is wrong with settings that a flag brought: who names them on the command line wants all of them to count.
std::optional<ConfigProblem> flag_settings_fault(std::span<const SettingsLayer> layers);

// The layer whose "xaaIdp" counts; null: none has one.
const SettingsLayer* identity_provider_layer(std::span<const SettingsLayer> layers) noexcept;

// disableSideloadFlags in enterprise settings: flags bring no servers and plugins.
const SettingsLayer* sideload_disabled(std::span<const SettingsLayer> layers) noexcept;
// "recorder": "off" in the layer that counts.
bool recorder_is_off(std::span<const SettingsLayer> layers) noexcept;
// The layer whose "model" counts; null: none has one.
const SettingsLayer* model_layer(std::span<const SettingsLayer> layers) noexcept;
// disableClaudeAiConnectors in any layer.
bool connectors_disabled(std::span<const SettingsLayer> layers) noexcept;
// "pins": as the layer says that counts most, and ask where none says anything. A file inside the repository can only
// make it stricter.
PinMode pin_mode(std::span<const SettingsLayer> layers) noexcept;
// allowAllClaudeAiMcps in enterprise settings: connectors beside an enterprise file of servers.
bool connectors_beside_enterprise(std::span<const SettingsLayer> layers) noexcept;

}  // namespace patchbay
