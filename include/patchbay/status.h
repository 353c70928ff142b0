// How the servers of a host are. Values only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <patchbay/config.h>
#include <patchbay/error.h>
#include <patchbay/types.h>

namespace patchbay {

enum class ServerState : std::uint8_t { connected, failed, needs_auth, pending, disabled };
std::string_view to_string(ServerState state) noexcept;  // "needs-auth"

// What is known about one server now.
struct ServerStatus {
  std::string name;
  ServerState state = ServerState::pending;
  std::string reason;  // machine-readable: "not started", "connecting", "awaiting approval", ...
  std::optional<ServerDescription> server;
  std::string era;  // "legacy", "modern", or empty
  std::size_t tool_count = 0;
  std::optional<Error> error;
  std::string transport;  // for display: the command line or URL
  ConfigOrigin origin;
  bool required = false;  // its entry says that a run without it is a failure
};

}  // namespace patchbay
