// What hooks of settings files have to say about the agent itself: its beginning and end, what the person says, that
// the model is done, and that the conversation is to be made shorter.
#include <utility>

#include <fmt/format.h>

#include "agent/agent_impl.h"
#include "agent/go_on_text.h"
#include "base/timeout.h"
#include "host/hooks/agent_hooks.h"

namespace patchbay {
namespace {

using namespace std::chrono_literals;

// Whoever ends a program waits for them.
constexpr auto longest_end = 5s;

}  // namespace

Task<HookVerdict> Agent::Impl::ask_hooks(Self self, HookEvent event, std::string what, Json facts) {
  auto said = co_await under_way(self, ask_agent_hooks(self->host_, event, std::move(what), std::move(facts)));
  if (!said) throw std::move(said).error();
  for (auto& text : said->notices) self->notice(std::move(text));
  co_return std::move(*said);
}

Task<void> Agent::Impl::begin_session(Self self) {
  if (!self->options_.principal.empty() || std::exchange(self->session_begun_, true)) co_return;
  const std::string source = self->options_.resume.empty() ? "startup" : "resume";
  auto verdict = co_await ask_hooks(self, HookEvent::session_start, source,
                                    Json{{"source", source}, {"model", self->model_->info().model}});
  self->session_context_ = std::move(verdict.context);
}

Task<void> Agent::Impl::end_session(Self self) {
  if (!self->session_begun_) co_return;
  auto said = co_await as_result(
      with_timeout(ask_agent_hooks(self->host_, HookEvent::session_end, "other", Json{{"reason", "other"}}),
                   longest_end, "the SessionEnd hooks took longer than 5 s, the limit"));
  if (said) {
    for (auto& text : said->notices) self->notice(std::move(text));
  } else if (said.error().code() == Errc::timeout) {
    self->notice(said.error().message());
  }
}

Task<std::vector<ModelPart>> Agent::Impl::admit(Self self, std::string text) {
  std::vector<ModelPart> parts;
  if (!self->options_.principal.empty()) co_return parts;
  auto verdict = co_await ask_hooks(self, HookEvent::user_prompt_submit, {}, Json{{"prompt", std::move(text)}});
  if (verdict.decision == HookDecision::deny) throw message_denial(verdict);
  for (auto& context : verdict.context) parts.emplace_back(ModelText{std::move(context)});
  co_return parts;
}

Task<bool> Agent::Impl::may_shorten(Self self, Wanted wanted) {
  const std::string trigger = wanted == Wanted::by_person ? "manual" : "auto";
  auto verdict = co_await ask_hooks(self, HookEvent::pre_compact, trigger,
                                    Json{{"trigger", trigger}, {"custom_instructions", ""}});
  if (verdict.decision != HookDecision::deny) co_return true;
  self->notice(denial_line("the conversation was not made shorter", verdict));
  co_return false;
}

Task<std::string> Agent::Impl::reason_to_go_on(Self self, std::string last_words, std::size_t times) {
  if (!self->options_.principal.empty()) co_return std::string();
  auto verdict =
      co_await ask_hooks(self, HookEvent::stop, {},
                         Json{{"stop_hook_active", times > 0}, {"last_assistant_message", std::move(last_words)}});
  if (!wants_more(verdict)) co_return std::string();
  if (times >= most_times_on) {
    self->notice(given_up_text(verdict));
    co_return std::string();
  }
  co_return go_on_text(verdict);
}

}  // namespace patchbay
