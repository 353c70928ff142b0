// The text of --help, for the program and for each command, made from the tables of commands and flags. Pure. Called by
// main, which knows how wide the terminal is.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "cli/words/command_line.h"

namespace patchbay::cli {

// Lines of at most `columns`, broken between words. All but the first begin with `indent` blanks; the first has them
// already. A word that is longer than a line has a line of its own and stays whole.
std::string filled(std::string_view text, std::size_t columns, std::size_t indent);

// The help of a flag, and the words it takes when it takes only those.
std::string flag_help(const FlagEntry& flag);

std::string help_page(const HelpTopic& topic, std::size_t columns);

}  // namespace patchbay::cli
