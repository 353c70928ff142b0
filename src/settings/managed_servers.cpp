#include "settings/managed_servers.h"

#include <fmt/format.h>

#include "base/strings.h"
#include "entries/entry.h"
#include "entries/expand.h"
#include "settings/file_reader.h"

namespace patchbay {
namespace {

std::string fault_of(const ServerConfig& server) {
  if (server.kind != ServerKind::http && server.kind != ServerKind::sse) {
    return "a server in \"managedMcpServers\" must be of type http or sse; write it in managed-mcp.json";
  }
  if (has_references(server)) return "an entry in \"managedMcpServers\" cannot have ${…} in it";
  if (!to_lower_ascii(trim(server.url)).starts_with("https://")) {
    return "the url of a server in \"managedMcpServers\" must begin with https://";
  }
  return {};
}

class ManagedReader : ServerFileReader {
 public:
  ManagedReader(std::string_view text, const std::string& file, std::vector<ConfigProblem>& problems)
      : ServerFileReader(text, file, problems) {}

  ParsedServers read(const Member& at) {
    if (!at.value->is_object()) {
      wrong_kind(at, "\"managedMcpServers\"", "an object");
      return {};
    }
    auto parsed = servers_of(at, ConfigScope::enterprise);
    parsed.problems.clear();
    for (auto server = parsed.servers.begin(); server != parsed.servers.end();) {
      auto fault = fault_of(*server);
      if (fault.empty()) {
        ++server;
        continue;
      }
      problems_.push_back({file_, server->origin.line, server->origin.column,
                           fmt::format("MCP server {}: {}", quoted_name(server->name), fault), server->name,
                           Severity::error});
      parsed.broken.push_back({server->name, server->origin, std::move(fault), true});
      server = parsed.servers.erase(server);
    }
    return parsed;
  }
};

}  // namespace

ParsedServers managed_servers(std::string_view text, const std::string& file) {
  // What is wrong with the file as a whole is reported by who reads its settings.
  const auto document = read_document(text, file, "an object");
  if (!document) return {};
  const auto at = member_of(document->top(), "managedMcpServers");
  if (!at) return {};
  std::vector<ConfigProblem> problems;
  auto parsed = ManagedReader(text, file, problems).read(at);
  parsed.problems = std::move(problems);
  return parsed;
}

}  // namespace patchbay
