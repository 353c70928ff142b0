// The completion scripts, made from the table of commands and flags. Pure: text in, text out.
// The scripts ask `patchbay completion servers` for names, which starts nothing.
#pragma once

#include <string>
#include <string_view>

#include "cli/words/settings.h"

namespace patchbay::cli {

std::string bash_completion(const CommandLineText& line);
std::string zsh_completion(const CommandLineText& line);
std::string fish_completion(const CommandLineText& line);

// Whether a shell takes this name for nothing but a word. Names come from files of strangers.
bool is_plain_word(std::string_view name);

}  // namespace patchbay::cli
