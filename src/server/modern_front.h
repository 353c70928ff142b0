// ModernFront: requests that carry everything about themselves. Nothing is remembered from
// one to the next; what a connection owns here are its open subscriptions. A handler that
// asks something unanswered ends its call with the question; the client repeats the call
// with the answer and the handler runs again. Owned by a connection; loop thread only.
#pragma once

#include <list>
#include <memory>
#include <string>

#include "base/runtime.h"
#include "base/waiting.h"
#include "protocol/wire.h"
#include "rpc/peer.h"
#include "server/context.h"
#include "server/core.h"

namespace patchbay {

class ModernFront {
 public:
  ModernFront(std::shared_ptr<ServerCore> core, std::shared_ptr<PeerLink> link, Peer& peer, const Runtime& runtime)
      : core_(std::move(core)), link_(std::move(link)), peer_(peer), runtime_(runtime) {}
  ModernFront(const ModernFront&) = delete;
  ModernFront& operator=(const ModernFront&) = delete;

  // `params` is an object that says it is modern.
  Task<Json> handle(RequestId id, std::string method, Json params);
  void on_change(const Change& change);
  // Ends every subscription with its final answer; returns when those are queued.
  Task<void> end_subscriptions();

 private:
  struct Subscription;

  Task<Json> listen(const Wire& wire, RequestId id, const ReceivedMeta& meta, Json params);
  Json about_task(const Wire& wire, std::string_view method, const Json& params);
  Task<Json> run(const Wire& wire, RequestId id, ReceivedMeta meta, std::string method, Json params);
  std::int64_t now_ms() const;

  std::shared_ptr<ServerCore> core_;
  std::shared_ptr<PeerLink> link_;
  Peer& peer_;
  const Runtime& runtime_;
  std::list<Subscription*> subscriptions_;
  bool ending_ = false;
  Event end_;
  Event ended_;
};

}  // namespace patchbay
