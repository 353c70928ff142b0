// Which of the declared servers count when several sources declare them. Pure.
#pragma once

#include <span>

#include <patchbay/config.h>

#include "config/parse.h"

namespace patchbay {

// Sources from the highest to the lowest. The first to declare a name wins whole: fields
// are never mixed. A broken entry holds its name too, so that a typo in an override does
// not start the very server it was meant to replace.
LoadedConfig merge_sources(std::span<const ParsedServers> sources);

}  // namespace patchbay
