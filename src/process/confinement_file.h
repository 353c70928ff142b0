// The plan of a sandbox as the warden reads it (warden/protocol.h): bytes, and a file of memory that holds them. Does
// not decide anything; sandbox/confinement.h did. Any thread.
#pragma once

#include <string>
#include <string_view>

#include <patchbay/error.h>

#include "base/fd.h"
#include "sandbox/confinement.h"

namespace patchbay {

// Errc::connect when it is larger than a warden reads.
Result<std::string> confinement_bytes(const Confinement& wanted);
// `command` is for messages. Close-on-exec.
Result<Fd> confinement_file(const Confinement& wanted, std::string_view command);

}  // namespace patchbay
