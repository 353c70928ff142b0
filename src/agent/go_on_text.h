// When hooks keep an agent or a sub-agent from ending, how often, and what its model reads then. Pure.
#pragma once

#include <cstddef>
#include <string>

#include "hooks/hook_answer.h"

namespace patchbay {

// A hook that is never content does not keep an agent at work for good.
inline constexpr std::size_t most_times_on = 5;

bool wants_more(const HookVerdict& verdict) noexcept;
std::string go_on_text(const HookVerdict& verdict);     // for the model
std::string given_up_text(const HookVerdict& verdict);  // for the person

}  // namespace patchbay
