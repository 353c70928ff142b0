// How a Server is offered over HTTP: Server::serve_http(options). Both protocol eras are
// served on one URL. Plain HTTP: put a proxy with TLS in front of anything but loopback.
//
// By default only this machine is let in: the address is loopback, and requests that
// name another host or come from a page of another origin are refused, so that a web page
// cannot reach the server through the user's browser.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <patchbay/server_types.h>
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
  std::string principal = {};  // who it is: sessions, tasks and what a client carries for us belong to one
  std::string challenge = {};  // WWW-Authenticate of a refusal; empty: "Bearer"
};

struct ServerHttpOptions : HttpListening {
  // Asked for every request; unset: everybody may.
  std::function<Task<HttpVerdict>(HttpCaller)> authorize = {};
};

// Lets in who sends "Authorization: Bearer <token>" with this token.
std::function<Task<HttpVerdict>(HttpCaller)> bearer_token(std::string token);

}  // namespace patchbay
