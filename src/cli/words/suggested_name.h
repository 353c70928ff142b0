// Suggests a name for a server that was added without a name. The name is a part of the command that the person is told
// to type. Pure. Called where the command line is read and where `add` makes an entry.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace patchbay::cli {

// A program that starts others (npx, uvx, docker): hardly ever the name of a server.
bool is_launcher(std::string_view word);
// "filesystem" for npx -y @modelcontextprotocol/server-filesystem; "NAME" when nothing fits.
std::string name_for_command(std::span<const std::string> command);
// "sentry" for https://mcp.sentry.dev/mcp.
std::string name_for_url(std::string_view url);

}  // namespace patchbay::cli
