// The words of a command line before CLI11 sees them: where the command stands, and forms that have one meaning.
// settings.cpp calls it; pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace patchbay::cli {

// Where the command stands: the first word that is neither a flag nor its value, behind `mcp` the one after it.
struct CommandAt {
  std::size_t at = 0;  // the number of words when there is none
  bool in_mcp = false;
};
CommandAt command_at(const std::vector<std::string>& words, const std::vector<std::string>& flags_with_value);

// `help [COMMAND]` and `version`, as other programs have them.
std::vector<std::string> usual_words(std::vector<std::string> typed, const std::vector<std::string>& flags_with_value);

// --allowedTools A B before the command becomes --allowedTools A --allowedTools B, where B is the full name of a
// tool: that is no command.
std::vector<std::string> repeat_rule_flags(const std::vector<std::string>& words,
                                           const std::vector<std::string>& flags_with_value);
bool is_rule_flag(const std::string& word);

// The words of `add` in a form that has one meaning: -e A=1 B=2 becomes -e A=1 -e B=2, and what stands
// behind -- is taken out. Words of other commands are left alone. `flags_with_value` are those that
// may stand before the command.
struct AddWords {
  std::vector<std::string> words;
  std::optional<std::vector<std::string>> command;
  bool operator==(const AddWords&) const = default;
};
AddWords untangle_add(std::vector<std::string> words, const std::vector<std::string>& flags_with_value);

// CLI11 takes [a,b] for two words, and hands words behind -- to the wrong command. Guarded ones it leaves alone.
void guard_words(std::vector<std::string>& words, const std::vector<std::string>& flags_with_value);
// The word as it was typed.
void take_guards_off(std::string& word);

}  // namespace patchbay::cli
