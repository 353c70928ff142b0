#include "entries/diff.h"

#include <unordered_map>

#include <fmt/format.h>

#include "entries/expand.h"
#include "entries/signature.h"

namespace patchbay {
namespace {

// Everything that a running connection, or the reason why there is none, depends on.
std::string fingerprint(const ServerConfig& server, const VariableLookup& variables) {
  auto expanded = expand_server(server, variables);
  auto text =
      fmt::format("{} {} {} {} {}", connection_identity(server, expanded), static_cast<int>(server.standing),
                  server.approved, static_cast<int>(server.origin.scope), static_cast<int>(server.origin.trust));
  for (const auto& [name, value] : server.variables) text += fmt::format(" {}={}", name, value);
  return text;
}

}  // namespace

ServerDiff diff_servers(const std::vector<ServerConfig>& before, const std::vector<ServerConfig>& after,
                        const VariableLookup& variables_before, const VariableLookup& variables_after) {
  std::unordered_map<std::string, std::string> old;
  for (const auto& server : before) old.emplace(server.name, fingerprint(server, variables_before));
  ServerDiff diff;
  std::unordered_map<std::string, bool> there;
  for (const auto& server : after) {
    there[server.name] = true;
    auto known = old.find(server.name);
    if (known == old.end()) {
      diff.added.push_back(server.name);
    } else if (known->second != fingerprint(server, variables_after)) {
      diff.changed.push_back(server.name);
    }
  }
  for (const auto& server : before) {
    if (!there.contains(server.name)) diff.removed.push_back(server.name);
  }
  return diff;
}

}  // namespace patchbay
