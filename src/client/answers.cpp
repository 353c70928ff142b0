// Answering what a server asks of us. The same handlers serve a legacy server's requests
// and the questions a modern server puts inside a result.
#include "client/answers.h"

#include "base/as_result.h"
#include "client/session_core.h"
#include "protocol/codec.h"
#include "protocol/methods.h"

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

// What a handler made up must not reach the server as the person's answer. A form that cannot
// be checked is answered all the same.
void SessionCore::check_answer(const Json& requested_schema, const Json& content) const {
  auto checked = check_form(requested_schema, content, runtime.limits.schema_steps);
  if (checked) return;
  if (checked.error().code() == Errc::invalid_argument) {
    throw checked.error().within("the answer does not fit the server's form");
  }
  runtime.log(LogLevel::warning, "not_checked", "what", "form", "reason", checked.error().message());
}

CallContext SessionCore::context_of(const CallClock* clock) const {
  CallContext context{.server = options.server};
  if (clock == nullptr || clock->tag == nullptr) return context;
  context.tool = clock->tag->tool;
  context.principal = clock->tag->principal;
  context.call_id = clock->tag->id;
  return context;
}

Task<InputResponse> SessionCore::answer(InputRequest request, CallContext context) {
  return questions.put(ask_program(shared_from_this(), std::move(request), std::move(context)));
}

Task<InputResponse> SessionCore::ask_program(std::shared_ptr<SessionCore> core, InputRequest request,
                                             CallContext context) {
  const auto& options = core->options;
  if (auto* elicit = std::get_if<ElicitRequest>(&request)) {
    if (!options.elicit) throw Error(Errc::unsupported, "nobody can be asked here");
    if (elicit->mode == ElicitRequest::Mode::url && !options.elicit_by_url) {
      throw Error(Errc::invalid_argument, "this client does not open URLs for a server");
    }
    const bool form = elicit->mode == ElicitRequest::Mode::form;
    const Json schema = elicit->requested_schema;
    auto result = co_await options.elicit(std::move(*elicit), std::move(context));
    if (result.action == ElicitResult::Action::accept && form) {
      result.content = with_defaults(schema, result.content.value_or(Json::object()));
      core->check_answer(schema, *result.content);
    } else {
      result.content.reset();
    }
    co_return result;
  }
  if (auto* sample = std::get_if<CreateMessageRequest>(&request)) {
    if (!options.sample) throw Error(Errc::unsupported, "no model is available here");
    if (!sample->tools.empty() && !options.sample_with_tools) {
      throw Error(Errc::invalid_argument, "this client does not sample with tools");
    }
    co_return co_await options.sample(std::move(*sample), std::move(context));
  }
  if (!options.roots) throw Error(Errc::unsupported, "this client has no roots");
  ListRootsResult result;
  result.roots = co_await options.roots(std::move(context));
  co_return result;
}

Peer::ClockStop SessionCore::stop_clocks(const Request& request, const Json& params) {
  const auto task = related_task_of(params);
  const auto followed = task ? task_news.find(*task) : task_news.end();
  if (followed != task_news.end()) return Peer::ClockStop(followed->second->clock);
  return Peer::ClockStop(*peer, request.on_stream);
}

// A request of the server's own.
Task<Payload> SessionCore::on_request(Request request) {
  const auto keep = shared_from_this();
  if (wire && !wire->has_server_request(request.method)) {
    if (wire->era() == Era::modern) {
      // A modern server sends no requests, so there is nothing to answer: only to note.
      runtime.log(LogLevel::warning, "unexpected_request", "method", request.method);
      throw Error(Errc::cancelled, "not answered");
    }
    throw Error::rpc(rpc_code::method_not_found, fmt::format("unknown method {}", request.method));
  }
  const Json params = request.params ? request.params.value() : Json::object();
  auto decoded = [](auto result) {
    if (!result) throw Error::rpc(rpc_code::invalid_params, result.error().message());
    return InputRequest(std::move(*result));
  };
  if (request.method == method::ping) co_return Json::object();
  if (wire && request.method.starts_with("tasks/") && identity.capabilities.tasks) {
    co_return co_await on_task_request(std::move(request.method), params);
  }
  InputRequest wish;
  if (request.method == method::elicit) {
    wish = decoded(decode<ElicitRequest>(params));
  } else if (request.method == method::create_message) {
    wish = decoded(decode<CreateMessageRequest>(params));
  } else if (request.method == method::list_roots) {
    wish = decoded(decode<ListRootsRequest>(params));
  } else {
    throw Error::rpc(rpc_code::method_not_found, fmt::format("unknown method {}", request.method));
  }
  if (wire && identity.capabilities.tasks && !std::holds_alternative<ListRootsRequest>(wish)) {
    auto how = wire->task_wish(params);
    if (!how) throw Error::rpc(rpc_code::invalid_params, how.error().message());
    if (*how) co_return start_received(std::move(wish), **how, stop_clocks(request, params));
  }
  const auto* elicit = std::get_if<ElicitRequest>(&wish);
  const bool form = elicit && elicit->mode == ElicitRequest::Mode::form;
  const auto stop = stop_clocks(request, params);
  auto response = co_await as_result(answer(std::move(wish), context_of(stop.clock())));
  if (!response) {
    // The question was a good one; what is wrong with the answer is not the server's fault.
    if (form && response.error().code() == Errc::invalid_argument) {
      runtime.log(LogLevel::warning, "answer_not_sent", "reason", response.error().message());
      throw Error(Errc::internal, response.error().message());
    }
    throw std::move(response).error();
  }
  co_return std::visit([](const auto& value) { return encode(value); }, *response);
}

}  // namespace patchbay
