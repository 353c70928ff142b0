// The session of a directory as commands see it: where its socket is, whether it runs, and asking it something. A
// session is one background process for each user and working directory, which keeps servers up between commands
// (docs/adr/0021-session.md). Blocking, bounded; each question has a loop of its own.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include <patchbay/config.h>
#include <patchbay/json.h>
#include <patchbay/status.h>
#include <patchbay/task.h>

#include "cli/texts/state_words.h"
#include "transport/unix_socket.h"

namespace patchbay::cli {

// The current directory without links. Throws when it is gone.
std::string session_directory();
// Where the socket of a directory's session is: in $XDG_RUNTIME_DIR/patchbay if that variable names a folder which is
// ours and which only we can write to, else in the state directory. Nothing when there is no such place.
std::optional<SocketPlace> session_place(const std::string& directory, const VariableLookup& lookup);
// Of this process. Throws Errc::config when there is none.
SocketPlace session_place();

struct SessionAnswer {
  pid_t pid = 0;
  Result<Json> answer;
};
// Sends one request to the session. Nothing: none runs. Throws Errc::denied when what is there is not ours.
std::optional<SessionAnswer> ask_session(const SocketPlace& place, std::string_view method, Json params = {},
                                         std::chrono::milliseconds limit = std::chrono::seconds(5));

// The same on the loop of whoever waits. Throws the session's error, and Errc::connect when none runs.
Task<Json> answer_of_session(SocketPlace place, std::string method, Json params, std::chrono::milliseconds limit);

// What a session says of itself.
struct SessionState {
  SocketPlace place;
  pid_t pid = 0;
  std::string version;
  std::string since;  // "2026-11-18T02:30:00Z"
  std::string directory;
  Json all;  // everything it said
};
// Nothing: none runs here. Throws when it does not answer, or what is there is not ours.
std::optional<SessionState> running_session();
// The same for who only shows it: nothing as well when it cannot be told.
std::optional<SessionState> session_seen();
// Throws when the session is of another version than this program, with the commands that restart it.
void require_same_version(const SessionState& session);

// Has the session of this directory read its files again, after a command has changed one. Nothing that goes wrong
// with that is anybody's error; it reads them before the next command in any case.
void tell_session_of_change() noexcept;

// How one server is in it.
struct SessionServer {
  ServerState state = ServerState::pending;
  std::string reason;  // empty: nothing is wrong
  std::string error;   // empty: there is none
  std::size_t tool_count = 0;
  std::size_t attempt = 0;  // while it is coming back
  std::size_t attempts = 0;
  std::optional<LastFailure> last_failure;
};
std::optional<SessionServer> server_in(const SessionState& session, std::string_view server);
// "session: running since …, pid 123", for lists of servers.
std::string session_line(const SessionState& session);
Json session_json(const SessionState& session);

}  // namespace patchbay::cli
