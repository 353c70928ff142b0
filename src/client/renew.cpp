// A server that has forgotten the session is asked for a new one, and the call that met this
// is repeated once. Calls that meet it together share the new session, or why there is none. Calls
// that were under way and did not meet it themselves fail: they may have been carried out.
// Where no call is made, but the transport has reason to doubt, a ping takes the place of a call.
#include "base/as_result.h"
#include "client/negotiate.h"
#include "client/session_core.h"
#include "protocol/methods.h"
#include "rpc/carried_out.h"

namespace patchbay {

bool session_forgotten(const Error& error) noexcept {
  return error.code() == Errc::closed && error.http_status() == 404;
}

bool SessionCore::can_recover(std::string_view method, const Error& error) const {
  if (!may_be_repeated(error)) return false;
  if (session_forgotten(error)) return !closing;
  // The tool repeats other arguments in headers than when it was listed, or was never listed.
  return method == method::call_tool && error.rpc_code() == modern_code::header_mismatch && uses_headers(*wire);
}

Task<void> SessionCore::recover(Error error, std::size_t seen) {
  if (session_forgotten(error)) {
    co_await renew(seen);
  } else {
    cache.drop(method::list_tools);
    co_await relist_tools();
  }
}

// From the decision to renew up to its outcome, even if the coroutine never began.
struct SessionCore::Renewing {
  explicit Renewing(std::shared_ptr<SessionCore> c) : core(std::move(c)) { core->renewing = core->must_renew = true; }
  Renewing(Renewing&&) noexcept = default;
  Renewing& operator=(Renewing&&) = delete;
  ~Renewing() {
    if (!core) return;
    core->renewing = false;
    core->renewed.notify_all();
  }
  std::shared_ptr<SessionCore> core;
};

// The renewal is nobody's who calls: one that leaves, or is cancelled by the end of the old connection
// because it comes from a handler there, does not take it away from the others.
Task<void> SessionCore::renew(std::size_t seen) {
  if (!renewing) {
    if (renewals != seen) co_return;
    if (closing) throw Error(Errc::closed, "the connection was closed");
    not_renewed.reset();
    scope.spawn(run_renewal(Renewing(shared_from_this())));
  }
  while (renewing) co_await renewed.wait();
  if (renewals != seen) co_return;
  if (not_renewed && !closing) throw Error(*not_renewed);
  throw Error(Errc::closed, "the connection was closed");
}

Task<void> SessionCore::run_renewal(Renewing renewing) {
  auto& core = *renewing.core;
  auto renewed = co_await as_result(core.open_anew());
  if (renewed) co_return;
  // Half a connection is none; the next call tries again.
  co_await asio::this_coro::throw_if_cancelled(false);
  co_await core.close_channel(CloseMode::quick);
  core.not_renewed = std::move(renewed).error().without_carried_out();
}

Task<void> SessionCore::open_anew() {
  runtime.log(LogLevel::info, "session_renewed", "transport", transport->describe());
  cache.clear();
  task_tools.reset();
  listed_tools.clear();
  mirrored.clear();
  if (auto ending = peer) {
    co_await ending->close(
        CloseMode::quick,
        Error(Errc::closed, fmt::format("{} forgot the session while the request was running", transport->describe())));
  }
  co_await with_timeout(negotiate(*this), as_duration(runtime.limits.connect),
                        fmt::format("{} forgot the session and did not open a new one", transport->describe()));
  must_renew = false;
  ++renewals;
  doubt_pace.renewed(runtime.clock.now());
  for (const auto& [uri, watches_of_it] : std::map(subscriptions)) {
    Members members;
    members.emplace_back("uri", Json(uri));
    RequestSettings settings;
    settings.total = runtime.limits.request;
    auto again = co_await as_result(
        send_request(*wire, method::subscribe, members, settings, CancelBy::notification, peer->reserve_id()));
    if (!again) runtime.log(LogLevel::warning, "not_subscribed_again", "reason", again.error().message());
  }
  // What the new session offers may be something else.
  announce({Change::Kind::tools, {}});
  announce({Change::Kind::prompts, {}});
  announce({Change::Kind::resources, {}});
}

void SessionCore::doubt_session() {
  if (closing || doubting) return;
  doubt_pace.doubted(runtime.clock.now());
  if (doubt_pace.given_up()) return;  // that was told
  doubting = true;
  scope.spawn(settle_doubt());
}

// What runs goes on: it finds out by itself, and must not be cut off by a renewal that somebody else began.
Task<void> SessionCore::settle_doubt() {
  const auto keep = shared_from_this();
  struct Guard {
    explicit Guard(bool& flag) : doubting(flag) {}
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;
    ~Guard() { doubting = false; }
    bool& doubting;
  } guard(doubting);
  auto seen = renewals;
  while (const auto pause = doubt_pace.next()) {
    co_await sleep_for(*pause);
    const auto here = peer;
    co_await here->wait_idle();
    if (renewals != seen) co_return;
    RequestSettings settings;
    settings.total = runtime.limits.request;
    auto asked = co_await as_result(request(method::ping, {}, std::move(settings)));
    // Whatever it answers, it knows the session, or gave a new one; and a broken network is the stream's to notice.
    if ((asked || asked.error().rpc_code()) && renewals == seen) doubt_pace.known();
    if (asked || asked.error().code() == Errc::cancelled) co_return;
    // The new one may be forgotten as well: whoever gave it is not who was asked then.
    if (!must_renew && !session_forgotten(asked.error())) co_return;
    seen = renewals;
  }
  const auto why =
      must_renew && not_renewed
          ? *not_renewed
          : Error(Errc::closed,
                  fmt::format("{} keeps forgetting its sessions; no new one is opened only to listen to it",
                              transport->describe()));
  runtime.log(LogLevel::warning, "session_not_renewed", "reason", why.message());
  // Nobody may ever call again, so this is the end of the session, and is told as such.
  must_renew = false;
  try {
    on_closed(why);
  } catch (...) {
    runtime.log(LogLevel::error, "closed_handler_failed", "reason", error_from(std::current_exception()).message());
  }
}

}  // namespace patchbay
