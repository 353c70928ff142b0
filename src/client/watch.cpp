// Hearing about changes. A modern server gets a long-lived listen request per watch, opened
// again with growing pauses when it breaks off; a legacy one gets a subscribe per resource
// and announces list changes unasked. Both end in ClientOptions::on_change.
#include "client/watch.h"

#include <algorithm>

#include "base/as_result.h"
#include "base/limit_text.h"
#include "client/exchange.h"
#include "client/session_owner.h"
#include "protocol/codec.h"
#include "protocol/methods.h"

namespace patchbay {

struct Watch::State {
  std::shared_ptr<SessionOwner> session;
  SubscriptionFilter wanted;
  SubscriptionFilter honoured;
  Spawned listening;
  Event acknowledged;
  std::optional<Error> refused;
  bool answered = false;
  bool stopped = false;  // nobody holds a Watch of it any more
};

const SubscriptionFilter& Watch::honoured() const noexcept { return state_->honoured; }

namespace {

Task<void> ask_about(SessionOwner& session, std::string_view method, std::string uri) {
  Members members;
  members.emplace_back("uri", Json(std::move(uri)));
  RequestSettings settings;
  settings.total = session.runtime().limits.request;
  co_await request(session, method, std::move(members), std::move(settings));
}

Task<void> unsubscribe(std::shared_ptr<SessionOwner> session, std::vector<std::string> uris) {
  if (session->peer()->closed()) co_return;
  for (auto& uri : uris) (void)co_await as_result(ask_about(*session, method::unsubscribe, std::move(uri)));
}

}  // namespace

void Watches::acknowledge(std::int64_t id, const SubscriptionFilter& filter) {
  const auto found = listening_.find(id);
  if (found == listening_.end()) return;
  const auto acknowledged = found->second;
  acknowledged(filter);
}

std::vector<std::string> Watches::give_up(std::vector<std::string> uris) {
  std::erase_if(uris, [&](const auto& uri) {
    auto found = subscriptions_.find(uri);
    if (found == subscriptions_.end() || --found->second > 0) return true;
    subscriptions_.erase(found);
    return false;
  });
  return uris;
}

Task<void> Watches::subscribe_again(SessionOwner& session) {
  const auto& runtime = session.runtime();
  for (const auto& [uri, watches_of_it] : std::map(subscriptions_)) {
    Members members;
    members.emplace_back("uri", Json(uri));
    RequestSettings settings;
    settings.total = runtime.limits.request;
    const auto core = session.core();
    auto again = co_await core->send(*core->wire(), method::subscribe, members, settings, CancelBy::notification,
                                     core->peer()->reserve_id());
    if (!again) runtime.log(LogLevel::warning, "not_subscribed_again", "reason", again.error().message());
  }
}

void Watches::note(const std::shared_ptr<WatchState>& watch) {
  std::erase_if(opened_, [](const auto& one) { return one.expired(); });
  opened_.push_back(watch);
}

bool Watches::any_held() const {
  return std::ranges::any_of(opened_, [](const auto& one) { return !one.expired(); });
}

std::shared_ptr<WatchState> Watches::take() {
  while (!opened_.empty()) {
    auto watch = opened_.front().lock();
    opened_.erase(opened_.begin());
    if (watch) return watch;
  }
  return nullptr;
}

Task<void> Watch::stop() {
  auto state = std::exchange(state_, nullptr);
  if (!state) co_return;
  state->stopped = true;
  state->listening.cancel();
  if (state->session->wire().has_request(method::listen)) co_return;
  auto uris = state->session->watches().give_up(std::move(state->honoured.resource_subscriptions));
  co_await unsubscribe(state->session, std::move(uris));
}

namespace {

constexpr auto first_pause = std::chrono::seconds(1);
constexpr auto longest_pause = std::chrono::seconds(30);

// What changed while nobody listened is unknown: say that everything may have.
void announce_all(WatchState& state) {
  auto& session = *state.session;
  const auto wanted = state.wanted;
  if (wanted.tools_list_changed) session.announce({Change::Kind::tools, {}});
  if (wanted.prompts_list_changed) session.announce({Change::Kind::prompts, {}});
  if (wanted.resources_list_changed) session.announce({Change::Kind::resources, {}});
  for (const auto& uri : wanted.resource_subscriptions) session.announce({Change::Kind::resource_updated, uri});
  for (const auto& id : wanted.task_ids) session.announce({Change::Kind::task, id});
}

// What was kept from before may have changed when nobody listened: who lists from now on gets what is heard about.
void forget_unheard(WatchState& state) {
  const auto& wanted = state.wanted;
  auto& lists = state.session->lists();
  if (wanted.tools_list_changed) lists.forget({Change::Kind::tools, {}});
  if (wanted.prompts_list_changed) lists.forget({Change::Kind::prompts, {}});
  if (wanted.resources_list_changed) lists.forget({Change::Kind::resources, {}});
  for (const auto& uri : wanted.resource_subscriptions) lists.forget({Change::Kind::resource_updated, uri});
}

// One listen request; returns when the server ended it.
Task<void> listen_once(std::shared_ptr<WatchState> state) {
  const auto session = state->session;
  const auto core = session->core();
  const auto& wire = *core->wire();
  PeerCall call;
  call.id = core->peer()->reserve_id();
  call.method = method::listen;
  call.listens = true;
  call.cancel_by = core->over_http() ? CancelBy::abandon : CancelBy::notification;
  Members members;
  members.emplace_back("notifications", encode(state->wanted));
  call.params = wire.params(members, core->identity(), {});
  call.headers = core->headers_for(wire, method::listen, members);
  const auto id = call.id;
  session->watches().add(id, [state](const SubscriptionFilter& filter) {
    const bool again = std::exchange(state->answered, true);
    state->honoured = filter;
    state->acknowledged.notify_all();
    if (again) {
      announce_all(*state);
    } else {
      forget_unheard(*state);
    }
  });
  auto ended = co_await core->peer()->ask(std::move(call));
  session->watches().remove(id);
  if (!ended) throw std::move(ended).error();
}

// Whoever waits for a yes or no gets one, even if the listening never began.
struct Unanswered {
  explicit Unanswered(std::shared_ptr<WatchState> s) : state(std::move(s)) {}
  Unanswered(Unanswered&&) = default;
  ~Unanswered() {
    if (!state || state->answered) return;
    if (!state->refused) state->refused = Error(Errc::closed, "the connection was closed");
    state->answered = true;
    state->acknowledged.notify_all();
  }
  std::shared_ptr<WatchState> state;
};

Task<void> keep_listening(std::shared_ptr<WatchState> state, Unanswered /*guard*/) {
  auto pause = std::chrono::duration_cast<Duration>(first_pause);
  for (;;) {
    const auto begun = state->session->clock().now();
    auto ended = co_await as_result(listen_once(state));
    if (!ended && ended.error().code() == Errc::cancelled) co_return;
    if (!state->answered) {
      // Never acknowledged: the caller of watch() is still waiting for a yes or no.
      state->refused =
          ended ? Error(Errc::protocol,
                        "the server ended the subscription without acknowledging it; report it to the server's author")
                : std::move(ended).error();
      co_return;
    }
    if (state->session->peer()->closed()) co_return;  // a new connection gets new watches
    if (state->session->clock().now() - begun > longest_pause) pause = first_pause;
    co_await sleep_for(pause);
    pause = std::min<Duration>(pause * 2, longest_pause);
  }
}

}  // namespace

namespace {

Task<void> begin(std::shared_ptr<SessionOwner> session, std::shared_ptr<WatchState> state) {
  state->session = session;
  state->honoured = {};
  state->answered = false;
  state->refused.reset();
  if (session->wire().has_request(method::listen)) {
    state->listening = session->scope().spawn(keep_listening(state, Unanswered(state)));
    auto answered = co_await as_result(with_timeout(
        [](std::shared_ptr<WatchState> s) -> Task<void> {
          while (!s->answered) co_await s->acknowledged.wait();
        }(state),
        session->runtime().limits.request,
        fmt::format("the server did not acknowledge the subscription within {}",
                    limit_text(session->runtime().limits.request))));
    if (!answered || state->refused) {
      state->listening.cancel();
      if (state->stopped) co_return;
      throw state->refused ? *state->refused : answered.error();
    }
    co_return;
  }
  const auto server = session->server();
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
      if (!session->watches().subscribe(uri)) continue;
      auto subscribed = co_await as_result(ask_about(*session, method::subscribe, uri));
      if (state->stopped) co_return;  // which has given up what was subscribed to so far
      if (subscribed) continue;
      auto uris = session->watches().give_up(std::move(state->honoured.resource_subscriptions));
      co_await unsubscribe(session, std::move(uris));
      throw std::move(subscribed).error();
    }
  }
}

}  // namespace

Task<std::shared_ptr<WatchState>> open_watch(std::shared_ptr<SessionOwner> session, SubscriptionFilter filter) {
  auto state = std::make_shared<WatchState>();
  state->wanted = std::move(filter);
  co_await begin(session, state);
  session->watches().note(state);
  co_return state;
}

Task<void> move_watch(std::shared_ptr<SessionOwner> session, std::shared_ptr<WatchState> watch) {
  if (watch->stopped) co_return;
  session->watches().note(watch);
  co_await begin(session, watch);
  // What changed while nobody listened is unknown.
  if (!watch->stopped) announce_all(*watch);
}

}  // namespace patchbay
