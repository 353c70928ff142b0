// Which permission rules a host asks for: those of its configuration, and what the program put beside them. The host
// uses it when it takes a configuration; commands that decide without a host do as well. Pure, apart from the current
// directory when the configuration has none.
#pragma once

#include <patchbay/host.h>

#include "permission/rules.h"

namespace patchbay {

// `trust_project`: the user said so for this run.
RuleRequest rule_request(const LoadedConfig& config, const PermissionOptions& options, bool trust_project);

}  // namespace patchbay
