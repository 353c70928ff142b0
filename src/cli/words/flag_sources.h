// What flags name must be there and be understood: whoever names a file asks for it, and must not get everything
// else instead. Called by main before any command that reads the configuration; blocking, no loop.
#pragma once

#include "cli/words/settings.h"

namespace patchbay::cli {

// Throws Errc::invalid_argument about the first of --mcp-config, --mcp-server and --plugin-dir that
// cannot be used at all. One broken entry among others is left out alone and reported where all are.
void check_flag_sources(const Settings& settings);

}  // namespace patchbay::cli
