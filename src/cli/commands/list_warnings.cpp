#include "cli/commands/list_warnings.h"

#include <algorithm>

#include <fmt/format.h>

#include "cli/texts/present.h"
#include "entries/expand.h"
#include "entries/signature.h"
#include "servers/load.h"
#include "text/file_and_line.h"
#include "text/visible_text.h"

namespace patchbay::cli {
namespace {

// One name in several scopes for servers that are not the same.
void add_conflicts(const LoadedConfig& config, std::vector<ConfigProblem>& out) {
  const auto variables = variables_of(config);
  auto endpoint = [&](const ServerConfig& server) {
    return server.standing == ServerStanding::broken ? std::string()
                                                     : content_signature(expand_server(server, variables));
  };
  for (const auto& server : config.servers) {
    const auto here = endpoint(server);
    std::string others;
    for (const auto& other : config.shadowed) {
      if (other.name != server.name || other.origin.scope == server.origin.scope) continue;
      const auto there = endpoint(other);
      if (here.empty() || there.empty() || here == there) continue;
      others += fmt::format("{}{} ({})", others.empty() ? "" : ", ", scope_word(other.origin.scope),
                            file_and_line(other.origin.file, other.origin.line));
    }
    if (others.empty()) continue;
    out.push_back({server.origin.file, server.origin.line, server.origin.column,
                   fmt::format("[Conflicting scopes] MCP server {} is another command or URL in {}; the entry with "
                               "scope {} counts",
                               quoted_name(server.name), others, scope_word(server.origin.scope)),
                   server.name, Severity::warning});
  }
}

}  // namespace

std::string_view scope_word(ConfigScope scope) {
  return scope == ConfigScope::dynamic ? std::string_view("flags") : to_string(scope);
}

std::vector<ConfigProblem> warnings_of(const LoadedConfig& config) {
  auto is_used = [&](const ConfigProblem& problem) {
    return std::ranges::any_of(config.servers, [&](const ServerConfig& server) {
      return server.standing == ServerStanding::active && server.name == problem.server &&
             server.origin.file == problem.file && server.origin.line == problem.line &&
             server.origin.column == problem.column;
    });
  };
  std::vector<ConfigProblem> out;
  for (const auto& problem : config.problems) {
    if (problem.severity == Severity::note && !is_used(problem)) continue;
    out.push_back(problem);
    if (problem.severity == Severity::note) out.back().severity = Severity::warning;
  }
  add_conflicts(config, out);
  return out;
}

void say_warnings(const Settings& settings, Io& io, const std::vector<ConfigProblem>& warnings) {
  if (settings.json || settings.quiet) return;
  for (const auto& problem : warnings) {
    io.talk(fmt::format("patchbay: {}{}\n", problem.severity == Severity::warning ? "warning: " : "",
                        problem_text(problem)));
  }
}

}  // namespace patchbay::cli
