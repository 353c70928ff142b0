// The WebSocket transport: one connection carries every message, one text message each, and when
// it ends every call does (Errc::closed), as with stdio. The handshake carries the configured
// headers; a 401 is answered by sign-in once, as for HTTP. No redirect is followed.
// Loop thread only; knows no method.
#pragma once

#include <memory>
#include <string>

#include "base/runtime.h"
#include "http/auth.h"
#include "rpc/transport.h"
#include "transport/targets.h"
#include "ws/websocket.h"

namespace patchbay {

class WsChannel final : public Channel {
 public:
  WsChannel(asio::any_io_executor executor, std::unique_ptr<WebSocket> socket, Runtime runtime);
  ~WsChannel() override;

  Result<void> send(Message message) override;
  Result<void> send_batch(std::vector<Message> messages) override;
  Task<Incoming> receive() override;
  std::optional<Incoming> received() override;
  void abandon(const RequestId&) override {}
  Task<void> close(CloseMode mode) override;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

// With sign-in; ws_transport() in the public header is the same without.
std::unique_ptr<Transport> ws_transport_with(HttpTarget options, std::shared_ptr<HttpAuth> auth);

}  // namespace patchbay
