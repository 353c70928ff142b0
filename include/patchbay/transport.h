// Transport: a way to reach one server, for Client::connect and Host::add_server. It is made by one of the
// functions below, can be shared, and is used again for every connection.
// TextChannel: a connection that the program makes itself, for what these functions do not reach.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <patchbay/call.h>
#include <patchbay/task.h>

namespace patchbay {

class Server;
class Transport;  // has nothing to call

// A child process; see StdioOptions in call.h.
std::shared_ptr<Transport> stdio_transport(StdioOptions options);

// A server behind a URL; see HttpOptions in call.h. Streamable HTTP in either protocol era and,
// where a server does not know that, the older pair of endpoints.
std::shared_ptr<Transport> http_transport(HttpOptions options);
// The same by the older pair of endpoints alone (revision 2024-11-05).
std::shared_ptr<Transport> sse_transport(HttpOptions options);
// By WebSocket: one connection for every message.
std::shared_ptr<Transport> ws_transport(HttpOptions options);

// A server in this process, which every connection keeps alive.
std::shared_ptr<Transport> memory_transport(std::shared_ptr<Server> server);

// One connection that carries texts, each of them one JSON-RPC message, both ways and in order. The library
// makes the messages and reads them; the channel only moves texts. Everything is called on the loop: at most
// one read() and one write() at a time, and close() once, after which the channel is destroyed.
class TextChannel {
 public:
  virtual ~TextChannel() = default;
  // The next text; nullopt when the other side has ended the connection. An exception ends it as well.
  virtual Task<std::optional<std::string>> read() = 0;
  // Returns when the channel has taken the text.
  virtual Task<void> write(std::string text) = 0;
  // Ends the connection. A read() that waits returns or throws.
  virtual Task<void> close() = 0;
};

// Makes a connection, each time it is called.
using OpenTextChannel = std::function<Task<std::unique_ptr<TextChannel>>()>;

// A server reached through channels of the program's own. `name` is for messages.
std::shared_ptr<Transport> text_transport(std::string name, OpenTextChannel open);

}  // namespace patchbay
