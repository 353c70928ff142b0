// Reads the words of a command line with the tables of commands and flags: what they ask for, or which word is wrong.
// main calls it once, before there is a loop. Pure; texts/usage_error.h words what is wrong.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "cli/texts/command_table.h"
#include "cli/words/flag_table.h"
#include "cli/words/settings.h"

namespace patchbay::cli {

struct HelpTopic {
  const CommandEntry* command = nullptr;  // null: the program
  bool in_mcp = false;                    // asked for as `patchbay mcp COMMAND --help`
};

// The first word that is wrong.
struct UsageFault {
  enum class Kind {
    unknown_command,
    missing_command,  // behind mcp
    unknown_flag,     // no command has it
    foreign_flag,     // only other commands have it
    misplaced_flag,   // a flag of the command, but before it
    missing_value,
    unwanted_value,  // --json=x
    wrong_value,
    missing_word,
    extra_word,
    wrong_word,
  };
  Kind kind = Kind::unknown_command;
  std::string word;    // the flag without its value, the command, or the word; empty: it is missing
  std::size_t at = 0;  // its place among the words
  const CommandEntry* command = nullptr;
  bool in_mcp = false;  // typed as `patchbay mcp COMMAND`
  bool json = false;    // --json is among the words

  const FlagEntry* flag = nullptr;  // which it is about; of an unknown command: the one whose value is before it
  std::string value;                // of that flag
  bool joined = false;              // the value was typed in the same word: --scope=user, -suser
  std::string_view expected;        // a wrong value: what is right
  bool behind_name = false;         // behind the name of a new server: a flag may belong to the server
  std::vector<std::string> typed;   // then: that name and all words behind it
};

std::variant<Settings, HelpTopic, UsageFault> read_command_line(const std::vector<std::string>& words);

}  // namespace patchbay::cli
