// Where Patchbay keeps what is its own, by the rules of XDG. Pure; makes no folder.
#pragma once

#include <string>

#include <patchbay/config.h>

namespace patchbay {

// What can be thrown away: $XDG_CACHE_HOME/patchbay, else ~/.cache/patchbay. A relative path does
// not count. Empty: there is no such place.
std::string cache_folder(const VariableLookup& lookup);
// What is kept from run to run and nobody would miss for long: $XDG_STATE_HOME/patchbay, else
// ~/.local/state/patchbay.
std::string state_folder(const VariableLookup& lookup);

}  // namespace patchbay
