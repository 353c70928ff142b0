// What hooks answered, and what their answers come to. A hook prints nothing or one JSON object; anything else is no
// answer, and the hook has failed. About an agent itself it may print any text as well. Of several, the strictest
// counts: deny, defer, ask, allow. Pure.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <patchbay/permission.h>
#include <patchbay/questions.h>
#include <patchbay/types.h>

#include "hooks/hook_set.h"

namespace patchbay {

// From the weakest.
enum class HookDecision : std::uint8_t { none, allow, ask, defer, deny };
std::string_view to_string(HookDecision decision) noexcept;

struct HookAnswer {
  HookDecision decision = HookDecision::none;
  std::string reason = {};
  std::optional<Json> updated_input = {};   // an object
  std::optional<Json> updated_output = {};  // whatever stands for a result, see result_of_hook()
  std::string context = {};                 // additionalContext
  std::string message = {};                 // systemMessage, for the user
  bool ends = false;                        // the agent ends here, whoever wants it to go on (Stop, SubagentStop)
  // What it answers for the user (Elicitation), or instead of the user (ElicitationResult).
  std::optional<ElicitResult::Action> action = {};
  std::optional<Json> content = {};
  bool operator==(const HookAnswer&) const = default;
};

// Of a hook that ended well. Errc::invalid_argument says why it cannot be used.
Result<HookAnswer> read_hook_answer(HookEvent event, std::string_view output);
// Of one that blocked (exit status 2): whatever else it printed does not count.
HookAnswer blocking_answer(HookEvent event, std::string_view why);

struct HookOutcome {
  std::shared_ptr<const Hook> hook;
  Result<HookAnswer> answer;
};

// All of them together.
struct HookVerdict {
  HookDecision decision = HookDecision::none;
  std::shared_ptr<const Hook> by = {};  // who decided, or answered; null: nobody
  std::string reason = {};
  bool failed = false;  // the decision is a failure of that hook
  // Of several changes the first counts, so that of an organisation's file before the others.
  std::optional<Json> updated_input = {};
  std::shared_ptr<const Hook> input_by = {};
  std::optional<Json> updated_output = {};
  std::shared_ptr<const Hook> output_by = {};
  std::vector<std::string> context = {};
  std::optional<ElicitResult::Action> action = {};
  std::optional<Json> content = {};
  bool ends = false;
  // With an agent's own events, for the person: what hooks say, and failures that refuse nothing. One line each.
  std::vector<std::string> notices = {};
};
HookVerdict merged(HookEvent event, std::span<const HookOutcome> outcomes);

// What rules and hooks come to. A hook that allows takes the place of an allow rule: what a deny or ask rule said, or a
// tool that requires a question, stays. One that asks makes a question of what was allowed.
PermissionDecision with_hook(PermissionDecision decided, const HookVerdict& verdict, const Tool& tool,
                             PermissionMode mode);

// Why a call is refused: the hook, its file and line, and what to do.
Error hook_denial(std::string_view tool, const HookVerdict& verdict);
// Why a message is not sent to the model.
Error message_denial(const HookVerdict& verdict);
// The same in one line, for what is not refused by an error: "{}: the PreCompact hook … denies it: why".
std::string denial_line(std::string_view what, const HookVerdict& verdict);
// That the call is not refused, but is to be made later.
bool is_deferral(const Error& error);

// A text, an array of content blocks, a whole result, or any other JSON value, as the result of a call.
Result<CallToolResult> result_of_hook(const Json& output, const CallToolResult& before);
// What stands in the place of a result that a hook withholds.
CallToolResult withheld_result(const HookVerdict& verdict);
// The result with what hooks have to add for the model.
void add_context(CallToolResult& result, std::span<const std::string> context);

}  // namespace patchbay
