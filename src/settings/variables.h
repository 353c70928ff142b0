// Variables that settings files set ("env"), as the process of Claude Code takes them over at its start. Here they are
// a value that is handed down: to the entries of servers, to what servers inherit and to the limits. Pure; load reads
// them, everything else asks variables_of (patchbay/config.h).
#pragma once

#include <span>
#include <string>
#include <vector>

#include <patchbay/config.h>

#include "text/document.h"
#include "text/report.h"

namespace patchbay {

struct SettingsLayer;

// Where a setting is, from 1; line 0 when it was not in a text.
struct SettingPlace {
  std::size_t line = 0;
  std::size_t column = 0;
  bool operator==(const SettingPlace&) const = default;
};

// One member of "env".
struct VariableSetting {
  std::string name;
  std::string value;
  SettingPlace place;
  bool operator==(const VariableSetting&) const = default;
};

// Texts, numbers and truth values; anything else is left out with a warning, and so is a name that no variable can
// have.
std::vector<VariableSetting> read_variables(const ConfigDocument::Member& at, ConfigReport& report);

// Of each name the one that counts: the organisation's, then a flag's, those of our own file, of the user's settings
// and of ~/.claude.json (`claude`, in `claude_file`). Files inside the repository set none.
std::vector<SettingsVariable> settings_variables(std::span<const SettingsLayer> layers,
                                                 std::span<const VariableSetting> claude,
                                                 const std::string& claude_file);

// What the organisation's own files set a variable to; null when they do not.
const VariableSetting* managed_variable(std::span<const SettingsLayer> layers, std::string_view name);

// `start` with those variables over it.
VariableLookup overlaid(std::vector<SettingsVariable> variables, VariableLookup start);

}  // namespace patchbay
