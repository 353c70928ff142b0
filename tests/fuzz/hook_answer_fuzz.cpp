// What a hook prints: whatever it is, it is an answer or an error, several come to one verdict, a result that it makes
// can be encoded, and nothing of a refused call is changed.
//
// Input: a byte for the event, then what one hook printed, a line break of "\n--\n", and what another one printed.
#include <array>

#include "fuzz/fuzz.h"
#include "hooks/hook_answer.h"
#include "protocol/codec.h"

using namespace patchbay;
using fuzz::require;

namespace {

std::shared_ptr<const Hook> hook(HookEvent event, std::string_view name) {
  Hook made;
  made.setting.event = event;
  made.setting.command = name;
  made.file = "/settings.json";
  made.setting.place = {1, 1};
  return std::make_shared<const Hook>(std::move(made));
}

}  // namespace

FUZZ_TARGET(hook_answer) {
  if (input.empty()) return;
  const auto event = static_cast<HookEvent>(static_cast<unsigned char>(input.front()) % hook_events);
  input.remove_prefix(1);
  constexpr std::string_view between = "\n--\n";
  const auto cut = input.find(between);
  const auto one = read_hook_answer(event, input.substr(0, cut));
  const auto other =
      read_hook_answer(event, cut == std::string_view::npos ? std::string_view() : input.substr(cut + between.size()));
  for (const auto* answer : {&one, &other}) {
    if (!*answer) {
      require(answer->error().code() == Errc::invalid_argument, "another kind of error");
      require(answer->error().message().size() < 1000, "a message without bound");
      continue;
    }
    if ((*answer)->updated_input) require((*answer)->updated_input->is_object(), "arguments that are no object");
    if ((*answer)->content) require((*answer)->content->is_object(), "a form's content that is no object");
  }
  const std::array<HookOutcome, 2> outcomes{HookOutcome{hook(event, "one"), one},
                                            HookOutcome{hook(event, "other"), other}};
  const auto verdict = merged(event, outcomes);
  const bool failed = !one || !other;
  if (failed && guards(event)) require(verdict.decision == HookDecision::deny, "a guard that failed lets pass");
  if (verdict.decision != HookDecision::none) require(verdict.by != nullptr, "nobody has decided");
  if (verdict.decision >= HookDecision::defer) {
    require(!verdict.updated_input, "the arguments of a refused call are changed");
    require(hook_denial("t", verdict).message().size() < 10'000, "a refusal without bound");
    require(withheld_result(verdict).is_error, "a withheld result is no error");
  }
  if (!verdict.updated_output) return;
  if (const auto result = result_of_hook(*verdict.updated_output, {})) (void)to_text(encode(*result));
}
