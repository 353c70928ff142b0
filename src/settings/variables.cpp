#include "settings/variables.h"

#include <algorithm>

#include <fmt/format.h>

#include "json/kind_text.h"
#include "settings/settings_file.h"

namespace patchbay {
namespace {

std::optional<std::string> variable_text(const Json& value) {
  if (const auto text = value.text()) return std::string(*text);
  if (value.is_number() || value.is_bool()) return to_text(value);
  return std::nullopt;
}

constexpr bool cannot_be_variable(std::string_view name) noexcept {
  return name.empty() || name.contains('=') || name.contains('\0');
}

}  // namespace

std::vector<VariableSetting> read_variables(const ConfigDocument::Member& at, ConfigReport& report) {
  std::vector<VariableSetting> out;
  const auto* members = at.value->if_object();
  if (members == nullptr) {
    report.warning(at.place->value,
                   fmt::format("\"env\" must be an object, found {}; it is ignored", kind_with_article(*at.value)));
    return out;
  }
  std::size_t i = 0;
  for (const auto& [name, value] : *members) {
    const auto& place = at.place->children[i++];
    auto text = variable_text(value);
    if (cannot_be_variable(name)) {
      report.warning(place.key,
                     fmt::format("{} in \"env\" is ignored: a variable cannot have this name", to_text(Json(name))));
    } else if (!text || text->contains('\0')) {
      report.warning(place.value, fmt::format("\"env.{}\" must be a string{}; it is ignored", name,
                                              text ? " without a NUL character"
                                                   : fmt::format(", found {}", kind_with_article(value))));
    } else {
      const auto [line, column] = report.position(place.key);
      out.push_back({std::string(name), std::move(*text), {line, column}});
    }
  }
  return out;
}

std::vector<SettingsVariable> settings_variables(std::span<const SettingsLayer> layers,
                                                 std::span<const VariableSetting> claude,
                                                 const std::string& claude_file) {
  std::vector<SettingsVariable> out;
  auto add = [&](const VariableSetting& one, const std::string& file) {
    if (std::ranges::find(out, one.name, &SettingsVariable::name) != out.end()) return;
    out.push_back({one.name, one.value, file, one.place.line, one.place.column});
  };
  // A later file of the organisation, and a later flag, override an earlier one.
  for (const auto source :
       {SettingsSource::enterprise, SettingsSource::flag, SettingsSource::own, SettingsSource::user}) {
    for (auto layer = layers.rbegin(); layer != layers.rend(); ++layer) {
      if (layer->source != source) continue;
      // Of a name written twice, the last one.
      for (auto one = layer->env.rbegin(); one != layer->env.rend(); ++one) add(*one, layer->file);
    }
  }
  for (auto one = claude.rbegin(); one != claude.rend(); ++one) add(*one, claude_file);
  std::ranges::sort(out, {}, &SettingsVariable::name);
  return out;
}

const VariableSetting* managed_variable(std::span<const SettingsLayer> layers, std::string_view name) {
  // As above: the last one.
  for (auto layer = layers.rbegin(); layer != layers.rend(); ++layer) {
    if (layer->source != SettingsSource::enterprise) continue;
    for (auto one = layer->env.rbegin(); one != layer->env.rend(); ++one) {
      if (one->name == name) return &*one;
    }
  }
  return nullptr;
}

VariableLookup overlaid(std::vector<SettingsVariable> variables, VariableLookup start) {
  if (variables.empty()) return start;
  return [variables = std::move(variables), start = std::move(start)](std::string_view name) {
    const auto found = std::ranges::find(variables, name, &SettingsVariable::name);
    return found == variables.end() ? start(name) : std::optional(found->value);
  };
}

VariableLookup variables_of(const LoadedConfig& config, VariableLookup start) {
  return overlaid(config.environment, std::move(start));
}

}  // namespace patchbay
