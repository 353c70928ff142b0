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
  reconnecting,  // after a loss: ServerStatus::attempt of ServerStatus::attempts is next or under way
  awaiting_approval,
  not_usable,         // its entry cannot be used as it is
  wants_credentials,  // it refused those it was given
  connect_failed,
  tools_fetch_failed,  // connected, and its tools could not be listed
  changed_tools,       // connected, and some of its tools are others than were agreed to; see docs/pins.md
  connection_lost,
  gave_up,       // every attempt to connect again failed; it is tried again when it is used
  keeps_ending,  // it ended several times in a row soon after it was started; as above
  closed,        // by this program
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
  std::optional<Era> era;      // while it is connected
  std::size_t tool_count = 0;  // also while it is not connected: those it had
  std::size_t attempt = 0;     // while it is coming back
  std::size_t attempts = 0;    // of so many
  std::optional<Error> error;
  std::string transport;  // for display: the command line or URL
  ConfigOrigin origin;
  bool required = false;  // its entry says that a run without it is a failure
};

// The reason with its numbers: "reconnecting 2/5".
std::string reason_text(const ServerStatus& status);

}  // namespace patchbay
