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

namespace {

Task<void> ask_about(SessionCore& core, std::string_view method, std::string uri) {
  Members members;
  members.emplace_back("uri", Json(std::move(uri)));
  RequestSettings settings;
  settings.total = core.runtime.limits.request;
  co_await core.request(method, std::move(members), std::move(settings));
}

// A server knows a subscription once, however many watches share it: the last one out ends it.
std::vector<std::string> give_up(SessionCore& core, std::vector<std::string> uris) {
  std::erase_if(uris, [&](const auto& uri) {
    auto found = core.subscriptions.find(uri);
    if (found == core.subscriptions.end() || --found->second > 0) return true;
    core.subscriptions.erase(found);
    return false;
  });
  return uris;
}

Task<void> unsubscribe(std::shared_ptr<SessionCore> core, std::vector<std::string> uris) {
  if (core->peer->closed()) co_return;
  for (auto& uri : uris) (void)co_await as_result(ask_about(*core, method::unsubscribe, std::move(uri)));
}

}  // namespace

Task<void> Watch::stop() {
  auto state = std::exchange(state_, nullptr);
  if (!state) co_return;
  state->listening.cancel();
  if (state->core->wire->has_request(method::listen)) co_return;
  auto uris = give_up(*state->core, std::move(state->honoured.resource_subscriptions));
  co_await unsubscribe(state->core, std::move(uris));
}

namespace {

constexpr auto first_pause = std::chrono::seconds(1);
constexpr auto longest_pause = std::chrono::seconds(30);

// What changed while nobody listened is unknown: say that everything may have.
void announce_all(Watch::State& state) {
  auto& core = *state.core;
  const auto wanted = state.wanted;
  if (wanted.tools_list_changed) core.announce({Change::Kind::tools, {}});
  if (wanted.prompts_list_changed) core.announce({Change::Kind::prompts, {}});
  if (wanted.resources_list_changed) core.announce({Change::Kind::resources, {}});
  for (const auto& uri : wanted.resource_subscriptions) core.announce({Change::Kind::resource_updated, uri});
  for (const auto& id : wanted.task_ids) core.announce({Change::Kind::task, id});
}

// What was kept from before may have changed when nobody listened: who lists from now on gets what is heard about.
void forget_unheard(Watch::State& state) {
  const auto& wanted = state.wanted;
  if (wanted.tools_list_changed) state.core->forget({Change::Kind::tools, {}});
  if (wanted.prompts_list_changed) state.core->forget({Change::Kind::prompts, {}});
  if (wanted.resources_list_changed) state.core->forget({Change::Kind::resources, {}});
  for (const auto& uri : wanted.resource_subscriptions) state.core->forget({Change::Kind::resource_updated, uri});
}

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
  call.headers = core.headers_for(*core.wire, method::listen, members);
  const auto id = call.id;
  core.watches[id] = {[state](const SubscriptionFilter& filter) {
    const bool again = std::exchange(state->answered, true);
    state->honoured = filter;
    state->acknowledged.notify_all();
    if (again) {
      announce_all(*state);
    } else {
      forget_unheard(*state);
    }
  }};
  auto ended = co_await as_result(core.peer->call(std::move(call)));
  core.watches.erase(id);
  if (!ended) throw std::move(ended).error();
}

// Whoever waits for a yes or no gets one, even if the listening never began.
struct Unanswered {
  explicit Unanswered(std::shared_ptr<Watch::State> s) : state(std::move(s)) {}
  Unanswered(Unanswered&&) = default;
  ~Unanswered() {
    if (!state || state->answered) return;
    if (!state->refused) state->refused = Error(Errc::closed, "the connection was closed");
    state->answered = true;
    state->acknowledged.notify_all();
  }
  std::shared_ptr<Watch::State> state;
};

Task<void> keep_listening(std::shared_ptr<Watch::State> state, Unanswered /*guard*/) {
  auto pause = std::chrono::duration_cast<Duration>(first_pause);
  for (;;) {
    const auto begun = state->core->runtime.clock.now();
    auto ended = co_await as_result(listen_once(state));
    if (!ended && ended.error().code() == Errc::cancelled) co_return;
    if (!state->answered) {
      // Never acknowledged: the caller of watch() is still waiting for a yes or no.
      state->refused = ended ? Error(Errc::protocol, "the server ended the subscription without acknowledging it")
                             : std::move(ended).error();
      co_return;
    }
    if (state->core->peer->closed()) co_return;  // a new connection gets new watches
    if (state->core->runtime.clock.now() - begun > longest_pause) pause = first_pause;
    co_await sleep_for(pause);
    pause = std::min<Duration>(pause * 2, longest_pause);
  }
}

}  // namespace

Task<std::shared_ptr<Watch::State>> open_watch(std::shared_ptr<SessionCore> core, SubscriptionFilter filter) {
  auto state = std::make_shared<Watch::State>();
  state->core = core;
  state->wanted = std::move(filter);
  if (core->wire->has_request(method::listen)) {
    state->listening = core->scope.spawn(keep_listening(state, Unanswered(state)));
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
  const auto server = core->server;
  const auto& capabilities = server->capabilities;
  state->honoured.tools_list_changed =
      state->wanted.tools_list_changed && capabilities.tools && capabilities.tools->list_changed;
  state->honoured.prompts_list_changed =
      state->wanted.prompts_list_changed && capabilities.prompts && capabilities.prompts->list_changed;
  state->honoured.resources_list_changed =
      state->wanted.resources_list_changed && capabilities.resources && capabilities.resources->list_changed;
  if (capabilities.tasks) state->honoured.task_ids = state->wanted.task_ids;
  if (capabilities.resources && capabilities.resources->subscribe) {
    for (const auto& uri : state->wanted.resource_subscriptions) {
      state->honoured.resource_subscriptions.push_back(uri);
      if (++core->subscriptions[uri] > 1) continue;
      auto subscribed = co_await as_result(ask_about(*core, method::subscribe, uri));
      if (subscribed) continue;
      auto uris = give_up(*core, std::move(state->honoured.resource_subscriptions));
      co_await unsubscribe(core, std::move(uris));
      throw std::move(subscribed).error();
    }
  }
  co_return state;
}

}  // namespace patchbay
