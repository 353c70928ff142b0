#include "rpc/task_store.h"

#include <algorithm>
#include <ctime>

#include <fmt/format.h>

#include "base/as_result.h"
#include "base/crypto.h"
#include "base/timeout.h"

namespace patchbay {
namespace {

std::size_t bytes_of(const Result<Json>& outcome) {
  if (outcome) return to_text(*outcome).size();
  const auto& error = outcome.error();
  return error.message().size() + error.rpc_data().size() + error.detail().size();
}

}  // namespace

Result<void> TaskRoom::admit(const std::string& who) {
  const auto found = shares_.find(who);
  const auto own = found == shares_.end() ? 0 : found->second.count;
  if (own >= bounds_.count_each) {
    return fail(Errc::limit, fmt::format("{} of your tasks are kept, which is the limit; wait until some have expired",
                                         bounds_.count_each));
  }
  if (all_.count >= bounds_.count)
    return fail(Errc::limit,
                fmt::format("too many tasks are kept (the limit is {}); wait until some have expired", bounds_.count));
  ++all_.count;
  ++shares_[who].count;
  return {};
}

Result<void> TaskRoom::keep(const std::string& who, std::size_t bytes) {
  auto& own = shares_[who];
  const bool fits = bytes <= bounds_.bytes_each && own.bytes <= bounds_.bytes_each - bytes;
  if (!fits || bytes > bounds_.bytes || all_.bytes > bounds_.bytes - bytes) {
    return fail(Errc::limit, fmt::format("the result of the task has {} bytes, and together with earlier tasks no more "
                                         "than {} are kept; repeat the call when they have expired",
                                         bytes, fits ? bounds_.bytes : bounds_.bytes_each));
  }
  own.bytes += bytes;
  all_.bytes += bytes;
  return {};
}

void TaskRoom::release(const std::string& who, std::size_t bytes) {
  const auto found = shares_.find(who);
  if (found == shares_.end()) return;
  --all_.count;
  all_.bytes -= bytes;
  found->second.bytes -= bytes;
  if (--found->second.count == 0) shares_.erase(found);
}

TaskState StoredTask::state() const {
  TaskState state;
  state.task = task_;
  for (const auto& question : questions_) state.requests.emplace_back(question->key, question->request);
  if (outcome_ && *outcome_) state.result = **outcome_;
  if (outcome_ && !*outcome_) state.error = outcome_->error();
  return state;
}

void StoredTask::touch() {
  auto store = store_.lock();
  if (store) task_.last_updated_at = store->now_text();
  changed.notify_all();
  if (store && store->on_change) store->on_change(*this);
}

void StoredTask::say(std::string message) {
  if (ended() || task_.status_message == message) return;
  task_.status_message = std::move(message);
  touch();
}

void StoredTask::finish(TaskStatus status, Result<Json> outcome, std::optional<std::string> message) {
  if (!may_follow(task_.status, status)) return;
  if (auto store = store_.lock(); store && admitted_ && status != TaskStatus::cancelled) {
    const auto bytes = bytes_of(outcome);
    if (auto kept = store->room_->keep(owner_.who(), bytes); kept) {
      bytes_ = bytes;
    } else {
      status = TaskStatus::failed;
      message = kept.error().message();
      outcome = std::unexpected(std::move(kept).error());
    }
  }
  task_.status = status;
  if (message) task_.status_message = std::move(message);
  if (status != TaskStatus::cancelled) outcome_ = std::move(outcome);
  questions_.clear();
  touch();
}

bool StoredTask::cancel(std::string reason) {
  if (ended()) return false;
  finish(TaskStatus::cancelled, Json(), std::move(reason));
  running_.cancel();
  return true;
}

// A question for as long as its handler waits: one that gives up takes it back.
struct StoredTask::Open {
  Open(std::shared_ptr<StoredTask> t, std::shared_ptr<Question> q) : task(std::move(t)), question(std::move(q)) {}
  Open(const Open&) = delete;
  Open& operator=(const Open&) = delete;
  ~Open() {
    const auto erased = task->questions_.remove(question);
    if (erased == 0 || task->ended()) return;
    if (task->questions_.empty()) task->task_.status = TaskStatus::working;
    task->touch();
  }
  std::shared_ptr<StoredTask> task;
  std::shared_ptr<Question> question;
};

Task<InputResponse> StoredTask::wait_for(std::unique_ptr<Open> open) {
  auto response = co_await open->question->answer.wait();
  co_return value_or_throw(std::move(response));
}

Task<InputResponse> StoredTask::ask(InputRequest request, std::string name) {
  static constexpr std::array names{"elicitation", "sampling", "roots"};
  auto question = std::make_shared<Question>();
  while (name.empty() || !keys_.insert(name).second) {
    name = fmt::format("{}-{}", names.at(request.index()), ++asked_.at(request.index()));
  }
  question->key = std::move(name);
  question->request = std::move(request);
  if (ended()) throw Error(Errc::cancelled, "the task has ended");
  questions_.push_back(question);
  auto open = std::make_unique<Open>(shared_from_this(), std::move(question));
  task_.status = TaskStatus::input_required;
  touch();
  return wait_for(std::move(open));
}

std::shared_ptr<StoredTask::Question> StoredTask::unsent_question() const {
  auto found = std::ranges::find_if(questions_, [](const auto& question) { return !question->sent; });
  return found == questions_.end() ? nullptr : *found;
}

const StoredTask::Question* StoredTask::find_question(std::string_view key) const {
  auto found = std::ranges::find_if(questions_, [&](const auto& question) { return question->key == key; });
  return found == questions_.end() ? nullptr : found->get();
}

bool StoredTask::answer(std::string_view key, Result<InputResponse> response) {
  auto found = std::ranges::find_if(questions_, [&](const auto& question) { return question->key == key; });
  if (found == questions_.end()) return false;
  auto question = *found;
  // It is answered now, not when its handler next runs.
  questions_.erase(found);
  question->answer.set(std::move(response));
  if (questions_.empty()) task_.status = TaskStatus::working;
  touch();
  return true;
}

TaskStore::TaskStore(Bounds bounds, const Clock& clock, Random random, std::shared_ptr<TaskRoom> room)
    : bounds_(bounds), clock_(&clock), random_(std::move(random)), room_(std::move(room)) {
  if (!room_) room_ = std::make_shared<TaskRoom>(TaskRoom::Bounds{.count = bounds.count, .bytes = bounds.bytes});
}

TaskStore::~TaskStore() {
  for (auto& [id, task] : tasks_) let_go(*task);
}

// It is no longer kept, whoever still looks at it.
void TaskStore::let_go(StoredTask& task) {
  if (std::exchange(task.admitted_, false)) room_->release(task.owner_.who(), task.bytes_);
}

std::string TaskStore::now_text() const {
  const auto now = std::chrono::floor<std::chrono::milliseconds>(clock_->wall()).time_since_epoch();
  const auto seconds = static_cast<std::time_t>(std::chrono::floor<std::chrono::seconds>(now).count());
  const auto milliseconds = (now - std::chrono::floor<std::chrono::seconds>(now)).count();
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday,
                     utc.tm_hour, utc.tm_min, utc.tm_sec, milliseconds);
}

void TaskStore::drop_old() {
  const auto now = clock_->now();
  std::vector<std::shared_ptr<StoredTask>> old;
  for (const auto& [id, task] : tasks_) {
    if (task->expires_ && *task->expires_ <= now) old.push_back(task);
  }
  for (const auto& task : old) {
    tasks_.erase(task->task_.id);
    let_go(*task);
    task->cancel("the task was not finished within its time to live (ttl)");
  }
}

Result<std::shared_ptr<StoredTask>> TaskStore::create(const TaskWish& wish, StoredTask::Owner owner) {
  drop_old();
  if (stopped_) return fail(Errc::closed, "no new task is accepted, because the session or the server is ending");
  if (auto admitted = room_->admit(owner.who()); !admitted) return std::unexpected(std::move(admitted).error());
  std::array<std::uint8_t, 24> bytes{};
  random_(bytes);
  RemoteTask task;
  task.id = base64url_encode(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  task.created_at = task.last_updated_at = now_text();
  const auto ttl =
      std::clamp<std::chrono::milliseconds>(wish.ttl_ms ? std::chrono::milliseconds(*wish.ttl_ms) : bounds_.ttl,
                                            std::chrono::milliseconds(1), bounds_.ttl_most);
  task.ttl_ms = ttl.count();
  task.poll_interval_ms = bounds_.poll_interval.count();
  auto id = task.id;
  auto stored = std::make_shared<StoredTask>(weak_from_this(), std::move(task), std::move(owner));
  stored->expires_ = clock_->now() + ttl;
  stored->admitted_ = true;
  if (!tasks_.emplace(std::move(id), stored).second) {
    let_go(*stored);
    return fail(Errc::internal, "two tasks got the same id");
  }
  // A handler may make a task of its call long after it began to run.
  if (scope_) keep_watching();
  created_->notify_all();
  return stored;
}

std::shared_ptr<StoredTask> TaskStore::find(std::string_view id, std::string_view principal) {
  drop_old();
  auto found = tasks_.find(id);
  return found == tasks_.end() || found->second->owner_.principal != principal ? nullptr : found->second;
}

std::vector<std::shared_ptr<StoredTask>> TaskStore::of_session(std::string_view session) {
  drop_old();
  std::vector<std::shared_ptr<StoredTask>> owned;
  for (const auto& [id, task] : tasks_) {
    if (task->owner_.session == session) owned.push_back(task);
  }
  return owned;
}

Spawned TaskStore::run(const asio::any_io_executor& executor, Task<void> work) {
  if (!scope_) scope_ = std::make_unique<Scope>(executor);
  keep_watching();
  return scope_->spawn(std::move(work));
}

const Apart& TaskStore::handlers(const asio::any_io_executor& executor) {
  if (!handlers_) handlers_.emplace(executor);
  return *handlers_;
}

void TaskStore::keep_watching() {
  if (!std::exchange(watched_, true)) scope_->spawn(watch(weak_from_this()));
}

Task<void> TaskStore::watch(std::weak_ptr<TaskStore> store) {
  for (;;) {
    Duration wait{};
    std::shared_ptr<Event> created;
    {
      auto self = store.lock();
      if (!self) co_return;
      self->drop_old();
      if (self->tasks_.empty()) {
        self->watched_ = false;
        co_return;
      }
      auto next = std::chrono::steady_clock::time_point::max();
      for (const auto& [id, task] : self->tasks_) next = std::min(next, task->expires_.value_or(next));
      wait = std::max<Duration>(next - self->clock_->now(), std::chrono::milliseconds(1));
      created = self->created_;
    }
    // A task that is made meanwhile may have less time.
    auto woken = co_await as_result(with_timeout(created->wait(), wait, "the time of a task is over"));
    if (!woken && woken.error().code() != Errc::timeout) co_return;
  }
}

void TaskStore::end_all() {
  for (auto& [id, task] : std::exchange(tasks_, {})) {
    let_go(*task);
    task->cancel("the program that ran the task has ended");
  }
  if (scope_) scope_->cancel();
}

void TaskStore::stop() {
  stopped_ = true;
  on_change = nullptr;
  end_all();
}

Task<void> TaskStore::finish(Duration for_handlers) {
  auto keep = shared_from_this();
  end_all();
  // A scope that was cancelled runs nothing new; what comes later gets another.
  auto ending = std::move(scope_);
  watched_ = false;
  if (ending) (void)co_await as_result(ending->join());
  auto handlers = std::exchange(handlers_, std::nullopt);
  if (handlers) (void)co_await as_result(handlers->wait_ended(for_handlers));
}

}  // namespace patchbay
