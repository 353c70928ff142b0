// Every flag, once: its names, its value, its help, which commands take it and where what was typed goes. Parsing,
// help, the manual page, the completions and usage errors are made from it. Data only.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "cli/words/settings.h"

namespace patchbay::cli {

// Who takes a flag: every command (then the help of the program shows it, in this group), or only these.
enum class FlagGroup { general, servers, permissions, output };
struct FlagOwner {
  FlagGroup group = FlagGroup::general;
  std::uint64_t commands = 0;  // one bit each; 0: every command

  constexpr FlagOwner(FlagGroup of_program) : group(of_program) {}
  template <class... More>
  static constexpr FlagOwner only(Command first, More... more) {
    FlagOwner owner(FlagGroup::general);
    owner.commands = (bit(first) | ... | bit(more));
    return owner;
  }
  [[nodiscard]] constexpr bool every_command() const { return commands == 0; }
  [[nodiscard]] constexpr bool is(Command command) const { return (commands & bit(command)) != 0; }

 private:
  static_assert(static_cast<unsigned>(Command::version) < 64);
  static constexpr std::uint64_t bit(Command command) { return std::uint64_t{1} << static_cast<unsigned>(command); }
};
std::string_view group_title(FlagGroup group);

struct FlagValue {
  std::string_view name;                           // as help shows it; empty: the flag takes none
  std::string_view needs;                          // "--http needs an address"
  std::string_view example;                        // one that is accepted
  std::span<const std::string_view> choices = {};  // when only these are accepted
  std::string_view behind_example = {};            // what follows it, when that is not what the command always needs
  std::string_view alone = {};  // what the flag means without a value; then one is given behind =, or see `more`
};

// Keeps the value, or returns what it should have been ("a port from 1 to 65535").
using KeepValue = std::string_view (*)(Settings& settings, std::string_view value);
// A switch, a value of which the last one counts, a list, and a value with a rule of its own.
using FlagTarget =
    std::variant<bool Settings::*, std::string Settings::*, std::vector<std::string> Settings::*, KeepValue>;
// Whether a word behind the value of a flag is one more value of it, or behind a flag that can stand alone its value.
// `may_be_tool`: behind a command that names of tools may be words of.
using MoreValues = bool (*)(std::string_view word, bool may_be_tool);

struct FlagEntry {
  std::string_view names;  // one or two: "-s,--scope"
  FlagOwner owner;
  FlagValue value;
  std::string_view help;
  FlagTarget target;
  MoreValues more = nullptr;

  [[nodiscard]] constexpr bool takes_value() const { return !value.name.empty(); }
  // The next word is its value.
  [[nodiscard]] constexpr bool takes_next_word() const { return takes_value() && value.alone.empty(); }
  [[nodiscard]] constexpr bool repeatable() const {
    return std::holds_alternative<std::vector<std::string> Settings::*>(target);
  }
  [[nodiscard]] constexpr bool is_called(std::string_view name) const {
    const auto comma = names.find(',');
    return names.substr(0, comma) == name || (comma != std::string_view::npos && names.substr(comma + 1) == name);
  }
};

// Whether the command has a use for it. `session` uses servers and rules as files declare them: it has none for the
// flags that change them.
bool is_offered(const FlagEntry& flag, Command command);

// In the order of the help.
std::span<const FlagEntry> flag_table();

// The flag of this name that the command takes, or, for overview, every command; null: there is none.
const FlagEntry* find_flag(std::string_view name, Command command);
// The names of the flags it returns.
std::vector<std::string> flag_names(Command command);
// The flag of this name that some command takes; one name has the same values everywhere.
const FlagEntry* find_flag_anywhere(std::string_view name);

}  // namespace patchbay::cli
