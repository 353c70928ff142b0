// What a model reads where a program gets an Error, so that every outcome of a call can be given to it as a result.
// Values only; any thread.
#pragma once

#include <string>
#include <string_view>

#include <patchbay/error.h>
#include <patchbay/types.h>

namespace patchbay {

// "MCP error -32603: …", "MCP error: unknown tool '…'", "MCP server '…' is not connected: …", and whether the call was
// carried out. `server` may be empty where none is known. Cleaned like all that servers say.
std::string failure_text(const Error& error, std::string_view server);
// The text as a result with is_error.
CallToolResult failure_result(const Error& error, std::string_view server);

}  // namespace patchbay
