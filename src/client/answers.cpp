#include "client/answers.h"

#include <boost/asio/post.hpp>

#include "base/as_result.h"
#include "base/timeout.h"
#include "protocol/codec.h"
#include "protocol/methods.h"
#include "protocol/schema_check.h"
#include "protocol/wire.h"

namespace patchbay {

Json with_defaults(const Json& requested_schema, Json content) {
  if (!content.is_object()) content = Json::object();
  if (const auto* properties = requested_schema["properties"].if_object()) {
    for (const auto& [name, property] : *properties) {
      const Json* fallback = property.find("default");
      if (fallback && !content.find(name)) content[name] = *fallback;
    }
  }
  return content;
}

ClientCapabilities capabilities_of(const ClientOptions& options) {
  ClientCapabilities capabilities;
  if (options.roots) capabilities.roots = ListChangedCapability{.list_changed = true};
  if (options.sample) {
    capabilities.sampling = SamplingCapability{};
    if (options.sample_with_tools) capabilities.sampling->tools = Json::object();
  }
  if (options.elicit) {
    capabilities.elicitation = ElicitationCapability{};
    capabilities.elicitation->form = Json::object();
    if (options.elicit_by_url) capabilities.elicitation->url = Json::object();
  }
  // What we answer we can also work on while the server waits, where servers ask for that.
  if (options.sample || options.elicit) {
    Json requests = Json::object();
    if (options.sample) requests["sampling"] = Json{{"createMessage", Json::object()}};
    if (options.elicit) requests["elicitation"] = Json{{"create", Json::object()}};
    capabilities.tasks = Json{{"list", Json::object()}, {"cancel", Json::object()}, {"requests", std::move(requests)}};
  }
  // Calls may become tasks wherever it is the server that decides.
  capabilities.extensions[std::string(tasks_extension)] = Json::object();
  return capabilities;
}

namespace {

// What a handler made up must not reach the server as the user's answer. A form that cannot
// be checked is answered all the same.
void check_answer(const Json& requested_schema, const Json& content, const Runtime& runtime) {
  auto checked = check_form(requested_schema, content, runtime.limits.schema_steps);
  if (checked) return;
  if (checked.error().code() == Errc::invalid_argument) {
    throw checked.error().within("the answer does not match the form of the server");
  }
  runtime.log(LogLevel::warning, "not_checked", "what", "form", "reason", checked.error().message());
}

Task<InputResponse> ask_program(std::shared_ptr<const ClientOptions> handlers, Runtime runtime, InputRequest request,
                                CallContext context) {
  const auto& options = *handlers;
  if (auto* elicit = std::get_if<ElicitRequest>(&request)) {
    if (!options.elicit) throw Error(Errc::unsupported, "this client cannot ask a user");
    if (elicit->mode == ElicitRequest::Mode::url && !options.elicit_by_url) {
      throw Error(Errc::invalid_argument, "this client does not open URLs for a server");
    }
    const bool form = elicit->mode == ElicitRequest::Mode::form;
    const Json schema = elicit->requested_schema;
    auto result = co_await options.elicit(std::move(*elicit), std::move(context));
    if (result.action == ElicitResult::Action::accept && form) {
      result.content = with_defaults(schema, result.content.value_or(Json::object()));
      check_answer(schema, *result.content, runtime);
    } else {
      result.content.reset();
    }
    co_return result;
  }
  if (auto* sample = std::get_if<CreateMessageRequest>(&request)) {
    if (!options.sample) throw Error(Errc::unsupported, "this client has no model that could create a message");
    if (!sample->tools.empty() && !options.sample_with_tools) {
      throw Error(Errc::invalid_argument, "this client cannot offer tools to its model");
    }
    co_return co_await options.sample(std::move(*sample), std::move(context));
  }
  if (!options.roots) throw Error(Errc::unsupported, "this client does not offer roots");
  ListRootsResult result;
  result.roots = co_await options.roots(std::move(context));
  co_return result;
}

// A handler may end the session it answers for. Asio does not bear that a coroutine is cancelled and ends on the stack
// of whoever began it, so handlers begin on a turn of their own.
Task<InputResponse> on_next_turn(Task<InputResponse> handler) {
  co_await asio::post(asio::use_awaitable);
  co_return co_await std::move(handler);
}

}  // namespace

CallContext Answers::context_of(const CallClock* clock) const {
  CallContext context{.server = options_->server};
  if (clock == nullptr || clock->tag == nullptr) return context;
  context.method = clock->tag->method;
  context.tool = clock->tag->tool;
  context.principal = clock->tag->principal;
  context.call_id = clock->tag->id;
  return context;
}

Task<InputResponse> Answers::ask(InputRequest request, CallContext context) {
  return handlers_.run(on_next_turn(ask_program(options_, runtime_, std::move(request), std::move(context))));
}

Task<void> Answers::until_left(Open& open) {
  while (!open.left) co_await open.changed.wait();
}

Task<InputResponse> Answers::until_answered_or_left(std::shared_ptr<AllOpen> all, Task<InputResponse> answer,
                                                    const CallClock* clock, bool elicits) {
  Open open;
  open.clock = clock;
  all->insert(&open);
  const struct Closed {
    AllOpen& all;
    Open* one;
    ~Closed() { all.erase(one); }
  } closed{*all, &open};
  auto answered = co_await as_result(
      unless(std::move(answer), until_left(open), [] { return std::string("the call was cancelled"); }));
  if (!answered && open.left) {
    if (elicits) co_return ElicitResult{.action = ElicitResult::Action::cancel};
    throw Error(Errc::cancelled, "the call was cancelled");
  }
  co_return value_or_throw(std::move(answered));
}

Task<InputResponse> Answers::ask_for_call(InputRequest request, CallContext context, const CallClock* clock) {
  const bool elicits = std::holds_alternative<ElicitRequest>(request);
  auto answer = ask(std::move(request), std::move(context));
  if (clock == nullptr || clock->tag == nullptr) return answer;
  return until_answered_or_left(open_, std::move(answer), clock, elicits);
}

void Answers::call_left(const CallClock& clock) const {
  for (auto* open : *open_) {
    if (open->clock != &clock) continue;
    open->left = true;
    open->changed.notify_all();
  }
}

}  // namespace patchbay
