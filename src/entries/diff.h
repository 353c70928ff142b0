// What a new reading of the configuration changes for servers that may be running. Pure.
#pragma once

#include <patchbay/config.h>

namespace patchbay {

// Names of servers, in the order of the new configuration; removed ones in that of the old. One is changed when its
// connection would be made of something else: another entry or other values of its variables, or when its
// standing is another one. Where it is written does not matter.
struct ServerDiff {
  std::vector<std::string> added;
  std::vector<std::string> removed;
  std::vector<std::string> changed;
  bool empty() const noexcept { return added.empty() && removed.empty() && changed.empty(); }
  bool operator==(const ServerDiff&) const = default;
};

ServerDiff diff_servers(const std::vector<ServerConfig>& before, const std::vector<ServerConfig>& after,
                        const VariableLookup& variables_before, const VariableLookup& variables_after);

}  // namespace patchbay
