#include <patchbay/client.h>

#include "client/connect.h"
#include "client/session_owner.h"

namespace patchbay {
namespace {

Task<Session> connect_with(ClientOptions options, std::shared_ptr<Transport> transport, Runtime runtime,
                           OnOutcome on_outcome, OnOther on_other) {
  auto owner =
      std::make_shared<SessionOwner>(co_await asio::this_coro::executor, runtime, options, std::move(transport));
  owner->on_outcome(std::move(on_outcome));
  owner->on_other(std::move(on_other));
  co_await owner->connect();
  co_return SessionAccess::make(std::move(owner));
}

}  // namespace

Client::Client(ClientOptions options) : options_(std::move(options)) {}

Task<Session> Client::connect(std::shared_ptr<Transport> transport) const {
  Runtime runtime;
  runtime.log = Log(options_.log);
  return patchbay::connect(*this, std::move(transport), std::move(runtime));
}

Task<Session> connect(const Client& client, std::shared_ptr<Transport> transport, Runtime runtime, OnOutcome on_outcome,
                      OnOther on_other) {
  return connect_with(client.options(), std::move(transport), std::move(runtime), std::move(on_outcome),
                      std::move(on_other));
}

}  // namespace patchbay
