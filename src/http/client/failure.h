// What can go wrong in an HTTP exchange below the level of a status, and how it is reported:
// which URL, in which phase, what happened, what to do. Pure; filled in by the file that
// wraps libcurl, told by the client.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

#include <patchbay/error.h>

namespace patchbay {

enum class HttpPhase { resolving, connecting, proxy, tls, sending, waiting, reading };
std::string_view to_string(HttpPhase phase) noexcept;  // "while connecting"

enum class HttpFault {
  name_unknown,          // of the server
  proxy_name_unknown,    // of the proxy
  refused,               // no connection could be made
  not_allowed,           // a rule forbids the address that the name came to; `reason` says why
  connect_timeout,       // our limit for it ran out
  first_byte_timeout,    // the same for the answer's head,
  idle_timeout,          // for the next piece of the body,
  total_timeout,         // for the whole exchange
  proxy_refused,         // the proxy answered CONNECT with `status`
  proxy_failed,          // another failure of the proxy
  untrusted,             // the certificate leads to no CA that is trusted
  self_signed,           // the same, and the certificate is its own CA
  expired,               // or not valid yet
  wrong_name,            // the certificate is for other names
  wants_certificate,     // the server asks for a client certificate
  handshake,             // any other failure of TLS
  bad_ca_file,           // ours cannot be read
  bad_certificate_file,  // neither can our client certificate or key
  closed,                // before the answer was complete
  reset,                 // the same, by a reset
  truncated,             // the body is shorter than announced
  not_http,              // what came is no HTTP
  headers_too_large,
  body_too_large,
  client_gone,
  other,
};

struct HttpFailure {
  HttpFault fault = HttpFault::other;
  HttpPhase phase = HttpPhase::connecting;
  std::string reason;             // as the library put it
  int status = 0;                 // of a proxy
  std::string certificate_names;  // "a.example, b.example"
  bool unacknowledged = false;    // the other side ended the connection at once and never took the request
  bool operator==(const HttpFailure&) const = default;
};

// What the message can add from what the client knows.
struct HttpFailureContext {
  std::string method;
  std::string url;
  std::string shown;               // what messages have instead of the url, with secrets taken out
  std::string proxy;               // empty: none was used
  std::string proxy_source;        // "HTTPS_PROXY"
  std::string ca_file;             // the file trust was read from, as far as it was chosen
  std::string ca_source;           // "SSL_CERT_FILE"
  std::string certificate_source;  // of our client certificate: "CLAUDE_CODE_CLIENT_CERT"; empty: the entry
  std::string limit;               // "30 s", "64 KiB": the limit that was passed
};

// Whether the request cannot have reached the server: it was not sent, or never acknowledged.
bool never_arrived(const HttpFailure& failure) noexcept;

// Says that the request was not carried out where that is known.
Error http_error(const HttpFailure& failure, const HttpFailureContext& context);

}  // namespace patchbay
