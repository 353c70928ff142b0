// The completion scripts, made from the tables of commands and flags. Pure.
// The scripts ask `patchbay completion servers` for names, which starts nothing.
#pragma once

#include <string>
#include <string_view>

namespace patchbay::cli {

std::string bash_completion();
std::string zsh_completion();
std::string fish_completion();

// Whether a shell takes this name for nothing but a word. Names come from files of strangers.
bool is_plain_word(std::string_view name);

}  // namespace patchbay::cli
