// Negotiation: opens a connection, runs the probe's steps on it and leaves the owner with one that has a wire and a
// described server. Called by SessionOwner whenever it opens a connection.
#pragma once

#include "client/session_owner.h"

namespace patchbay {

Task<void> negotiate(SessionOwner& owner);

}  // namespace patchbay
