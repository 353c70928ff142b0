// A Host with everything the library can hand in; its own constructors are this without it. Called by the command
// line and tests.
#pragma once

#include <string>

#include <patchbay/host.h>

#include "base/runtime.h"

namespace patchbay {

// `doing`: what the program is doing, in a word; kept with failures (HostOptions::failure_memory).
Host make_host(HostOptions options, const Runtime& runtime, std::string doing = {});

}  // namespace patchbay
