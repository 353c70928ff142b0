// Hooks about an agent itself, asked by src/agent: the Host has the hooks that count and runs them as it runs those
// about calls. Loop thread only; the Host outlives it.
#pragma once

#include <string>
#include <string_view>

#include <patchbay/host.h>
#include <patchbay/task.h>

#include "hooks/hook_answer.h"

namespace patchbay {

// What those that are due come to; cancelling it ends them. `what` is compared with their matchers, `facts` is what the
// event has of its own. A hook that fails does not make it throw. Reads the configuration first, if nobody has.
Task<HookVerdict> ask_agent_hooks(Host& host, HookEvent event, std::string what, Json facts);

// What hooks of this Host are told of the conversation that they are about: its id, and the file that it is kept in
// (empty: nowhere). Without it they know the Host's own run.
void tell_hooks_of_conversation(Host& host, std::string id, std::string transcript);
// Whether it is this one that they are told of: another agent of the Host may have begun since.
bool hooks_are_told_of(Host& host, std::string_view id);

}  // namespace patchbay
