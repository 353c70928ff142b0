// Limits that environment variables change, with the names people already use. Pure.
#pragma once

#include <patchbay/config.h>

#include "base/limits.h"

namespace patchbay {

// MCP_TIMEOUT, MCP_TOOL_TIMEOUT, MCP_CONNECT_TIMEOUT_MS (milliseconds), MCP_SERVER_CONNECTION_BATCH_SIZE and
// MCP_REMOTE_SERVER_CONNECTION_BATCH_SIZE. What is not a positive number changes nothing of `limits`.
Limits limits_from(const VariableLookup& lookup, Limits limits = {});

// The time that an entry gives one call of a tool: "timeout"; of http and sse "request_timeout_ms" where that is
// absent.
std::optional<std::chrono::milliseconds> call_limit(const ServerConfig& server);

// CLAUDE_CODE_MCP_TOOL_IDLE_TIMEOUT (milliseconds): a call without answer and progress for that long has failed.
// Absent or 0: there is no such limit.
std::optional<std::chrono::milliseconds> idle_limit_from(const VariableLookup& lookup);

}  // namespace patchbay
