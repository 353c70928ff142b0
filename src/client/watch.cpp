// Hearing about changes. A modern server gets a long-lived listen request per watch, opened
// again with growing pauses when it breaks off; a legacy one gets a subscribe per resource
// and announces list changes unasked. Both end in ClientOptions::on_change.
#include "client/watch.h"

#include "base/as_result.h"
#include "client/session_core.h"
#include "protocol/codec.h"
#include "protocol/methods.h"

namespace patchbay {

struct Watch::State {
  std::shared_ptr<SessionCore> core;
  SubscriptionFilter wanted;
  SubscriptionFilter honoured;
  Spawned listening;
  Event acknowledged;
  std::optional<Error> refused;
  bool answered = false;
};

const SubscriptionFilter& Watch::honoured() const noexcept { return state_->honoured; }

Task<void> Watch::stop() {
  auto state = std::exchange(state_, nullptr);
  if (!state) co_return;
  auto& core = *state->core;
  state->listening.cancel();
  if (core.wire->has_request(method::listen) || core.peer->closed()) co_return;
  for (const auto& uri : state->honoured.resource_subscriptions) {
    Members members;
    members.emplace_back("uri", Json(uri));
    RequestSettings settings;
    settings.total = core.runtime.limits.request;
    (void)co_await as_result(core.request(method::unsubscribe, std::move(members), settings));
  }
}

namespace {

constexpr auto first_pause = std::chrono::seconds(1);
constexpr auto longest_pause = std::chrono::seconds(30);

// One listen request; returns when the server ended it.
Task<void> listen_once(std::shared_ptr<Watch::State> state) {
  auto& core = *state->core;
  PeerCall call;
  call.id = core.peer->reserve_id();
  call.method = method::listen;
  call.cancel_by = core.transport->kind() == Transport::Kind::http ? CancelBy::abandon : CancelBy::notification;
  Members members;
  members.emplace_back("notifications", encode(state->wanted));
  call.params = core.wire->params(members, core.identity, {});
  const auto id = call.id;
  core.watches[id] = {[state](const SubscriptionFilter& filter) {
    state->honoured = filter;
    state->answered = true;
    state->acknowledged.notify_all();
  }};
  auto ended = co_await as_result(core.peer->call(std::move(call)));
  core.watches.erase(id);
  if (!ended) throw std::move(ended).error();
}

Task<void> keep_listening(std::shared_ptr<Watch::State> state) {
  auto pause = std::chrono::duration_cast<Duration>(first_pause);
  for (;;) {
    const auto begun = std::chrono::steady_clock::now();
    auto ended = co_await as_result(listen_once(state));
    if (!ended && ended.error().code() == Errc::cancelled) co_return;
    if (!state->answered) {
      // Never acknowledged: the caller of watch() is still waiting for a yes or no.
      state->refused = ended ? Error(Errc::protocol, "the server ended the subscription without acknowledging it")
                             : std::move(ended).error();
      state->answered = true;
      state->acknowledged.notify_all();
      co_return;
    }
    if (state->core->peer->closed()) co_return;  // a new connection gets new watches
    if (std::chrono::steady_clock::now() - begun > longest_pause) pause = first_pause;
    co_await sleep_for(pause);
    pause = std::min<Duration>(pause * 2, longest_pause);
    // What changed while nobody listened is unknown: say that everything may have.
    if (state->core->options.on_change) {
      auto& wanted = state->wanted;
      if (wanted.tools_list_changed) state->core->options.on_change({Change::Kind::tools, {}});
      if (wanted.prompts_list_changed) state->core->options.on_change({Change::Kind::prompts, {}});
      if (wanted.resources_list_changed) state->core->options.on_change({Change::Kind::resources, {}});
      for (const auto& uri : wanted.resource_subscriptions) {
        state->core->options.on_change({Change::Kind::resource_updated, uri});
      }
    }
  }
}

}  // namespace

Task<std::shared_ptr<Watch::State>> open_watch(std::shared_ptr<SessionCore> core, SubscriptionFilter filter) {
  auto state = std::make_shared<Watch::State>();
  state->core = core;
  state->wanted = std::move(filter);
  if (core->wire->has_request(method::listen)) {
    state->listening = core->scope.spawn(keep_listening(state));
    auto answered = co_await as_result(with_timeout(
        [](std::shared_ptr<Watch::State> s) -> Task<void> {
          while (!s->answered) co_await s->acknowledged.wait();
        }(state),
        core->runtime.limits.request, "the server did not acknowledge the subscription"));
    if (!answered || state->refused) {
      state->listening.cancel();
      throw state->refused ? *state->refused : answered.error();
    }
    co_return state;
  }
  const auto& capabilities = core->server.capabilities;
  state->honoured.tools_list_changed =
      state->wanted.tools_list_changed && capabilities.tools && capabilities.tools->list_changed;
  state->honoured.prompts_list_changed =
      state->wanted.prompts_list_changed && capabilities.prompts && capabilities.prompts->list_changed;
  state->honoured.resources_list_changed =
      state->wanted.resources_list_changed && capabilities.resources && capabilities.resources->list_changed;
  if (capabilities.resources && capabilities.resources->subscribe) {
    for (const auto& uri : state->wanted.resource_subscriptions) {
      Members members;
      members.emplace_back("uri", Json(uri));
      RequestSettings settings;
      settings.total = core->runtime.limits.request;
      co_await core->request(method::subscribe, std::move(members), settings);
      state->honoured.resource_subscriptions.push_back(uri);
    }
  }
  co_return state;
}

}  // namespace patchbay
