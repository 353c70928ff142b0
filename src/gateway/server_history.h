// ServerHistory: what a host that runs for long remembers of its servers beyond their state now: the last failure, that
// a server was started anew and what it held is gone, and what it printed that was not meant for us. Made of the
// host's own events and log. Values in, values out; owned by whoever owns the Host; loop thread only.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>

#include <patchbay/log.h>
#include <patchbay/status.h>

namespace patchbay {

class ServerHistory {
 public:
  struct Failure {
    Error error;
    std::chrono::sys_seconds time;
  };

  void note(const ServerStatus& status, std::chrono::sys_seconds now);
  void note(const LogEvent& event, std::chrono::sys_seconds now);
  // Its entry is another one: what comes next is a new start.
  void replaced(const std::string& server) {
    if (const auto found = servers_.find(server); found != servers_.end()) found->second.up = false;
  }
  void forget(const std::string& server) { servers_.erase(server); }

  // Nothing: it has not failed.
  std::optional<Failure> last_failure(const std::string& server) const;
  // A line of its stdout that was not a message, since it was last connected; empty: none.
  std::string printed(const std::string& server) const;
  // When it was connected again after it had been lost, unless that was taken before.
  std::optional<std::chrono::sys_seconds> take_restart(const std::string& server);

 private:
  struct Server {
    bool up = false;
    bool was_up = false;  // ever
    std::optional<Failure> failure;
    std::optional<std::chrono::sys_seconds> restarted;
    std::string printed;
  };
  std::map<std::string, Server> servers_;
};

}  // namespace patchbay
