// Following a task at the server until its result is there: looking at it now and then,
// telling the caller of its state, answering what it asks. Called by Session for calls that
// became tasks and for tasks known by their id. Loop thread only.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "client/session_core.h"

namespace patchbay {

struct FollowTask {
  RequestSettings settings;  // with the clock of the call
  std::function<void(const RemoteTask&)> on_task;
  // Whether leaving without a result (cancelled, timed out, a question nobody answers) also
  // ends the task. The server is told, and not waited for.
  bool cancel_when_left = true;
  // Nothing is known of the task but its id.
  bool look_first = false;
  // Progress of a call does not end with the answer that made it a task.
  std::shared_ptr<Peer> peer;  // the one `progress` listens on
  std::unique_ptr<Peer::ProgressHold> progress;
};

// The result of the call that became `task`, without envelope. Throws what the call would
// have thrown, and Errc::rpc when the server cancelled or forgot it.
Task<Json> follow_task(std::shared_ptr<SessionCore> core, RemoteTask task, FollowTask how);

Task<TaskState> look_at_task(SessionCore& core, std::string id, RequestSettings settings);
Task<void> cancel_remote_task(SessionCore& core, std::string id);

// How long to wait before the next look: what the server wants, within bounds.
Duration poll_pause(const RemoteTask& task, const Limits& limits);

}  // namespace patchbay
