// libcurl on our loop, without one type of libcurl showing. CurlLoop owns the library's
// "multi" handle with its connections; a CurlTransfer is one request under way. The HTTP
// client is the only user, on the loop thread only.
//
// The library must not be called from inside its own callbacks. So a TransferSink, which is
// called from there, only notes what happened and wakes somebody up; whatever it leads to
// runs on a later turn of the loop.
//
// libcurl is loaded on first use: it and what it needs would otherwise cost every start of
// the program several milliseconds (docs/adr/0004-http-client.md).
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <boost/asio/any_io_executor.hpp>

#include "base/secret.h"
#include "http/client/failure.h"
#include "http/client/keep_alive.h"
#include "http/message.h"

namespace patchbay {

class TransferSink {
 public:
  enum class Verdict { taken, pause, stop };

  // The connection is open; the request goes out now. The last call for a transfer that only
  // connects.
  virtual void on_connected() = 0;
  // The final head, after interim ones.
  virtual void on_head(int status, HttpHeaders headers) = 0;
  // With `pause` the same bytes come again after CurlTransfer::resume().
  virtual Verdict on_body(std::string_view bytes) = 0;
  // The last call, at most once: the end of the body, or a failure.
  virtual void on_end(std::optional<HttpFailure> failure) = 0;

 protected:
  ~TransferSink() = default;
};

struct TransferOptions {
  std::string url;
  std::string proxy;          // empty: none
  std::string ca_file;        // empty: the system's
  std::string ca_path;        // empty: the system's
  bool only_ca_file = false;  // ca_file is all that is trusted
  std::string proxy_ca_file;  // the same two for a proxy that is spoken to by TLS
  std::string proxy_ca_path;
  std::string extra_ca_file;  // trusted beside the above, unless only_ca_file; also for the proxy
  bool connect_only = false;  // name, TCP, proxy and TLS, and then bytes
  std::string client_certificate;
  std::string client_key;
  Secret client_key_password;
  std::string user_agent;
  std::size_t header_limit = 0;
  std::optional<std::chrono::milliseconds> connect_limit;
  // Asked with every address before a socket for it is made; empty: all are good, as behind a proxy.
  std::function<Result<void>(std::string_view address)> may_connect;
};

class CurlTransfer {
 public:
  // Aborts what is not at its end, without waiting and without calling the sink.
  virtual ~CurlTransfer() = default;
  virtual void resume() = 0;
  virtual HttpPhase phase() const = 0;

  // Of a transfer that only connects, once it has: the bytes of the connection, without TLS.
  // Neither waits; what to wait for is the socket, which stays the library's.
  struct Moved {
    std::size_t bytes = 0;  // received: none, without having to wait, is the end
    bool would_wait = false;
    std::optional<HttpFailure> failure;
  };
  virtual Moved receive(std::span<char> into) = 0;
  // After would_wait the same bytes at the same address are sent next (TLS insists).
  virtual Moved send(std::string_view bytes) = 0;
  virtual int socket() const = 0;
};

class CurlLoop {
 public:
  // Loads libcurl if that has not been done; throws Errc::unsupported without it.
  CurlLoop(boost::asio::any_io_executor executor, std::size_t idle_connections, KeepAlive keep_alive = {});
  CurlLoop(const CurlLoop&) = delete;
  CurlLoop& operator=(const CurlLoop&) = delete;
  // Every transfer still under way ends with HttpFault::client_gone.
  ~CurlLoop();

  // `request` and `sink` outlive the transfer. Nothing but its URL may differ from `options`, which
  // are best the same object for many requests: what was set for one then serves the next.
  std::unique_ptr<CurlTransfer> start(const HttpRequest& request, std::shared_ptr<const TransferOptions> options,
                                      TransferSink& sink);
  // Whether no transfer is under way.
  bool idle() const noexcept;

  class State;

 private:
  std::shared_ptr<State> state_;
};

}  // namespace patchbay
