// ClientConnection: one client on one channel. It decides for every request which front serves
// it (a client may speak both eras over the same connection), passes changes on, and ends
// in good order. Lives in the frame of Server::serve; loop thread only.
#pragma once

#include <memory>
#include <set>
#include <utility>

#include "base/runtime.h"
#include "base/scope.h"
#include "base/waiting.h"
#include "rpc/peer.h"
#include "server/core.h"
#include "server/legacy_front.h"
#include "server/modern_front.h"

namespace patchbay {

class ClientConnection final : public ChangeListener {
 public:
  // `drain`: how long running requests may go on answering after the client's last message,
  // on channels where the end of input does not end the output. Zero: not at all.
  ClientConnection(std::shared_ptr<ServerCore> core, asio::any_io_executor executor, std::unique_ptr<Channel> channel,
                   Runtime runtime, Duration drain);
  ClientConnection(const ClientConnection&) = delete;
  ClientConnection& operator=(const ClientConnection&) = delete;
  ~ClientConnection() override;

  // Who is at the other end, as the door found out: tasks are theirs alone. Before run().
  void set_principal(std::string principal) { link_->principal = std::move(principal); }

  // Serves until the channel ends. Cancelled: says goodbye first.
  Task<void> run();

  void on_change(const Change& change) override;

 private:
  Task<Payload> on_request(Request request);
  Task<Json> route(Request request);
  void on_notification(const Notification& notification);
  Task<void> tell_changes();
  Task<void> finish_requests();

  std::shared_ptr<ServerCore> core_;
  Runtime runtime_;
  Scope scope_;
  Peer peer_;
  std::shared_ptr<PeerLink> link_;
  LegacyFront legacy_;
  ModernFront modern_;

  std::set<std::pair<Change::Kind, std::string>> changes_;  // to be told on the next turn
  std::size_t running_ = 0;
  Event idle_;
};

}  // namespace patchbay
