#include <patchbay/client.h>

#include "client/session_owner.h"

namespace patchbay {

Client::Client(ClientOptions options) : options_(std::move(options)) {}

Task<Session> Client::connect(std::shared_ptr<Transport> transport) const {
  co_return co_await connect(std::move(transport), Runtime{});
}

Task<Session> Client::connect(std::shared_ptr<Transport> transport, const Runtime& runtime) const {
  auto owner =
      std::make_shared<SessionOwner>(co_await asio::this_coro::executor, runtime, options_, std::move(transport));
  co_await owner->connect();
  co_return Session(std::move(owner));
}

}  // namespace patchbay
