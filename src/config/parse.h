// From the text of a configuration file to the servers it declares. Every decision about
// an entry is a function of its own in parse.cpp; every problem says where it is. A bad
// entry costs only itself, a text that is not JSON costs the file. Pure; load.h decides
// between files, expand.h fills in variables.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <patchbay/config.h>

namespace patchbay {

// A bare map has the servers at the top of the file instead of under "mcpServers".
enum class ServerMap : std::uint8_t { wrapped, wrapped_or_bare };

struct ParsedServers {
  std::vector<ServerConfig> servers;    // in the order of the file
  std::vector<ConfigProblem> problems;  // in the order of the file
  std::vector<std::string> broken;      // names of entries that were dropped because of an error
  bool operator==(const ParsedServers&) const = default;
};

// `origin.line` is filled in per entry.
ParsedServers parse_servers(std::string_view text, const ConfigOrigin& origin,
                            ServerMap map = ServerMap::wrapped_or_bare);

// Why nothing may be called `name` in a file; empty when it may.
std::string server_name_fault(std::string_view name);

}  // namespace patchbay
