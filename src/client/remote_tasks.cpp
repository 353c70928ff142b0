#include "client/remote_tasks.h"

#include <algorithm>
#include <set>

#include "base/as_result.h"
#include "client/exchange.h"
#include "client/session_owner.h"
#include "protocol/methods.h"

namespace patchbay {
namespace {

constexpr int failed_looks = 3;  // in a row, before the call fails with the last

Members naming(const std::string& id) {
  Members members;
  members.emplace_back("taskId", Json(id));
  return members;
}

// While it lives, notifications about the task are noted.
class TaskNews {
 public:
  TaskNews(TaskSignals& signals, const std::string& id, std::shared_ptr<CallClock> clock)
      : signals_(signals), place_(signals.add(id, signal_)) {
    signal_.clock = std::move(clock);
  }
  TaskNews(const TaskNews&) = delete;
  TaskNews& operator=(const TaskNews&) = delete;
  ~TaskNews() { signals_.remove(place_); }

  // Returns after `pause`, or sooner when there is news; never before `least`.
  Task<void> wait(Duration pause, Duration least) {
    const auto first = std::min(pause, least);
    co_await sleep_for(first);
    if (!signal_.raised && pause > first) {
      auto waited = co_await as_result(with_timeout(raised(signal_), pause - first, "no news"));
      if (!waited && waited.error().code() != Errc::timeout) throw std::move(waited).error();
    }
    signal_.raised = false;
  }

 private:
  static Task<void> raised(TaskSignals::Signal& signal) {
    while (!signal.raised) co_await signal.event.wait();
  }

  TaskSignals& signals_;
  TaskSignals::Signal signal_;
  TaskSignals::Place place_;
};

// Says at the server that nobody waits for the task any more, unless there is a result.
struct LeaveTask {
  LeaveTask(SessionOwner& s, std::string i) : session(s), id(std::move(i)) {}
  LeaveTask(const LeaveTask&) = delete;
  LeaveTask& operator=(const LeaveTask&) = delete;
  ~LeaveTask() {
    if (id.empty() || session.peer()->closed()) return;
    const auto members = naming(id);
    const auto& core = *session.core();
    (void)core.peer()->send_unawaited(method::cancel_task, core.wire()->params(members, core.identity(), {}),
                                      core.headers_for(*core.wire(), method::cancel_task, members));
  }
  SessionOwner& session;
  std::string id;
};

Error unknown_task(const std::string& id, const Error& error) {
  return Error::rpc(
      *error.rpc_code(),
      fmt::format("the server does not know the task \"{}\"; it may have expired ({})", id, error.message()),
      error.rpc_data());
}

class Following {
 public:
  Following(std::shared_ptr<SessionOwner> session, RemoteTask task, FollowTask how)
      : session_(std::move(session)),
        how_(std::move(how)),
        task_(std::move(task)),
        news_(session_->task_signals(), task_.id, how_.settings.clock),
        use_(*session_),
        leave_(*session_, how_.cancel_when_left ? task_.id : std::string()),
        heard_at_(how_.settings.clock->now()) {}

  Task<Json> run() {
    const bool fetches = session_->wire().has_request(method::task_result);
    TaskState state;
    state.task = task_;
    // Where a task is told with its questions and its result, the first answer lacks them.
    bool known = fetches;
    if (how_.look_first) {
      state = co_await look();
      known = true;
    }
    tell();
    for (;;) {
      // Asking for the result also gives a server a way to ask us.
      if (known && (is_final(task_.status) || (fetches && task_.status == TaskStatus::input_required))) {
        co_return co_await result(std::move(state));
      }
      if (known && task_.status == TaskStatus::input_required) co_await answer(std::move(state.requests));
      if (known || !is_final(task_.status)) co_await news_.wait(pause(), session_->runtime().limits.task_poll_least);
      (void)left();
      state = co_await look();
      known = true;
    }
  }

 private:
  void tell() {
    if (!how_.on_task || (told_ && *told_ == std::pair(task_.status, task_.status_message))) return;
    told_ = std::pair(task_.status, task_.status_message);
    try {
      how_.on_task(task_);
    } catch (...) {
      session_->runtime().log(LogLevel::error, "task_handler_failed", "reason",
                              error_from(std::current_exception()).message());
    }
  }

  Peer::TimePoint heard_at() const { return how_.progress ? std::max(heard_at_, how_.progress->last()) : heard_at_; }

  // What remains of the call's time; throws when nothing does.
  Duration left() const {
    const auto& settings = how_.settings;
    const auto left = settings.clock->left();
    auto text = [](Duration limit) { return fmt::format("{} s", std::chrono::duration<double>(limit).count()); };
    if (left == Duration::zero()) {
      throw Error(Errc::timeout, fmt::format("the task had no result within {}", text(settings.total)));
    }
    if (settings.idle != Duration::max() && settings.clock->now() - heard_at() >= settings.idle) {
      throw Error(Errc::timeout,
                  fmt::format("the server reported nothing new about the task for {}", text(settings.idle)));
    }
    return left;
  }

  // One request within the time of the call, and no longer than `most`.
  RequestSettings part(Duration most) const {
    RequestSettings settings;
    settings.total = std::min(left(), most);
    settings.clock = how_.settings.clock;
    return settings;
  }

  Duration pause() const {
    auto pause = std::min(poll_pause(task_, session_->runtime().limits), left());
    if (how_.settings.idle != Duration::max()) {
      pause = std::min(pause, how_.settings.idle - (how_.settings.clock->now() - heard_at()));
    }
    return std::max(pause, Duration(std::chrono::milliseconds(1)));
  }

  Task<TaskState> look() {
    for (int failures = 1;; ++failures) {
      auto looked = co_await as_result(look_at_task(*session_, task_.id, part(session_->runtime().limits.request)));
      if (looked) {
        note(looked->task);
        tell();
        co_return std::move(*looked);
      }
      auto error = std::move(looked).error();
      if (error.rpc_code()) leave_.id.clear();  // not there, or not ours
      const bool again = error.code() == Errc::timeout || error.code() == Errc::http || error.code() == Errc::connect;
      if (!again || failures == failed_looks) throw error;
      co_await sleep_for(poll_pause(task_, session_->runtime().limits));
    }
  }

  void note(const RemoteTask& now) {
    if (now.status != task_.status || now.status_message != task_.status_message ||
        now.last_updated_at != task_.last_updated_at) {
      heard_at_ = how_.settings.clock->now();
    }
    auto id = std::move(task_.id);
    task_ = now;
    task_.id = std::move(id);  // whatever it calls itself
  }

  Task<Json> result(TaskState state) {
    if (task_.status == TaskStatus::cancelled) {
      leave_.id.clear();
      throw Error(Errc::rpc, fmt::format("the server cancelled the task{}{}", task_.status_message ? ": " : "",
                                         task_.status_message.value_or("")));
    }
    if (!session_->wire().has_request(method::task_result)) {
      leave_.id.clear();
      if (state.error) throw std::move(*state.error);
      if (!state.result) throw Error(Errc::protocol, "the server reports that the task is done but sent no result");
      co_return std::move(*state.result);
    }
    auto fetched = co_await as_result(request(*session_, method::task_result, naming(task_.id), part(Duration::max())));
    if (fetched || fetched.error().rpc_code()) leave_.id.clear();
    if (!fetched && fetched.error().code() == Errc::timeout) (void)left();
    co_return value_or_throw(std::move(fetched));
  }

  // Each question is put to the user once, however often it is seen.
  Task<void> answer(std::vector<std::pair<std::string, InputRequest>> requests) {
    InputAnswers answers;
    for (auto& [key, wish] : requests) {
      if (!answered_.insert(key).second) continue;
      if (answered_.size() > session_->runtime().limits.task_questions) {
        throw Error(Errc::limit,
                    fmt::format("the task asked more than {} questions, which is the limit", answered_.size() - 1));
      }
      const CallClock::Stop stop(how_.settings.clock);
      auto response =
          co_await session_->answers().ask(std::move(wish), session_->answers().context_of(how_.settings.clock.get()));
      answers.emplace_back(key, std::move(response));
    }
    if (answers.empty()) co_return;
    heard_at_ = how_.settings.clock->now();
    Members members = naming(task_.id);
    session_->wire().add_input(members, answers, std::nullopt);
    co_await request(*session_, method::update_task, std::move(members), part(session_->runtime().limits.request));
  }

  std::shared_ptr<SessionOwner> session_;
  FollowTask how_;
  RemoteTask task_;
  TaskNews news_;
  SessionOwner::Use use_;
  LeaveTask leave_;
  Peer::TimePoint heard_at_;
  std::set<std::string> answered_;
  std::optional<std::pair<TaskStatus, std::optional<std::string>>> told_;
};

}  // namespace

Duration poll_pause(const RemoteTask& task, const Limits& limits) {
  const auto least = limits.task_poll_least.count();
  const auto most = std::max<std::int64_t>(least, limits.task_poll_most.count());
  const auto wanted = task.poll_interval_ms.value_or(limits.task_poll.count());
  return std::chrono::milliseconds(std::clamp<std::int64_t>(wanted, least, most));
}

Task<TaskState> look_at_task(SessionOwner& session, std::string id, RequestSettings settings) {
  auto answered = co_await as_result(request(session, method::get_task, naming(id), std::move(settings)));
  if (!answered) {
    if (answered.error().rpc_code() == rpc_code::invalid_params) throw unknown_task(id, answered.error());
    throw std::move(answered).error();
  }
  co_return value_or_throw(session.wire().read_task(std::move(*answered)));
}

Task<void> cancel_remote_task(SessionOwner& session, std::string id) {
  RequestSettings settings;
  settings.total = session.runtime().limits.request;
  co_await request(session, method::cancel_task, naming(id), std::move(settings));
}

Task<Json> follow_task(std::shared_ptr<SessionOwner> session, RemoteTask task, FollowTask how) {
  Following following(std::move(session), std::move(task), std::move(how));
  co_return co_await following.run();
}

}  // namespace patchbay
