// A client that is nothing but text: it sends JSON-RPC as written and shows what comes
// back as text, so that tests compare whole answers. The server runs in the same loop.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <patchbay/server.h>

#include "base/runtime.h"
#include "base/scope.h"
#include "rpc/channel.h"

namespace patchbay::test {

class RawClient {
 public:
  RawClient(asio::any_io_executor executor, Server& server, const Runtime& runtime = {});
  ~RawClient();

  // One message, or a batch when the text is an array.
  void send(std::string_view text);
  // The next message as compact text; a batch is an array. Throws closed at the end.
  Task<std::string> next();
  Task<std::string> ask(std::string text);
  // Ends the connection and waits until the server has let go of it.
  Task<void> close();
  // Cancels Server::serve, as a program that ends does.
  void stop_server();

 private:
  std::unique_ptr<Channel> channel_;
  Scope scope_;
  Spawned serving_;
};

}  // namespace patchbay::test
