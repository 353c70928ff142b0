// HTTP requests whose answers are read as they arrive. One HttpClient holds the settings and
// the connections towards one server (trust, client certificate, proxy); it reuses
// connections, speaks HTTP/2 where the server offers it in the TLS handshake, and may have
// any number of exchanges under way. Transports and sign-in call it, on the loop thread only.
//
// It follows redirects (rules in http_redirect.h), and repeats a request once when a kept
// connection turns out to have been dead already: at once, and before the server had all of it.
// A request that a server may have worked on is never repeated. It does not look at bodies, does
// not sign in, and an HTTP status is an answer, never an Error. Every failure is an Error that names the URL,
// the phase and what can be done.
//
// libcurl does the work and is loaded when the first request is sent.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <patchbay/task.h>

#include "base/byte_budget.h"
#include "base/log.h"
#include "base/secret.h"
#include "base/timeout.h"
#include "http/client/keep_alive.h"
#include "http/client/proxy_choice.h"
#include "http/message.h"

namespace patchbay {

struct HttpClientOptions {
  // Trust. The default is the system's; SSL_CERT_FILE and SSL_CERT_DIR replace it as they do for
  // OpenSSL. A CA file given here is the only trust of this client. There is no way to switch
  // verification off.
  std::string ca_file;
  std::string client_certificate;  // PEM files
  std::string client_key;          // unset: the key is in the certificate's file
  Secret client_key_password;
  // "" means no proxy; unset is what HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY say.
  std::optional<std::string> proxy;
  EnvironmentLookup environment = environment_lookup();
  // In messages about requests to `entry_url`: the entry as it was written, before variables were put in.
  std::string entry_url;
  std::string shown;
  std::string user_agent;                // unset: "patchbay/<version>"
  std::size_t idle_connections = 32;     // kept for reuse
  std::size_t header_limit = 64u << 10;  // of all fields of one answer
  std::size_t buffer = 256u << 10;       // body bytes held for a reader that is slow
  KeepAlive keep_alive;                  // of every connection
  // Asked with each address that a name came to, or that stands in the URL, before a connection is made to it; the
  // error is that of the request (Errc::denied), unless another address of the name serves. Redirects are asked about
  // as well. Not asked about a proxy: that one looks the name up, and its own address is the user's choice. Kept
  // connections were asked about when they were made.
  std::function<Result<void>(std::string_view address)> may_connect;
  Log log;
};

// Limits of one request. Duration::max() means no limit; each is fresh for every request, and the
// connect limit for every redirect.
struct HttpRequestLimits {
  Duration connect = std::chrono::seconds(30);  // name, TCP, proxy and TLS
  Duration first_byte = Duration::max();        // from the request being sent to the answer's head
  Duration idle = Duration::max();              // between two pieces of the body, while somebody waits for one
  Duration total = Duration::max();             // from send() to the end of the body
  std::size_t body = std::numeric_limits<std::size_t>::max();
  int redirects = 5;         // 0: a redirect is an answer like any other
  bool same_origin = false;  // a redirect to another one is an error; nothing is sent there
};

// One answer, from its head to the end of its body. Destroying it before the end aborts the
// request without waiting for anything.
class HttpExchange {
 public:
  virtual ~HttpExchange() = default;

  virtual const HttpHead& head() const noexcept = 0;
  // The next piece of the body as it arrived; empty at the end, again and again. One reader at
  // a time. Bytes nobody reads are held up to a bound, then the server has to wait. Cancelling
  // a read ends the read, not the exchange.
  virtual Task<std::string> read() = 0;
  // What is there of the body, if that is all of it and at most `limit`: the answer that came in one piece. Otherwise
  // nothing, and read() goes on.
  virtual std::optional<std::string> take_whole(std::size_t limit) = 0;
  // Aborts: a read that waits throws Errc::cancelled, and so does every later one.
  virtual void cancel() = 0;
};

// The rest of the body as one text; more than `limit` bytes is Errc::limit. Keep the exchange alive. `incoming` holds
// what has come, waits for room, and may say that it has to go; whoever made it lets it cancel the exchange.
Task<std::string> read_all(HttpExchange& exchange, std::size_t limit, ByteBudget::Unfinished* incoming = nullptr);

class HttpClient {
 public:
  HttpClient(asio::any_io_executor executor, HttpClientOptions options);
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;
  // Aborts what is under way; exchanges that are still held fail with Errc::closed.
  ~HttpClient();

  // Returns when the head of the final answer has arrived. Cancelling it aborts the request.
  Task<std::unique_ptr<HttpExchange>> send(HttpRequest request, HttpRequestLimits limits = {});

  // Later requests use none of the connections that are open now; what is under way goes on.
  void use_fresh_connections();

 private:
  class Core;
  std::shared_ptr<Core> core_;
};

}  // namespace patchbay
