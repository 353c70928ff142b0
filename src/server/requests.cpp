#include "server/requests.h"

#include <fmt/format.h>

#include "base/as_result.h"
#include "base/timeout.h"
#include "protocol/codec.h"
#include "protocol/methods.h"
#include "rpc/message.h"

namespace patchbay {
namespace {

constexpr std::size_t max_completions = 100;  // the specification's bound

template <class R>
Json list_page(const R& registry, std::string_view key, std::size_t size, Json params) {
  auto request = params_or_throw(decode<ListRequest>(std::move(params)));
  return encode_page(params_or_throw(registry.page(request.cursor, size)), key);
}

CallToolResult failed_call(const Error& error) {
  std::string text = error.message();
  if (!error.detail().empty()) text += "\n" + error.detail();
  CallToolResult result;
  result.content.push_back(TextContent{.text = std::move(text), .annotations = {}, .meta = {}, .extra = {}});
  result.is_error = true;
  return result;
}

Task<bool> is_cancelled() {
  auto state = co_await asio::this_coro::cancellation_state;
  co_return state.cancelled() != asio::cancellation_type::none;
}

}  // namespace

ToolCall read_tool_call(const ServerCore& core, Json params) {
  if (const Json* arguments = params.find("arguments"); arguments && !arguments->is_null() && !arguments->is_object()) {
    throw invalid_params(fmt::format("arguments: expected an object, found {}", to_string(arguments->kind())));
  }
  auto request = params_or_throw(decode<CallToolRequest>(std::move(params)));
  auto entry = core.tools.find(request.name);
  if (!entry) throw invalid_params(fmt::format("unknown tool: {}", request.name));
  if (request.arguments.is_null()) request.arguments = Json::object();
  return {std::move(entry), std::move(request.arguments)};
}

Task<Json> run_tool(ToolCall call, Context& context) {
  const auto& [schemas, handler, options] = call.entry->handler;
  const auto steps = context.schema_steps();
  const auto& name = call.entry->item.name;
  // The model reads a result and can do better; a JSON-RPC error may never reach it.
  if (auto fits = schemas.check_arguments(name, call.arguments, steps); !fits) {
    co_return encode(failed_call(fits.error()));
  }

  auto outcome = co_await as_result(context.run(handler(context, std::move(call.arguments)), call.entry));
  CallToolResult result;
  if (outcome) {
    result = std::move(*outcome);
  } else {
    auto error = context.refine(std::move(outcome).error());
    if (error.rpc_code()) throw error;
    // A request the client gave up gets no answer; a handler that merely says "cancelled" does.
    const bool cancelled = co_await is_cancelled();
    if (cancelled) throw error;
    result = failed_call(error);
  }
  if (auto fits = schemas.check_result(name, result, steps); !fits) {
    context.own_log()(LogLevel::error, "bad_result", "tool", name, "reason", fits.error().message());
    throw Error(Errc::internal, fits.error().message());
  }
  // Clients that do not read structured content still get something to show.
  if (result.content.empty() && result.structured_content) {
    result.content.push_back(
        TextContent{.text = to_text(*result.structured_content), .annotations = {}, .meta = {}, .extra = {}});
  }
  co_return encode(result);
}

namespace {

// `limit`: what could not be sent when it is asked for is not kept.
void end_task(StoredTask& task, const Wire& wire, Result<Json> outcome, std::size_t limit) {
  if (!outcome && outcome.error().code() == Errc::cancelled) {
    task.finish(TaskStatus::cancelled, Json(), "the tool that ran as this task was cancelled");
    return;
  }
  if (const auto size = outcome ? to_text(*outcome).size() : 0; size > limit) {
    outcome = std::unexpected(
        Error::rpc(rpc_code::internal_error,
                   fmt::format("the result of the task has {} bytes; the limit of one answer is {}", size, limit)));
  }
  const bool failed = !outcome || (wire.tool_error_fails_task() && std::as_const(*outcome)["isError"] == Json(true));
  task.finish(failed ? TaskStatus::failed : TaskStatus::completed, std::move(outcome));
}

// `wire` is one of the build's own and never ends.
Task<void> run_apart(std::shared_ptr<TaskRun> run, const Wire* wire, ToolCall call, std::shared_ptr<Context> context,
                     Duration limit) {
  auto outcome = co_await as_result(with_timeout(run_tool(std::move(call), *context), limit,
                                                 "the task was not finished within its time to live (ttl)"));
  // Whoever put the question that has no answer yet is told by the context.
  if (const auto& task = context->task()) {
    end_task(*task, *wire, std::move(outcome), context->answer_limit());
  } else {
    run->outcome = std::move(outcome);
    run->changed.notify_all();
  }
}

}  // namespace

Task<std::shared_ptr<TaskRun>> run_as_task(std::shared_ptr<TaskStore> store, const Wire& wire, ToolCall call,
                                           std::shared_ptr<Context> context, TaskWish wish, StoredTask::Owner owner,
                                           bool at_once) {
  auto executor = co_await asio::this_coro::executor;
  auto run = std::make_shared<TaskRun>();
  auto spawned = std::make_shared<Spawned>();
  // Weak: the store owns the frame that owns the context that owns this.
  context->allow_task(
      [kept = std::weak_ptr(store), begun = std::weak_ptr(run), spawned, wish, owner]() -> std::shared_ptr<StoredTask> {
        auto tasks = kept.lock();
        auto waiting = begun.lock();
        if (!tasks || !waiting) return nullptr;
        auto created = tasks->create(wish, owner);
        if (!created) throw Error::rpc(rpc_code::internal_error, created.error().message());
        TaskStore::set_running(**created, *spawned);
        waiting->task = *created;
        waiting->created = (*created)->task();
        waiting->changed.notify_all();
        return *created;
      });
  context->run_in(store->handlers(executor));
  if (at_once) context->start_task();
  const auto limit = run->task ? as_duration(std::chrono::milliseconds(*run->created.ttl_ms)) : Duration::max();
  *spawned = store->run(executor, run_apart(run, &wire, std::move(call), context, limit));
  if (run->task) {
    TaskStore::set_running(*run->task, *spawned);
    co_return run;
  }
  // The request given up before it became a task takes its handler along.
  struct Leave {
    std::shared_ptr<Spawned> running;
    ~Leave() {
      if (running) running->cancel();
    }
  } leave{spawned};
  while (!run->task && !run->outcome) co_await run->changed.wait();
  leave.running = nullptr;
  co_return run;
}

std::shared_ptr<StoredTask> named_task(TaskStore& store, const Json& params, std::string_view principal) {
  const auto id = params["taskId"].text();
  if (!id) throw invalid_params("taskId: expected a string");
  auto task = store.find(*id, principal);
  if (!task) throw invalid_params("the task is unknown or has expired");
  return task;
}

namespace {

Error resource_not_found(const Wire& wire, const std::string& uri) {
  return Error::rpc(wire.resource_not_found_code(), fmt::format("resource not found: {}", uri),
                    to_text(Json{{"uri", uri}}));
}

Task<Json> read_resource(std::shared_ptr<ServerCore> core, const Wire& wire, Context& context, Json params) {
  auto request = params_or_throw(decode<ReadResourceRequest>(std::move(params)));
  ReadResourceResult result;
  if (auto entry = core->resources.find(request.uri)) {
    result.contents = co_await context.run(entry->handler(context, request.uri), entry);
  } else {
    decltype(core->templates)::EntryPtr matching;
    std::map<std::string, std::string> variables;
    for (const auto& [place, candidate] : core->templates.in_order()) {
      auto match = candidate->handler.pattern.match(request.uri);
      if (!match) continue;
      matching = candidate;
      variables = std::move(*match);
      break;
    }
    if (!matching) throw resource_not_found(wire, request.uri);
    result.contents =
        co_await context.run(matching->handler.handler(context, request.uri, std::move(variables)), matching);
  }
  // A resource without contents does not exist; an empty text is contents.
  if (result.contents.empty()) throw resource_not_found(wire, request.uri);
  co_return encode(result);
}

Json get_skill(const ServerCore& core, Json params) {
  auto request = params_or_throw(decode<ResourceUri>(std::move(params)));
  auto skill = core.skills.find(request.uri);
  if (!skill) throw invalid_params(fmt::format("this server has no skill at \"{}\"", request.uri));
  return Json{{"skill", encode(*skill)}};
}

Json read_directory(const ServerCore& core, const Json& params) {
  auto request = params_or_throw(decode<ResourceUri>(params));
  auto paging = params_or_throw(decode<ListRequest>(params));
  return encode_page(params_or_throw(core.skills.directory(request.uri, paging.cursor, core.options.page_size)),
                     "resources");
}

Task<Json> get_prompt(std::shared_ptr<ServerCore> core, Context& context, Json params) {
  auto request = params_or_throw(decode<GetPromptRequest>(std::move(params)));
  auto entry = core->prompts.find(request.name);
  if (!entry) throw invalid_params(fmt::format("unknown prompt: {}", request.name));
  for (const auto& argument : entry->item.arguments) {
    if (argument.required.value_or(false) && !request.arguments.contains(argument.name)) {
      throw invalid_params(fmt::format("missing argument: {}", argument.name));
    }
  }
  auto result = co_await context.run(entry->handler(context, std::move(request.arguments)), entry);
  co_return encode(result);
}

Task<Json> complete(std::shared_ptr<ServerCore> core, Context& context, Json params) {
  auto request = params_or_throw(decode<CompleteRequest>(std::move(params)));
  const auto& ref = request.ref;
  const bool known = ref.kind == CompletionReference::Kind::prompt
                         ? core->prompts.find(ref.name) != nullptr
                         : core->templates.find(ref.name) != nullptr || core->resources.find(ref.name) != nullptr;
  if (!known)
    throw invalid_params(fmt::format("there is no prompt, resource or resource template called \"{}\"", ref.name));
  auto handler = core->completion;
  auto result = co_await context.run((*handler)(context, std::move(request)), handler);
  if (result.values.size() > max_completions) {
    if (!result.total) result.total = static_cast<std::int64_t>(result.values.size());
    result.values.resize(max_completions);
    result.has_more = true;
  }
  co_return encode(result);
}

}  // namespace

Error invalid_params(std::string message) { return Error::rpc(rpc_code::invalid_params, std::move(message)); }

Error method_not_found(std::string_view method) {
  return Error::rpc(rpc_code::method_not_found, fmt::format("unknown method: {}", method));
}

Task<Json> serve_method(std::shared_ptr<ServerCore> core, const Wire& wire, Context& context, std::string method,
                        Json params) {
  const auto size = core->options.page_size;
  if (method == method::list_tools) co_return list_page(core->tools, "tools", size, std::move(params));
  if (method == method::list_resources) co_return list_page(core->resources, "resources", size, std::move(params));
  if (method == method::list_prompts) co_return list_page(core->prompts, "prompts", size, std::move(params));
  if (method == method::list_resource_templates) {
    co_return list_page(core->templates, "resourceTemplates", size, std::move(params));
  }
  if (method == method::list_skills) co_return list_page(core->skills, "skills", size, std::move(params));
  if (method == method::get_skill) co_return get_skill(*core, std::move(params));
  if (method == method::read_directory) co_return read_directory(*core, params);
  if (method == method::call_tool) co_return co_await run_tool(read_tool_call(*core, std::move(params)), context);
  if (method == method::read_resource) co_return co_await read_resource(core, wire, context, std::move(params));
  if (method == method::get_prompt) co_return co_await get_prompt(core, context, std::move(params));
  if (method == method::complete) co_return co_await complete(core, context, std::move(params));
  throw method_not_found(method);
}

std::string_view notification_of(Change::Kind kind) {
  switch (kind) {
    case Change::Kind::tools:
      return method::tools_changed;
    case Change::Kind::prompts:
      return method::prompts_changed;
    case Change::Kind::resources:
      return method::resources_changed;
    case Change::Kind::task:
      return method::task_changed;
    default:
      return method::resource_updated;
  }
}

}  // namespace patchbay
