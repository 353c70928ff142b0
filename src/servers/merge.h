// Puts the entries of all sources together: asks settle.h what becomes of each, and makes the lists, the words and
// the warnings of a LoadedConfig from that. Pure; load calls it.
#pragma once

#include <functional>
#include <span>

#include <patchbay/config.h>

#include "entries/parse.h"
#include "servers/settle.h"

namespace patchbay {

// `sources` from the highest to the lowest. Adds problems: those of the sources, names that two entries have, one
// server under two names, and variables that are not set in entries that may be started.
LoadedConfig merge_sources(std::span<const ParsedServers> sources,
                           const std::function<EntryAnswers(const ServerConfig&)>& answers_about,
                           const SettlePolicy& policy);

}  // namespace patchbay
