// A look at configuration, files and this machine, as findings: what is in order, what is good to know, what is wrong
// and what would help. Pure: the configuration, the machine and the answers of servers come in as values and
// functions; nothing is started or changed here.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <patchbay/config.h>
#include <patchbay/status.h>

#include "inspect/fix.h"
#include "store/upkeep.h"

namespace patchbay {

enum class FindingLevel : std::uint8_t { ok, note, problem };
std::string_view to_string(FindingLevel level) noexcept;

struct Finding {
  FindingLevel level = FindingLevel::ok;
  std::string area;     // "configuration", "server", "trust", "files", "environment", "connection"
  std::string subject;  // a server, a file or a variable; may be empty
  std::string message;
  Fix fix;
  // Of a problem in a file.
  std::size_t line = 0;
  std::size_t column = 0;
  std::string detail = {};  // what a server said before it ended; may have several lines
  bool operator==(const Finding&) const = default;
};

// What can be asked of this machine.
struct MachineFacts {
  VariableLookup variables;
  // Whether a file or directory is there and can be read.
  std::function<bool(const std::string& path)> readable;
  // The file a command names, or what is wrong: process/command_lookup.h.
  std::function<Result<std::string>(std::string_view command, std::string_view path, std::string_view directory)>
      find_command;
  // Why there is no such secret in our store; empty when there is one.
  std::function<std::string(const std::string& name)> secret_fault;
  std::size_t open_files = 0;  // how many a process may have; 0: not known
};

// What lint found, and a summary.
std::vector<Finding> check_configuration(const LoadedConfig& config, std::span<const ConfigProblem> problems);
// Servers that may be started, without starting them; and those that wait for approval. A problem here means
// that starting one would fail.
std::vector<Finding> check_servers(const LoadedConfig& config, const MachineFacts& machine);
std::vector<Finding> check_trust(const LoadedConfig& config);
std::vector<Finding> check_files(const UpkeepState& state);
// `set`: by settings files.
std::vector<Finding> check_environment(const MachineFacts& machine, std::span<const SettingsVariable> set = {});
std::vector<Finding> check_connections(std::span<const ServerStatus> statuses);

}  // namespace patchbay
