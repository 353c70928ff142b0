#include "agent/turn.h"

namespace patchbay {

AfterAnswer after_answer(ModelStop stop, bool has_uses, const TurnCounts& counts, const TurnLimits& limits) {
  if (stop == ModelStop::refusal) return AfterAnswer::refused;
  if (has_uses) return AfterAnswer::run_tools;
  switch (stop) {
    case ModelStop::pause:
      return counts.pauses < limits.pauses ? AfterAnswer::ask_again : AfterAnswer::end;
    case ModelStop::max_tokens:
      return counts.continued < limits.continued ? AfterAnswer::say_cut_off : AfterAnswer::end;
    case ModelStop::malformed:
      return counts.malformed < limits.malformed ? AfterAnswer::say_malformed : AfterAnswer::end;
    case ModelStop::context_full:
      return AfterAnswer::shorten;
    case ModelStop::end_turn:
    case ModelStop::tool_use:  // and there is none: it has nothing to wait for
    case ModelStop::refusal:
    case ModelStop::other:
      break;
  }
  return AfterAnswer::end;
}

std::string_view note_for(AfterAnswer next) noexcept {
  switch (next) {
    case AfterAnswer::say_cut_off:
      return "[Your answer reached its greatest length and was cut off. Go on where it ends, and be brief.]";
    case AfterAnswer::say_malformed:
      return "[You tried to call a tool, and the call could not be read. Nothing was called. Write it again: the name "
             "of "
             "one tool, and its arguments as one JSON object.]";
    default:
      return {};
  }
}

std::vector<std::vector<std::size_t>> batches_of(const std::vector<bool>& only_reads) {
  std::vector<std::vector<std::size_t>> out;
  for (std::size_t at = 0; at < only_reads.size(); ++at) {
    const bool joins = at > 0 && only_reads[at] && only_reads[at - 1];
    if (!joins) out.emplace_back();
    out.back().push_back(at);
  }
  return out;
}

}  // namespace patchbay
