// How a Server is offered over HTTP: Server::serve_http(options). Both protocol eras are
// served on one URL. Plain HTTP: put a proxy with TLS in front of anything but loopback.
//
// By default only this machine is let in: the address is loopback, and requests that
// name another host or come from a page of another origin are refused, so that a web page
// cannot reach the server through the user's browser.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <patchbay/task.h>

namespace patchbay {

// Who sends an HTTP request, before its body is read.
struct HttpCaller {
  std::string method;
  std::string path;
  std::string remote;  // address and port
  std::vector<std::pair<std::string, std::string>> headers;

  // The first of that name, whatever its case; empty when there is none.
  std::string_view header(std::string_view name) const noexcept;
};

struct HttpVerdict {
  enum class Kind { allow, unauthorized, forbidden };
  Kind kind = Kind::allow;
  std::string principal;  // who it is: sessions, tasks and what a client carries for us belong to one
  std::string challenge;  // WWW-Authenticate of a refusal; empty: "Bearer"
};

struct ServerHttpOptions {
  std::string address = "127.0.0.1";
  std::uint16_t port = 0;  // 0: any that is free
  std::string path = "/mcp";
  // Names a request may give as its host; empty: the loopback names, or any when the address
  // is not loopback.
  std::vector<std::string> allowed_hosts;
  // Origins of web pages that may call, as "https://app.example"; empty: pages from loopback.
  // A browser lets a page of another origin than the server's read answers only if its origin
  // is named here (CORS).
  std::vector<std::string> allowed_origins;
  // Asked for every request; unset: everybody may.
  std::function<Task<HttpVerdict>(HttpCaller)> authorize;
  // Called once, when requests are accepted.
  std::function<void(const std::string& url)> on_listening;

  std::size_t max_connections = 4096;
  std::size_t max_body = 64u << 20;    // bytes of a request
  std::size_t max_answer = 64u << 20;  // bytes of an answer; what is larger becomes an error that says so
  std::size_t max_sessions = 4096;
  // Of these, for one principal, so that nobody can have them all. They hold where `authorize` is set.
  std::size_t max_sessions_each = 2048;
  std::size_t max_requests_each = 2048;                    // being answered at once, open streams included
  std::chrono::milliseconds session_idle{30 * 60 * 1000};  // then an unused session ends
  std::size_t replay = 1u << 20;                           // bytes kept per session for clients that reconnect
  std::chrono::milliseconds reconnect{1'000};              // what such clients are asked to wait
  std::chrono::milliseconds keep_alive{15'000};            // between signs of life on a silent stream
  std::chrono::milliseconds grace{5'000};                  // for running requests when the server stops
};

// Lets in who sends "Authorization: Bearer <token>" with this token.
std::function<Task<HttpVerdict>(HttpCaller)> bearer_token(std::string token);

}  // namespace patchbay
