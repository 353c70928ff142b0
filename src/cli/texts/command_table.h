// Every command with its words, its help and its examples: the table that parsing, help, the manual page and the
// completions are made from. settings.cpp reads it; usage errors look up names in it. Data only.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "cli/words/settings.h"

namespace patchbay::cli {

struct CommandEntry {
  Command command;
  const char* name;
  const char* summary;
  const char* examples;
  const char* words_name;  // null: takes none; in lower case: these very words
  const char* words_help;
  std::size_t words_min;
  std::size_t words_max;  // 0: any number
  bool in_mcp = false;    // also reached as `patchbay mcp NAME`
};

std::span<const CommandEntry> command_table();

// The order of the help: every command once, those that people need first in the first group.
struct CommandGroup {
  std::string_view title;
  std::span<const std::string_view> names;
};
std::span<const CommandGroup> command_groups();

// What is said of the program and of `mcp`.
struct ProgramText {
  const char* about;
  const char* servers;
  const char* examples;
  const char* exit_codes;
  const char* mcp_summary;
  const char* mcp_examples;
};
const ProgramText& program_text();

}  // namespace patchbay::cli
