// Which of the declared servers count when several sources declare them, and what stands against the
// others. Pure: what files, variables and an organisation say comes in as values and functions.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>

#include <patchbay/config.h>

#include "entries/parse.h"

namespace patchbay {

// Sources from the highest to the lowest. The first to declare a name wins whole: fields are never mixed.
// An entry whose standing is already awaiting_approval or rejected takes no part, so it shadows nothing. A
// broken entry that holds its name is shown and wins too, so that a typo in an override does not start the
// very server it was meant to replace.
LoadedConfig merge_sources(std::span<const ParsedServers> sources);

struct StandingRules {
  // Why a server of this name is switched off; nothing when it is not.
  std::function<std::optional<std::string>(const ServerConfig&)> switched_off;
  // Why an organisation keeps this server away, from the entry with its variables replaced.
  std::function<std::optional<std::string>(const ServerConfig& expanded)> forbidden;
  VariableLookup variables;
  // Whether the person switched it on although its entry switches it off.
  std::function<bool(const ServerConfig&)> switched_on;
};

// Decides about every entry that won its name: disabled, not configured, kept away by policy, or the same
// server as another. A copy that a plugin or a connector brings of a server written by hand is left out; two
// written by hand both stay, with a warning.
void settle_standings(LoadedConfig& config, const StandingRules& rules);

// A warning for every variable that is not set and has no default, in entries that may be started.
void warn_of_unset(LoadedConfig& config, std::span<const ParsedServers> sources, const VariableLookup& variables);

}  // namespace patchbay
