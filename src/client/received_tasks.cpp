// Questions that a server gives us as tasks: it gets an id at once, looks at how it stands and
// fetches the answer when there is one. The same handlers answer as for any other question.
#include <algorithm>

#include "base/as_result.h"
#include "client/session_core.h"
#include "protocol/codec.h"
#include "protocol/methods.h"

namespace patchbay {
namespace {

constexpr std::string_view owner = "server";  // the only one there is on this connection

Json encoded(const InputResponse& response) {
  return std::visit([](const auto& value) { return encode(value); }, response);
}

}  // namespace

Payload SessionCore::start_received(InputRequest wish, const TaskWish& how, Peer::ClockStop stop) {
  const auto tasks = received_tasks->of_session(owner);
  const auto running = std::ranges::count_if(tasks, [](const auto& task) { return !task->ended(); });
  if (static_cast<std::size_t>(running) >= runtime.limits.server_requests) {
    throw Error::rpc(rpc_code::internal_error, "too many tasks at once; wait for answers");
  }
  auto created = received_tasks->create(how, {{}, std::string(owner)});
  if (!created) throw Error::rpc(rpc_code::internal_error, created.error().message());
  const auto& task = *created;
  Json answer = wire->task_created(task->task(), {});
  // It lives in the store's scope, and the session ends that before itself.
  TaskStore::set_running(*task, received_tasks->run(executor, run_received(task, std::move(wish), std::move(stop))));
  return answer;
}

Task<void> SessionCore::run_received(std::shared_ptr<StoredTask> task, InputRequest wish, Peer::ClockStop stop) {
  const auto keep = shared_from_this();
  auto response = co_await as_result(answer(std::move(wish), context_of(stop.clock())));
  if (response) {
    task->finish(TaskStatus::completed, encoded(*response));
  } else if (response.error().code() == Errc::cancelled) {
    task->finish(TaskStatus::cancelled, Json(), "nobody answers it any more");
  } else {
    const auto rpc = rpc_error_of(response.error());
    auto error = Error::rpc(rpc.code, rpc.message, rpc.data ? std::string(rpc.data.text()) : std::string());
    task->finish(TaskStatus::failed, std::unexpected(std::move(error)), rpc.message);
  }
}

Task<Payload> SessionCore::on_task_request(std::string method, Json params) {
  if (method == method::list_tasks) {
    Json tasks = Json::array();
    for (const auto& task : received_tasks->of_session(owner)) tasks.push_back(wire->write_task(task->state()));
    co_return Json{{"tasks", std::move(tasks)}};
  }
  const auto* id = params["taskId"].if_string();
  auto task = id ? received_tasks->find(*id, {}) : nullptr;
  if (!task) throw Error::rpc(rpc_code::invalid_params, "the task is unknown or has expired");
  if (method == method::get_task) co_return wire->write_task(task->state());
  if (method == method::cancel_task) {
    if (!task->cancel("cancelled by the server")) {
      throw Error::rpc(rpc_code::invalid_params, fmt::format("the task is {} already", to_string(task->task().status)));
    }
    co_return wire->write_task(task->state());
  }
  if (method != method::task_result)
    throw Error::rpc(rpc_code::method_not_found, fmt::format("unknown method {}", method));
  while (!task->ended()) co_await task->changed.wait();
  const auto& outcome = task->outcome();
  if (!outcome) throw Error::rpc(rpc_code::invalid_params, "the task was cancelled");
  if (!*outcome) throw Error(outcome->error());
  Json result = **outcome;
  const Json tag = related_task_meta(task->task().id);
  for (const auto& [key, value] : tag.as_object()) result["_meta"][key] = value;
  co_return result;
}

}  // namespace patchbay
