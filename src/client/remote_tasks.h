// Following a task at the server until its result is there: looking at it now and then,
// telling the caller of its state, answering what it asks. Called by Session for calls that
// became tasks and for tasks known by their id. Loop thread only.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/waiting.h"
#include "client/timing.h"
#include "protocol/wire.h"
#include "rpc/peer.h"

namespace patchbay {

class SessionOwner;

// Who wants to hear that a task changed, by its id. Part of a session.
class TaskSignals {
 public:
  struct Signal {
    Event event;
    bool raised = false;
    std::shared_ptr<CallClock> clock;  // of the call that waits for it
  };
  using Place = std::multimap<std::string, Signal*, std::less<>>::iterator;

  Place add(const std::string& id, Signal& signal) { return signals_.emplace(id, &signal); }
  void remove(Place place) { signals_.erase(place); }
  void raise(std::string_view id) {
    auto [first, last] = signals_.equal_range(id);
    for (; first != last; ++first) {
      first->second->raised = true;
      first->second->event.notify_all();
    }
  }
  // The clock of a call that follows the task; null when none does.
  std::shared_ptr<CallClock> clock_of(std::string_view id) const {
    const auto found = signals_.find(id);
    return found == signals_.end() ? nullptr : found->second->clock;
  }

 private:
  std::multimap<std::string, Signal*, std::less<>> signals_;
};

struct FollowTask {
  RequestSettings settings;  // with the clock of the call
  std::function<void(const RemoteTask&)> on_task;
  // Whether leaving without a result (cancelled, timed out, a question nobody answers) also
  // ends the task. The server is notified, and not waited for.
  bool cancel_when_left = true;
  // Nothing is known of the task but its id.
  bool look_first = false;
  // Progress of a call does not end with the answer that made it a task.
  std::shared_ptr<Peer> peer;  // the one `progress` listens on
  std::unique_ptr<Peer::ProgressHold> progress;
};

// The result of the call that became `task`, without envelope. Throws what the call would
// have thrown, and Errc::rpc when the server cancelled or forgot it.
Task<Json> follow_task(std::shared_ptr<SessionOwner> session, RemoteTask task, FollowTask how);

Task<TaskState> look_at_task(SessionOwner& session, std::string id, RequestSettings settings);
Task<void> cancel_remote_task(SessionOwner& session, std::string id);

// How long to wait before the next look: what the server wants, within bounds.
Duration poll_pause(const RemoteTask& task, const Limits& limits);

}  // namespace patchbay
