// Finds the warden's program. In this order: the file PATCHBAY_WARDEN names, the file
// libexec/patchbay/patchbay-warden of the installation that holds this executable or
// library, the copy embedded in the library, run from a memory file. When PATCHBAY_WARDEN
// names a file that cannot be run, that is an error and nothing else is tried. Called by
// Process for each start; any thread.
#pragma once

#include <string>

#include <patchbay/error.h>

#include "base/fd.h"

namespace patchbay {

struct WardenImage {
  std::string path;  // absolute; below /proc/self/fd for the embedded copy
  Fd memory;         // keeps the embedded copy until it has been executed
};

Result<WardenImage> find_warden();
// The embedded copy alone.
Result<WardenImage> embedded_warden();

}  // namespace patchbay
