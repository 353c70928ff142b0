// The way to a program of the same user on this machine, through a socket in a folder that only this user can enter:
// one JSON message per line, as stdio does. connect_own_socket() is the only place that connects to such a socket and
// looks at who listens there; session_transport() is the recipe for a Host. The other end is gateway/socket_door.
// Connecting does not wait. Loop thread only, but for the functions that return a Result, which any thread may call.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <patchbay/error.h>
#include <patchbay/json.h>

#include "base/fd.h"
#include "rpc/transport.h"

namespace patchbay {

// A socket is named by its folder and a short name in it: a whole path may be longer than a socket's address can be.
struct SocketPlace {
  std::string folder;
  std::string name;
  std::string path() const { return folder + "/" + name; }
  bool operator==(const SocketPlace&) const = default;
};

// The folder, for working in it whatever becomes of its path. Errc::denied says why it must not be used: it is a link,
// belongs to somebody else, or others can enter it. Nothing when it does not exist.
Result<std::optional<Fd>> open_own_folder(const std::string& folder);
// The address of a name in such a folder, short enough for a socket: good for as long as `folder` is open.
std::string socket_address(const Fd& folder, std::string_view name);

struct OwnSocket {
  Fd fd;          // does not block
  pid_t pid = 0;  // of the process that listens; 0 when it cannot be told
};
// Connects. Nothing: nobody listens there. Errc::denied: what is there is not ours.
Result<std::optional<OwnSocket>> connect_own_socket(const SocketPlace& place);

// Messages over a connected socket, which the channel owns: one on each line.
std::unique_ptr<Channel> socket_channel(const asio::any_io_executor& executor, Fd socket, Runtime runtime);

// What a connection says in `_meta` of its first request, and is told in `_meta` of the answer.
namespace session_meta {
inline constexpr std::string_view server = "patchbay/server";    // which server is meant; absent: all of them
inline constexpr std::string_view entry = "patchbay/entry";      // a hash of its entry, as the caller knows it
inline constexpr std::string_view version = "patchbay/version";  // of the program
inline constexpr std::string_view about = "patchbay/about";      // the server as the session knows it
inline constexpr std::string_view limit = "patchbay/limit";      // so many ms the caller waits for the answer
// true: the user has typed what is called here, and is shown what rules say. Absent: calls that the user would be asked
// about are refused, and tools that rules hide are not listed.
inline constexpr std::string_view typed = "patchbay/typed";
}  // namespace session_meta

struct SessionTarget {
  SocketPlace place;
  std::string shown;                                 // the server's command line or URL, for people
  Json meta;                                         // of the first request, an object
  std::function<void(const Json& about)> on_opened;  // session_meta::about of the answer
};
// One server of a session. An error that the session tells of is thrown as it was thrown there.
std::shared_ptr<Transport> session_transport(SessionTarget target);
// The same connection without a Host: Errc::connect when nobody listens.
Task<std::unique_ptr<Channel>> open_session_channel(SessionTarget target, Runtime runtime);

}  // namespace patchbay
