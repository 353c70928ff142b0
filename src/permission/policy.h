// Whether an organisation's lists let a server be used: deniedMcpServers, then allowedMcpServers,
// joined over all settings. Pure. It binds every server alike: of files, of flags, added by the
// program, and in this process. The host asks it before it connects, load when it puts entries
// together, and the commands that add a server before they write one.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <patchbay/config.h>

#include "settings/settings_file.h"

namespace patchbay {

struct PolicyVerdict {
  enum class Outcome : std::uint8_t {
    allowed,
    denied,       // an entry of deniedMcpServers names it
    not_allowed,  // there is a list of allowed servers, and it is not on it
  };
  Outcome outcome = Outcome::allowed;
  // What decided, and where: {"serverName":"x"}, or the name of a setting. Empty when allowed.
  std::string rule;
  std::string file;
  std::size_t line = 0;
  std::size_t column = 0;
  std::string reason;  // for people, with file and line: why the server is not there

  bool allowed() const noexcept { return outcome == Outcome::allowed; }
  bool operator==(const PolicyVerdict&) const = default;
};

// `expanded` as it would be started. A server of this process has neither command nor URL and is
// known by its name alone. Variables in the lists come from `env` of enterprise settings and then
// from `startup`, the environment this program was started with.
//
// A file inside the repository can take servers away, and cannot bring one back that another list
// leaves out.
PolicyVerdict judge_policy(const ServerConfig& expanded, std::span<const SettingsLayer> layers,
                           const VariableLookup& startup = process_environment());

// The same for an entry as written and what came of it. What an organisation declares itself needs no place on a list
// of allowed servers, unless a variable decides what it is; the lists of denied servers hold for it.
PolicyVerdict judge_entry(const ServerConfig& written, const ServerConfig& expanded,
                          std::span<const SettingsLayer> layers, const VariableLookup& startup);

// Entries of the lists that have no effect with these variables, and why. For doctor and lint.
std::vector<ConfigProblem> policy_problems(std::span<const SettingsLayer> layers,
                                           const VariableLookup& startup = process_environment());

// What `add` says: the texts users of other programs know. Empty when the verdict allows it.
std::string policy_refusal(std::string_view name, const PolicyVerdict& verdict);
inline constexpr std::string_view enterprise_exclusive_refusal =
    "Cannot add MCP server: enterprise MCP configuration is active and has exclusive control over MCP servers";
inline constexpr std::string_view enterprise_dynamic_refusal =
    "You cannot dynamically configure MCP servers when an enterprise MCP config is present";

}  // namespace patchbay
