// Limits that environment variables change, with the names people already use. Pure.
#pragma once

#include <patchbay/config.h>

#include "base/limits.h"

namespace patchbay {

// MCP_TIMEOUT, MCP_TOOL_TIMEOUT (milliseconds), MCP_SERVER_CONNECTION_BATCH_SIZE and
// MCP_REMOTE_SERVER_CONNECTION_BATCH_SIZE. What is not a positive number changes nothing.
Limits limits_from(const VariableLookup& lookup);

}  // namespace patchbay
