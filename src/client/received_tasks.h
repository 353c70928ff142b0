// ReceivedTasks: questions that a server gives us as tasks: it gets an id at once, looks at how it stands and fetches
// the answer when there is one. The same handlers answer as for any other question. Part of a session; loop
// thread only.
#pragma once

#include <memory>
#include <string>

#include "base/runtime.h"
#include "protocol/wire.h"
#include "rpc/peer.h"
#include "rpc/task_store.h"

namespace patchbay {

class ReceivedTasks {
 public:
  ReceivedTasks(const Runtime& runtime, const Clock& clock);

  // `answer` keeps alive all it uses; while it runs, `stop` holds the clocks of those on whose behalf is asked.
  // The answer to the request that asked for the task.
  Payload start(const Wire& wire, const TaskWish& how, Task<InputResponse> answer, Peer::ClockStop stop,
                const asio::any_io_executor& executor);
  // Requests about tasks: list, get, cancel, result.
  static Task<Payload> on_request(std::shared_ptr<TaskStore> store, const Wire& wire, std::string method, Json params);
  const std::shared_ptr<TaskStore>& store() const noexcept { return store_; }

  void stop() { store_->stop(); }
  Task<void> finish() { return store_->finish(); }

 private:
  std::size_t most_at_once_;
  std::shared_ptr<TaskStore> store_;
};

}  // namespace patchbay
