// What hooks have to say about calls and questions: before a call is permitted, about its outcome, and around the
// program's answer to a server; and about an agent itself. Which hooks there are is decided in hooks/, running them is
// host/hooks.
#include <algorithm>

#include <fmt/format.h>

#include "base/as_result.h"
#include "base/strings.h"
#include "base/timeout.h"
#include "hooks/hook_input.h"
#include "host/host_impl.h"
#include "permission/decide.h"
#include "protocol/codec.h"
#include "protocol/methods.h"
#include "protocol/schema_check.h"
#include "text/clean_text.h"

namespace patchbay {

namespace {

// Questions of servers that hooks are asked about at the same time. A tool that is a hook may belong to a server that
// asks again, without saying for which call.
constexpr std::size_t most_at_hooks = 16;
constexpr std::size_t longest_shown = 300;
// How long a question waits for the person before hooks hear of it.
constexpr auto before_reminder = std::chrono::seconds(6);

// Sets the answer of hooks that were never asked, or not to their end.
struct Unasked {
  explicit Unasked(std::shared_ptr<Completion<Result<HookVerdict>>> a) : answer(std::move(a)) {}
  Unasked(Unasked&&) = default;
  ~Unasked() {
    if (answer) answer->set(fail(Errc::cancelled, "cancelled"));
  }
  std::shared_ptr<Completion<Result<HookVerdict>>> answer;
};

Task<void> guarded(Task<void> work, Unasked /*guard*/) { co_await std::move(work); }

// Ends hooks that nobody waits for any more.
struct Withdraw {
  explicit Withdraw(Spawned s) : hooks(std::move(s)) {}
  Withdraw(const Withdraw&) = delete;
  Withdraw& operator=(const Withdraw&) = delete;
  ~Withdraw() { hooks.cancel(); }
  Spawned hooks;
};

struct Counted {
  explicit Counted(std::size_t& c) : count(c) { ++count; }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  ~Counted() { --count; }
  std::size_t& count;
};

struct Listed {
  Listed(std::set<std::uint64_t>& i, std::uint64_t id) : ids(i), at(ids.insert(id).first) {}
  Listed(const Listed&) = delete;
  Listed& operator=(const Listed&) = delete;
  ~Listed() { ids.erase(at); }
  std::set<std::uint64_t>& ids;
  std::set<std::uint64_t>::iterator at;
};

std::int64_t milliseconds(Duration time) { return std::chrono::duration_cast<std::chrono::milliseconds>(time).count(); }

void answer_by(ElicitResult& answer, HookVerdict& verdict) {
  answer.action = *verdict.action;
  if (answer.action != ElicitResult::Action::accept) {
    answer.content.reset();
  } else if (verdict.content) {
    answer.content = std::move(verdict.content);
  }
}

}  // namespace

HookSurroundings Host::Impl::hook_surroundings() const {
  const auto& conversation = conversation_of_hooks_;
  return {.session_id = conversation.id.empty() ? session_id_ : conversation.id,
          .transcript = conversation.transcript,
          .cwd = context_->run.cwd,
          .mode = permissions_.mode()};
}

void Host::Impl::log_outcomes(HookEvent event, const std::vector<HookOutcome>& outcomes) const {
  for (const auto& [hook, answer] : outcomes) {
    if (!answer) {
      // An agent tells the person itself.
      const auto level = hook->refuses_on_error() || is_of_agent(event) ? LogLevel::info : LogLevel::warning;
      runtime_.log(level, "hook_failed", "hook", hook->described(), "reason", answer.error().message());
      continue;
    }
    runtime_.log(LogLevel::debug, "hook_answered", "event", to_string(event), "hook", hook->place(), "decision",
                 to_string(answer->decision));
    if (answer->message.empty() || is_of_agent(event)) continue;
    runtime_.log(LogLevel::warning, "hook_message", "hook", hook->described(), "text",
                 clean_excerpt(answer->message, longest_shown));
  }
}

Task<void> Host::Impl::put_to_hooks(std::shared_ptr<Impl> self, HookEvent event, HookList hooks, Json input,
                                    std::shared_ptr<Completion<Result<HookVerdict>>> answer) {
  if (!self->hook_runner_) {
    auto call_tool = [weak = std::weak_ptr(self)](std::string tool, Json arguments, std::chrono::milliseconds limit) {
      return call_for_hook(weak, std::move(tool), std::move(arguments), limit);
    };
    self->hook_runner_ = std::make_shared<HookRunner>(self->context_, self->runtime_, std::move(call_tool));
  }
  auto outcomes = co_await as_result(HookRunner::run(self->hook_runner_, event, std::move(hooks), std::move(input)));
  if (!outcomes) {
    answer->set(std::unexpected(std::move(outcomes).error()));
    co_return;
  }
  self->log_outcomes(event, *outcomes);
  answer->set(merged(event, *outcomes));
}

Task<HookVerdict> Host::Impl::ask_hooks(HookEvent event, HookList hooks, Json input) {
  check_running();
  if (hooks.empty()) co_return HookVerdict();
  auto answer = std::make_shared<Completion<Result<HookVerdict>>>();
  const Withdraw withdraw(scope_->spawn(
      guarded(put_to_hooks(shared_from_this(), event, std::move(hooks), std::move(input), answer), Unasked(answer))));
  auto said = co_await answer->wait();
  check_running();
  co_return value_or_throw(std::move(said));
}

// ---- before a call

// Checked as the caller's own arguments are, and always: nobody has seen these.
void Host::Impl::take_input(Prepared& call, const CallOptions& options, HookVerdict& verdict) const {
  if (!verdict.updated_input) return;
  call.arguments = Payload(std::move(*verdict.updated_input));
  coerce(*call.target, options, call);
  const auto& tool = *call.target->entry->tool;
  const auto fits = ToolSchemas(tool.input_schema, nullptr)
                        .check_arguments(tool.name, call.arguments.value(), runtime_.limits.schema_steps);
  if (fits || fits.error().code() != Errc::invalid_argument) return;
  throw Error(Errc::denied,
              fmt::format("\"{}\" was not called: {} changed its arguments, and they do not fit: {}",
                          call.target->entry->name, verdict.input_by->described(), fits.error().message()));
}

Task<void> Host::Impl::ask_before(Prepared& call, const CallOptions& options, CallContext context,
                                  std::shared_ptr<CallClock> time) {
  const auto target = call.target;
  const auto& entry = *target->entry;
  const auto& config = target->connection->config();
  const auto& hooks = *target->hooks;
  auto input = [&](HookEvent event) {
    return tool_hook_input(event, hook_surroundings(), entry, argument_value(call.arguments), options.call_id);
  };
  HookVerdict verdict;
  if (const auto& before = hooks.of(HookEvent::pre_tool_use); !before.empty()) {
    const CallClock::Stop asking(time);
    verdict = co_await ask_hooks(HookEvent::pre_tool_use, before, input(HookEvent::pre_tool_use));
  }
  if (verdict.decision >= HookDecision::defer) throw hook_denial(entry.name, verdict);
  take_input(call, options, verdict);
  auto decided = [&] {
    return with_hook(decide(entry, config, call.arguments), verdict, *entry.tool, permissions_.mode());
  };
  auto decision = decided();
  bool answered = false;
  const bool asks = options.refuse_asking || options_.permission.ask;
  const auto& requests = hooks.of(HookEvent::permission_request);
  if (decision.outcome == PermissionOutcome::ask && asks && !requests.empty()) {
    HookVerdict said;
    {
      const CallClock::Stop asking(time);
      said = co_await ask_hooks(HookEvent::permission_request, requests, input(HookEvent::permission_request));
    }
    if (said.decision >= HookDecision::defer) throw hook_denial(entry.name, said);
    const bool allows = said.decision == HookDecision::allow;
    if (allows) take_input(call, options, said);
    // A tool that must have the person who is here has them.
    answered = allows && !requires_question(*entry.tool);
    decision = decided();
  }
  if (decision.outcome == PermissionOutcome::ask && !answered) {
    if (options.refuse_asking) throw refused_unasked(entry, decision);
    if (options_.permission.ask) {
      {
        const CallClock::Stop asking(time);
        if (!co_await ask_person({entry, call.arguments, decision, std::move(context)})) {
          throw Error(Errc::denied, fmt::format("\"{}\" was not called: the answer to the question was no ({})",
                                                entry.name, decision.reason));
        }
      }
      // Rules may have changed while the user thought about it.
      decision = decided();
    }
  }
  if (decision.outcome == PermissionOutcome::deny) throw denied(entry, decision);
}

Task<void> Host::Impl::permit_hooked(Prepared& call, const CallOptions& options, CallContext context,
                                     std::shared_ptr<CallClock> time) {
  const auto target = call.target;
  const auto& entry = *target->entry;
  if (call.for_hook) {
    // Who wrote the hook has answered what the user would be asked.
    const auto decision = decide(entry, target->connection->config(), call.arguments);
    if (decision.outcome == PermissionOutcome::deny) throw denied(entry, decision);
    co_return;
  }
  auto permitted = co_await as_result(ask_before(call, options, std::move(context), time));
  if (permitted) co_return;
  auto error = std::move(permitted).error();
  if (error.code() == Errc::denied && !stopped_) {
    const CallClock::Stop asking(time);
    auto facts = tool_hook_input(HookEvent::permission_denied, hook_surroundings(), entry,
                                 argument_value(call.arguments), options.call_id);
    error = co_await ask_about_failure(target, HookEvent::permission_denied, std::move(facts), std::move(error));
  }
  throw std::move(error);
}

// ---- behind a call

Task<Error> Host::Impl::ask_about_failure(std::shared_ptr<const Target> target, HookEvent event, Json facts,
                                          Error error) {
  const auto& hooks = target->hooks->of(event);
  if (hooks.empty()) co_return error;
  facts["error"] = error.message();
  auto said = co_await as_result(ask_hooks(event, hooks, std::move(facts)));
  if (!said) {
    if (said.error().code() == Errc::cancelled) throw std::move(said).error();
    co_return error;
  }
  for (const auto& text : said->context) {
    auto detail = error.detail();
    if (!detail.empty()) detail += '\n';
    detail += text;
    error = std::move(error).with_detail(std::move(detail));
  }
  co_return error;
}

Task<CallToolResult> Host::Impl::ask_after(std::shared_ptr<const Target> target, Json facts, CallToolResult result) {
  const auto event = result.is_error ? HookEvent::post_tool_use_failure : HookEvent::post_tool_use;
  const auto& hooks = target->hooks->of(event);
  if (hooks.empty()) co_return result;
  facts["hook_event_name"] = to_string(event);
  facts["tool_response"] = encode(result);
  if (result.is_error) facts["error"] = text_of(result);
  auto verdict = co_await ask_hooks(event, hooks, std::move(facts));
  if (verdict.updated_output) {
    auto changed = result_of_hook(*verdict.updated_output, result);
    if (changed) {
      result = std::move(*changed);
    } else {
      // What it put in the place of the result may have been meant to hide something.
      verdict = {
          .decision = HookDecision::deny, .by = verdict.output_by, .reason = changed.error().message(), .failed = true};
    }
  }
  if (verdict.decision >= HookDecision::defer) result = withheld_result(verdict);
  add_context(result, verdict.context);
  co_return result;
}

Task<CallToolResult> Host::Impl::send_hooked(Prepared& call, CallOptions& options) {
  const auto target = call.target;
  auto facts = tool_hook_input(HookEvent::post_tool_use_failure, hook_surroundings(), *target->entry,
                               argument_value(call.arguments), options.call_id);
  const auto executor = co_await asio::this_coro::executor;
  const auto& clock = loop_clock(executor);
  const auto began = clock.now();
  auto sent = co_await as_result(send(call, options));
  facts["duration_ms"] = milliseconds(clock.now() - began);
  if (sent) {
    auto after = co_await as_result(ask_after(target, std::move(facts), std::move(*sent)));
    if (after) co_return std::move(*after);
    // The server has answered, whatever became of the hooks.
    throw std::move(after).error().with_carried_out(CarriedOut::unknown);
  }
  auto error = std::move(sent).error();
  if (error.code() == Errc::cancelled || stopped_) throw std::move(error);
  auto told = co_await as_result(ask_about_failure(target, HookEvent::post_tool_use_failure, std::move(facts), error));
  if (told) throw std::move(*told);
  // Cancelled meanwhile: what is known of the call stays so.
  throw std::move(told).error().with_carried_out(error.carried_out().value_or(CarriedOut::unknown));
}

// ---- a tool that is a hook

Task<CallToolResult> Host::Impl::call_for_hook(std::weak_ptr<Impl> self, std::string tool, Json arguments,
                                               std::chrono::milliseconds limit) {
  const auto impl = self.lock();
  if (!impl) throw Error(Errc::closed, "the host was stopped");
  CallOptions options;
  options.total = limit;
  options.call_id = ++*impl->runtime_.calls;
  const Listed listed(impl->calls_of_hooks_, options.call_id);
  Prepared call;
  call.arguments = Payload(std::move(arguments));
  call.for_hook = true;
  co_await prepare_in_time(*impl, tool, options, call);
  co_return co_await impl->send(call, options);
}

// ---- an agent itself

Task<HookVerdict> Host::Impl::ask_agent_hooks(std::shared_ptr<Impl> self, HookEvent event, std::string what,
                                              Json facts) {
  co_await self->prepare();
  auto hooks = self->hooks_.about_agent(event, what);
  auto input = agent_hook_input(event, self->hook_surroundings(), std::move(facts));
  co_return co_await self->ask_hooks(event, std::move(hooks), std::move(input));
}

// For whoever is not at the screen: a question that waits. Ends with what it returns, but for hooks that have begun.
Spawned Host::Impl::remind(std::string type, std::string message) {
  if (!scope_ || hooks_.about_agent(HookEvent::notification, type).empty()) return {};
  return scope_->spawn([](std::weak_ptr<Impl> self, std::string kind, std::string text) -> Task<void> {
    if (!co_await as_result(sleep_for(before_reminder))) co_return;
    const auto impl = self.lock();
    if (!impl || impl->stopped_) co_return;
    auto input = agent_hook_input(HookEvent::notification, impl->hook_surroundings(),
                                  Json{{"message", clean_excerpt(text, longest_shown)}, {"notification_type", kind}});
    auto hooks = impl->hooks_.about_agent(HookEvent::notification, kind);
    auto answer = std::make_shared<Completion<Result<HookVerdict>>>();
    impl->scope_->spawn(guarded(put_to_hooks(impl, HookEvent::notification, std::move(hooks), std::move(input), answer),
                                Unasked(answer)));
  }(weak_from_this(), std::move(type), std::move(message)));
}

// ---- questions of servers

void Host::Impl::put_hooks_around(ClientOptions& client, const std::string& server) {
  const bool asks = !hooks_.about_server(HookEvent::elicitation, server).empty();
  if (!client.elicit && !asks) return;
  client.elicit = [weak = weak_from_this(), program = client.elicit](ElicitRequest question, CallContext context) {
    return elicit_hooked(weak, program, std::move(question), std::move(context));
  };
}

Task<ElicitResult> Host::Impl::elicit_hooked(std::weak_ptr<Impl> self, Elicit program, ElicitRequest question,
                                             CallContext context) {
  using Action = ElicitResult::Action;
  auto impl = self.lock();
  const bool here = impl && !impl->stopped_ && !impl->hooks_elsewhere_.contains(context.server);
  HookList before, after;
  if (here) {
    before = impl->hooks_.about_server(HookEvent::elicitation, context.server);
    after = impl->hooks_.about_server(HookEvent::elicitation_result, context.server);
    // Nobody is asked on behalf of a hook.
    if (impl->calls_of_hooks_.contains(context.call_id)) co_return ElicitResult{.action = Action::cancel};
    if (!before.empty() && impl->questions_at_hooks_ >= most_at_hooks) co_return ElicitResult{.action = Action::cancel};
  }
  ElicitResult answer{.action = Action::cancel};
  bool answered = false;
  if (!before.empty()) {
    const Counted one(impl->questions_at_hooks_);
    auto input = elicitation_hook_input(HookEvent::elicitation, impl->hook_surroundings(), context.server, question);
    auto verdict = co_await impl->ask_hooks(HookEvent::elicitation, before, std::move(input));
    if (verdict.action) {
      answer_by(answer, verdict);
      answered = true;
    }
  }
  Json input;
  if (!after.empty()) {
    input = elicitation_hook_input(HookEvent::elicitation_result, impl->hook_surroundings(), context.server, question);
    input.erase("requested_schema");
  }
  if (!answered && program) {
    const Withdraw reminder(
        impl ? impl->remind("elicitation_dialog", fmt::format("\"{}\" has a question for you", context.server))
             : Spawned());
    // One that does not listen to its end does not keep the host.
    impl = nullptr;
    answer = co_await program(std::move(question), context);
    impl = self.lock();
  }
  if (after.empty() || !impl) co_return answer;
  input["action"] = to_string(answer.action);
  if (answer.content) input["content"] = *answer.content;
  const Counted one(impl->questions_at_hooks_);
  auto verdict = co_await impl->ask_hooks(HookEvent::elicitation_result, after, std::move(input));
  if (verdict.action) answer_by(answer, verdict);
  co_return answer;
}

}  // namespace patchbay
