// Servers of a project that the user has approved in Claude Code. Its dialog keeps that in .claude/settings.local.json,
// inside the repository, where anybody may have put it: so it approves nothing here, and is only worth a question.
#pragma once

#include <string>
#include <vector>

#include <patchbay/config.h>

namespace patchbay {

struct ClaudeApprovals {
  std::vector<const ServerConfig*> servers;  // that await approval here
  std::vector<std::string> files;            // which approve them
};

// Pure.
ClaudeApprovals claude_approvals(const LoadedConfig& config);

}  // namespace patchbay
