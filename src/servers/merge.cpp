#include "servers/merge.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>

#include <fmt/format.h>

#include "entries/entry.h"
#include "entries/expand.h"
#include "servers/standing_text.h"
#include "text/shell_word.h"

namespace patchbay {
namespace {

DeclaredEntry broken_entry(const BrokenEntry& broken) {
  DeclaredEntry out;
  out.server.name = broken.name;
  out.server.origin = broken.origin;
  out.server.reason = broken.reason;
  out.server.remedy = broken.remedy;
  out.broken = true;
  out.holds_name = broken.holds_name;
  return out;
}

std::vector<DeclaredEntry> entries_of(std::span<const ParsedServers> sources) {
  std::vector<DeclaredEntry> out;
  for (const auto& source : sources) {
    for (const auto& server : source.servers) out.push_back({server});
    for (const auto& broken : source.broken) out.push_back(broken_entry(broken));
  }
  return out;
}

ConfigProblem problem_at(const ServerConfig& server, Severity severity, std::string message) {
  return {server.origin.file,   server.origin.line,
          server.origin.column, fmt::format("MCP server {}: {}", quoted_name(server.name), message),
          server.name,          severity};
}

ServerConfig settled(ServerConfig server, Standing standing, std::string reason) {
  auto remedy = standing_remedy(server, standing);
  server.standing = standing.why;
  server.decided_by = std::move(standing.by);
  server.approved = standing.approved;
  server.reason = std::move(reason);
  server.remedy = std::move(remedy);
  if (standing.switched_on) server.disabled = false;
  return server;
}

void warn_of_unset(LoadedConfig& config, std::span<const ParsedServers> sources, const VariableLookup& variables) {
  auto key = [](const std::string& name, const ConfigOrigin& origin) {
    return std::tuple(name, origin.file, origin.line, origin.column);
  };
  std::map<std::tuple<std::string, std::string, std::size_t, std::size_t>, ServerConfig*> startable;
  for (auto& server : config.servers) {
    if (server.standing == ServerStanding::active || server.standing == ServerStanding::awaiting_approval) {
      startable.emplace(key(server.name, server.origin), &server);
    }
  }
  for (const auto& source : sources) {
    for (const auto& use : source.uses) {
      auto found = startable.find(key(use.server, use.origin));
      if (found == startable.end() || variable_of(*found->second, use.variable, variables)) continue;
      auto problem = problem_at(*found->second, Severity::warning, unset_text(use.variable, use.place, use.required));
      problem.line = use.line;
      problem.column = use.column;
      config.problems.push_back(std::move(problem));
    }
  }
}

using Rivals = std::unordered_map<std::string, std::vector<std::size_t>>;

// Two entries of one name, then one server under two names.
void add_problems(std::vector<ConfigProblem>& problems, std::span<const DeclaredEntry> entries,
                  std::span<const Standing> standings, const std::vector<std::string>& order, const Rivals& by_name) {
  std::vector<ConfigProblem> copies;
  for (const auto& name : order) {
    for (const auto one : by_name.at(name)) {
      const auto& standing = standings[one];
      if (!standing.other) continue;
      const auto& server = entries[one].server;
      const auto& other = entries[*standing.other].server;
      if (!standing.shown) {
        problems.push_back(
            problem_at(server, Severity::note,
                       fmt::format("the {} has the same name and overrides this one; rename or remove one of them",
                                   entry_at(other.origin))));
      } else if (standing.why == ServerStanding::active) {
        // Nothing is wrong with either, so it is for those who look at servers, not for every call.
        copies.push_back(problem_at(server, Severity::note,
                                    fmt::format("it has the same {} as {}, the {}; both are used; remove one of them",
                                                common_part(server), quoted_name(other.name), entry_at(other.origin))));
      }
    }
  }
  std::ranges::move(copies, std::back_inserter(problems));
}

}  // namespace

LoadedConfig merge_sources(std::span<const ParsedServers> sources,
                           const std::function<EntryAnswers(const ServerConfig&)>& answers_about,
                           const SettlePolicy& policy) {
  auto entries = entries_of(sources);
  std::vector<EntryAnswers> answers;
  std::vector<std::string> order;
  Rivals by_name;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const auto& server = entries[i].server;
    answers.push_back(entries[i].broken ? EntryAnswers{} : answers_about(server));
    auto [rivals, fresh] = by_name.try_emplace(server.name);
    if (fresh) order.push_back(server.name);
    rivals->second.push_back(i);
  }
  auto standings = settle(entries, answers, policy);
  std::vector<std::string> reasons;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    reasons.push_back(standing_text(entries, i, answers[i], standings[i], policy.variables));
  }

  LoadedConfig out;
  for (const auto& source : sources) {
    out.problems.insert(out.problems.end(), source.problems.begin(), source.problems.end());
  }
  add_problems(out.problems, entries, standings, order, by_name);
  for (const auto& name : order) {
    std::vector<ConfigOrigin> shadows;
    for (const auto one : by_name.at(name)) {
      if (standings[one].other && !standings[one].shown) shadows.push_back(entries[one].server.origin);
      const bool shown = standings[one].shown;
      (shown ? out.servers : out.shadowed)
          .push_back(settled(std::move(entries[one].server), std::move(standings[one]), std::move(reasons[one])));
    }
    out.servers.back().shadows = std::move(shadows);
  }
  warn_of_unset(out, sources, policy.variables);
  return out;
}

}  // namespace patchbay
