#include <patchbay/client.h>

#include "client/session_core.h"

namespace patchbay {

Client::Client(ClientOptions options) : options_(std::move(options)) {}

Task<Session> Client::connect(std::shared_ptr<Transport> transport) const {
  co_return co_await connect(std::move(transport), Runtime{});
}

Task<Session> Client::connect(std::shared_ptr<Transport> transport, const Runtime& runtime) const {
  auto core =
      std::make_shared<SessionCore>(co_await asio::this_coro::executor, runtime, options_, std::move(transport));
  co_await core->connect();
  co_return Session(std::move(core));
}

}  // namespace patchbay
