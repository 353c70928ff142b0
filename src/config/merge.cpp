#include "config/merge.h"

#include <string>
#include <unordered_set>

namespace patchbay {

LoadedConfig merge_sources(std::span<const ParsedServers> sources) {
  LoadedConfig out;
  std::unordered_set<std::string> taken;
  for (const auto& source : sources) {
    for (const auto& server : source.servers) {
      auto& list = taken.insert(server.name).second ? out.servers : out.shadowed;
      list.push_back(server);
    }
    for (const auto& broken : source.broken) taken.insert(broken.name);
    out.problems.insert(out.problems.end(), source.problems.begin(), source.problems.end());
  }
  return out;
}

}  // namespace patchbay
