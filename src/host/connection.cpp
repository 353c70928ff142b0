#include "host/connection.h"

#include <array>
#include <utility>

#include <fmt/format.h>

#include "base/as_result.h"
#include "base/offload.h"
#include "base/timeout.h"
#include "client/connect.h"
#include "client/session_owner.h"
#include "host/server_error.h"

namespace patchbay {
namespace {

// At the files of a program that failed.
constexpr auto between_looks = std::chrono::seconds(5);

// An entry that a program made itself was not put together with others.
ServerStanding standing_of(const ServerConfig& config) noexcept {
  return config.standing == ServerStanding::active && config.disabled ? ServerStanding::disabled : config.standing;
}

std::string shown_of(const Connection::Parts& parts) {
  return parts.shown.empty() && parts.transport ? parts.transport->describe() : parts.shown;
}

// Standings that no start and no answer of a person changes.
bool is_off(ServerStanding standing) noexcept {
  return standing != ServerStanding::active && standing != ServerStanding::awaiting_approval &&
         standing != ServerStanding::broken;
}

ServerReason reason_of(ServerStanding standing) noexcept {
  switch (standing) {
    case ServerStanding::active:
      return ServerReason::not_started;
    case ServerStanding::awaiting_approval:
      return ServerReason::awaiting_approval;
    case ServerStanding::rejected:
      return ServerReason::rejected;
    case ServerStanding::disabled:
      return ServerReason::disabled;
    case ServerStanding::policy:
      return ServerReason::policy;
    case ServerStanding::duplicate:
      return ServerReason::duplicate;
    case ServerStanding::not_configured:
      return ServerReason::not_configured;
    case ServerStanding::broken:
      return ServerReason::broken;
    case ServerStanding::shadowed:
      return ServerReason::shadowed;
  }
  return ServerReason::not_started;
}

ConnectionRule rule_of(const Connection::Parts& parts, const Limits& limits) {
  ConnectionRule rule = parts.rule.value_or(ConnectionRule{});
  rule.by_itself = parts.by_itself;
  rule.remote = parts.make_transport && parts.config.kind != ServerKind::stdio;
  if (parts.rule) rule.remote = parts.rule->remote;
  rule.connect_limit = as_duration(limits.connect);
  return rule;
}

// From 0 to less than 1.
double chance_of(const Random& random) {
  std::array<std::uint8_t, 2> bytes{};
  random(bytes);
  return (bytes[0] * 256 + bytes[1]) / 65536.0;
}

}  // namespace

Connection::Connection(asio::any_io_executor executor, const Runtime& runtime, ClientOptions client, Semaphore& slots,
                       Parts parts)
    : executor_(executor),
      runtime_(runtime),
      client_(std::move(client)),
      slots_(slots),
      parts_(std::move(parts)),
      scope_(executor),
      tools_again_(
          scope_, [this] { return open(); }, [this] { return refresh_tools(); }),
      prompts_(*this, ListKind::prompts),
      resources_(*this, ListKind::resources),
      templates_(*this, ListKind::resource_templates) {
  runtime_.log = runtime_.log.for_server(name());
  if (parts_.tap) taps_.push_back(parts_.tap);
  // Told of what passes by the channel, like everybody who sees it.
  if (runtime_.trace) taps_.push_back(trace_tap(name(), std::exchange(runtime_.trace, {}), runtime_.log));
  if (!parts_.config.protocol.empty()) client_.protocol = parts_.config.protocol;
  if (const auto limit = parts_.config.request_timeout) runtime_.limits.request = runtime_.limits.list = *limit;
  rule_ = rule_of(parts_, runtime_.limits);
  auto initial = initial_status(parts_);
  state_.state = initial.state;
  state_.reason = initial.reason;
  state_.error = std::move(initial.error);
  tools_ = std::move(parts_.earlier_tools);
}

ClientOptions Connection::client_for(std::uint64_t opened) {
  auto client = client_;
  client.server = name();
  client.on_lost = [this, opened, next = client_.on_lost](const Error& error) {
    on_lost(opened, error);
    if (next) next(error);
  };
  client.on_change = [this, opened, next = client_.on_change](const Change& change, const CallContext& context) {
    on_list_changed(opened, change.kind);
    if (next) next(change, context);
  };
  return client;
}

ServerStatus Connection::initial_status(const Parts& parts) {
  ServerStatus status;
  status.name = parts.config.name;
  status.origin = parts.config.origin;
  status.required = parts.config.required;
  status.transport = shown_of(parts);
  if (const auto standing = standing_of(parts.config); is_off(standing)) {
    status.state = ServerState::disabled;
    status.reason = reason_of(standing);
  } else if (parts.unusable) {
    status.state = ServerState::failed;
    status.reason = standing == ServerStanding::broken ? ServerReason::broken : ServerReason::not_usable;
    status.error = parts.unusable;
  } else if (!parts.approved) {
    status.reason = ServerReason::awaiting_approval;
  } else if (parts.refused) {
    status.state = ServerState::needs_auth;
    status.reason = ServerReason::wants_credentials;
    status.error = parts.refused;
  }
  return status;
}

ServerStatus Connection::status() const {
  ServerStatus status;
  status.name = name();
  status.state = state_.state;
  status.reason = state_.reason;
  if (state_.error) status.error = with_sign_in_remedy(name(), *state_.error);
  status.origin = parts_.config.origin;
  status.required = parts_.config.required;
  status.transport = shown_of(parts_);
  status.tool_count = tools_.size();
  if (state_.reason == ServerReason::reconnecting) {
    status.attempt = state_.attempt;
    status.attempts = rule_.attempts;
  }
  if (open() && session_) {
    status.server = session_->server();
    if (instructions_) status.server->instructions = *instructions_;
    status.era = session_->is_legacy() ? Era::legacy : Era::modern;
  }
  return status;
}

void Connection::apply(const ConnectionEvent& event) {
  auto next = step(state_, event, rule_, loop_clock(executor_).now(), chance_of(runtime_.random));
  state_ = std::move(next.state);
  for (const auto action : next.actions) carry_out(action);
  set_alarm();
  watch_program();
}

void Connection::carry_out(ConnectionAction action) {
  switch (action) {
    case ConnectionAction::open:
      attempt_ = scope_.spawn(attempt(std::exchange(on_behalf_, {})));
      break;
    case ConnectionAction::end_session:
      // What is left of it (a child to be reaped, say) is cleaned up now, not when somebody connects again.
      if (auto session = take_session()) scope_.spawn(leave(std::move(*session)));
      break;
    case ConnectionAction::replace_session:
      // A new one is wanted in its place. What runs on it is not to blame.
      if (auto session = take_session()) scope_.start(leave(std::move(*session)));
      break;
    case ConnectionAction::drop_tools:
      drop_lists();
      break;
    case ConnectionAction::tell:
      if (parts_.on_change && !closing_) parts_.on_change(*this);
      break;
    case ConnectionAction::wake:
      settled_.notify_all();
      break;
  }
}

void Connection::set_alarm() {
  if (alarm_ == state_.due) return;
  alarm_ = state_.due;
  waiting_for_alarm_.cancel();
  ++alarms_;
  if (alarm_ && !closing_) waiting_for_alarm_ = scope_.spawn(wait_until(*alarm_, alarms_));
}

Task<void> Connection::wait_until(Clock::TimePoint due, std::uint64_t alarm) {
  Timer timer(executor_);
  timer.set(due);
  co_await timer.wait();
  if (alarm == alarms_ && !closing_) apply(connection_event::Due{});
}

bool Connection::waits_for_program() const noexcept {
  return !closing_ && rule_.by_itself && !rule_.remote && state_.state == ServerState::failed &&
         state_.doing == ConnectionState::Doing::nothing;
}

void Connection::watch_program() {
  if (watching_program_ || !waits_for_program() || !tried_ || tried_->kind() != Transport::Kind::stdio) return;
  auto stamp = tried_->identity().stamp;
  if (stamp.empty()) return;  // it is not made of files
  watching_program_ = true;
  scope_.spawn(wait_for_program(tried_, std::move(stamp)));
}

// Looks from time to time: files on other machines tell nobody of their changes.
Task<void> Connection::wait_for_program(std::shared_ptr<Transport> transport, std::string before) {
  auto look = [transport] { return transport->identity().stamp; };
  while (waits_for_program()) {
    co_await sleep_for(between_looks);
    if (waits_for_program() && co_await offload(Pool::quick, look) != before) break;
  }
  watching_program_ = false;
  if (waits_for_program()) apply(connection_event::ProgramFresh{});
}

void Connection::throw_off() const {
  if (state_.error) throw Error(*state_.error);
  const auto& config = parts_.config;
  Error off(Errc::config, config.reason.empty()
                              ? fmt::format("server \"{}\" is disabled in {}", name(), config.origin.file)
                              : fmt::format("server \"{}\" is not used ({}): {}", name(),
                                            to_string(standing_of(config)), config.reason));
  throw config.remedy ? std::move(off).with_remedy(*config.remedy) : off;
}

void Connection::require_not_over() const {
  if (over()) throw Error(Errc::closed, fmt::format("server \"{}\" is being closed", name()));
}

Task<Session> Connection::ensure(std::shared_ptr<CallClock> time, CallContext context) {
  while (!connected()) {
    require_not_over();
    if (state_.state == ServerState::disabled) throw_off();
    if (parts_.unusable) throw Error(*parts_.unusable);
    on_behalf_ = context;
    apply(connection_event::Wanted{});
    {
      Waiting waiting(*this, time);
      co_await settled_.wait();
    }
    require_not_over();
    if (!connected() && (state_.doing == ConnectionState::Doing::nothing || open())) {
      throw error_of_server(
          name(), state_.error.value_or(Error(Errc::closed, "it closed the connection as soon as it was connected")));
    }
  }
  co_return *session_;
}

Task<void> Connection::reconnect() {
  require_not_over();
  if (state_.state == ServerState::disabled) throw_off();
  if (parts_.unusable) throw Error(*parts_.unusable);
  apply(connection_event::Reconnect{});
  (void)co_await ensure();
}

// Runs in our own scope, so that a caller who stops waiting does not stop the others.
Task<void> Connection::attempt(CallContext context) {
  auto outcome = co_await as_result(connect(std::move(context)));
  if (closing_) co_return;
  co_await note(outcome ? *outcome : std::optional(outcome.error()));
  if (closing_) co_return;
  attempt_failed_ = !outcome;
  if (!outcome) {
    apply(connection_event::Failed{outcome.error(), parts_.approved});
    co_return;
  }
  apply(connection_event::Connected{*outcome, changed_});
  attempt_failed_ = !connected();
  if (session_ && session_->closed()) {
    apply(connection_event::Lost{lost_.value_or(Error(Errc::closed, "it closed the connection"))});
  } else {
    relist_after_opening();
  }
}

// Whatever becomes of it, the connection is what it is.
Task<void> Connection::note(std::optional<Error> error) {
  if (parts_.note) (void)co_await as_result(parts_.note(std::move(error)));
}

void Connection::set_asking(bool asking) {
  asking_ = asking;
  for (auto* waiting : waiting_) waiting->hold(asking);
}

Task<void> Connection::be_approved(CallContext context) {
  if (!parts_.approved && parts_.approve) {
    set_asking(true);
    context.server = name();
    auto answer = co_await as_result(parts_.approve({parts_.config, std::move(context)}));
    set_asking(false);
    parts_.approved = value_or_throw(std::move(answer));
  }
  if (!parts_.approved) {
    throw Error(Errc::denied,
                fmt::format("server \"{}\" is declared by {} and awaits approval", name(), parts_.config.origin.file))
        .with_remedy({Remedy::Kind::approve_server, name()});
  }
}

Task<std::optional<Error>> Connection::connect(CallContext context) {
  co_await be_approved(std::move(context));
  auto permit = co_await slots_.acquire();
  apply(connection_event::Begun{});
  lost_.reset();
  auto runtime = runtime_;
  if (!state_.coming_back && state_.attempt > 1 && state_.first_tried) {
    // All tries of a first connection have one limit.
    const auto spent = loop_clock(executor_).now() - *state_.first_tried;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(rule_.connect_limit - spent);
    runtime.limits.connect = std::max(left, std::chrono::milliseconds(1));
  }
  auto transport = parts_.transport;
  if (!transport) {
    transport = co_await with_timeout(
        parts_.make_transport(runtime), as_duration(runtime.limits.connect),
        fmt::format(
            "the files and secrets that its entry refers to were not available within {} ms, the limit for connecting",
            runtime.limits.connect.count()));
  }
  tried_ = transport;
  const auto opened = ++opened_;
  transport = tapped(std::move(transport), taps_, parts_.trace_context);
  session_ = co_await patchbay::connect(
      Client(client_for(opened)), std::move(transport), runtime,
      [this, opened](const Error* error) { request_ended(opened, error); }, parts_.on_other);
  for_each_list([](auto& kept) { kept.heard = false; });
  // What changes from here on is heard, so nothing is missed between the list and the listening.
  if (parts_.follow_changes) co_await begin_following(*session_);
  if (!session_) throw Error(Errc::cancelled, "cancelled");  // closed meanwhile
  tools_again_.set_fresh();
  auto listed = co_await as_result(fetch_tools(*session_));
  if (closing_) throw Error(Errc::cancelled, "cancelled");
  if (!listed && listed.error().code() == Errc::connect) {
    // Nobody is there any more: that is not a connection.
    if (auto session = take_session()) scope_.spawn(leave(std::move(*session)));
    throw std::move(listed).error();
  }
  changed_.reset();
  if (!listed) co_return listed.error();
  tools_ = std::move(listed->offered);
  changed_ = std::move(listed->changed);
  instructions_ = std::move(listed->instructions);
  has_listed_ = true;
  co_return std::nullopt;
}

void Connection::on_lost(std::uint64_t opened, const Error& error) {
  if (closing_ || opened != opened_) return;
  lost_ = error;
  if (!open()) return;  // still being listed: the attempt will see it
  apply(connection_event::Lost{error});
  if (parts_.note) scope_.spawn(note(error));
}

// What one request met is how the server is, until another one tells otherwise or it is connected anew.
void Connection::request_ended(std::uint64_t opened, const Error* error) {
  if (closing_ || opened != opened_) return;
  // The ordinary case changes nothing.
  if (!error && connected() && state_.errors == 0) return;
  apply(connection_event::CallEnded{error ? std::optional(*error) : std::nullopt});
}

// Whoever chose a log level on it still wants it.
std::optional<Session> Connection::take_session() {
  auto session = std::exchange(session_, std::nullopt);
  if (!session) return session;
  if (const auto level = SessionAccess::log_level(*session)) client_.log_level = level;
  return session;
}

Task<void> Connection::leave(Session session) {
  co_await asio::this_coro::throw_if_cancelled(false);
  // Cancelled: it ends now.
  if (!closing_) (void)co_await as_result(SessionAccess::wait_unused(session));
  co_await end(session, CloseMode::quick);
  // From here on no watch is added to it.
  while (!closing_ && SessionAccess::is_watched(session)) {
    if (!open() || !session_ || session_->closed()) {
      (void)co_await as_result(settled_.wait());
      continue;
    }
    auto restored = co_await as_result(SessionAccess::take_over(session, *session_));
    if (!restored && !closing_) {
      runtime_.log(LogLevel::warning, "not_restored", "reason", restored.error().message());
      break;
    }
  }
}

Task<void> Connection::end(Session session, CloseMode mode) {
  auto ended = mode == CloseMode::graceful ? session.close() : session.close_quickly();
  co_await std::move(ended);
}

Task<void> Connection::fade() {
  parts_.on_change = nullptr;
  parts_.on_list_change = nullptr;
  fading_ = true;
  rule_.by_itself = false;
  if (!open()) {
    // Its entry may have been disabled: it is not opened any more, whoever waits for it.
    attempt_.cancel();
    apply(connection_event::Closed{});
  }
  while (uses_ > 0) co_await unused_.wait();
}

Task<void> Connection::close(CloseMode mode) {
  closing_ = true;
  const bool throws = co_await asio::this_coro::throw_if_cancelled();
  co_await asio::this_coro::throw_if_cancelled(false);
  apply(connection_event::Closed{});
  tools_again_.wake();
  for_each_list([](auto& kept) { kept.again.wake(); });
  scope_.cancel();
  // An attempt that was too far to be cancelled may leave a session behind while it ends.
  for (int pass = 0; pass < 2; ++pass) {
    if (auto session = std::exchange(session_, std::nullopt)) co_await end(std::move(*session), mode);
    co_await scope_.join();
  }
  drop_lists();
  tried_.reset();
  co_await asio::this_coro::throw_if_cancelled(throws);
}

}  // namespace patchbay
