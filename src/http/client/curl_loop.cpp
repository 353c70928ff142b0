#include "http/client/curl_loop.h"

#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>

#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <fmt/format.h>

#include "base/kept_file.h"
#include "http/client/named_file.h"
#include "http/client/tcp_figures.h"

namespace patchbay {

namespace asio = boost::asio;

CurlLoop::State::State(asio::any_io_executor executor, std::size_t idle_connections, const KeepAlive& keep_alive)
    // libcurl looks at the clock of the system, whatever the loop's is.
    : keep_alive_(keep_alive), timer_(executor, real_clock()) {
  multi_ = curl().multi_init();
  if (!multi_) throw Error(Errc::internal, "no memory is left for HTTP");
  const auto set = curl().multi_setopt;
  set(multi_, CURLMOPT_SOCKETFUNCTION, &State::on_socket);
  set(multi_, CURLMOPT_SOCKETDATA, this);
  set(multi_, CURLMOPT_TIMERFUNCTION, &State::on_timer);
  set(multi_, CURLMOPT_TIMERDATA, this);
  set(multi_, CURLMOPT_MAXCONNECTS, static_cast<long>(idle_connections));
  // One request at a time on a connection, also with HTTP/2. In libcurl 7.88 a stream whose
  // reader is slow stops all others of its connection, and a stream that is given up is
  // reported to the server only when something else is sent.
  set(multi_, CURLMOPT_PIPELINING, static_cast<long>(CURLPIPE_NOTHING));
}

CurlLoop::State::Handle CurlLoop::State::take_easy(const std::shared_ptr<const TransferOptions>& options) {
  if (spare_.empty()) return {.easy = curl().easy_init()};
  auto found = std::ranges::find(spare_, options, &Handle::options);
  if (found == spare_.end()) found = spare_.end() - 1;
  auto handle = std::move(*found);
  spare_.erase(found);
  if (handle.options && handle.options != options) {
    curl().easy_reset(handle.easy);
    handle.options.reset();
    handle.url.reset();
    handle.place.reset();
  }
  return handle;
}

void CurlLoop::State::give_back(Handle handle) {
  if (!multi_ || spare_.size() >= most_spare) {
    curl().easy_cleanup(handle.easy);
    return;
  }
  if (!handle.options) {
    curl().easy_reset(handle.easy);
    handle.url.reset();
    handle.place.reset();
  }
  spare_.push_back(std::move(handle));
}

const CurlLoop::State::Bundle& CurlLoop::State::certificates(const std::string& file, const std::string& extra) {
  const auto [found, fresh] = bundles_.try_emplace({file, extra});
  auto& bundle = found->second;
  if (!fresh) return bundle;
  const char* own = curl().version_info(CURLVERSION_NOW)->cainfo;
  for (const auto& name : {file.empty() ? std::string(own ? own : "") : file, extra}) {
    bundle.text += read_kept_file(name, certificate_file_limit);  // never waits, whatever has that name
    bundle.text += '\n';
  }
  bundle.file = Fd(::memfd_create("certificates", MFD_CLOEXEC));
  auto path = fmt::format("/proc/self/fd/{}", bundle.file.get());
  const auto written = ::write(bundle.file.get(), bundle.text.data(), bundle.text.size());
  if (written == static_cast<ssize_t>(bundle.text.size()) && ::access(path.c_str(), R_OK) == 0) {
    bundle.path = std::move(path);
    bundle.text = {};
  }
  return bundle;
}

int CurlLoop::State::on_socket(CURL* easy, curl_socket_t socket, int what, void* self, void*) {
  static_cast<State*>(self)->watch(socket, what);
  if (what != CURL_POLL_REMOVE) static_cast<State*>(self)->note_connection(easy, socket);
  return 0;
}

int CurlLoop::State::on_timer(CURLM*, long milliseconds, void* self) {
  static_cast<State*>(self)->set_timer(milliseconds);
  return 0;
}

void CurlLoop::State::watch(int socket, int what) {
  const auto found = sockets_.find(socket);
  if (what == CURL_POLL_REMOVE) {
    if (found == sockets_.end()) return;
    auto& watched = *found->second;
    watched.what = 0;
    if (!watched.ours) {
      forget(found);
    } else if (watched.reading || watched.writing) {
      // An idle connection does not keep a loop alive.
      boost::system::error_code ignored;
      watched.descriptor.cancel(ignored);
    }
    return;
  }
  const auto watched = found != sockets_.end() ? found->second : add_socket(socket, false);
  if (!watched) return;  // no room in the loop's epoll; the limits of the request end it
  watched->what = what;
  wait(socket, watched);
}

std::shared_ptr<CurlLoop::State::Watched> CurlLoop::State::add_socket(int socket, bool ours) {
  auto watched = std::make_shared<Watched>(timer_.executor());
  watched->ours = ours;
  boost::system::error_code failed;
  watched->descriptor.assign(socket, failed);
  if (failed) return nullptr;
  sockets_[socket] = watched;
  return watched;
}

void CurlLoop::State::forget(Sockets::iterator socket) {
  socket->second->descriptor.release();
  sockets_.erase(socket);
}

struct CurlLoop::State::Ready {
  std::weak_ptr<State> state;
  std::weak_ptr<Watched> watched;
  int socket;
  int how;
  void operator()(boost::system::error_code error) const {
    const auto self = state.lock();
    const auto waited = watched.lock();
    if (!self || !waited) return;
    (how == CURL_CSELECT_IN ? waited->reading : waited->writing) = false;
    if (error == asio::error::operation_aborted) return self->wait(socket, waited);
    if (waited->what != 0) self->act(socket, error ? CURL_CSELECT_ERR : how);
    self->wait(socket, waited);
  }
};

void CurlLoop::State::wait(int socket, const std::shared_ptr<Watched>& watched) {
  using Descriptor = asio::posix::stream_descriptor;
  if (!watched->descriptor.is_open()) return;
  if ((watched->what & CURL_POLL_IN) != 0 && !watched->reading) {
    watched->reading = true;
    watched->descriptor.async_wait(Descriptor::wait_read, Ready{weak_from_this(), watched, socket, CURL_CSELECT_IN});
  }
  if ((watched->what & CURL_POLL_OUT) != 0 && !watched->writing) {
    watched->writing = true;
    watched->descriptor.async_wait(Descriptor::wait_write, Ready{weak_from_this(), watched, socket, CURL_CSELECT_OUT});
  }
}

curl_socket_t CurlLoop::State::on_open(void* self, curlsocktype, curl_sockaddr* address) {
  const int socket = ::socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
  if (socket < 0) return CURL_SOCKET_BAD;
  if (address->socktype == SOCK_STREAM) keep_alive(socket, static_cast<State*>(self)->keep_alive_);
  if (!static_cast<State*>(self)->add_socket(socket, true)) {
    ::close(socket);
    return CURL_SOCKET_BAD;
  }
  return socket;
}

int CurlLoop::State::on_close(void* self, curl_socket_t socket) {
  auto& state = *static_cast<State*>(self);
  state.note_closing(socket);
  if (const auto found = state.sockets_.find(socket); found != state.sockets_.end()) state.forget(found);
  return ::close(socket);
}

void CurlLoop::State::set_timer(long milliseconds) {
  const auto round = ++timer_round_;
  if (milliseconds < 0) {
    timer_.cancel();
    return;
  }
  auto due = [weak = weak_from_this(), round](boost::system::error_code error) {
    auto self = weak.lock();
    if (self && !error && self->timer_round_ == round) self->kick();
  };
  if (milliseconds == 0) {
    timer_.cancel();
    if (adding_) return;
    asio::post(timer_.executor(), [due] { due({}); });
    return;
  }
  timer_.set_after(std::chrono::milliseconds(milliseconds));
  timer_.call(due);
}

void CurlLoop::State::act(curl_socket_t socket, int events) {
  if (!multi_) return;
  int running = 0;
  curl().multi_socket_action(multi_, socket, events, &running);
  finish_done();
}

void CurlLoop::State::add(CurlMember& member) {
  members_.emplace(member.easy(), &member);
  adding_ = true;
  curl().multi_add_handle(multi_, member.easy());
  adding_ = false;
}

void CurlLoop::State::remove(CurlMember& member) {
  members_.erase(member.easy());
  if (!multi_) return;
  curl().multi_remove_handle(multi_, member.easy());
}

// How far a connection has come is asked of the socket: the library tells only when it is done.
void CurlLoop::State::note_connection(CURL* easy, int socket) {
  const auto found = members_.find(easy);
  if (found == members_.end() || found->second->is_connected()) return;
  if (has_internet_peer(socket)) found->second->note_connected();
}

// The library says which port of ours a request goes out from, and not which socket.
void CurlLoop::State::note_closing(int socket) {
  if (members_.empty()) return;
  const int port = local_port(socket);
  if (port == 0) return;
  for (const auto& [easy, member] : members_) member->note_closing(socket, port);
}

void CurlLoop::State::finish_done() {
  // Ended transfers leave the library before anybody hears of it.
  int left = 0;
  while (multi_) {
    const auto* message = curl().multi_info_read(multi_, &left);
    if (!message) return;
    if (message->msg != CURLMSG_DONE) continue;
    const auto code = message->data.result;
    char* place = curl_info<char*>(message->easy_handle, CURLINFO_PRIVATE);
    reinterpret_cast<Place*>(place)->member->finish(code);
  }
}

void CurlLoop::State::close() {
  if (!multi_) return;
  while (!members_.empty()) members_.begin()->second->abandon();
  ++timer_round_;
  timer_.cancel();
  auto* multi = std::exchange(multi_, nullptr);
  for (auto& spare : std::exchange(spare_, {})) curl().easy_cleanup(spare.easy);
  curl().multi_cleanup(multi);
  while (!sockets_.empty()) forget(sockets_.begin());
}

CurlLoop::CurlLoop(asio::any_io_executor executor, std::size_t idle_connections, KeepAlive keep_alive) {
  if (!curl_failure().empty()) {
    throw Error(
        Errc::unsupported,
        fmt::format("HTTP needs libcurl 7.87 or newer: {}; install such a version (Debian: apt-get install libcurl4)",
                    curl_failure()));
  }
  state_ = std::make_shared<State>(std::move(executor), idle_connections, keep_alive);
}

CurlLoop::~CurlLoop() { state_->close(); }

bool CurlLoop::idle() const noexcept { return state_->idle(); }

}  // namespace patchbay
