// Client::connect with everything the library can hand in. Called by hosts and tests.
#pragma once

#include <functional>
#include <memory>

#include <patchbay/client.h>

#include "base/runtime.h"
#include "rpc/transport.h"

namespace patchbay {

// What a request of the session came to, null being an answer: told for each that the program makes, whatever it is,
// before whoever made it hears of it. Not told of what was cancelled, nor after the session was closed.
using OnOutcome = std::function<void(const Error*)>;

// A notification of the server that the protocol has no word for. Not told of before the server has described itself.
using OnOther = std::function<void(const ServerDescription&, const std::string& method, const Payload& params)>;

Task<Session> connect(const Client& client, std::shared_ptr<Transport> transport, Runtime runtime,
                      OnOutcome on_outcome = {}, OnOther on_other = {});

}  // namespace patchbay
