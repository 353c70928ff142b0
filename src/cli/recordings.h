// The commands about recordings: `record` looks at them, `replay` serves one as the server it was made of. They start
// no server.
#pragma once

#include "base/runtime.h"
#include "cli/io.h"
#include "cli/words/settings.h"
#include "recording/recording.h"

namespace patchbay::cli {

int record(const Settings& settings, Io& io);
int replay(const Settings& settings, Io& io, const Runtime& runtime);

// What of a recording was left out, unless that is not wanted.
void say_warnings(const Recording& recording, const Settings& settings, Io& io);

}  // namespace patchbay::cli
