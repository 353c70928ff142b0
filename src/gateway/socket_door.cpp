#include "gateway/socket_door.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <thread>

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/redirect_error.hpp>
#include <fmt/format.h>

#include "base/as_result.h"
#include "base/kept_file.h"
#include "base/timeout.h"

namespace patchbay {
namespace {

using namespace std::chrono_literals;

constexpr auto lock_pause = 20ms;
constexpr int lock_tries = 1500;
constexpr int waiting_callers = 128;
// Between looks at the name of the socket.
constexpr auto look_pause = 2s;
// After an error of accept() that will not go away at once, such as too many open files.
constexpr auto accept_pause = 100ms;

std::string lock_name(const SocketPlace& place) { return place.name + ".lock"; }

Error cannot(std::string_view what, const std::string& path) {
  return Error(Errc::config, fmt::format("cannot {} {}: {}", what, path, std::strerror(errno)));
}

// `made`: why it could not be made, where that was tried.
Result<Fd> folder_of(const SocketPlace& place, int made = 0) {
  auto folder = open_own_folder(place.folder);
  if (!folder) return std::unexpected(std::move(folder).error());
  if (!*folder) {
    if (made != 0) errno = made;
    auto why = cannot("make", place.folder);
    return std::unexpected(why.with_message(
        fmt::format("{}; set XDG_RUNTIME_DIR to a folder that you can write to and others cannot", why.message())));
  }
  return std::move(**folder);
}

bool is_ours(int socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  return ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid == ::geteuid();
}

}  // namespace

Result<SocketLock> SocketLock::take_in(const Fd& folder, const SocketPlace& place) {
  Fd lock(
      ::openat(folder.get(), lock_name(place).c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600));
  if (!lock) return std::unexpected(cannot("open", place.path() + ".lock"));
  while (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    if (errno != EWOULDBLOCK) return std::unexpected(cannot("lock", place.path() + ".lock"));
    return fail(Errc::timeout, fmt::format("another program holds the lock {}.lock", place.path()));
  }
  return SocketLock(Fd(::fcntl(folder.get(), F_DUPFD_CLOEXEC, 0)), std::move(lock));
}

Result<SocketLock> SocketLock::take(const SocketPlace& place) {
  auto folder = folder_of(place, make_private_folders(place.folder));
  if (!folder) return std::unexpected(std::move(folder).error());
  for (int tried = 1;; ++tried) {
    auto taken = take_in(*folder, place);
    if (taken || taken.error().code() != Errc::timeout || tried >= lock_tries) return taken;
    std::this_thread::sleep_for(lock_pause);
  }
}

Result<SocketLock> SocketLock::inherited(const SocketPlace& place, int descriptor) {
  auto folder = folder_of(place);
  if (!folder) return std::unexpected(std::move(folder).error());
  (void)::fcntl(descriptor, F_SETFD, FD_CLOEXEC);
  return SocketLock(std::move(*folder), Fd(descriptor));
}

bool take_away_left_socket(const SocketPlace& place) {
  const auto folder = open_own_folder(place.folder);
  if (!folder || !*folder) return false;
  struct stat about{};
  const auto here = (*folder)->get();
  if (::fstatat(here, place.name.c_str(), &about, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISSOCK(about.st_mode)) return false;
  // Whoever holds the lock is making another one.
  const auto lock = SocketLock::take_in(**folder, place);
  if (!lock) return false;
  const auto socket = connect_own_socket(place);
  return socket && !*socket && ::unlinkat(here, place.name.c_str(), 0) == 0;
}

struct SocketDoor::Listener {
  Listener(const asio::any_io_executor& executor, int fd, struct stat made) : socket(executor, fd), about(made) {}
  asio::posix::stream_descriptor socket;
  struct stat about;  // of the name in the folder
};

SocketDoor::SocketDoor(const asio::any_io_executor& executor, SocketPlace place, const SocketLock& lock)
    : place_(std::move(place)), folder_(::fcntl(lock.folder().get(), F_DUPFD_CLOEXEC, 0)), scope_(executor) {
  Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket || !folder_) throw cannot("make a socket in", place_.folder);
  (void)::unlinkat(folder_.get(), place_.name.c_str(), 0);
  const auto path = socket_address(folder_, place_.name);
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  if (path.size() >= sizeof address.sun_path) throw Error(Errc::config, fmt::format("the name {} is too long", path));
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    throw cannot("make the socket", place_.path());
  }
  struct stat about{};
  if (::fchmodat(folder_.get(), place_.name.c_str(), 0600, 0) != 0 ||
      ::fstatat(folder_.get(), place_.name.c_str(), &about, AT_SYMLINK_NOFOLLOW) != 0 ||
      ::listen(socket.get(), waiting_callers) != 0) {
    throw cannot("use the socket", place_.path());
  }
  listener_ = std::make_unique<Listener>(executor, socket.release(), about);
}

SocketDoor::~SocketDoor() { close(); }

void SocketDoor::close() {
  if (!listener_) return;
  const auto made = listener_->about;
  // First deaf, then nameless: whoever finds the name in between replaces it, and it is not ours any more.
  listener_.reset();
  // Whoever holds the lock may be asking us something, so nobody waits here. A name that is left is replaced by the
  // next that needs it: nobody listens there.
  auto lock = SocketLock::take_in(folder_, place_);
  struct stat now{};
  if (!lock || ::fstatat(folder_.get(), place_.name.c_str(), &now, AT_SYMLINK_NOFOLLOW) != 0) return;
  if (now.st_ino == made.st_ino && now.st_dev == made.st_dev && now.st_ctim.tv_sec == made.st_ctim.tv_sec &&
      now.st_ctim.tv_nsec == made.st_ctim.tv_nsec) {
    (void)::unlinkat(folder_.get(), place_.name.c_str(), 0);
  }
}

Task<void> SocketDoor::until_gone() const {
  for (;;) {
    co_await sleep_for(look_pause);
    if (!listener_) co_return;
    struct stat now{};
    // By its path: a folder that was moved away is not found there either. The number of a file that is in use is not
    // given to another one.
    if (::lstat(place_.path().c_str(), &now) != 0) {
      if (errno == ENOENT || errno == ENOTDIR) co_return;
    } else if (now.st_ino != listener_->about.st_ino || now.st_dev != listener_->about.st_dev) {
      co_return;
    }
  }
}

Task<void> SocketDoor::run(std::shared_ptr<SharedHost> shared, Runtime runtime) {
  auto served = co_await as_result(let_in(std::move(shared), std::move(runtime)));
  co_await asio::this_coro::throw_if_cancelled(false);
  co_await asio::this_coro::reset_cancellation_state();
  close();
  scope_.cancel();
  co_await scope_.join();
  if (!served && served.error().code() != Errc::cancelled) throw std::move(served).error();
}

Task<void> SocketDoor::let_in(std::shared_ptr<SharedHost> shared, Runtime runtime) {
  auto executor = co_await asio::this_coro::executor;
  for (;;) {
    co_await listener_->socket.async_wait(asio::posix::stream_descriptor::wait_read, asio::use_awaitable);
    Fd caller(::accept4(listener_->socket.native_handle(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!caller) {
      if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED) {
        runtime.log(LogLevel::warning, "accept_failed", "reason", std::strerror(errno));
        co_await sleep_for(accept_pause);
      }
      continue;
    }
    if (!is_ours(caller.get())) {
      runtime.log(LogLevel::warning, "caller_refused", "reason", "another user");
      continue;
    }
    std::erase_if(views_, [](const auto& view) { return view.expired(); });
    if (views_.size() >= most_connections) make_room();
    // Everybody speaks: one more is not heard.
    if (views_.size() >= most_connections + waiting_callers) continue;
    auto view = HostView::make(executor, shared, std::move(caller), runtime);
    views_.push_back(view);
    scope_.spawn(HostView::run(std::move(view)));
  }
}

void SocketDoor::make_room() {
  for (const auto& kept : views_) {
    auto view = kept.lock();
    if (!view || view->spoken() || view->ended()) continue;
    view->end();
    return;
  }
}

}  // namespace patchbay
