// Permission rules looked at before any call: what a configuration asks for, and which of its rules can
// never decide anything. Host makes its Permissions from the former; lint and doctor report the latter.
// Pure, but for the current directory and HOME where a configuration does not say them.
#pragma once

#include <vector>

#include <patchbay/config.h>
#include <patchbay/host.h>

#include "config/permission_rules.h"

namespace patchbay {

// `trust_project`: the person said so for this run.
RuleRequest rule_request(const LoadedConfig& config, const PermissionOptions& options, bool trust_project);

// Rules that others make pointless: an allow rule whose tools are all denied or always asked about, an ask
// rule whose tools are all denied, a rule that stands in one list twice.
std::vector<ConfigProblem> pointless_rules(const RuleSet& rules);

}  // namespace patchbay
