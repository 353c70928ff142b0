// .mcp.lock: what the servers of a .mcp.json were when somebody looked at them, committed beside it. It can only
// forbid: what it names has to be as it says, and what it does not name is as if there were no such file. Values, their
// text, and how they differ from what there is; pure, any thread. A lock file is a stranger's text like all of a
// repository.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <patchbay/error.h>
#include <patchbay/types.h>

#include "pins/definition.h"

namespace patchbay {

inline constexpr std::int64_t lock_file_version = 1;
inline constexpr std::size_t largest_lock_file = 8u << 20;
inline constexpr std::string_view lock_file_name = ".mcp.lock";

// Hashes of the parts of a tool; empty: it has none.
using LockedTool = std::map<ToolPart, std::string>;

struct LockedServer {
  std::string entry;         // the hash of its entry in .mcp.json
  std::string package;       // "name 1.2.3", as the server says
  std::string instructions;  // a hash; empty: it has none
  std::map<std::string, std::string, std::less<>> prompts;
  std::map<std::string, LockedTool, std::less<>> tools;
  bool operator==(const LockedServer&) const = default;
};

struct LockFile {
  std::map<std::string, LockedServer, std::less<>> servers;
  bool operator==(const LockFile&) const = default;
};

LockedTool locked_tool(const Tool& tool);

struct LockSource {
  std::string entry;
  std::string package;
  std::optional<std::string> instructions;
  std::span<const std::shared_ptr<const Tool>> tools;
  std::span<const Prompt> prompts;
};
LockedServer locked_server(const LockSource& source);

// Errc::config with what is wrong: a newer version, or no lock file at all. Nothing in it is skipped: half a lock file
// would allow what the other half forbids.
Result<LockFile> read_lock_file(std::string_view text);
// Pretty, with sorted keys: it is looked at in version control.
std::string write_lock_file(const LockFile& lock);

// What of a tool is not as it was locked, in words; empty: nothing.
std::vector<std::string> differences(const LockedTool& locked, const LockedTool& now);

struct LockDifference {
  std::string server;
  std::string tool;  // empty: it is about the server
  std::string text;  // "its description is another one"
  bool operator==(const LockDifference&) const = default;
};
std::vector<LockDifference> differences(const std::string& server, const LockedServer& locked, const LockedServer& now);

}  // namespace patchbay
