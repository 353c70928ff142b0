// A Server of ours behind a WebSocket on loopback, for tests of the client. The framing is
// the library's own in the other role; servers of others are met in tests/interop. Loop
// thread only.
#pragma once

#include <memory>
#include <string>

#include <boost/asio/ip/tcp.hpp>

#include <patchbay/server.h>

#include "base/runtime.h"
#include "base/scope.h"

namespace patchbay::test {

class WsDoor {
 public:
  WsDoor(asio::any_io_executor executor, std::shared_ptr<Server> server);
  std::string url() const;
  Task<void> stop();

 private:
  static Task<void> accept_all(WsDoor& door);
  static Task<void> serve(std::shared_ptr<Server> server, asio::ip::tcp::socket socket);

  std::shared_ptr<Server> server_;
  asio::ip::tcp::acceptor acceptor_;
  Scope scope_;
};

}  // namespace patchbay::test
