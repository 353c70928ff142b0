// Runs hooks: a command with the input on its stdin, a POST to a URL, or a tool of a server. All that are due run at
// the same time, at most sixteen at once, each within its own limit; sizes are bounded; nothing of a command is left
// behind when its hook has ended, however it ended. What the answers mean is decided by hooks/hook_answer.h. Used by
// the Host, in its scope; loop thread only.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <patchbay/task.h>
#include <patchbay/types.h>

#include "base/runtime.h"
#include "hooks/hook_answer.h"
#include "host/start/server_start.h"
#include "http/client/http_client.h"

namespace patchbay {

class HookRunner {
 public:
  // Calls a tool for a hook: rules count, hooks do not.
  using CallTool =
      std::function<Task<CallToolResult>(std::string tool, Json arguments, std::chrono::milliseconds limit)>;

  HookRunner(std::shared_ptr<const StartContext> context, Runtime runtime, CallTool call_tool)
      : context_(std::move(context)), runtime_(std::move(runtime)), call_tool_(std::move(call_tool)) {}

  // One outcome for each hook, in their order. Cancelling it ends them all.
  static Task<std::vector<HookOutcome>> run(std::shared_ptr<HookRunner> self, HookEvent event, HookList hooks,
                                            Json input);

 private:
  struct Due;
  Task<HookAnswer> answer_of(std::shared_ptr<const Due> due, std::shared_ptr<const Hook> hook);
  Task<HookAnswer> ask_command(std::shared_ptr<const Due> due, std::shared_ptr<const Hook> hook);
  Task<HookAnswer> ask_url(std::shared_ptr<const Due> due, std::shared_ptr<const Hook> hook);
  Task<HookAnswer> ask_tool(std::shared_ptr<const Due> due, std::shared_ptr<const Hook> hook);

  std::shared_ptr<const StartContext> context_;
  Runtime runtime_;
  CallTool call_tool_;
  std::shared_ptr<HttpClient> http_;  // from the first request on
};

}  // namespace patchbay
