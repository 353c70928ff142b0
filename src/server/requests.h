// The methods every era has (lists, calls, reads, prompts, completion), from decoded
// params to the result before its envelope. Called by the fronts, which have checked that
// the method exists and put the envelope on.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "protocol/wire.h"
#include "server/context.h"
#include "server/core.h"

namespace patchbay {

Error invalid_params(std::string message);
Error method_not_found(std::string_view method);

// The value of a Result, or its error as -32602 "invalid params".
template <class T>
T params_or_throw(Result<T> result) {
  if (!result) throw invalid_params(result.error().message());
  return std::move(*result);
}

// One call of a tool: what it runs and with what. Throws -32602 when there is none such.
struct ToolCall {
  Registry<Tool, ToolRoute>::EntryPtr entry;
  Json arguments;
};
ToolCall read_tool_call(const ServerCore& core, Json params);
// The result before its envelope. `context` outlives the task.
Task<Json> run_tool(ToolCall call, Context& context);

// A tool call that may become a task, running apart from the request that began it. The
// request waits until one of the two is there.
struct TaskRun {
  std::shared_ptr<StoredTask> task;
  RemoteTask created;  // the task as it was at first
  std::optional<Result<Json>> outcome;
  Event changed;
};
// Runs `call` in `store` and returns when it has become a task or ended without. With
// `at_once` it is a task before its handler runs.
Task<std::shared_ptr<TaskRun>> run_as_task(std::shared_ptr<TaskStore> store, const Wire& wire, ToolCall call,
                                           std::shared_ptr<Context> context, TaskWish wish, StoredTask::Owner owner,
                                           bool at_once);
// The task `params` name, or -32602: one of somebody else is as unknown as any other.
std::shared_ptr<StoredTask> named_task(TaskStore& store, const Json& params, std::string_view principal);

// `params` is an object. `context` and `wire` outlive the task.
Task<Json> serve_method(std::shared_ptr<ServerCore> core, const Wire& wire, Context& context, std::string method,
                        Json params);

// What tells a client of such a change.
std::string_view notification_of(Change::Kind kind);

}  // namespace patchbay
