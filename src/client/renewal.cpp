#include "client/renewal.h"

#include "base/as_result.h"
#include "base/limit_text.h"
#include "client/exchange.h"
#include "client/session_owner.h"
#include "protocol/methods.h"

namespace patchbay {

// From the decision to renew up to its outcome, even if the coroutine never began.
struct Renewal::Running {
  explicit Running(std::shared_ptr<SessionOwner> s) : session(std::move(s)) {
    auto& renewal = session->renewal();
    renewal.running_ = renewal.needed_ = true;
  }
  Running(Running&&) noexcept = default;
  Running& operator=(Running&&) = delete;
  ~Running() {
    if (!session) return;
    session->renewal().running_ = false;
    session->renewal().ended_.notify_all();
  }
  std::shared_ptr<SessionOwner> session;
};

Task<void> Renewal::renew(std::size_t seen) {
  const auto keep = session_.shared_from_this();
  if (!running_) {
    if (count_ != seen) co_return;
    if (session_.closing()) throw Error(Errc::closed, "this session was closed");
    failure_.reset();
    session_.scope().spawn(run(Running(keep)));
  }
  while (running_) co_await ended_.wait();
  if (count_ != seen) co_return;
  if (failure_ && !session_.closing()) throw Error(*failure_);
  throw Error(Errc::closed, "this session was closed");
}

Task<void> Renewal::run(Running running) {
  auto& session = *running.session;
  auto& self = session.renewal();
  auto renewed = co_await as_result(self.open_anew());
  if (renewed) co_return;
  // Half a connection is none; the next call tries again.
  co_await asio::this_coro::throw_if_cancelled(false);
  co_await session.close_opening(CloseMode::quick);
  self.failure_ = std::move(renewed).error().without_carried_out();
}

Task<void> Renewal::open_anew() {
  const auto& runtime = session_.runtime();
  const auto shown = session_.transport()->describe();
  runtime.log(LogLevel::info, "session_renewed", "transport", shown);
  session_.lists().clear();
  const auto old = session_.peer();
  co_await old->close(CloseMode::quick,
                      Error(Errc::closed, fmt::format("{} forgot the session while the request was running", shown)));
  co_await with_timeout(session_.open_and_settle(), as_duration(runtime.limits.connect),
                        fmt::format("{} forgot the session and did not open a new one within {}", shown,
                                    limit_text(runtime.limits.connect)));
  needed_ = false;
  ++count_;
  pace_.renewed(session_.clock().now());
  co_await session_.watches().subscribe_again(session_);
  // What the new session offers may be something else.
  session_.announce({Change::Kind::tools, {}});
  session_.announce({Change::Kind::prompts, {}});
  session_.announce({Change::Kind::resources, {}});
}

void Renewal::doubt() {
  if (session_.closing() || doubting_) return;
  pace_.doubted(session_.clock().now());
  if (pace_.given_up()) return;  // that was told
  doubting_ = true;
  session_.scope().spawn(settle_doubt());
}

// What runs goes on: it finds out by itself, and must not be cut off by a renewal that somebody else began.
Task<void> Renewal::settle_doubt() {
  const auto keep = session_.shared_from_this();
  const auto& runtime = session_.runtime();
  struct Guard {
    explicit Guard(bool& flag) : doubting(flag) {}
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;
    ~Guard() { doubting = false; }
    bool& doubting;
  } guard(doubting_);
  auto seen = count_;
  while (const auto pause = pace_.next()) {
    co_await sleep_for(*pause);
    const auto here = session_.peer();
    co_await here->wait_idle();
    if (count_ != seen) co_return;
    RequestSettings settings;
    settings.total = runtime.limits.request;
    auto asked = co_await as_result(request(session_, method::ping, {}, std::move(settings)));
    // Whatever it answers, it knows the session, or gave a new one; and a broken network is the stream's to notice.
    if ((asked || asked.error().rpc_code()) && count_ == seen) pace_.known();
    if (asked || asked.error().code() == Errc::cancelled) co_return;
    // The new one may be forgotten as well: whoever gave it is not who was asked then.
    if (!needed_ && !session_forgotten(asked.error())) co_return;
    seen = count_;
  }
  const auto why =
      needed_ && failure_
          ? *failure_
          : Error(Errc::closed,
                  fmt::format(
                      "{} keeps forgetting its sessions; no new session is opened only to receive its notifications",
                      session_.transport()->describe()));
  runtime.log(LogLevel::warning, "session_not_renewed", "reason", why.message());
  // Nobody may ever call again, so this is the end of the session, and is reported as such.
  needed_ = false;
  session_.tell_lost(why);
}

}  // namespace patchbay
