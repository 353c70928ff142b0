// How a server is, in words for people: the same ones in `status` and `session status`. Pure.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include <patchbay/status.h>

namespace patchbay::cli {

struct LastFailure {
  std::string error;
  std::chrono::seconds age;
  bool operator==(const LastFailure&) const = default;
};

// How it is, however it came to be known.
struct StateWords {
  std::string server;
  ServerState state = ServerState::pending;
  std::string reason;
  bool by_entry = false;  // it is not used because of its entry: the reason says more than the state
  std::string error;
  std::size_t tool_count = 0;
  std::size_t attempt = 0;  // while it is coming back
  std::size_t attempts = 0;
  std::optional<LastFailure> last_failure;
  std::optional<std::chrono::seconds> age;  // of the state; nothing: it is the state now
};

// "connected  6 tools", "reconnecting, attempt 2 of 5: it exited with status 3 (12 seconds ago)".
std::string state_text(const StateWords& words, bool color);

// "45 seconds", "3 minutes".
std::string age_text(std::chrono::seconds age);
// "3 minutes ago", "just now".
std::string ago_text(std::chrono::seconds age);

}  // namespace patchbay::cli
