// Negotiation: opens a channel, runs the probe's steps on it and leaves the core with a
// wire and a described server. Called once per connection by SessionCore::connect.
#pragma once

#include "client/session_core.h"

namespace patchbay {

Task<void> negotiate(SessionCore& core);

}  // namespace patchbay
