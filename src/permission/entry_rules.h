// What an entry of an http or sse server says about its own tools: "tools" with a "permission_policy" each, and
// "toolPermissions". Pure. The keys stay among the entry's `extra`, as Claude Code writes them; the reader of entries
// warns about what it does not understand.
//
//   "tools": [{"name": "drop", "permission_policy": "always_deny"}]     always_allow, always_ask, always_deny
//   "toolPermissions": {"drop": "blocked"}                              allow, ask, blocked
//
// Deny and ask count wherever the entry comes from. Allow counts only in an entry of the user's own or of an
// organisation: what comes with a project, a plugin or a connector cannot allow its own calls, approved or not. What is
// not one of these words denies.
#pragma once

#include <vector>

#include <patchbay/config.h>

#include "permission/rules.h"

namespace patchbay {

std::vector<PermissionRule> entry_rules(const ServerConfig& server);

}  // namespace patchbay
