// Every command with its words, its help and its examples: the table that parsing, help, the manual page, the
// completions and usage errors are made from. words/flag_table.h is the one of the flags. Data only.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "cli/words/settings.h"

namespace patchbay::cli {

enum class CommandGroup { first, servers, approval, contents, other };
std::string_view group_title(CommandGroup group);

// What a command takes beside flags.
struct CommandWords {
  std::string_view name;  // as help shows it; empty: it takes none
  std::string_view help;
  std::size_t least = 0;
  std::size_t most = 0;
  std::string_view needs = {};                     // when there must be one: "call needs a tool"
  std::string_view example = {};                   // ... and what to write then
  std::span<const std::string_view> choices = {};  // when only these are accepted as the first
};

struct CommandEntry {
  Command command;
  CommandGroup group;
  std::string_view name;
  std::string_view summary;
  std::string_view examples;
  CommandWords words;
  bool in_mcp = false;         // also reached as `patchbay mcp NAME`
  bool takes_command = false;  // behind -- is the command of a server
};

// In the order of the help.
std::span<const CommandEntry> command_table();
// Null: there is none of this name.
const CommandEntry* find_command(std::string_view name);
// Empty for overview and version.
std::string_view command_name(Command command) noexcept;
std::vector<std::string_view> commands_in_mcp();

// What help and the manual say about the program as a whole.
struct ProgramText {
  std::string_view about;
  std::string_view servers;
  std::string_view examples;
  std::string_view exit_codes;
};
const ProgramText& program_text();

}  // namespace patchbay::cli
