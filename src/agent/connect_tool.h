// connect_mcp: the model connects a server in the middle of a conversation. One that is declared, by its name: trust,
// rules and an organisation's lists hold as everywhere. Or one that it gives a command or URL for: then the person is
// asked first, always, whatever rules and modes say, and sees what was written; without somebody to ask there is no
// such server. Its tools are in the catalog when the call returns. The main agent's; loop thread only.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <patchbay/agent.h>

namespace patchbay {

struct ConnectOptions {
  // Asks about a server that the model made up. Unset: only those that are declared are connected.
  std::function<Task<bool>(ApprovalQuestion)> approve = {};
  // Servers that are somebody else's: not named, not connected.
  std::function<bool(const std::string& server)> hidden = {};
};

AgentTool connect_tool(Host& host, ConnectOptions options);

// What a model reads. Pure.
std::string connected_text(const std::string& server, const std::vector<std::string>& tools);
std::string already_connected_text(const std::string& server);
std::string unknown_server_text(const std::string& server, const std::vector<std::string>& available);

}  // namespace patchbay
