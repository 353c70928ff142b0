// Serving with everything the library can hand in; Server's own functions are these without it. Called by the
// command line and tests. The Server may be destroyed while what these return runs on.
#pragma once

#include <memory>

#include <patchbay/server.h>

#include "base/runtime.h"
#include "rpc/channel.h"

namespace patchbay {

// One connection, until it ends.
Task<void> serve(Server& server, std::unique_ptr<Channel> channel, const Runtime& runtime);
Task<void> serve_stdio(Server& server, const Runtime& runtime);
Task<void> serve_http(Server& server, ServerHttpOptions options, const Runtime& runtime);

}  // namespace patchbay
