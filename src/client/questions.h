// Questions: runs the handlers by which the program answers a server, each apart from whoever waits for
// the answer. A waiter that is cancelled, or whose session ends, goes on at once, even if the handler does not
// listen to its own cancellation; and a handler may close the session it answers for. Owned by
// SessionCore; what runs keeps alive all it uses. Loop thread only.
#pragma once

#include <list>
#include <memory>
#include <optional>

#include <patchbay/task.h>

#include "base/scope.h"
#include "base/timeout.h"
#include "base/waiting.h"
#include "protocol/wire_types.h"

namespace patchbay {

class Questions {
 public:
  explicit Questions(asio::any_io_executor executor);
  Questions(const Questions&) = delete;
  Questions& operator=(const Questions&) = delete;

  // The outcome of `handler`, which keeps alive all it uses. Whoever leaves earlier cancels it.
  Task<InputResponse> put(Task<InputResponse> handler);
  // Now: waiters get `why`, handlers are cancelled.
  void fail(const Error& why);
  // The same for good: later ones are refused with `why`.
  void end(const Error& why);
  // Returns when no handler runs any more, or after `limit`, or at once where it is cancelled: a handler
  // that waits here waits for itself.
  Task<void> wait_ended(Duration limit);
  std::size_t running() const noexcept { return state_->running; }

 private:
  using Answer = Completion<Result<InputResponse>>;
  struct State {
    explicit State(asio::any_io_executor executor) : scope(std::move(executor)) {}
    std::list<std::pair<std::shared_ptr<Answer>, Spawned>> open;
    std::size_t running = 0;  // handlers, also those nobody waits for any more
    Event ended;
    std::optional<Error> over;
    Scope scope;
  };
  // Counts a handler for as long as its frame exists, and sees to it that there is an outcome.
  struct Running;
  static Task<void> run(Running running, Task<InputResponse> handler);
  static Task<void> none_runs(std::shared_ptr<State> state);

  std::shared_ptr<State> state_;
};

}  // namespace patchbay
