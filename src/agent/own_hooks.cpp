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
// A conversation grows by such a part of the context before a hook that kept it as it is is asked once more.
constexpr std::size_t growth_parts = 20;
// How long the person is waited for before somebody else is told.
constexpr auto idle_time = 60s;

}  // namespace

Json Agent::Impl::of_this_conversation(Json facts) const {
  // One of a sub-agent is its parent's.
  if (!options_.principal.empty() || !conversation_) return facts;
  facts["session_id"] = conversation_->id();
  facts["transcript_path"] = transcript();
  return facts;
}

Task<HookVerdict> Agent::Impl::ask_hooks(Self self, HookEvent event, std::string what, Json facts) {
  facts = self->of_this_conversation(std::move(facts));
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
  auto said = co_await as_result(with_timeout(ask_agent_hooks(self->host_, HookEvent::session_end, "other",
                                                              self->of_this_conversation(Json{{"reason", "other"}})),
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

// A hook that has refused is not asked again with every request: only when it is about more, or when the provider says
// that there is no other way.
Task<bool> Agent::Impl::may_shorten(Self self, Wanted wanted) {
  const std::string trigger = wanted == Wanted::by_person ? "manual" : "auto";
  const Refused now{.tokens = self->tokens_now(), .messages = self->messages().size()};
  if (const auto& before = self->refused_shortening_; before && wanted != Wanted::by_person) {
    const bool is_longer = wanted == Wanted::by_provider
                               ? now.messages > before->messages
                               : now.tokens >= before->tokens + self->model_->info().context_tokens / growth_parts;
    if (!is_longer) co_return false;
  }
  auto verdict = co_await ask_hooks(self, HookEvent::pre_compact, trigger,
                                    Json{{"trigger", trigger}, {"custom_instructions", ""}});
  if (verdict.decision != HookDecision::deny) co_return true;
  auto why = denial_line("the conversation was not made shorter", verdict);
  if (wanted == Wanted::by_person) throw Error(Errc::denied, std::move(why));
  self->refused_shortening_ = now;
  self->notice(std::move(why));
  co_return false;
}

Task<void> Agent::Impl::remind_of_idleness(Self self) {
  if (!co_await as_result(sleep_for(idle_time))) co_return;
  auto said = co_await as_result(
      ask_agent_hooks(self->host_, HookEvent::notification, "idle_prompt",
                      self->of_this_conversation(Json{{"message", "Patchbay is waiting for your input"},
                                                      {"notification_type", "idle_prompt"}})));
  if (!said) co_return;
  for (auto& text : said->notices) self->notice(std::move(text));
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
