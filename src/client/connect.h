// Client::connect with everything the library can hand in. Called by hosts and tests.
#pragma once

#include <memory>

#include <patchbay/client.h>

#include "base/runtime.h"
#include "rpc/transport.h"

namespace patchbay {

Task<Session> connect(const Client& client, std::shared_ptr<Transport> transport, Runtime runtime);

}  // namespace patchbay
