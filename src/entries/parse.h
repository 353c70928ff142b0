// From the text of a configuration file to the servers it declares. Every problem says where it
// is. A bad entry is left out alone, of a text that is not JSON nothing is used. Pure; entry.h reads one
// entry, servers/settle.h decides between files, expand.h fills in variables.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <patchbay/config.h>

#include "entries/entry.h"
#include "text/document.h"

namespace patchbay {

// Where in a file the servers are.
enum class ServerMap : std::uint8_t {
  wrapped,          // under "mcpServers", if at all: the file is about other things too
  required,         // under "mcpServers", which must be there
  wrapped_or_bare,  // there, or at the top of the file
};

// An entry that was dropped because of an error.
struct BrokenEntry {
  std::string name;
  ConfigOrigin origin;
  std::string reason;
  bool holds_name = true;  // no entry of a lower source may have it
  std::optional<Remedy> remedy = {};
  bool operator==(const BrokenEntry&) const = default;
};

struct ParsedServers {
  std::vector<ServerConfig> servers;    // in the order of the file
  std::vector<ConfigProblem> problems;  // in the order of the file
  std::vector<BrokenEntry> broken;
  std::vector<VariableUse> uses;
  bool operator==(const ParsedServers&) const = default;
};

// `origin.line` is filled in per entry.
ParsedServers parse_servers(std::string_view text, const ConfigOrigin& origin,
                            ServerMap map = ServerMap::wrapped_or_bare);

// The same for a map of servers somewhere inside a text that was read.
ParsedServers parse_server_map(std::string_view text, const ConfigDocument::Member& map, const ConfigOrigin& origin);

}  // namespace patchbay
