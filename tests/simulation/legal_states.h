// Which states of a server there are, and which may follow which, as docs/host.md has it. The simulation holds what a
// host reports against this. Pure.
#pragma once

#include <patchbay/status.h>

namespace patchbay::test {

// Whether a server can be so, and whether it can be so after it was otherwise.
bool is_legal_state(ServerState state, ServerReason reason) noexcept;
bool may_follow(ServerReason before, ServerReason now) noexcept;

}  // namespace patchbay::test
