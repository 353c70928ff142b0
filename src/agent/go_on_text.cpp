#include "agent/go_on_text.h"

#include <fmt/format.h>

namespace patchbay {

bool wants_more(const HookVerdict& verdict) noexcept { return !verdict.ends && verdict.decision == HookDecision::deny; }

std::string go_on_text(const HookVerdict& verdict) {
  if (verdict.reason.empty()) return "[A hook of the user says that you are not done yet. Go on.]";
  return fmt::format("[A hook of the user says that you are not done yet: {}]", verdict.reason);
}

std::string given_up_text(const HookVerdict& verdict) {
  return fmt::format("{} wants the model to go on, but it has {} times: it ends here", verdict.by->described(),
                     most_times_on);
}

}  // namespace patchbay
