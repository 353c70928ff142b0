#include "transport/unix_socket.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include <boost/asio/this_coro.hpp>
#include <fmt/format.h>

#include "base/as_result.h"
#include "base/timeout.h"
#include "protocol/methods.h"
#include "rpc/error_data.h"
#include "transport/line_channel.h"

namespace patchbay {
namespace {

using namespace std::chrono_literals;

// A listener whose queue is full is busy, not gone.
constexpr auto busy_pause = 10ms;
constexpr int busy_tries = 200;

std::unexpected<Error> unsafe(const std::string& path, std::string_view why) {
  return fail(Errc::denied, fmt::format("{} is not used: {}", path, why));
}

class SocketChannel final : public Channel {
 public:
  SocketChannel(const asio::any_io_executor& executor, Fd socket, Runtime runtime)
      : socket_(std::move(socket)), lines_(executor, socket_.get(), socket_.get(), std::move(runtime)) {}

  Result<void> send(Message message) override { return lines_.send(std::move(message)); }
  Result<void> send_batch(std::vector<Message> messages) override { return lines_.send_batch(std::move(messages)); }
  Task<Incoming> receive() override { return lines_.receive(); }
  void abandon(const RequestId& id) override { lines_.abandon(id); }
  Task<void> close(CloseMode mode) override {
    co_await lines_.close(mode);
    // The other side notices now, and not when this object goes.
    (void)::shutdown(socket_.get(), SHUT_RDWR);
  }

 private:
  Fd socket_;  // outlives the channel over it
  LineChannel lines_;
};

// Our end of a connection. What the session says about errors is put back together here.
class SessionChannel final : public Channel {
 public:
  SessionChannel(const asio::any_io_executor& executor, Fd fd, SessionTarget target, Runtime runtime)
      : target_(std::move(target)),
        limit_(runtime.limits.connect),
        lines_(executor, std::move(fd), std::move(runtime)) {}

  Result<void> send(Message message) override {
    if (auto* request = std::get_if<Request>(&message); request && request->method == method::initialize) {
      first_ = request->id;
      auto params = std::move(request->params).take();
      if (!params.is_object()) params = Json::object();
      for (const auto& [key, value] : target_.meta.members()) params["_meta"][key] = value;
      params["_meta"][session_meta::limit] = limit_.count();
      request->params = Payload(std::move(params));
    }
    return lines_.send(std::move(message));
  }
  Result<void> send_batch(std::vector<Message> messages) override { return lines_.send_batch(std::move(messages)); }

  Task<Incoming> receive() override {
    auto incoming = co_await as_result(lines_.receive());
    if (!incoming) {
      if (incoming.error().code() != Errc::closed) throw std::move(incoming).error();
      throw Error(Errc::closed, "the session ended");
    }
    auto* message = std::get_if<Message>(&*incoming);
    if (!message) co_return std::move(*incoming);
    if (auto* failed = std::get_if<ErrorResponse>(message); failed && failed->id) {
      if (auto error = carried_error(failed->error)) co_return Lost{*failed->id, std::move(*error)};
    }
    if (auto* answer = std::get_if<Response>(message); answer && first_ && answer->id == *first_) {
      first_.reset();
      const Json& meta = answer->result.value()["_meta"];
      const Json* about = meta.find(session_meta::about);
      if (about && target_.on_opened) target_.on_opened(*about);
    }
    co_return std::move(*incoming);
  }

  void abandon(const RequestId& id) override { lines_.abandon(id); }
  Task<void> close(CloseMode mode) override { return lines_.close(mode); }

 private:
  SessionTarget target_;
  std::chrono::milliseconds limit_;
  SocketChannel lines_;
  std::optional<RequestId> first_;
};

class SessionTransport final : public Transport {
 public:
  explicit SessionTransport(SessionTarget target) : target_(std::move(target)) {}

  Kind kind() const noexcept override { return Kind::text; }
  std::string describe() const override { return target_.shown; }
  Task<std::unique_ptr<Channel>> open(const Runtime& runtime) override {
    return open_session_channel(target_, runtime);
  }

 private:
  SessionTarget target_;
};

}  // namespace

Result<std::optional<Fd>> open_own_folder(const std::string& folder) {
  Fd fd(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd && errno == ENOENT) return std::optional<Fd>();
  if (!fd && (errno == ELOOP || errno == ENOTDIR)) {
    struct stat there{};
    // A file further up: nothing can be here.
    if (::lstat(folder.c_str(), &there) != 0 && (errno == ENOTDIR || errno == ENOENT)) return std::optional<Fd>();
    return unsafe(folder, "it is a link or not a directory");
  }
  if (!fd) return unsafe(folder, std::strerror(errno));
  struct stat about{};
  if (::fstat(fd.get(), &about) != 0) return unsafe(folder, std::strerror(errno));
  if (about.st_uid != ::geteuid()) return unsafe(folder, fmt::format("it belongs to user {}", about.st_uid));
  if ((about.st_mode & 077) != 0) return unsafe(folder, "others may enter it (chmod 700 changes that)");
  return std::optional(std::move(fd));
}

std::string socket_address(const Fd& folder, std::string_view name) {
  return fmt::format("/proc/self/fd/{}/{}", folder.get(), name);
}

Result<std::optional<OwnSocket>> connect_own_socket(const SocketPlace& place) {
  auto folder = open_own_folder(place.folder);
  if (!folder) return std::unexpected(std::move(folder).error());
  if (!*folder) return std::optional<OwnSocket>();
  struct stat about{};
  if (::fstatat((*folder)->get(), place.name.c_str(), &about, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno == ENOENT) return std::optional<OwnSocket>();
    return unsafe(place.path(), std::strerror(errno));
  }
  if (!S_ISSOCK(about.st_mode)) return unsafe(place.path(), "it is not a socket");
  if (about.st_uid != ::geteuid()) return unsafe(place.path(), fmt::format("it belongs to user {}", about.st_uid));
  if ((about.st_mode & 022) != 0) return unsafe(place.path(), "others may write to it");

  OwnSocket socket{Fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0))};
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  const auto path = socket_address(**folder, place.name);
  if (!socket.fd || path.size() >= sizeof address.sun_path) {
    return fail(Errc::connect,
                fmt::format("{}: {}", place.path(), socket.fd ? "its name is too long" : std::strerror(errno)));
  }
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  if (::connect(socket.fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    if (errno == ECONNREFUSED || errno == ENOENT) return std::optional<OwnSocket>();
    return fail(errno == EAGAIN ? Errc::limit : Errc::connect,
                fmt::format("{}: {}", place.path(), std::strerror(errno)));
  }
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(socket.fd.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) {
    return unsafe(place.path(), std::strerror(errno));
  }
  if (peer.uid != ::geteuid()) return unsafe(place.path(), fmt::format("user {} listens there", peer.uid));
  socket.pid = peer.pid;
  return std::optional(std::move(socket));
}

std::unique_ptr<Channel> socket_channel(const asio::any_io_executor& executor, Fd socket, Runtime runtime) {
  return std::make_unique<SocketChannel>(executor, std::move(socket), std::move(runtime));
}

Task<std::unique_ptr<Channel>> open_session_channel(SessionTarget target, Runtime runtime) {
  for (int tried = 1;; ++tried) {
    auto socket = connect_own_socket(target.place);
    if (!socket && socket.error().code() == Errc::limit && tried < busy_tries) {
      co_await sleep_for(busy_pause);
      continue;
    }
    if (!socket) throw std::move(socket).error();
    if (!*socket) throw Error(Errc::connect, "the session has ended").with_carried_out(CarriedOut::no);
    co_return std::make_unique<SessionChannel>(co_await asio::this_coro::executor, std::move((*socket)->fd),
                                               std::move(target), std::move(runtime));
  }
}

std::shared_ptr<Transport> session_transport(SessionTarget target) {
  return std::make_shared<SessionTransport>(std::move(target));
}

}  // namespace patchbay
