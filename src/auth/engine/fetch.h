// The requests of sign-in: small, bounded, without cookies or credentials of ours, and only to addresses that may be
// asked (auth/endpoint_rule). A function that is handed in, so that the engine can be tried without a network. Loop
// thread only.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include <patchbay/task.h>

#include "auth/endpoint_rule.h"
#include "http/client/http_client.h"
#include "http/message.h"

namespace patchbay {

struct HttpAnswer {
  HttpHead head;
  std::string body;
};

// Sends one request and reads the whole answer; redirects are answers. Throws what went wrong with the connection.
using AuthFetch = std::function<Task<HttpAnswer>(HttpRequest)>;

// 1 MiB and 30 seconds for each; the proxy, certificates and variables of `options`, which are those of the server's
// entry.
AuthFetch auth_fetch(asio::any_io_executor executor, HttpClientOptions options, ServerNetwork network);

// Which network the server is on: by its host, or by the addresses that its name comes to, if they are of one kind.
Task<ServerNetwork> network_of(Url server);

// A GET of JSON that follows up to three redirects, each judged as the first address is; tried three times where nobody
// answers, or nobody can (5xx, 429). `what` is for messages.
Task<HttpAnswer> fetch_document(AuthFetch fetch, std::string url, std::string what, ServerNetwork network,
                                HttpHeaders headers = {});

}  // namespace patchbay
