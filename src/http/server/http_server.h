// HttpServer: HTTP/1.1 on one TCP port. It owns the listening socket and every accepted
// connection; what a request means is decided by the handler, which gets one ServerExchange
// per request, in the order in which a connection sent them. The door of the MCP server
// (server/http_door) uses it. Loop thread only.
//
// Every client is bounded: size of a request's head (431) and body (413), time for a head
// (408), silence inside a body and how slowly it comes (408), silence between requests, bytes
// it does not read, time without reading, number of connections (503). A body is chunked or
// has a length; any other transfer coding is refused (501), because nobody could tell where
// it ends. It does no TLS: a proxy in front does.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include <patchbay/task.h>

#include "base/runtime.h"
#include "base/timeout.h"
#include "http/message.h"

namespace patchbay {

struct HttpServerLimits {
  std::size_t connections = 4096;
  std::size_t head = 64u << 10;
  std::size_t body = 64u << 20;
  std::size_t unread = 64u << 20;  // queued for a client that does not read
  std::chrono::milliseconds head_time{10'000};
  std::chrono::milliseconds body_silence{30'000};
  std::size_t body_rate = 4096;  // bytes a second a body must come with, after one silence
  std::chrono::milliseconds write_stall{30'000};
  std::chrono::milliseconds keep_alive{75'000};
};

// One request and its answer. Lives until its handler returns; after that nothing may be
// called. An answer is either one respond(), or begin(), any number of write() and end().
class ServerExchange {
 public:
  virtual ~ServerExchange() = default;

  // Without its body, which is read only when asked for.
  virtual const HttpRequest& request() const noexcept = 0;
  virtual std::string remote() const = 0;  // "127.0.0.1:40312"

  // Headers that whatever answers this request will have, even when that is not the handler.
  virtual void add_to_answer(HttpHeaders headers) = 0;

  // Once. Throws Errc::limit, timeout, protocol or closed; a handler that lets it escape has
  // the client told so (413, 408, 400).
  virtual Task<std::string> read_body() = 0;

  virtual void respond(int status, HttpHeaders headers, std::string body) = 0;
  virtual void begin(int status, HttpHeaders headers) = 0;
  // False when the client is gone or has not read for so long that its queue is full.
  virtual bool write(std::string_view piece) = 0;
  virtual void end() = 0;
  virtual bool begun() const noexcept = 0;  // a head has been sent
  virtual bool ended() const noexcept = 0;

  // The client closed the connection or broke it off. It may be told at any time until the
  // handler returns, never on the handler's stack.
  virtual bool gone() const noexcept = 0;
  virtual void on_gone(std::function<void()> told) = 0;
};

// What it throws without having answered becomes the answer: 413, 408, 400, or 500.
using HttpHandler = std::function<Task<void>(ServerExchange&)>;

class HttpServer {
 public:
  HttpServer(asio::any_io_executor executor, HttpServerLimits limits, HttpHandler handler, const Runtime& runtime);
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;
  ~HttpServer();

  // `address` is a literal or "localhost", port 0 any that is free. Throws Errc::connect.
  void listen(const std::string& address, std::uint16_t port);
  std::string address() const;  // as it is in a URL: "127.0.0.1:8080", "[::1]:8080"
  bool loopback() const;
  std::size_t connections() const noexcept;

  // Accepts until cancelled. Connections go on.
  Task<void> accept();
  // No new requests; those running may finish within `grace`, then all are cut. Returns when
  // nothing of this object runs any more.
  Task<void> stop(Duration grace);

 private:
  struct Shared;
  class Connection;
  std::shared_ptr<Shared> shared_;
};

}  // namespace patchbay
