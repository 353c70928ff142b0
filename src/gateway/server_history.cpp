#include "gateway/server_history.h"

#include <utility>

namespace patchbay {

void ServerHistory::note(const ServerStatus& status, std::chrono::sys_seconds now) {
  auto& server = servers_[status.name];
  // One whose credentials were refused, or whose tools could not be listed, may still have its session.
  const bool up = status.server.has_value();
  if (status.error && status.state != ServerState::disabled && status.reason != ServerReason::awaiting_approval &&
      !(server.failure && server.failure->error.is_same_failure(*status.error))) {
    server.failure = Failure{*status.error, now};
  }
  if (up && !server.up) {
    if (server.was_up) server.restarted = now;
    server.was_up = true;
    server.printed.clear();
  }
  server.up = up;
}

void ServerHistory::note(const LogEvent& event, std::chrono::sys_seconds now) {
  if (event.server.empty()) return;
  // One over HTTP that has forgotten its session is not lost: it gets a new one at once.
  if (event.event == "session_renewed") servers_[event.server].restarted = now;
  if (event.event != "junk") return;
  if (auto& server = servers_[event.server]; server.printed.empty()) server.printed = event.field("text");
}

std::optional<ServerHistory::Failure> ServerHistory::last_failure(const std::string& server) const {
  const auto found = servers_.find(server);
  return found == servers_.end() ? std::nullopt : found->second.failure;
}

std::string ServerHistory::printed(const std::string& server) const {
  const auto found = servers_.find(server);
  return found == servers_.end() ? std::string() : found->second.printed;
}

std::optional<std::chrono::sys_seconds> ServerHistory::take_restart(const std::string& server) {
  const auto found = servers_.find(server);
  return found == servers_.end() ? std::nullopt : std::exchange(found->second.restarted, std::nullopt);
}

}  // namespace patchbay
