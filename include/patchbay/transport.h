// Transport: a recipe for reaching one server. open() makes a live connection and can be
// called again, so probing and reconnecting just open anew. The kinds an embedder can
// make are the functions below.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <patchbay/call.h>
#include <patchbay/task.h>

namespace patchbay {

class Channel;
class Server;
struct Runtime;

class Transport {
 public:
  enum class Kind { stdio, http, sse, websocket, memory };
  virtual ~Transport() = default;
  virtual Kind kind() const noexcept = 0;
  // For messages: the command line or URL, secrets redacted.
  virtual std::string describe() const = 0;
  virtual Task<std::unique_ptr<Channel>> open(const Runtime& runtime) = 0;
  // What tells this server from others, from one run to the next: a hash, so that it says
  // nothing of what is in it; and a mark that changes when the files behind the server do.
  // Nothing is remembered of a server without a key.
  struct Identity {
    std::string key;
    std::string stamp;
  };
  virtual Identity identity() const { return {}; }
  // An older way to reach the same server, for when this one turns out to be unknown to it.
  virtual std::unique_ptr<Transport> fallback() const { return nullptr; }
};

// A child process; see StdioOptions in call.h.
std::unique_ptr<Transport> stdio_transport(StdioOptions options);

// A server behind a URL; see HttpOptions in call.h. Streamable HTTP in either protocol era and,
// where a server does not know that, the older pair of endpoints.
std::unique_ptr<Transport> http_transport(HttpOptions options);
// The same by the older pair of endpoints alone (revision 2024-11-05).
std::unique_ptr<Transport> sse_transport(HttpOptions options);
// By WebSocket: one connection for every message.
std::unique_ptr<Transport> ws_transport(HttpOptions options);

// A server in this process. The server must outlive every channel opened to it.
std::unique_ptr<Transport> memory_transport(std::shared_ptr<Server> server);

}  // namespace patchbay
