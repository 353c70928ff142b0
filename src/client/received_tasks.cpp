#include "client/received_tasks.h"

#include <algorithm>

#include "base/as_result.h"
#include "protocol/codec.h"
#include "protocol/methods.h"

namespace patchbay {
namespace {

constexpr std::string_view owner = "server";  // the only one there is on this connection

Json encoded(const InputResponse& response) {
  return std::visit([](const auto& value) { return encode(value); }, response);
}

Task<void> run_one(std::shared_ptr<StoredTask> task, Task<InputResponse> answer, Peer::ClockStop /*stop*/) {
  auto response = co_await as_result(std::move(answer));
  if (response) {
    task->finish(TaskStatus::completed, encoded(*response));
  } else if (response.error().code() == Errc::cancelled) {
    task->finish(TaskStatus::cancelled, Json(), "the question was cancelled before it was answered");
  } else {
    const auto rpc = rpc_error_of(response.error());
    auto error = Error::rpc(rpc.code, rpc.message, rpc.data ? std::string(rpc.data.text()) : std::string());
    task->finish(TaskStatus::failed, std::unexpected(std::move(error)), rpc.message);
  }
}

}  // namespace

ReceivedTasks::ReceivedTasks(const Runtime& runtime, const Clock& clock)
    : most_at_once_(runtime.limits.server_requests),
      store_(std::make_shared<TaskStore>(TaskStore::Bounds{.count = runtime.limits.tasks,
                                                           .ttl = runtime.limits.task_ttl,
                                                           .ttl_most = runtime.limits.task_ttl_most,
                                                           .poll_interval = runtime.limits.task_poll},
                                         clock, runtime.random)) {}

Payload ReceivedTasks::start(const Wire& wire, const TaskWish& how, Task<InputResponse> answer, Peer::ClockStop stop,
                             const asio::any_io_executor& executor) {
  const auto tasks = store_->of_session(owner);
  const auto running = std::ranges::count_if(tasks, [](const auto& task) { return !task->ended(); });
  if (static_cast<std::size_t>(running) >= most_at_once_) {
    throw Error::rpc(rpc_code::internal_error,
                     fmt::format("{} of your tasks are running, which is the limit; wait for answers", most_at_once_));
  }
  auto created = store_->create(how, {{}, std::string(owner)});
  if (!created) throw Error::rpc(rpc_code::internal_error, created.error().message());
  const auto& task = *created;
  Json said = wire.task_created(task->task(), {});
  // It lives in the store's scope, and the session ends that before itself.
  TaskStore::set_running(*task, store_->run(executor, run_one(task, std::move(answer), std::move(stop))));
  return said;
}

Task<Payload> ReceivedTasks::on_request(std::shared_ptr<TaskStore> store, const Wire& wire, std::string method,
                                        Json params) {
  if (method == method::list_tasks) {
    Json tasks = Json::array();
    for (const auto& task : store->of_session(owner)) tasks.push_back(wire.write_task(task->state()));
    co_return Json{{"tasks", std::move(tasks)}};
  }
  const auto id = params["taskId"].text();
  auto task = id ? store->find(*id, {}) : nullptr;
  if (!task) throw Error::rpc(rpc_code::invalid_params, "the task is unknown or has expired");
  if (method == method::get_task) co_return wire.write_task(task->state());
  if (method == method::cancel_task) {
    if (!task->cancel("cancelled by the server")) {
      throw Error::rpc(rpc_code::invalid_params, fmt::format("the task is already {}", to_string(task->task().status)));
    }
    co_return wire.write_task(task->state());
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
