#include "process/domain_proxy.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <set>

#include <boost/asio/buffer.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/write.hpp>
#include <fmt/format.h>
#include <netdb.h>

#include "base/as_result.h"
#include "base/offload.h"
#include "base/scope.h"
#include "base/semaphore.h"
#include "base/strings.h"
#include "base/timeout.h"
#include "base/timer.h"
#include "process/warden/protocol.h"
#include "sandbox/proxy_request.h"

namespace patchbay {
namespace {

using asio::ip::tcp;
using boost::system::error_code;
using namespace std::chrono_literals;

constexpr auto pause_after_fault = 200ms;  // when no connection can be accepted: no descriptors are left
constexpr auto to_read_answer = 1s;        // for who is refused and keeps sending
constexpr std::size_t most_ignored = 256u << 10;

constexpr std::size_t name_threads = 4;

using Addresses = std::vector<std::string>;

Result<Addresses> addresses_of(const std::string& name) {
  addrinfo wanted{};
  wanted.ai_family = AF_UNSPEC;
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* first = nullptr;
  if (const int failed = ::getaddrinfo(name.c_str(), nullptr, &wanted, &first); failed != 0) {
    return fail(Errc::connect, ::gai_strerror(failed));
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(first, ::freeaddrinfo);
  Addresses out;
  for (const auto* one = first; one != nullptr; one = one->ai_next) {
    std::array<char, NI_MAXHOST> text{};
    if (::getnameinfo(one->ai_addr, one->ai_addrlen, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST) == 0) {
      out.emplace_back(text.data());
    }
  }
  return out;
}

// A listening TCP socket and nothing else.
bool is_listener(int fd) {
  int listens = 0, protocol = 0;
  socklen_t size = sizeof listens;
  if (::getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) != 0 || listens == 0) return false;
  size = sizeof protocol;
  return ::getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &size) == 0 && protocol == IPPROTO_TCP;
}

// The one descriptor that came with a byte. However many came, none is left open by mistake.
Fd received(int socket) {
  constexpr std::size_t most = 8;
  char byte = 0;
  struct iovec room{&byte, 1};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(most * sizeof(int))> space{};
  struct msghdr message{};
  message.msg_iov = &room;
  message.msg_iovlen = 1;
  message.msg_control = space.data();
  message.msg_controllen = space.size();
  std::vector<Fd> files;
  if (::recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT) <= 0) return {};
  for (auto* part = CMSG_FIRSTHDR(&message); part != nullptr; part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    for (std::size_t at = 0; at + sizeof(int) <= part->cmsg_len - CMSG_LEN(0); at += sizeof(int)) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(part) + at, sizeof fd);
      files.emplace_back(fd);
    }
  }
  return files.size() == 1 ? std::move(files.front()) : Fd();
}

// Of their own: nothing else waits behind a name that nobody answers for. Never destroyed: the end of the program would
// wait for that name.
asio::thread_pool& pool_of_names() {
  static auto* names = new asio::thread_pool(name_threads);
  return *names;
}

using Running = std::atomic<std::size_t>;

Task<Addresses> look_up(std::shared_ptr<Running> running, std::shared_ptr<const AskForName> ask, std::string name) {
  if (running->load() >= most_lookups) {
    throw Error(Errc::connect, fmt::format("{} names that were asked about before have no answer yet", most_lookups));
  }
  // It counts until the resolver returns, whoever has stopped waiting by then.
  ++*running;
  std::shared_ptr<void> place(nullptr, [running](void*) { --*running; });
  const auto caller = std::make_shared<char>();
  auto work = [place = std::move(place), gone = std::weak_ptr(caller), ask, name]() -> Result<Addresses> {
    if (gone.expired()) return fail(Errc::cancelled, "nobody waits for it");
    return (*ask)(name);
  };
  co_return value_or_throw(co_await offload_to(pool_of_names(), WhenCancelled::leaves, std::move(work)));
}

}  // namespace

LookUpName system_lookup(AskForName ask) {
  if (!ask) ask = addresses_of;
  return [running = std::make_shared<Running>(0), shared = std::make_shared<const AskForName>(std::move(ask))](
             std::string name) { return look_up(running, shared, std::move(name)); };
}

std::vector<std::pair<std::string, std::string>> proxy_variables(const DomainAccess& access) {
  const auto proxy = fmt::format("http://127.0.0.1:{}", +PB_WARDEN_PROXY_PORT);
  std::vector<std::pair<std::string, std::string>> out{{"NODE_USE_ENV_PROXY", "1"}};
  for (const auto* name : {"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"}) {
    out.emplace_back(name, proxy);
  }
  std::vector<std::string> own;
  for (const auto* host : {"localhost", "127.0.0.1", "::1"}) {
    if (std::ranges::find(access.rules, host, &DomainRule::host) == access.rules.end()) own.emplace_back(host);
  }
  for (const auto* name : {"NO_PROXY", "no_proxy"}) out.emplace_back(name, join(own, ","));
  return out;
}

struct DomainProxy::State {
  State(const asio::any_io_executor& e, Options o)
      : executor(e),
        options(std::move(o)),
        acceptor(e),
        room(options.limits.connections),
        lookups(options.limits.lookups),
        scope(e) {}

  asio::any_io_executor executor;
  Options options;
  tcp::acceptor acceptor;
  asio::posix::stream_descriptor from{executor};
  Semaphore room;
  Semaphore lookups;
  std::set<Connection*> open;
  std::set<std::string, std::less<>> told;
  Scope scope;

  void tell(const std::string& what, std::string_view line) {
    if (!options.refused || told.size() > options.limits.refusals || told.contains(what)) return;
    // The last place is for saying that there is no more.
    told.insert(what);
    const bool last = told.size() > options.limits.refusals;
    const auto refused = options.refused;  // whoever hears of it may end us
    refused(last ? "more is refused than is written here; what comes now is not written" : line);
  }

  static Task<void> accept(std::shared_ptr<State> self);
  static Task<void> await_listener(std::shared_ptr<State> self);
  void begin(Fd listener, const std::shared_ptr<State>& self);
};

// One connection of the server's, and the one it leads to.
struct DomainProxy::Connection : std::enable_shared_from_this<Connection> {
  Connection(std::shared_ptr<State> s, tcp::socket c)
      : state(std::move(s)),
        client(std::move(c)),
        far(state->executor),
        silence(state->executor),
        limits(state->options.limits) {
    state->open.insert(this);
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection() { state->open.erase(this); }

  std::shared_ptr<State> state;
  tcp::socket client;
  tcp::socket far;
  Timer silence;
  const DomainProxyLimits& limits;
  Clock::TimePoint last_byte{};
  std::string early;  // what came behind the head

  using Self = std::shared_ptr<Connection>;

  void close() {
    error_code ignored;
    client.close(ignored);
    far.close(ignored);
    silence.cancel();
  }

  // The same when one of them broke off: the other must not take what it has for the whole.
  void reset() {
    error_code ignored;
    for (auto* socket : {&client, &far}) socket->set_option(tcp::socket::linger(true, 0), ignored);
    close();
  }

  // Breaks both off when no byte has come from either for long.
  void watch() {
    const auto now = loop_clock(state->executor).now();
    const auto end = last_byte + as_duration(limits.silence);
    if (now >= end) return reset();
    silence.set(end);
    silence.call([weak = weak_from_this()](error_code aborted) {
      const auto self = aborted ? nullptr : weak.lock();
      if (self && self->client.is_open()) self->watch();
    });
  }
  void saw_byte() { last_byte = loop_clock(state->executor).now(); }

  static Task<void> run(Self self, Semaphore::Permit permit);
  static Task<std::string> read_head(Self self);
  static Task<void> answer(Self self, int status, std::string line);
  static Task<void> refuse(Self self, DomainTarget target, std::string line);
  static Task<Result<Addresses>> look_up(Self self, std::string name);
  bool leads_here(const std::string& address, const DomainTarget& target) const;
  static Task<bool> connect(Self self, DomainTarget target);
  static Task<void> relay(Self self, tcp::socket& from, tcp::socket& to, std::string first);
  static Task<void> send_body(Self self, ProxyRequest request);
  static Task<bool> send(tcp::socket& to, std::string_view bytes);
  static Task<std::optional<std::size_t>> receive(tcp::socket& from, asio::mutable_buffer room);
};

// False when nobody is there any more.
Task<bool> DomainProxy::Connection::send(tcp::socket& to, std::string_view bytes) {
  error_code failed;
  co_await asio::async_write(to, asio::buffer(bytes), asio::redirect_error(asio::use_awaitable, failed));
  co_return !failed;
}

// 0: the end; nothing: it broke off.
Task<std::optional<std::size_t>> DomainProxy::Connection::receive(tcp::socket& from, asio::mutable_buffer room) {
  error_code failed;
  const auto length = co_await from.async_read_some(room, asio::redirect_error(asio::use_awaitable, failed));
  if (failed == asio::error::eof) co_return 0u;
  co_return failed ? std::nullopt : std::optional(length);
}

// Empty when it did not come whole; Errc::limit when it is too long.
Task<std::string> DomainProxy::Connection::read_head(Self self) {
  std::string head;
  std::array<char, 4096> room;
  for (;;) {
    const auto length = (co_await receive(self->client, asio::buffer(room))).value_or(0);
    if (length == 0) co_return std::string();
    const auto from = head.size() < 3 ? 0 : head.size() - 3;
    head.append(room.data(), length);
    if (const auto end = head.find("\r\n\r\n", from); end != head.npos && end + 4 <= self->limits.head) {
      self->early = head.substr(end + 4);
      head.resize(end + 4);
      co_return head;
    }
    if (head.size() > self->limits.head) throw Error(Errc::limit, "the head is too long");
  }
}

// The client gets to read it also when it is still sending.
Task<void> DomainProxy::Connection::answer(Self self, int status, std::string line) {
  const auto text = proxy_answer(status, line);
  auto whole = [](Self of, std::string_view bytes) -> Task<void> {
    if (!co_await send(of->client, bytes)) co_return;
    error_code ignored;
    of->client.shutdown(tcp::socket::shutdown_send, ignored);
    std::array<char, 4096> room;
    for (std::size_t ignored_bytes = 0; ignored_bytes < most_ignored;) {
      const auto length = (co_await receive(of->client, asio::buffer(room))).value_or(0);
      if (length == 0) break;
      ignored_bytes += length;
    }
  };
  co_await as_result(with_timeout(whole(self, text), to_read_answer, ""));
}

Task<void> DomainProxy::Connection::refuse(Self self, DomainTarget target, std::string line) {
  self->state->tell(to_text(target), line);
  co_await answer(self, 403, std::move(line));
}

// The addresses of a name. Few are asked about at the same time.
Task<Result<Addresses>> DomainProxy::Connection::look_up(Self self, std::string name) {
  const auto permit = co_await self->state->lookups.acquire();
  auto looked = co_await as_result(
      with_timeout(self->state->options.look_up(std::move(name)), as_duration(self->limits.lookup_time), "no answer"));
  if (!looked && looked.error().code() == Errc::cancelled) throw std::move(looked).error();
  co_return looked;
}

// Whether this is one of this machine's own addresses, of those that look like anybody's, and the list does not name
// it. Only the kernel knows, once it is connected.
bool DomainProxy::Connection::leads_here(const std::string& address, const DomainTarget& target) const {
  error_code failed;
  const auto from = far.local_endpoint(failed).address();
  if (failed || from != far.remote_endpoint(failed).address()) return false;
  const auto named = domain_target(address, target.port);
  return !named || (address_kind(named->host) == AddressKind::common && !is_listed(state->options.access, *named));
}

// True when it is connected; otherwise the client has its answer.
Task<bool> DomainProxy::Connection::connect(Self self, DomainTarget target) {
  const auto& access = self->state->options.access;
  if (!is_listed(access, target)) {
    co_await refuse(self, target, not_listed_text(access, target));
    co_return false;
  }
  Addresses found;
  if (address_kind(target.host)) {
    found = {target.host};
  } else {
    auto looked = co_await look_up(self, target.host);
    if (!looked || looked->empty()) {
      co_await answer(self, 502,
                      fmt::format("the address of {} is not known: {}", target.host,
                                  looked ? "there is none" : looked.error().message()));
      co_return false;
    }
    found = std::move(*looked);
  }
  std::string refused, why;
  std::size_t tries = 0;
  for (const auto& address : found) {
    // The judged address is the one that is connected to: a second look at the name could come to another.
    if (!may_connect(access, target, address)) {
      if (refused.empty()) refused = address;
      continue;
    }
    error_code failed;
    const auto ip = asio::ip::make_address(address, failed);
    if (failed || ++tries > self->limits.addresses) continue;
    self->far = tcp::socket(self->state->executor);
    auto connecting = [](tcp::socket& socket, tcp::endpoint to) -> Task<void> {
      co_await socket.async_connect(to, asio::use_awaitable);
    };
    auto connected = co_await as_result(with_timeout(connecting(self->far, {ip, target.port}),
                                                     as_duration(self->limits.connect_time), "it does not answer"));
    if (connected && self->leads_here(address, target)) {
      self->far.close(failed);
      if (refused.empty()) refused = address;
      continue;
    }
    if (connected) {
      self->far.set_option(tcp::no_delay(true), failed);
      co_return true;
    }
    if (connected.error().code() == Errc::cancelled) throw std::move(connected).error();
    why = connected.error().message();
  }
  if (why.empty() && !refused.empty()) {
    co_await refuse(self, target, near_address_text(access, target, refused));
  } else {
    co_await answer(self, 502, fmt::format("{} cannot be reached: {}", to_text(target), why));
  }
  co_return false;
}

// Until one side ends; that is handed on, so that the other may still answer.
Task<void> DomainProxy::Connection::relay(Self self, tcp::socket& from, tcp::socket& to, std::string first) {
  std::string room(self->limits.buffer, '\0');
  bool good = first.empty() || co_await send(to, first);
  first = std::string();
  while (good) {
    const auto length = co_await receive(from, asio::buffer(room));
    if (!length) co_return self->reset();
    if (*length == 0) break;
    self->saw_byte();
    good = co_await send(to, std::string_view(room).substr(0, *length));
    self->saw_byte();
  }
  error_code ignored;
  if (good) {
    to.shutdown(tcp::socket::shutdown_send, ignored);
  } else {
    self->reset();
  }
}

// The body of a plain request, and nothing behind it: what follows is for nobody.
Task<void> DomainProxy::Connection::send_body(Self self, ProxyRequest request) {
  ChunkedBody chunks;
  auto left = request.length;
  const bool chunked = request.body == ProxyRequest::Body::chunked;
  std::string room(self->limits.buffer, '\0');
  std::string early = std::move(self->early);
  std::string_view now = early;
  const auto is_over = [&] {
    return request.body == ProxyRequest::Body::none || (chunked ? chunks.ended() : left == 0);
  };
  while (!is_over()) {
    if (now.empty()) {
      const auto length = co_await receive(self->client, asio::buffer(room));
      // In the middle: the far side must not take it for the whole.
      if (!length || *length == 0) co_return self->reset();
      self->saw_byte();
      now = std::string_view(room).substr(0, *length);
    }
    const auto part =
        chunked ? chunks.take(now) : std::optional<std::size_t>(std::min<std::uint64_t>(left, now.size()));
    if (!part) co_return self->close();
    if (!chunked) left -= *part;
    if (!co_await send(self->far, now.substr(0, *part))) co_return self->reset();
    now.remove_prefix(*part);
  }
}

Task<void> DomainProxy::Connection::run(Self self, Semaphore::Permit /*permit*/) {
  auto head = co_await as_result(with_timeout(read_head(self), as_duration(self->limits.head_time), "no request"));
  if (!head) {
    if (head.error().code() == Errc::limit) {
      co_await answer(self, 431, fmt::format("this proxy takes at most {} bytes of headers", self->limits.head));
    }
    co_return;
  }
  if (head->empty()) co_return;
  auto request = read_proxy_request(*head);
  *head = std::string();
  if (!request) {
    co_await answer(self, request.error().status, request.error().text);
    co_return;
  }
  if (!co_await connect(self, request->target)) co_return;
  self->saw_byte();
  self->watch();
  using asio::experimental::awaitable_operators::operator&&;
  if (request->tunnel) {
    if (!co_await send(self->client, tunnel_is_open)) co_return;
    auto early = std::exchange(self->early, {});
    co_await (relay(self, self->client, self->far, std::move(early)) && relay(self, self->far, self->client, {}));
  } else {
    if (!co_await send(self->far, request->head)) co_return;
    request->head = std::string();
    co_await (send_body(self, std::move(*request)) && relay(self, self->far, self->client, {}));
  }
  self->close();
}

// As many as there is room for; who comes then waits where the kernel keeps them, and there is room for few.
Task<void> DomainProxy::State::accept(std::shared_ptr<State> self) {
  for (;;) {
    auto permit = co_await self->room.acquire();
    error_code failed;
    auto socket = co_await self->acceptor.async_accept(asio::redirect_error(asio::use_awaitable, failed));
    if (failed == asio::error::operation_aborted || !self->acceptor.is_open()) co_return;
    if (failed) {
      permit.release();
      co_await sleep_for(pause_after_fault);
      continue;
    }
    socket.set_option(tcp::no_delay(true), failed);
    auto connection = std::make_shared<Connection>(self, std::move(socket));
    self->scope.spawn(Connection::run(std::move(connection), std::move(permit)));
  }
}

void DomainProxy::State::begin(Fd listener, const std::shared_ptr<State>& self) {
  if (!is_listener(listener.get()) || ::fcntl(listener.get(), F_SETFL, O_NONBLOCK) != 0) return;
  error_code failed;
  acceptor.assign(tcp::v4(), listener.get(), failed);
  if (failed) return;
  listener.release();
  scope.spawn(accept(self));
}

Task<void> DomainProxy::State::await_listener(std::shared_ptr<State> self) {
  error_code failed;
  co_await self->from.async_wait(asio::posix::stream_descriptor::wait_read,
                                 asio::redirect_error(asio::use_awaitable, failed));
  if (failed || !self->from.is_open()) co_return;
  auto listener = received(self->from.native_handle());
  self->from.close(failed);
  if (listener) self->begin(std::move(listener), self);
}

DomainProxy::DomainProxy(const asio::any_io_executor& executor, Options options)
    : state_(std::make_shared<State>(executor, std::move(options))) {}

DomainProxy::~DomainProxy() {
  auto& s = *state_;
  s.options.refused = nullptr;
  error_code ignored;
  s.from.close(ignored);
  s.acceptor.close(ignored);
  for (auto* connection : s.open) connection->close();
  s.scope.cancel();
}

void DomainProxy::serve(Fd listener) { state_->begin(std::move(listener), state_); }

void DomainProxy::serve_what_comes(Fd from) {
  error_code failed;
  state_->from.assign(from.get(), failed);
  if (failed) return;
  from.release();
  state_->scope.spawn(State::await_listener(state_));
}

std::size_t DomainProxy::connections() const noexcept { return state_->open.size(); }

}  // namespace patchbay
