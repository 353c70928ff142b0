#include "settings/settings_layers.h"

#include <algorithm>
#include <memory>
#include <utility>

namespace patchbay {
namespace {

// Of the layers that have such a value the one whose value counts; null: none has one.
template <class Value>
const SettingsLayer* counting(std::span<const SettingsLayer> layers,
                              std::optional<Value> SettingsLayer::* value) noexcept {
  const SettingsLayer* counts = nullptr;
  for (const auto& layer : layers) {
    if (!(layer.*value)) continue;
    if (counts == nullptr || settings_rank(layer.source) < settings_rank(counts->source)) counts = &layer;
  }
  return counts;
}

}  // namespace

struct SettingsLayers::Layers {
  std::vector<SettingsLayer> all;
};

struct SettingsAccess {
  static SettingsLayers make(std::vector<SettingsLayer> layers) {
    SettingsLayers made;
    made.layers_ = std::make_shared<const SettingsLayers::Layers>(std::move(layers));
    return made;
  }
  static std::span<const SettingsLayer> all(const SettingsLayers& of) noexcept {
    return of.layers_ ? std::span<const SettingsLayer>(of.layers_->all) : std::span<const SettingsLayer>();
  }
};

SettingsLayers settings_layers(std::vector<SettingsLayer> layers) { return SettingsAccess::make(std::move(layers)); }

std::span<const SettingsLayer> layers_of(const SettingsLayers& settings) noexcept {
  return SettingsAccess::all(settings);
}

bool SettingsLayers::operator==(const SettingsLayers& other) const {
  return layers_ == other.layers_ || std::ranges::equal(layers_of(*this), layers_of(other));
}

std::optional<ConfigProblem> flag_settings_fault(std::span<const SettingsLayer> layers) {
  for (const auto& layer : layers) {
    if (layer.source != SettingsSource::flag) continue;
    const auto fault = std::ranges::find(layer.problems, Severity::error, &ConfigProblem::severity);
    if (fault != layer.problems.end()) return *fault;
    if (layer.unreadable) return ConfigProblem{layer.file, 0, 0, "cannot be read", {}, Severity::error};
  }
  return std::nullopt;
}

const SettingsLayer* identity_provider_layer(std::span<const SettingsLayer> layers) noexcept {
  return counting(layers, &SettingsLayer::identity_provider);
}

const SettingsLayer* model_layer(std::span<const SettingsLayer> layers) noexcept {
  return counting(layers, &SettingsLayer::model);
}

bool recorder_is_off(std::span<const SettingsLayer> layers) noexcept {
  const auto* counts = counting(layers, &SettingsLayer::recorder);
  return counts != nullptr && !counts->recorder->value;
}

const SettingsLayer* sideload_disabled(std::span<const SettingsLayer> layers) noexcept {
  for (const auto& layer : layers) {
    if (layer.source == SettingsSource::enterprise && layer.no_sideload && layer.no_sideload->value) return &layer;
  }
  return nullptr;
}

bool connectors_disabled(std::span<const SettingsLayer> layers) noexcept {
  return std::ranges::any_of(
      layers, [](const auto& layer) { return layer.disable_connectors && layer.disable_connectors->value; });
}

PinMode pin_mode(std::span<const SettingsLayer> layers) noexcept {
  auto mode = PinMode::ask;
  std::optional<int> rank;
  for (const auto& layer : layers) {
    if (!layer.pins || is_inside_repository(layer.source)) continue;
    if (rank && *rank < settings_rank(layer.source)) continue;
    mode = *layer.pins;
    rank = settings_rank(layer.source);
  }
  for (const auto& layer : layers) {
    if (layer.pins && is_inside_repository(layer.source)) mode = std::max(mode, *layer.pins);
  }
  return mode;
}

bool connectors_beside_enterprise(std::span<const SettingsLayer> layers) noexcept {
  return std::ranges::any_of(layers, [](const auto& layer) {
    return layer.source == SettingsSource::enterprise && layer.allow_all_connectors &&
           layer.allow_all_connectors->value;
  });
}

}  // namespace patchbay
