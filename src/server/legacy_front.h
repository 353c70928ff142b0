// LegacyFront: the session a client opens with `initialize`: the revision agreed on, what
// the client can do, its log level and subscriptions. Questions go to the client as
// requests while the handler waits. Owned by a connection; loop thread only.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "base/runtime.h"
#include "protocol/wire.h"
#include "rpc/peer.h"
#include "server/context.h"
#include "server/core.h"

namespace patchbay {

class LegacyFront {
 public:
  LegacyFront(std::shared_ptr<ServerCore> core, std::shared_ptr<PeerLink> link, Peer& peer, const Runtime& runtime);
  LegacyFront(const LegacyFront&) = delete;
  LegacyFront& operator=(const LegacyFront&) = delete;

  // Whether `initialize` has been answered.
  bool open() const noexcept { return wire_ != nullptr; }
  bool allows_batches() const noexcept { return wire_ && wire_->allows_batches(); }

  // `params` is an object.
  Task<Json> handle(RequestId id, std::string method, Json params);
  void on_notification(std::string_view method);
  void on_change(const Change& change);

 private:
  Json initialize(Json params);
  void set_log_level(Json params);
  void subscribe(std::string_view method, Json params);
  Json list_tasks(Json params);
  Task<Json> task_result(std::shared_ptr<StoredTask> task, RequestId id);
  Task<Json> call_tool(Json params, std::shared_ptr<Context> context);

  std::shared_ptr<ServerCore> core_;
  std::shared_ptr<PeerLink> link_;
  Peer& peer_;
  const Runtime& runtime_;

  const Wire* wire_ = nullptr;
  std::optional<Implementation> client_;
  ClientCapabilities capabilities_;
  ServerCapabilities declared_;
  std::shared_ptr<LoggingLevel> log_level_;  // a task may outlive us
  std::string session_;                      // whose tasks are listed
  std::set<std::string, std::less<>> subscriptions_;
  bool initialized_ = false;
};

}  // namespace patchbay
