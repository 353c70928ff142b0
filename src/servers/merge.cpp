#include "servers/merge.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include <fmt/format.h>

#include "entries/expand.h"
#include "entries/signature.h"
#include "text/shell_word.h"

namespace patchbay {
namespace {

bool takes_part(const ServerConfig& server) noexcept {
  return server.standing != ServerStanding::awaiting_approval && server.standing != ServerStanding::rejected;
}

std::string place_of(const ConfigOrigin& origin) {
  return origin.line == 0 ? origin.file : fmt::format("{}:{}", origin.file, origin.line);
}

// "local entry in /p/.mcp.json:3"
std::string entry_at(const ConfigOrigin& origin) {
  return fmt::format("{} entry in {}", to_string(origin.scope), place_of(origin));
}

ServerConfig broken_server(const BrokenEntry& broken) {
  ServerConfig server;
  server.name = broken.name;
  server.origin = broken.origin;
  server.standing = ServerStanding::broken;
  server.reason = broken.reason;
  return server;
}

ConfigProblem problem_at(const ServerConfig& server, Severity severity, std::string message) {
  return {server.origin.file,   server.origin.line,
          server.origin.column, fmt::format("MCP server {}: {}", quoted_name(server.name), message),
          server.name,          severity};
}

// All entries of one name, highest first.
struct Rivals {
  std::vector<ServerConfig> entries;
  std::vector<bool> counts;
};

void settle_name(Rivals& rivals, LoadedConfig& out) {
  auto first = std::ranges::find(rivals.counts, true);
  const bool decided = first != rivals.counts.end();
  const auto winner = decided ? static_cast<std::size_t>(first - rivals.counts.begin()) : 0;
  auto& chosen = rivals.entries[winner];
  for (std::size_t i = 0; i < rivals.entries.size(); ++i) {
    if (i == winner) continue;
    auto& other = rivals.entries[i];
    if (i > winner && decided) {
      chosen.shadows.push_back(other.origin);
      // Broken stays broken: that is what the person must know about it.
      if (other.standing != ServerStanding::broken) other.standing = ServerStanding::shadowed;
      if (other.standing == ServerStanding::shadowed) other.reason = "the " + entry_at(chosen.origin) + " overrides it";
      out.problems.push_back(
          problem_at(other, Severity::note,
                     fmt::format("the {} has the same name and overrides it; rename or remove one of them",
                                 entry_at(chosen.origin))));
    }
    out.shadowed.push_back(std::move(other));
  }
  out.servers.push_back(std::move(chosen));
}

bool is_copy_scope(ConfigScope scope) noexcept {
  return scope == ConfigScope::plugin || scope == ConfigScope::connector;
}

void set(ServerConfig& server, ServerStanding standing, std::string reason) {
  server.standing = standing;
  server.reason = std::move(reason);
}

std::string off_text(const ServerConfig& server) {
  return fmt::format("\"disabled\" is true in {}", place_of(server.origin));
}

// Why an entry that switches itself off is off, and what it lacks to be switched on.
std::string disabled_text(const ServerConfig& server, const VariableLookup& variables) {
  auto text = off_text(server);
  if (server.origin.scope == ConfigScope::enterprise) return text;
  const auto missing = missing_values(server, variables);
  const auto enable = "patchbay enable" + shell_operands({server.name});
  if (missing.empty()) return fmt::format("{}; to enable it: {}", text, enable);
  return fmt::format("{}, and {}; set what is missing, then enable it: {}", text, missing_text(missing), enable);
}

void settle_one(ServerConfig& server, const StandingRules& rules) {
  // Nobody is asked about what is switched off: a yes would start nothing.
  const bool asked_about = server.standing == ServerStanding::awaiting_approval;
  if (server.standing != ServerStanding::active && !asked_about) return;
  if (rules.forbidden && !asked_about) {
    if (auto why = rules.forbidden(expand_server(server, rules.variables))) {
      return set(server, ServerStanding::policy, std::move(*why));
    }
  }
  if (rules.switched_off) {
    if (auto why = rules.switched_off(server)) return set(server, ServerStanding::disabled, std::move(*why));
  }
  if (server.disabled && rules.switched_on && rules.switched_on(server)) server.disabled = false;
  if (server.disabled) return set(server, ServerStanding::disabled, disabled_text(server, rules.variables));
  if (asked_about) return;
  if (server.kind != ServerKind::stdio && server.url.empty()) {
    set(server, ServerStanding::not_configured, fmt::format("its \"url\" in {} is empty", place_of(server.origin)));
  }
}

std::string same_thing(const ServerConfig& server) {
  return server.kind == ServerKind::stdio ? "command and environment" : "URL";
}

void find_copies(LoadedConfig& config, const VariableLookup& variables) {
  std::unordered_map<std::string, const ServerConfig*> known;
  // Written by hand first: the order of the list says nothing about who is the copy.
  for (const bool copies : {false, true}) {
    for (auto& server : config.servers) {
      if (server.standing != ServerStanding::active || is_copy_scope(server.origin.scope) != copies) continue;
      auto signature = content_signature(expand_server(server, variables));
      if (signature.empty()) continue;
      auto [found, fresh] = known.emplace(std::move(signature), &server);
      if (fresh) continue;
      const auto& first = *found->second;
      if (copies) {
        set(server, ServerStanding::duplicate,
            fmt::format("it has the same {} as {}, the {}", same_thing(server), quoted_name(first.name),
                        entry_at(first.origin)));
      } else {
        config.problems.push_back(
            problem_at(server, Severity::warning,
                       fmt::format("it has the same {} as {}, the {}; both are used; remove one of them",
                                   same_thing(server), quoted_name(first.name), entry_at(first.origin))));
      }
    }
  }
}

}  // namespace

LoadedConfig merge_sources(std::span<const ParsedServers> sources) {
  LoadedConfig out;
  std::vector<std::string> order;
  std::unordered_map<std::string, Rivals> by_name;
  auto add = [&](ServerConfig server, bool counts) {
    auto [rivals, fresh] = by_name.try_emplace(server.name);
    if (fresh) order.push_back(server.name);
    rivals->second.entries.push_back(std::move(server));
    rivals->second.counts.push_back(counts);
  };
  for (const auto& source : sources) {
    out.problems.insert(out.problems.end(), source.problems.begin(), source.problems.end());
    for (const auto& server : source.servers) add(server, takes_part(server));
    for (const auto& broken : source.broken) add(broken_server(broken), broken.holds_name);
  }
  for (const auto& name : order) settle_name(by_name.at(name), out);
  return out;
}

void settle_standings(LoadedConfig& config, const StandingRules& rules) {
  for (auto& server : config.servers) settle_one(server, rules);
  // What waits behind an entry that counts is not asked about either when it is off.
  for (auto& server : config.shadowed) {
    if (server.standing != ServerStanding::awaiting_approval) continue;
    settle_one(server, rules);
    // `enable` would mean the entry that counts.
    if (server.standing == ServerStanding::disabled && server.disabled) server.reason = off_text(server);
  }
  find_copies(config, rules.variables);
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

}  // namespace patchbay
