// Opens a watch on a session; Session::watch wraps what it returns.
#pragma once

#include "client/session_core.h"

namespace patchbay {

// Returns when the server has acknowledged (modern) or every resource is subscribed to
// (legacy); throws when it refused.
Task<std::shared_ptr<Watch::State>> open_watch(std::shared_ptr<SessionCore> core, SubscriptionFilter filter);

}  // namespace patchbay
