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

// Why it is in that state.
enum class ServerReason : std::uint8_t {
  none,  // connected, and nothing is wrong
  not_started,
  connecting,
  awaiting_approval,
  not_usable,         // its entry cannot be used as it is
  wants_credentials,  // it refused those it was given
  connect_failed,
  tools_fetch_failed,  // connected, and its tools could not be listed
  connection_lost,
  closed,  // by this program
  // What became of its entry; see ServerStanding.
  rejected,
  disabled,
  policy,
  duplicate,
  not_configured,
  broken,
  shadowed,
};
std::string_view to_string(ServerReason reason) noexcept;  // "tools fetch failed"; empty for none

// What is known about one server now.
struct ServerStatus {
  std::string name;
  ServerState state = ServerState::pending;
  ServerReason reason = ServerReason::not_started;
  std::optional<ServerDescription> server;
  std::optional<Era> era;  // while it is connected
  std::size_t tool_count = 0;
  std::optional<Error> error;
  std::string transport;  // for display: the command line or URL
  ConfigOrigin origin;
  bool required = false;  // its entry says that a run without it is a failure
};

}  // namespace patchbay
