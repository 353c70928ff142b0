// What a server was when it was first seen, or when somebody last agreed to it, and what has changed since. The values,
// their text on the disk, and judge(), which decides from both what is offered and what waits for somebody to agree.
// Pure; any thread. host/kept/pin_files keeps them, Host asks about each list of tools. docs/pins.md has the rules.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <patchbay/types.h>

#include "pins/grade.h"
#include "pins/lock_file.h"
#include "pins/pin_mode.h"

namespace patchbay {

inline constexpr std::int64_t pinned_server_version = 1;
inline constexpr std::size_t largest_pinned_server = 8u << 20;
inline constexpr std::size_t most_pinned_tools = 20'000;  // twice what one list may have

struct PinnedTool {
  std::string print;                       // print_of()
  std::shared_ptr<const Tool> definition;  // null: there was no room for it
  std::chrono::sys_seconds since;          // it has been so
  bool operator==(const PinnedTool& other) const;
};

struct PinnedServer {
  std::string name;  // as it was called last
  std::map<std::string, PinnedTool, std::less<>> tools;
  std::map<std::string, PinnedTool, std::less<>> waiting;  // what the server has now, and nobody has agreed to
  std::optional<std::string> instructions;
  std::optional<std::string> waiting_instructions;
  std::string package;                                      // "name 1.2.3", as the server says
  std::map<std::string, std::string, std::less<>> prompts;  // by name: a hash of what it shows
  bool operator==(const PinnedServer&) const = default;
};

// One text of the disk.
enum class PinUse : std::uint8_t { usable, missing, unreadable, newer };
struct ReadPins {
  PinUse use = PinUse::missing;
  std::optional<PinnedServer> server;
};
ReadPins read_pinned_server(std::string_view text);
// At most largest_pinned_server bytes: definitions that have no room are left out, the longest first; empty when there
// is no room for their hashes.
std::string write_pinned_server(const PinnedServer& server);

// What is known of a server now.
struct SeenServer {
  std::string name;
  std::vector<std::shared_ptr<const Tool>> tools;
  std::optional<std::string> instructions;
  std::string package;
};

// A tool that is not called.
struct WaitingTool {
  std::shared_ptr<const Tool> before;  // null: it was not there, or is not known any more
  std::shared_ptr<const Tool> now;
  ToolChange change;
  bool locked = false;  // the lock file of the project says otherwise: agreeing is not enough
  bool fresh = false;   // it was not there
};

struct Judgement {
  std::vector<std::shared_ptr<const Tool>> offered;
  std::map<std::string, WaitingTool, std::less<>> waiting;
  std::optional<std::string> instructions;  // that are agreed to, in place of those it has now
  PinnedServer pins;                        // to be kept
  std::vector<std::string> notes;           // what changed and needs nobody
};

// `before`: nothing at first sight. With PinMode::record all is offered as it is now and nothing waits; with off this
// is not asked.
Judgement judge(const std::optional<PinnedServer>& before, const SeenServer& seen, const LockedServer* lock,
                PinMode mode, std::chrono::sys_seconds now);

// What waits: of one tool, or all of it when the name is empty. Returns what was agreed to, by name; the instructions
// are "".
std::vector<std::string> agree(PinnedServer& pins, std::string_view tool, std::chrono::sys_seconds now);

// "package" as it is compared and shown.
std::string package_of(const Implementation& info);

// The hash of what a prompt says of itself.
std::string print_of(const Prompt& prompt);
// Names of the prompts that are others than they were, were added or are gone; all are known from then on. Nothing at
// first sight.
std::vector<std::string> update_prompts(PinnedServer& pins, std::span<const Prompt> prompts);

}  // namespace patchbay
