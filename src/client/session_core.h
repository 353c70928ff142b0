// SessionCore: one connection to a server. It has one channel and one Peer for its whole life, the wire that was
// negotiated on it (client/negotiate), the server's description, and what requests repeat in headers. It writes and
// sends requests; what they are good for is client/exchange's business. A session that the server has forgotten shows
// as a call that fails so (session_forgotten); its owner (client/session_owner.h) answers that by opening another
// connection. Loop thread only.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include <patchbay/client.h>

#include "base/runtime.h"
#include "client/routing.h"
#include "client/timing.h"
#include "protocol/wire.h"
#include "rpc/peer.h"
#include "rpc/transport.h"

namespace patchbay {

class SessionCore : public std::enable_shared_from_this<SessionCore> {
 public:
  // What is heard on the connection. Called on the loop, never after its end.
  struct Events {
    std::function<Task<Payload>(std::shared_ptr<SessionCore>, Request)> request;
    std::function<void(SessionCore&, Notification)> notification;
    std::function<void(SessionCore&, const Error&)> closed;  // once
    // The server may have forgotten the session though no call met that.
    std::function<void()> doubted;
  };

  SessionCore(std::shared_ptr<Transport> transport, std::unique_ptr<Channel> channel, asio::any_io_executor executor,
              const Runtime& runtime, const ClientIdentity& identity, Events events);
  SessionCore(const SessionCore&) = delete;
  SessionCore& operator=(const SessionCore&) = delete;

  // Begins to read. Until settle(), the end of the channel is reported to `ended` and to nobody else.
  void start(std::function<void(const Error&)> ended);
  // Nobody listens for the end any more: this connection is not the one that will be used.
  void give_up() {
    negotiating_ = [](const Error&) {};
  }
  void negotiated(const Wire& wire, ServerDescription server);
  // From now on its end is reported by Events::closed.
  void settle() { negotiating_ = nullptr; }

  // Null until it is negotiated.
  const Wire* wire() const noexcept { return wire_; }
  const std::shared_ptr<const ServerDescription>& server() const noexcept { return server_; }
  const std::shared_ptr<Peer>& peer() const noexcept { return peer_; }
  const std::shared_ptr<Transport>& transport() const noexcept { return transport_; }
  bool over_http() const { return transport_->kind() == Transport::Kind::http; }
  bool uses_headers() const { return over_http() && wire_->repeats_in_headers(); }
  // How the server learns that a request is no longer wanted.
  CancelBy cancel_by() const {
    return over_http() && wire_->closing_cancels() ? CancelBy::abandon : CancelBy::notification;
  }
  Routing& routing() noexcept { return routing_; }
  const ClientIdentity& identity() const noexcept { return identity_; }

  // The level that requests carry, where they do.
  void set_log_level(std::optional<LoggingLevel> level) { log_level_ = level; }

  // Writes the params now; the request goes out when the task is awaited, which throws nothing then.
  Task<Result<Payload>> send(const Wire& with, std::string_view method, const Members& members,
                             const RequestSettings& settings, CancelBy cancel_by, std::int64_t id);
  // One request, one answer, no asking back; for negotiation. Throws nothing.
  Task<Result<Json>> bare_request(const Wire& with, std::string_view method, Members members, RequestSettings settings,
                                  CancelBy cancel_by);
  // What a request says beside its body. Throws when an argument does not fit.
  std::vector<std::pair<std::string, std::string>> headers_for(const Wire& with, std::string_view method,
                                                               const Members& members) const;

 private:
  std::shared_ptr<Transport> transport_;
  ClientIdentity identity_;
  Events events_;
  Routing routing_;
  const Wire* wire_ = nullptr;
  std::shared_ptr<const ServerDescription> server_;
  std::optional<LoggingLevel> log_level_;
  std::function<void(const Error&)> negotiating_;
  std::shared_ptr<Peer> peer_;
};

// Calls `wanted` with what a notification about progress says.
std::function<void(const Json&)> progress_handler(std::function<void(const Progress&)> wanted);

// Whether a call failed because the server no longer knows the session it was made in.
bool session_forgotten(const Error& error) noexcept;

}  // namespace patchbay
