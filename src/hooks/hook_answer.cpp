#include "hooks/hook_answer.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/strings.h"
#include "json/kind_text.h"
#include "permission/decide.h"
#include "protocol/codec.h"
#include "text/clean_text.h"

namespace patchbay {
namespace {

constexpr std::size_t longest_reason = 2000;
constexpr std::size_t longest_context = 64u << 10;
constexpr std::size_t longest_notice = 500;
constexpr std::size_t answer_depth = 64;

Error unusable(std::string why) { return {Errc::invalid_argument, std::move(why)}; }

bool is_elicitation(HookEvent event) noexcept {
  return event == HookEvent::elicitation || event == HookEvent::elicitation_result;
}

// Where a hook may keep the agent from ending.
bool is_end(HookEvent event) noexcept { return event == HookEvent::stop || event == HookEvent::subagent_stop; }

// Where a hook can only tell something.
bool only_tells(HookEvent event) noexcept {
  return event == HookEvent::session_start || event == HookEvent::session_end || event == HookEvent::subagent_start ||
         event == HookEvent::notification;
}

class AnswerReader {
 public:
  AnswerReader(HookEvent event, const Json& whole) : event_(event), whole_(whole) {}

  HookAnswer read() {
    out_.message = text(whole_, "systemMessage");
    read_whole();
    const auto* own = whole_.find("hookSpecificOutput");
    if (own == nullptr || own->is_null()) return std::move(out_);
    if (!own->is_object()) {
      throw unusable(fmt::format("\"hookSpecificOutput\" must be an object, found {}", kind_with_article(*own)));
    }
    const auto name = text(*own, "hookEventName");
    if (!name.empty() && name != to_string(event_)) {
      throw unusable(fmt::format("\"hookEventName\" must be \"{}\"", to_string(event_)));
    }
    out_.context = cut_utf8(text(*own, "additionalContext"), longest_context);
    read_own(*own);
    return std::move(out_);
  }

 private:
  static std::string text(const Json& in, std::string_view key) {
    const auto* value = in.find(key);
    if (value == nullptr || value->is_null()) return {};
    const auto text = value->text();
    if (!text) throw unusable(fmt::format("\"{}\" must be a string, found {}", key, kind_with_article(*value)));
    return std::string(*text);
  }

  [[noreturn]] static void unknown_word(std::string_view key, std::string_view word) {
    throw unusable(fmt::format("{} is not a value of \"{}\"", to_text(Json(clean_excerpt(word, 80))), key));
  }

  std::optional<Json> object(const Json& in, std::string_view key) {
    const auto* value = in.find(key);
    if (value == nullptr || value->is_null()) return std::nullopt;
    if (!value->is_object()) {
      throw unusable(fmt::format("\"{}\" must be an object, found {}", key, kind_with_article(*value)));
    }
    return *value;
  }

  // "continue" and "decision": what every event may have.
  void read_whole() {
    if (const auto* goes_on = whole_.find("continue"); goes_on != nullptr && !goes_on->is_null()) {
      const auto flag = goes_on->to_bool();
      if (!flag) throw unusable("\"continue\" must be true or false");
      if (!*flag && is_end(event_)) {
        out_.ends = true;
        if (out_.message.empty()) out_.message = text(whole_, "stopReason");
      } else if (!*flag) {
        block(text(whole_, "stopReason"));
      }
    }
    const auto word = text(whole_, "decision");
    if (word == "block") {
      block(text(whole_, "reason"));
    } else if (word == "approve" && event_ == HookEvent::pre_tool_use) {
      if (out_.decision == HookDecision::none) {
        out_.decision = HookDecision::allow;
        out_.reason = text(whole_, "reason");
      }
    } else if (!word.empty() && !(word == "approve" && is_of_agent(event_))) {
      unknown_word("decision", word);
    }
  }

  void block(std::string reason) {
    auto blocked = blocking_answer(event_, reason);
    out_.decision = blocked.decision;
    out_.reason = std::move(blocked.reason);
    out_.action = blocked.action;
  }

  void read_own(const Json& own) {
    switch (event_) {
      case HookEvent::pre_tool_use:
        read_decision(own);
        out_.updated_input = object(own, "updatedInput");
        break;
      case HookEvent::permission_request:
        if (const auto decision = object(own, "decision")) read_behaviour(*decision);
        break;
      case HookEvent::post_tool_use:
        for (std::string_view key : {"updatedMCPToolOutput", "updatedToolOutput"}) {
          if (const auto* output = own.find(key); output != nullptr && !output->is_null())
            out_.updated_output = *output;
        }
        break;
      case HookEvent::elicitation:
      case HookEvent::elicitation_result:
        read_action(own);
        break;
      default:  // nothing beside additionalContext
        break;
    }
  }

  // The stricter of two words in one answer.
  void decide(HookDecision decision, std::string reason) {
    if (decision < out_.decision) return;
    out_.decision = decision;
    out_.reason = std::move(reason);
  }

  void read_decision(const Json& own) {
    const auto word = text(own, "permissionDecision");
    auto reason = text(own, "permissionDecisionReason");
    if (word == "allow") {
      decide(HookDecision::allow, std::move(reason));
    } else if (word == "ask") {
      decide(HookDecision::ask, std::move(reason));
    } else if (word == "defer") {
      decide(HookDecision::defer, std::move(reason));
    } else if (word == "deny") {
      decide(HookDecision::deny, std::move(reason));
    } else if (!word.empty()) {
      unknown_word("permissionDecision", word);
    }
  }

  void read_behaviour(const Json& decision) {
    const auto word = text(decision, "behavior");
    if (word == "allow") {
      decide(HookDecision::allow, {});
    } else if (word == "deny") {
      decide(HookDecision::deny, text(decision, "message"));
    } else {
      unknown_word("behavior", word);
    }
    out_.updated_input = object(decision, "updatedInput");
  }

  void read_action(const Json& own) {
    const auto word = text(own, "action");
    auto content = object(own, "content");
    if (out_.action) return;  // blocked
    using Action = ElicitResult::Action;
    if (word == "accept") {
      out_.action = Action::accept;
      out_.content = std::move(content);
    } else if (word == "decline") {
      out_.action = Action::decline;
    } else if (word == "cancel") {
      out_.action = Action::cancel;
    } else if (!word.empty()) {
      unknown_word("action", word);
    }
  }

  HookEvent event_;
  const Json& whole_;
  HookAnswer out_;
};

// How strict an answer for the user is; 0: none.
int strictness(const std::optional<ElicitResult::Action>& action) noexcept {
  if (!action) return 0;
  switch (*action) {
    case ElicitResult::Action::accept:
      return 1;
    case ElicitResult::Action::cancel:
      return 2;
    case ElicitResult::Action::decline:
      break;
  }
  return 3;
}

std::string with_reason(std::string text, std::string_view reason) {
  const auto shown = clean_excerpt(reason, longest_reason);
  return shown.empty() ? text : fmt::format("{}: {}", text, shown);
}

}  // namespace

std::string_view to_string(HookDecision decision) noexcept {
  static constexpr std::array names{"none", "allow", "ask", "defer", "deny"};
  return names.at(static_cast<std::size_t>(decision));
}

HookAnswer blocking_answer(HookEvent event, std::string_view why) {
  HookAnswer out;
  out.decision = HookDecision::deny;
  out.reason = clean_excerpt(why, longest_reason);
  if (is_elicitation(event)) out.action = ElicitResult::Action::decline;
  return out;
}

Result<HookAnswer> read_hook_answer(HookEvent event, std::string_view output) {
  output = trim(output);
  if (output.empty()) return HookAnswer();
  if (is_of_agent(event) && !output.starts_with('{')) {
    HookAnswer out;
    if (event == HookEvent::user_prompt_submit || event == HookEvent::session_start) {
      out.context = cut_utf8(output, longest_context);
    }
    return out;
  }
  auto value = parse_json_located(output, {.max_depth = answer_depth});
  if (!value) {
    return std::unexpected(unusable(
        fmt::format("it must print nothing or one JSON object, but it printed: {}", clean_excerpt(output, 100))));
  }
  if (!value->is_object()) {
    return std::unexpected(unusable(
        fmt::format("it must print nothing or one JSON object, but it printed {}", kind_with_article(*value))));
  }
  try {
    return AnswerReader(event, *value).read();
  } catch (const Error& error) {
    return std::unexpected(error);
  }
}

namespace {

// What the person is told of an answer about an agent.
std::string notice_of(HookEvent event, const Hook& hook, const Result<HookAnswer>& answered) {
  if (!answered) return with_reason(fmt::format("{} failed", hook.described()), answered.error().message());
  const bool tells = only_tells(event) && answered->decision == HookDecision::deny;
  const auto& said = tells && answered->message.empty() ? answered->reason : answered->message;
  const auto shown = clean_excerpt(said, longest_notice);
  return shown.empty() ? "" : fmt::format("{}: {}", hook.described(), shown);
}

}  // namespace

HookVerdict merged(HookEvent event, std::span<const HookOutcome> outcomes) {
  HookVerdict out;
  for (const auto& [hook, answered] : outcomes) {
    const bool refuses = !answered && hook->refuses_on_error();
    if (is_of_agent(event) && !refuses) {
      if (auto text = notice_of(event, *hook, answered); !text.empty()) out.notices.push_back(std::move(text));
    }
    if (!answered && !refuses) continue;
    const auto answer = answered ? *answered : blocking_answer(event, answered.error().message());
    out.ends = out.ends || answer.ends;
    if (answer.decision > out.decision) {
      out.decision = answer.decision;
      out.by = hook;
      out.reason = answer.reason;
      out.failed = !answered;
    }
    if (strictness(answer.action) > strictness(out.action)) {
      out.action = answer.action;
      out.content = answer.content;
      if (!out.by) out.by = hook;
    }
    if (answer.updated_input && !out.updated_input) {
      out.updated_input = answer.updated_input;
      out.input_by = hook;
    }
    if (answer.updated_output && !out.updated_output) {
      out.updated_output = answer.updated_output;
      out.output_by = hook;
    }
    if (!answer.context.empty()) out.context.push_back(answer.context);
  }
  if (out.decision >= HookDecision::defer) out.updated_input.reset();
  return out;
}

PermissionDecision with_hook(PermissionDecision decided, const HookVerdict& verdict, const Tool& tool,
                             PermissionMode mode) {
  // Of a rule, or because rules could not be read.
  const bool by_rule = !decided.rule.empty() || !decided.file.empty();
  if (verdict.decision == HookDecision::allow) {
    if (by_rule || decided.outcome == PermissionOutcome::allow || requires_question(tool)) return decided;
    decided.outcome = PermissionOutcome::allow;
    decided.reason = with_reason(fmt::format("allowed by {}", verdict.by->described()), verdict.reason);
    return decided;
  }
  if (verdict.decision != HookDecision::ask || decided.outcome == PermissionOutcome::deny) return decided;
  decided.outcome = PermissionOutcome::ask;
  decided.reason = with_reason(fmt::format("{} asks", verdict.by->described()), verdict.reason);
  decided.rule.clear();
  decided.file = verdict.by->file;
  decided.line = verdict.by->setting.place.line;
  decided.column = verdict.by->setting.place.column;
  if (mode == PermissionMode::dont_ask) {
    decided.outcome = PermissionOutcome::deny;
    decided.reason += "; the mode \"dontAsk\" refuses calls that need a question";
  }
  return decided;
}

namespace {

// What all deferrals are copies of, so that they are known in whatever words.
const Error& deferral() {
  static const Error error = Error(Errc::denied, "a hook defers the call").marked();
  return error;
}

}  // namespace

Error hook_denial(std::string_view tool, const HookVerdict& verdict) {
  const auto& hook = *verdict.by;
  if (verdict.failed) {
    return {Errc::denied, fmt::format("\"{}\" was not called: {} failed: {}; correct the hook, or set \"onError\" to "
                                      "\"allow\" in {}",
                                      tool, hook.described(), verdict.reason, hook.place())};
  }
  const bool later = verdict.decision == HookDecision::defer;
  auto text =
      with_reason(fmt::format("\"{}\" was not called: {} {} it", tool, hook.described(), later ? "defers" : "denies"),
                  verdict.reason);
  return later ? deferral().with_message(std::move(text)) : Error(Errc::denied, std::move(text));
}

Error message_denial(const HookVerdict& verdict) {
  return {Errc::denied, denial_line("the message was not sent", verdict)};
}

std::string denial_line(std::string_view what, const HookVerdict& verdict) {
  const auto& hook = *verdict.by;
  if (verdict.failed) {
    return fmt::format("{}: {} failed: {}; correct the hook, or set \"onError\" to \"allow\" in {}", what,
                       hook.described(), clean_excerpt(verdict.reason, longest_reason), hook.place());
  }
  return with_reason(fmt::format("{}: {} denies it", what, hook.described()), verdict.reason);
}

bool is_deferral(const Error& error) { return error.is_same_failure(deferral()); }

Result<CallToolResult> result_of_hook(const Json& output, const CallToolResult& before) {
  CallToolResult out;
  if (output.is_array()) {
    auto decoded = decode<CallToolResult>(Json{{"content", output}});
    if (!decoded) return std::unexpected(decoded.error());
    out = std::move(*decoded);
    out.is_error = before.is_error;
  } else if (output["content"].is_array()) {
    auto decoded = decode<CallToolResult>(output);
    if (!decoded) return std::unexpected(decoded.error());
    out = std::move(*decoded);
    if (output.find("isError") == nullptr) out.is_error = before.is_error;
  } else {
    const auto text = output.text();
    out.content.emplace_back(TextContent{.text = text ? std::string(*text) : to_text(output)});
    if (output.is_object()) out.structured_content = output;
    out.is_error = before.is_error;
  }
  out.coerced = before.coerced;
  return out;
}

CallToolResult withheld_result(const HookVerdict& verdict) {
  CallToolResult out;
  out.is_error = true;
  const auto what = verdict.failed ? fmt::format("The result is withheld, because {} failed", verdict.by->described())
                                   : fmt::format("The result is withheld by {}", verdict.by->described());
  out.content.emplace_back(TextContent{.text = with_reason(what, verdict.reason)});
  return out;
}

void add_context(CallToolResult& result, std::span<const std::string> context) {
  for (const auto& text : context) result.content.emplace_back(TextContent{.text = text});
}

}  // namespace patchbay
