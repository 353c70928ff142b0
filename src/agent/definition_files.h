// The definitions that there are for a directory: .patchbay/agents/*.md and .claude/agents/*.md of the project, then
// agents/*.md in our folder and in Claude's; of two with one name the first counts. Those of a project are read only
// where the user trusts its directory, and what they bring along needs approval like the entries of a .mcp.json.
// Blocking; any thread.
#pragma once

#include <vector>

#include <patchbay/config.h>

#include "agent/definitions.h"

namespace patchbay {

struct FoundDefinitions {
  std::vector<AgentDefinition> definitions;  // sorted by name, each name once
  std::vector<ConfigProblem> problems;
};

FoundDefinitions find_definitions(const LoadedConfig& config);

}  // namespace patchbay
