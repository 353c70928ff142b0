#include "gateway/caller_routes.h"

#include <utility>

namespace patchbay {

CallerRoutes::Running::Running(std::shared_ptr<CallerRoutes> routes, std::shared_ptr<HostCaller> caller,
                               std::string server, RequestId request)
    : routes_(std::move(routes)), id_(routes_->next_++) {
  routes_->running_.emplace(id_, Call{std::move(caller), std::move(server), std::move(request)});
}

void CallerRoutes::answer_for(ClientOptions& client) {
  auto self = shared_from_this();
  client.elicit = [self](ElicitRequest question, CallContext context) {
    return ask(self, std::move(question), std::move(context));
  };
  client.elicit_by_url = true;
  client.on_log = [self](const LogMessage& message, const CallContext& context) { self->log(message, context); };
  client.on_change = [self](const Change& change, const CallContext& context) {
    for (auto* caller : self->callers_) {
      if (caller->server().empty() || caller->server() == context.server) caller->changed(change);
    }
  };
}

const CallerRoutes::Call* CallerRoutes::find(const CallContext& context) const {
  if (const auto known = running_.find(context.call_id); known != running_.end()) return &known->second;
  if (context.call_id != 0) return nullptr;
  // A server over one connection need not say which call it means; where there is one, it is that.
  const Call* only = nullptr;
  for (const auto& [id, call] : running_) {
    if (call.server != context.server) continue;
    if (only) return nullptr;
    only = &call;
  }
  return only;
}

Task<ElicitResult> CallerRoutes::ask(std::shared_ptr<CallerRoutes> self, ElicitRequest question, CallContext context) {
  const auto* call = self->find(context);
  auto caller = call ? call->caller.lock() : nullptr;
  if (!caller) co_return ElicitResult{.action = ElicitResult::Action::cancel};
  auto about = call->request;
  co_return co_await caller->elicit(std::move(question), std::move(about));
}

void CallerRoutes::log(const LogMessage& message, const CallContext& context) const {
  if (const auto* call = find(context)) {
    if (auto caller = call->caller.lock()) caller->log(message);
    return;
  }
  for (auto* caller : callers_) {
    if (caller->server() == context.server) caller->log(message);
  }
}

}  // namespace patchbay
