// TaskStore: what one side runs as tasks for the other, and keeps until it was fetched or
// has grown old: bounded in number and in time, found by ids nobody can guess. A
// StoredTask goes from working to a final state, by legal steps only; whoever waits for it
// waits on `changed`. Owned by a server (one store per era) or by a client's session; the
// coroutines it runs belong to it. Loop thread only.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <patchbay/task.h>
#include <patchbay/types.h>

#include "base/apart.h"
#include "base/clock.h"
#include "base/scope.h"
#include "base/waiting.h"
#include "protocol/wire.h"

namespace patchbay {

class TaskStore;

class StoredTask : public std::enable_shared_from_this<StoredTask> {
 public:
  struct Question {
    std::string key;  // never used again by this task
    InputRequest request;
    bool sent = false;  // on its way to the caller as a request of its own
    Completion<Result<InputResponse>> answer;
  };

  // Whose it is: `principal` may ask for it, and the list of `session` shows it.
  struct Owner {
    std::string principal;
    std::string session;
    // Whose share of the room it takes: somebody without a name has one for each session.
    std::string who() const { return principal.empty() ? "session " + session : "principal " + principal; }
  };

  StoredTask(std::weak_ptr<TaskStore> store, RemoteTask task, Owner owner)
      : store_(std::move(store)), task_(std::move(task)), owner_(std::move(owner)) {}

  const RemoteTask& task() const noexcept { return task_; }
  const Owner& owner() const noexcept { return owner_; }
  bool ended() const noexcept { return is_final(task_.status); }
  // All that is known: open questions, or how it ended.
  TaskState state() const;
  // Set when it completed or failed.
  const std::optional<Result<Json>>& outcome() const noexcept { return outcome_; }

  // Nothing happens to a task that has ended.
  void say(std::string message);
  void finish(TaskStatus status, Result<Json> outcome, std::optional<std::string> message = {});
  // Cancels what runs; false when the task had ended.
  bool cancel(std::string reason);

  // Puts a question to the caller and waits for the answer. The question has its place
  // when this returns, not when it is awaited. `name` is its key unless that was one before.
  Task<InputResponse> ask(InputRequest question, std::string name = {});
  // The oldest question nobody has sent yet, or null.
  std::shared_ptr<Question> unsent_question() const;
  const Question* find_question(std::string_view key) const;
  bool answer(std::string_view key, Result<InputResponse> response);

  Event changed;

 private:
  friend class TaskStore;
  struct Open;
  static Task<InputResponse> wait_for(std::unique_ptr<Open> open);
  void touch();

  std::weak_ptr<TaskStore> store_;
  RemoteTask task_;
  Owner owner_;
  std::optional<Result<Json>> outcome_;
  std::size_t bytes_ = 0;                           // of the outcome, as the room counts it
  std::list<std::shared_ptr<Question>> questions_;  // open ones
  bool admitted_ = false;                           // it has its place in the room
  std::array<int, 3> asked_{};
  std::set<std::string> keys_;  // of all questions ever
  Spawned running_;
  std::optional<std::chrono::steady_clock::time_point> expires_;
};

// How many tasks there may be and how large the results that are kept, in all and for each owner,
// so that no owner can take it all. The stores of one server share one.
class TaskRoom {
 public:
  struct Bounds {
    std::size_t count = 1000;
    std::size_t count_each = SIZE_MAX;
    std::size_t bytes = 256u << 20;
    std::size_t bytes_each = SIZE_MAX;
  };

  explicit TaskRoom(Bounds bounds) : bounds_(bounds) {}

  // One more task, or so many bytes of a result. Errc::limit with the numbers when there is no room.
  Result<void> admit(const std::string& who);
  Result<void> keep(const std::string& who, std::size_t bytes);
  // A task that was admitted has gone, and what was kept of it.
  void release(const std::string& who, std::size_t bytes);

 private:
  struct Share {
    std::size_t count = 0;
    std::size_t bytes = 0;
  };
  Bounds bounds_;
  Share all_;
  std::map<std::string, Share, std::less<>> shares_;
};

class TaskStore : public std::enable_shared_from_this<TaskStore> {
 public:
  struct Bounds {
    std::size_t count = 1000;
    std::size_t bytes = 256u << 20;                  // of all results that are kept
    std::chrono::milliseconds ttl{3'600'000};        // of a task whose caller does not say
    std::chrono::milliseconds ttl_most{86'400'000};  // whatever the caller says
    std::chrono::milliseconds poll_interval{500};
  };

  // `room`: shared with others; without one there is one for `bounds` alone.
  // The clock outlives it, or is replaced before that.
  TaskStore(Bounds bounds, const Clock& clock, Random random, std::shared_ptr<TaskRoom> room = nullptr);
  // The clock of the loop that runs the tasks, for a store that was made before there was a loop.
  void follow(const Clock& clock) noexcept { clock_ = &clock; }
  TaskStore(const TaskStore&) = delete;
  TaskStore& operator=(const TaskStore&) = delete;
  ~TaskStore();

  // A new task, working. Errc::limit when there is no room: a task is kept for as long as was
  // promised. For the same reason a result without room is not kept, and its task has failed.
  Result<std::shared_ptr<StoredTask>> create(const TaskWish& wish, StoredTask::Owner owner);
  // Null when unknown, too old or someone else's.
  std::shared_ptr<StoredTask> find(std::string_view id, std::string_view principal);
  std::vector<std::shared_ptr<StoredTask>> of_session(std::string_view session);
  std::size_t size() const noexcept { return tasks_.size(); }

  // Runs the work of tasks on `executor`'s loop until it ends or the store does.
  Spawned run(const asio::any_io_executor& executor, Task<void> work);
  // Ties a task to what runs it, for cancel().
  static void set_running(StoredTask& task, Spawned running) { task.running_ = std::move(running); }

  // Called in the middle of someone else's work: take note, act later.
  std::function<void(const StoredTask&)> on_change;

  // Where the handlers of tasks run: longer than a task that was cancelled, if they do not listen.
  const Apart& handlers(const asio::any_io_executor& executor);

  // Ends every task, and waits until nothing of them runs; for handlers so long.
  Task<void> finish(Duration for_handlers = Duration::zero());
  // Ends every task for good: nothing is created afterwards, and nobody told.
  void stop();

 private:
  friend class StoredTask;
  std::string now_text() const;
  void drop_old();
  void let_go(StoredTask& task);
  // Ends tasks when their time is over, though nobody asks for them.
  static Task<void> watch(std::weak_ptr<TaskStore> store);
  void keep_watching();
  void end_all();

  Bounds bounds_;
  const Clock* clock_;
  Random random_;
  std::shared_ptr<TaskRoom> room_;
  std::map<std::string, std::shared_ptr<StoredTask>, std::less<>> tasks_;
  std::unique_ptr<Scope> scope_;
  std::optional<Apart> handlers_;
  bool watched_ = false;
  std::shared_ptr<Event> created_ = std::make_shared<Event>();  // shared with watch(), which does not keep the store
  bool stopped_ = false;
};

// Whether a task may go from one state to another.
constexpr bool may_follow(TaskStatus before, TaskStatus after) noexcept { return !is_final(before) && before != after; }

}  // namespace patchbay
