// Beast parses requests; everything else is plain sockets. Reading waits for readiness and
// then reads without blocking, so that an idle connection holds no buffer. Writing is in
// http/server/socket_output.
#include "http/server/http_server.h"

#include <array>
#include <cerrno>
#include <cstddef>
#include <ctime>
#include <list>
#include <memory_resource>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include "base/as_result.h"
#include "base/byte_budget.h"
#include "base/scope.h"
#include "base/waiting.h"
#include "http/server/socket_output.h"
#include "http/server/tcp_listener.h"
#include "http/server/text.h"

namespace patchbay {

namespace beast = boost::beast;
namespace http = boost::beast::http;
using asio::ip::tcp;
using TimePoint = std::chrono::steady_clock::time_point;

namespace {

constexpr std::size_t body_step = 64u << 10;  // of a body, that there must be room for before it is read

constexpr std::size_t read_ahead = 64u << 10;       // beyond a head that is being read
constexpr std::size_t pipelined = 256u << 10;       // unsent answers before the next request is looked at
constexpr std::chrono::milliseconds linger{1'000};  // for a client to read the last answer
constexpr std::size_t usual_fields = 8;             // of a request
constexpr std::string_view crlf = "\r\n";

}  // namespace

// What the connections share and may outlive the server object with.
struct HttpServer::Shared {
  Shared(asio::any_io_executor executor, HttpServerLimits l, HttpHandler h, const Runtime& r)
      : limits(l),
        handler(std::move(h)),
        runtime(r),
        clock(loop_clock(executor)),
        acceptor(executor),
        scope(executor) {}

  HttpServerLimits limits;
  HttpHandler handler;
  Runtime runtime;
  const Clock& clock;
  tcp::acceptor acceptor;
  tcp::endpoint endpoint;
  std::list<Connection*> open;
  Event changed;  // a connection ended
  bool stopping = false;
  std::time_t date_at = 0;
  std::string date;
  // Where every connection reads to first, so that it holds as much as came and nothing while it is idle.
  std::vector<char> arriving = std::vector<char>(read_ahead);
  Scope scope;

  std::string_view date_now() {
    const auto now = clock.wall();
    const auto second = std::chrono::system_clock::to_time_t(now);
    if (second != date_at) {
      date_at = second;
      date = http_date(now);
    }
    return date;
  }
  Duration tick() const {
    const auto least = std::min({limits.head_time, limits.body_silence, limits.write_stall, limits.keep_alive});
    return std::clamp<Duration>(least / 4, std::chrono::milliseconds(5), std::chrono::seconds(1));
  }
};

class HttpServer::Connection final : public ServerExchange, public std::enable_shared_from_this<Connection> {
 public:
  Connection(std::shared_ptr<Shared> shared, tcp::socket socket)
      : shared_(std::move(shared)),
        socket_(std::move(socket)),
        out_(socket_, shared_->clock, {shared_->limits.unread, shared_->limits.write_stall, pipelined}),
        in_(shared_->limits.head + read_ahead) {
    place_ = shared_->open.insert(shared_->open.end(), this);
    boost::system::error_code ignored;
    socket_.set_option(tcp::no_delay(true), ignored);
    socket_.non_blocking(true, ignored);
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection() override {
    shared_->open.erase(place_);
    shared_->changed.notify_all();
  }

  static Task<void> run(std::shared_ptr<Connection> self) {
    self->shared_->scope.spawn(read_on(self));
    auto served = co_await as_result(self->serve());
    if (!served && served.error().code() != Errc::cancelled) {
      self->shared_->runtime.log(LogLevel::debug, "http_connection_failed", "reason", served.error().message());
    }
    self->cut();
  }

  // Called by the sweep.
  void check_time(TimePoint now) {
    if (now >= out_.deadline()) {
      shared_->runtime.log(LogLevel::info, "http_client_does_not_read", "remote", remote());
      cut();
    } else if (now >= read_deadline_) {
      read_deadline_ = TimePoint::max();
      late_ = true;
      arrived_.notify_all();
    }
  }
  // No request after this one; none running: the connection ends.
  void finish() {
    keep_ = false;
    if (!handling_) {
      late_ = true;
      arrived_.notify_all();
    }
  }
  void cut() {
    if (cut_) return;
    cut_ = true;
    eof_ = true;
    boost::system::error_code ignored;
    socket_.close(ignored);
    out_.drop();
    arrived_.notify_all();
    room_.notify_all();
    tell_gone();
  }

  const HttpRequest& request() const noexcept override { return request_; }
  std::string remote() const override {
    boost::system::error_code error;
    const auto endpoint = socket_.remote_endpoint(error);
    return error ? std::string("a client that left") : endpoint_text(endpoint);
  }

  void add_to_answer(HttpHeaders headers) override {
    for (const auto& field : headers) always_.add(field.name, field.value);
  }

  Task<std::string> read_body() override {
    auto& parser = *parser_;
    if (!parser.is_done() && expects_continue_) {
      expects_continue_ = false;
      put("HTTP/1.1 100 Continue\r\n\r\n", {}, {});
    }
    parser.eager(true);
    const auto& limits = shared_->limits;
    const auto began = shared_->clock.now();
    std::size_t taken = 0;
    std::size_t seen = 0;  // bytes that are there and do not make a whole piece yet
    ByteBudget::Unfinished incoming(byte_budget(), shared_->scope.executor(), shared_->runtime.limits.buffered,
                                    [this] { arrived_.notify_all(); });
    while (!parser.is_done()) {
      if (!incoming.fits(body_step)) {
        read_deadline_ = TimePoint::max();  // it is not the client that we wait for
        co_await incoming.room(body_step);
      }
      // Each byte in time is not enough: one now and then would keep the connection for days.
      const auto earned = std::chrono::milliseconds((taken + seen) * 1000 / std::max<std::size_t>(limits.body_rate, 1));
      read_deadline_ = std::min(shared_->clock.now() + limits.body_silence, began + limits.body_silence + earned);
      while (in_.size() <= seen && !eof_ && !late_ && !incoming.failed()) co_await arrived_.wait();
      if (incoming.failed()) throw incoming.failure();
      if (late_) throw Error(Errc::timeout, "the rest of the request did not arrive in time");
      if (in_.size() <= seen) throw Error(Errc::closed, "the client left before the end of its request");
      boost::system::error_code error;
      const auto used = parser.put(in_.data(), error);
      take(used);
      taken += used;
      seen = error == http::error::need_more ? in_.size() : 0;
      incoming.hold(taken + seen);
      if (error == http::error::body_limit) throw Error(Errc::limit, "the body of the request is too large");
      if (error && error != http::error::need_more) throw Error(Errc::protocol, error.message());
    }
    read_deadline_ = TimePoint::max();
    co_return std::move(parser.get().body());
  }

  void respond(int status, HttpHeaders headers, std::string body) override {
    if (begun_) return;
    begun_ = ended_ = true;
    expect_no_more();
    auto head = head_text(status, headers);
    if (status != 204) {
      head += "Content-Length: ";
      head += fmt::format_int(body.size()).c_str();
      head += crlf;
    }
    head += crlf;
    if (request_.method == "HEAD") body.clear();
    put(std::move(head), std::move(body), {});
  }

  void begin(int status, HttpHeaders headers) override {
    if (begun_) return;
    begun_ = true;
    chunked_ = version_ >= 11;
    if (!chunked_) keep_ = false;
    expect_no_more();
    auto head = head_text(status, headers);
    if (chunked_) head += "Transfer-Encoding: chunked\r\n";
    head += crlf;
    put(std::move(head), {}, {});
  }

  bool write(std::string_view piece) override {
    if (!begun_ || ended_) return false;
    if (piece.empty()) return !cut_;
    return chunked_ ? put(fmt::format("{:x}\r\n", piece.size()), std::string(piece), crlf)
                    : put(std::string(piece), {}, {});
  }

  void end() override {
    if (!begun_ || ended_) return;
    ended_ = true;
    if (chunked_) put("0\r\n\r\n", {}, {});
  }

  bool begun() const noexcept override { return begun_; }
  bool ended() const noexcept override { return ended_; }
  bool gone() const noexcept override { return eof_; }
  void on_gone(std::function<void()> told) override { told_ = std::move(told); }

 private:
  Task<void> serve() {
    while (!cut_) {
      while (out_.queued() > pipelined && !cut_) co_await out_.flushed();
      const bool more = co_await read_head();
      if (!more) break;
      handling_ = true;
      auto handled = co_await as_result(shared_->handler(*this));
      handling_ = false;
      told_ = {};
      if (!handled && handled.error().code() == Errc::cancelled) throw std::move(handled).error();
      // Whoever did not answer is answered for; a body nobody read cannot be told from the
      // next request, so the connection ends with it.
      if (!parser_->is_done()) {
        keep_ = false;
        unread_ = true;
      }
      if (!begun_) {
        if (eof_) break;  // nobody is there to be told
        if (handled) {
          fail_request(500, "the server did not answer the request");
        } else if (handled.error().code() != Errc::closed) {
          if (status_for(handled.error()) == 500) {
            shared_->runtime.log(LogLevel::error, "http_handler_failed", "reason", handled.error().message());
          }
          fail_request(status_for(handled.error()), handled.error().message());
        } else {
          break;
        }
      } else {
        end();
      }
      parser_.reset();
      if (!keep_) break;
      if (in_.size() == 0) in_.shrink_to_fit();
    }
    co_await say_goodbye();
  }

  // An answer before the body was read is the last one on its connection. A client that is not told would lose its
  // next request there.
  void expect_no_more() {
    if (parser_ && !parser_->is_done()) keep_ = false;
  }

  // What is queued leaves, then our side closes. What a refused client still sends is thrown
  // away for a moment, because bytes nobody reads would make the kernel take the answer back.
  Task<void> say_goodbye() {
    while (out_.queued() > 0 && !cut_) co_await out_.flushed();
    if (cut_ || !unread_ || eof_) co_return;
    boost::system::error_code ignored;
    socket_.shutdown(tcp::socket::shutdown_send, ignored);
    discard_ = true;
    in_.clear();
    room_.notify_all();
    late_ = false;
    read_deadline_ = shared_->clock.now() + linger;
    while (!eof_ && !late_ && !cut_) co_await arrived_.wait();
  }

  // False when the connection is over.
  Task<bool> read_head() {
    const auto& limits = shared_->limits;
    parser_.reset();
    fields_.release();
    parser_.emplace(std::piecewise_construct, std::make_tuple(), std::make_tuple(FieldAllocator(&fields_)));
    auto& parser = *parser_;
    parser.header_limit(static_cast<std::uint32_t>(limits.head));
    parser.body_limit(limits.body);
    parser.eager(false);
    begun_ = ended_ = chunked_ = false;
    late_ = false;
    bool first = in_.size() == 0;
    auto wait = first && requests_ > 0 ? limits.keep_alive : limits.head_time;
    if (shared_->stopping) co_return false;
    read_deadline_ = shared_->clock.now() + wait;
    for (;;) {
      if (in_.size() > 0) {
        if (first) {
          first = false;
          read_deadline_ = shared_->clock.now() + limits.head_time;
        }
        boost::system::error_code error;
        take(parser.put(in_.data(), error));
        if (parser.is_header_done() && !error) break;
        if (error && error != http::error::need_more) {
          const bool big = error == http::error::header_limit;
          const bool body = error == http::error::body_limit;
          refuse_head(big    ? 431
                      : body ? 413
                             : 400,
                      big    ? "the head of the request is too large"
                      : body ? "the body of the request is too large"
                             : error.message());
          co_return false;
        }
        // A head that fills the buffer without ending is too large as well.
        if (in_.size() >= limits.head) {
          keep_ = false;
          fail_request(431, "the head of the request is too large");
          co_return false;
        }
      }
      if (eof_) co_return false;
      if (late_) {
        const bool begun_head = in_.size() > 0 || parser.got_some();
        keep_ = false;
        if (begun_head && !shared_->stopping) fail_request(408, "the request did not arrive in time");
        co_return false;
      }
      co_await arrived_.wait();
    }
    read_deadline_ = TimePoint::max();
    if (!knows_where_it_ends()) {
      refuse_head(501, "the only supported transfer coding is \"chunked\"");
      unread_ = true;
      co_return false;
    }
    ++requests_;
    take_head();
    co_return true;
  }

  // A body in a coding the parser does not know would be taken for none, and its bytes for the
  // next request: whoever sits in front of us may see that differently.
  bool knows_where_it_ends() {
    const auto& message = parser_->get();
    const auto codings = message.equal_range(http::field::transfer_encoding);
    if (codings.first == codings.second) return true;
    const auto& first = *codings.first;
    return std::next(codings.first) == codings.second && message.version() >= 11 && parser_->chunked() &&
           HttpHeaders::same_name(first.value(), "chunked");
  }

  void refuse_head(int status, std::string_view message) {
    keep_ = false;
    begun_ = false;
    request_ = {};
    always_ = {};
    version_ = 11;
    fail_request(status, message);
  }

  void take_head() {
    auto& message = parser_->get();
    version_ = message.version();
    always_.clear();
    request_.method.assign(message.method_string());
    request_.url.assign(message.target());
    request_.headers.reserve(usual_fields);
    std::size_t fields = 0;
    for (const auto& field : message) request_.headers.overwrite(fields++, field.name_string(), field.value());
    request_.headers.keep_first(fields);
    keep_ = !shared_->stopping && wants_connection_kept(version_, request_.headers.get("connection"));
    expects_continue_ = waits_for_continue(version_, request_.headers.get("expect"));
  }

  void take(std::size_t bytes) {
    in_.consume(bytes);
    if (in_.size() < in_.max_size()) room_.notify_all();
  }

  void fail_request(int status, std::string_view message) {
    unread_ = unread_ || !parser_->is_done();
    HttpHeaders headers{{"Content-Type", "text/plain; charset=utf-8"}};
    respond(status, std::move(headers), std::string(message) + "\n");
  }

  std::string head_text(int status, const HttpHeaders& headers) {
    return response_head({.status = status, .date = shared_->date_now(), .version = version_, .keep = keep_},
                         {&headers, &always_});
  }

  static Task<void> read_on(std::shared_ptr<Connection> self) {
    auto read = co_await as_result(self->read_input());
    (void)read;
    self->eof_ = true;
    self->arrived_.notify_all();
    self->tell_gone();
  }

  Task<void> read_input() {
    for (;;) {
      while (in_.size() >= in_.max_size() && !cut_ && !discard_) co_await room_.wait();
      if (cut_) co_return;
      co_await socket_.async_wait(tcp::socket::wait_read, asio::use_awaitable);
      if (cut_) co_return;
      const auto room = discard_ ? read_ahead : std::min(in_.max_size() - in_.size(), read_ahead);
      if (room == 0) continue;
      boost::system::error_code error;
      const auto count = socket_.read_some(asio::buffer(shared_->arriving.data(), room), error);
      if (!error && !discard_) {
        asio::buffer_copy(in_.prepare(count), asio::buffer(shared_->arriving.data(), count));
        in_.commit(count);
      }
      if (error == asio::error::would_block) continue;
      if (error) co_return;
      arrived_.notify_all();
    }
  }

  bool put(std::string first, std::string second, std::string_view third) {
    if (cut_) return false;
    switch (out_.put(std::move(first), std::move(second), third)) {
      case SocketOutput::Put::sent:
      case SocketOutput::Put::queued:
        return true;
      case SocketOutput::Put::begin_writing:
        shared_->scope.spawn(write_on(shared_from_this()));
        return true;
      case SocketOutput::Put::too_much:
        shared_->runtime.log(LogLevel::info, "http_client_does_not_read", "remote", remote(), "queued", out_.queued());
        break;
      case SocketOutput::Put::broken:
        break;
    }
    cut();
    return false;
  }

  static Task<void> write_on(std::shared_ptr<Connection> self) {
    auto written = co_await as_result(self->out_.write_queued());
    if (!written) self->cut();
    self->out_.stopped();
  }

  void tell_gone() {
    if (!handling_ || !told_) return;
    // On the loop's next turn: the handler may be in the middle of a write.
    asio::post(shared_->scope.executor(),
               [self = shared_from_this(), told = std::exchange(told_, {}), request = requests_] {
                 if (self->handling_ && self->requests_ == request) told();
               });
  }

  std::shared_ptr<Shared> shared_;
  std::list<Connection*>::iterator place_;
  tcp::socket socket_;
  SocketOutput out_;
  beast::flat_buffer in_;
  using FieldAllocator = std::pmr::polymorphic_allocator<char>;
  // The fields of one head, which are mostly few.
  alignas(std::max_align_t) std::array<std::byte, 768> fields_place_;
  std::pmr::monotonic_buffer_resource fields_{fields_place_.data(), fields_place_.size()};
  std::optional<http::parser<true, http::string_body, FieldAllocator>> parser_;
  HttpRequest request_;
  HttpHeaders always_;  // in whatever answers it
  std::function<void()> told_;
  unsigned version_ = 11;
  std::size_t requests_ = 0;
  bool keep_ = true;
  bool expects_continue_ = false;
  bool handling_ = false;
  bool begun_ = false;
  bool ended_ = false;
  bool chunked_ = false;
  bool eof_ = false;      // nothing more arrives
  bool late_ = false;     // read_deadline_ has passed
  bool cut_ = false;      // the socket is closed
  bool discard_ = false;  // what arrives is thrown away
  bool unread_ = false;   // the client may be sending what nobody will read
  TimePoint read_deadline_ = TimePoint::max();
  Event arrived_;
  Event room_;
};

HttpServer::HttpServer(asio::any_io_executor executor, HttpServerLimits limits, HttpHandler handler,
                       const Runtime& runtime)
    : shared_(std::make_shared<Shared>(std::move(executor), limits, std::move(handler), runtime)) {}

HttpServer::~HttpServer() = default;

void HttpServer::listen(const std::string& address, std::uint16_t port) {
  shared_->endpoint = listen_on(shared_->acceptor, address, port);
}

std::string HttpServer::address() const { return endpoint_text(shared_->endpoint); }
bool HttpServer::loopback() const { return shared_->endpoint.address().is_loopback(); }
std::size_t HttpServer::connections() const noexcept { return shared_->open.size(); }

Task<void> HttpServer::accept() {
  auto shared = shared_;
  shared->scope.spawn([](std::shared_ptr<Shared> s) -> Task<void> {
    for (;;) {
      auto waited = co_await as_result(sleep_for(s->tick()));
      if (!waited) co_return;
      const auto now = s->clock.now();
      // A connection that is cut may leave the list at once.
      std::vector<std::shared_ptr<Connection>> open;
      for (auto* connection : s->open) open.push_back(connection->shared_from_this());
      for (const auto& connection : open) connection->check_time(now);
    }
  }(shared));
  for (;;) {
    auto accepted = co_await as_result(shared->acceptor.async_accept(asio::use_awaitable));
    if (!accepted) {
      if (accepted.error().code() == Errc::cancelled || !shared->acceptor.is_open()) throw std::move(accepted).error();
      // Out of descriptors, or a client that left before we looked: neither ends the server.
      shared->runtime.log(LogLevel::warning, "accept_failed", "reason", accepted.error().message());
      co_await sleep_for(std::chrono::milliseconds(50));
      continue;
    }
    auto socket = std::move(*accepted);
    if (shared->open.size() >= shared->limits.connections) {
      static constexpr std::string_view full =
          "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nRetry-After: 1\r\nConnection: close\r\n\r\n";
      boost::system::error_code ignored;
      socket.non_blocking(true, ignored);
      socket.write_some(asio::buffer(full.data(), full.size()), ignored);
      continue;
    }
    shared->scope.spawn(Connection::run(std::make_shared<Connection>(shared, std::move(socket))));
  }
}

Task<void> HttpServer::stop(Duration grace) {
  auto shared = shared_;
  const bool throws = co_await asio::this_coro::throw_if_cancelled();
  co_await asio::this_coro::throw_if_cancelled(false);
  shared->stopping = true;
  boost::system::error_code ignored;
  shared->acceptor.close(ignored);
  std::vector<std::shared_ptr<Connection>> open;
  for (auto* connection : shared->open) open.push_back(connection->shared_from_this());
  for (const auto& connection : open) connection->finish();
  open.clear();
  (void)co_await as_result(with_timeout(
      [](std::shared_ptr<Shared> s) -> Task<void> {
        while (!s->open.empty()) co_await s->changed.wait();
      }(shared),
      grace, "connections were still open"));
  for (auto* connection : shared->open) open.push_back(connection->shared_from_this());
  for (const auto& connection : open) connection->cut();
  open.clear();
  shared->scope.cancel();
  co_await shared->scope.join();
  co_await asio::this_coro::throw_if_cancelled(throws);
}

}  // namespace patchbay
