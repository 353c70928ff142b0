// SocketDoor: the place where programs of the same user reach this one: a socket of mode 0600 in a folder of mode 0700,
// whose callers are looked at before they are heard. Who connects and says nothing makes room for others. The client
// side is transport/unix_socket. One owner; loop thread only, but for SocketLock, which blocks.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <optional>

#include "base/fd.h"
#include "base/runtime.h"
#include "base/scope.h"
#include "gateway/host_view.h"
#include "transport/unix_socket.h"

namespace patchbay {

// Held by whoever makes or takes away the socket of a place, so that two that begin at once make one.
class SocketLock {
 public:
  // Makes the folder if need be, and waits a while. Errc::timeout when somebody else holds it; Errc::denied when the
  // folder must not be used.
  static Result<SocketLock> take(const SocketPlace& place);
  // Of a folder that is there already; does not wait, and makes no folder.
  static Result<SocketLock> take_in(const Fd& folder, const SocketPlace& place);
  // A lock that was taken before and handed on with its descriptor, which becomes ours.
  static Result<SocketLock> inherited(const SocketPlace& place, int descriptor);

  const Fd& folder() const noexcept { return folder_; }
  int descriptor() const noexcept { return lock_.get(); }

 private:
  SocketLock(Fd folder, Fd lock) : folder_(std::move(folder)), lock_(std::move(lock)) {}
  Fd folder_;
  Fd lock_;
};

// Whether a program that was killed left its socket there. It is taken away, so this is found out once.
bool take_away_left_socket(const SocketPlace& place);

class SocketDoor {
 public:
  static constexpr std::size_t most_connections = 256;

  // Listens. What a program that was killed left behind is replaced: the caller has found that nobody listens there.
  SocketDoor(const asio::any_io_executor& executor, SocketPlace place, const SocketLock& lock);
  SocketDoor(const SocketDoor&) = delete;
  SocketDoor& operator=(const SocketDoor&) = delete;
  // Nobody is let in any more, and the socket is gone unless it is another one by now.
  ~SocketDoor();

  // Returns when nobody can find it any more: the name, or its folder, is gone or another one's. Looks from time to
  // time.
  Task<void> until_gone() const;
  // Serves until cancelled, then ends every connection.
  Task<void> run(std::shared_ptr<SharedHost> shared, Runtime runtime);

 private:
  Task<void> let_in(std::shared_ptr<SharedHost> shared, Runtime runtime);
  void make_room();
  void close();

  SocketPlace place_;
  Fd folder_;
  struct Listener;
  std::unique_ptr<Listener> listener_;
  std::list<std::weak_ptr<HostView>> views_;  // the oldest first
  Scope scope_;
};

}  // namespace patchbay
