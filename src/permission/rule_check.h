// Which permission rules can never decide anything. lint, doctor and the host report them. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "permission/rules.h"

namespace patchbay {

// Rules that others make pointless: an allow rule whose tools are all denied or always asked about, an ask
// rule whose tools are all denied, a rule that stands in one list twice. Rules are found by their names, so that a
// hundred thousand cost little more each than ten; only those with a * behind the same words are compared one by one.
// When that has taken `most_steps` (characters of the one times characters of the other), it ends with a note that says
// so.
struct PointlessRules {
  std::vector<ConfigProblem> problems;
  std::uint64_t steps = 0;
};
inline constexpr std::uint64_t most_rule_steps = 20'000'000;
PointlessRules pointless_rules(const RuleSet& rules, std::uint64_t most_steps = most_rule_steps);

}  // namespace patchbay
