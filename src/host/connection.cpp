#include "host/connection.h"

#include <utility>

#include <fmt/format.h>

#include "base/as_result.h"
#include "base/timeout.h"
#include "catalog/tool_filter.h"
#include "client/connect.h"
#include "host/server_error.h"

namespace patchbay {
namespace {

// A burst of change notices leads to one refresh.
constexpr auto refresh_delay = std::chrono::milliseconds(200);
// A server that says at every listing that its list changed is asked less and less often.
constexpr auto longest_refresh_delay = std::chrono::seconds(30);
constexpr auto first_retry_pause = std::chrono::milliseconds(100);

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

// Whoever was asked wants it never to be started, instead of not now.
bool is_rejection(const Error& error) { return error.remedy() && error.remedy()->kind == Remedy::Kind::undo_rejection; }

}  // namespace

Connection::Connection(asio::any_io_executor executor, const Runtime& runtime, ClientOptions client, Semaphore& slots,
                       Parts parts)
    : executor_(executor),
      runtime_(runtime),
      client_(std::move(client)),
      slots_(slots),
      parts_(std::move(parts)),
      scope_(executor) {
  runtime_.log = runtime_.log.for_server(name());
  if (runtime_.trace) {
    runtime_.trace = [next = runtime_.trace, server = name()](std::string_view direction, std::string_view message) {
      next(fmt::format("{} {}", server, direction), message);
    };
  }
  if (!parts_.config.protocol.empty()) client_.protocol = parts_.config.protocol;
  if (const auto limit = parts_.config.request_timeout) runtime_.limits.request = runtime_.limits.list = *limit;
  auto initial = initial_status(parts_);
  state_ = initial.state;
  reason_ = initial.reason;
  error_ = std::move(initial.error);
}

ClientOptions Connection::client_for(std::uint64_t opened) {
  auto client = client_;
  client.server = name();
  client.on_lost = [this, opened, next = client_.on_lost](const Error& error) {
    on_lost(opened, error);
    if (next) next(error);
  };
  client.on_change = [this, opened, next = client_.on_change](const Change& change, const CallContext& context) {
    if (change.kind == Change::Kind::tools) on_tools_changed(opened);
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
  status.state = state_;
  status.reason = reason_;
  status.error = error_;
  status.origin = parts_.config.origin;
  status.required = parts_.config.required;
  status.transport = shown_of(parts_);
  if (offers_tools()) {
    status.server = session_->server();
    status.era = session_->is_legacy() ? Era::legacy : Era::modern;
    status.tool_count = tools_.size();
  }
  return status;
}

Task<Session> Connection::ensure(std::shared_ptr<CallClock> time, CallContext context) {
  while (!connected()) {
    if (closing_) throw Error(Errc::closed, fmt::format("server \"{}\" is being closed", name()));
    if (state_ == ServerState::disabled) {
      if (error_) throw *error_;
      const auto& config = parts_.config;
      Error off(Errc::config, config.reason.empty()
                                  ? fmt::format("server \"{}\" is disabled in {}", name(), config.origin.file)
                                  : fmt::format("server \"{}\" is not used ({}): {}", name(),
                                                to_string(standing_of(config)), config.reason));
      throw config.remedy ? std::move(off).with_remedy(*config.remedy) : off;
    }
    if (parts_.unusable) throw *parts_.unusable;
    if (!attempting_) {
      attempting_ = true;
      replace_session();
      scope_.spawn(attempt(context));
    }
    {
      Waiting waiting(*this, time);
      co_await settled_.wait();
    }
    if (closing_) throw Error(Errc::closed, fmt::format("server \"{}\" is being closed", name()));
    if (!connected() && !attempting_) {
      throw error_of_server(
          name(), error_.value_or(Error(Errc::closed, "it closed the connection as soon as it was connected")));
    }
  }
  co_return *session_;
}

// Runs in our own scope, so that a caller who stops waiting does not stop the others.
Task<void> Connection::attempt(CallContext context) {
  auto outcome = co_await as_result(connect(std::move(context)));
  if (!closing_) co_await note(outcome ? error_ : outcome.error());
  attempting_ = false;
  attempt_failed_ = !outcome;
  if (!outcome && !closing_) {
    const auto& error = outcome.error();
    const bool unapproved = error.code() == Errc::denied && !parts_.approved;
    if (error.code() == Errc::unauthorized || error.code() == Errc::forbidden) {
      settle(ServerState::needs_auth, ServerReason::wants_credentials, error);
    } else if (error.code() == Errc::denied && parts_.approved) {
      settle(ServerState::disabled, ServerReason::policy, error);
    } else if (unapproved && is_rejection(error)) {
      settle(ServerState::disabled, ServerReason::rejected, error);
    } else {
      settle(unapproved ? ServerState::pending : ServerState::failed,
             unapproved ? ServerReason::awaiting_approval : ServerReason::connect_failed, error);
    }
  }
  settled_.notify_all();
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

Task<void> Connection::connect(CallContext context) {
  co_await be_approved(std::move(context));
  auto permit = co_await slots_.acquire();
  state_ = ServerState::pending;
  reason_ = ServerReason::connecting;
  error_.reset();
  lost_.reset();
  auto transport = parts_.transport;
  if (!transport) {
    transport = co_await with_timeout(
        parts_.make_transport(runtime_), as_duration(runtime_.limits.connect),
        fmt::format(
            "the files and secrets that its entry refers to were not available within {} ms, the limit for connecting",
            runtime_.limits.connect.count()));
  }
  const auto opened = ++opened_;
  session_ = co_await patchbay::connect(Client(client_for(opened)), std::move(transport), runtime_);
  // What changes from here on is heard, so nothing is missed between the list and the listening.
  if (parts_.follow_changes) co_await begin_following(*session_);
  tools_changed_ = false;
  auto listed = co_await as_result(fetch_tools(*session_));
  if (closing_) throw Error(Errc::cancelled, "cancelled");
  if (listed) {
    tools_ = std::move(*listed);
    settle(ServerState::connected, ServerReason::none);
  } else {
    settle(ServerState::connected, ServerReason::tools_fetch_failed, listed.error());
  }
  if (tools_changed_) refresh_soon();
}

Task<Connection::Tools> Connection::fetch_tools(Session session) {
  Tools tools;
  if (!session.server().capabilities.tools) co_return tools;
  auto pause = std::chrono::duration_cast<Duration>(first_retry_pause);
  for (std::size_t tried = 1;; ++tried) {
    auto listing = co_await as_result(session.list_tools());
    if (listing) {
      for (auto& tool : listing->items) {
        if (lets_through(parts_.config, tool.name)) tools.push_back(std::make_shared<const Tool>(std::move(tool)));
      }
      for (const auto& problem : listing->problems) {
        runtime_.log(LogLevel::warning, "tool_left_out", "path", problem.path, "reason", problem.reason);
      }
      co_return tools;
    }
    if (tried >= runtime_.limits.list_tries || session.closed()) throw std::move(listing).error();
    co_await sleep_for(pause);
    pause *= 2;
  }
}

// Returns when the server has said yes or no. One that says neither is not waited for: if it agrees after all, the
// tools are listed once more.
Task<void> Connection::begin_following(Session session) {
  const auto& capabilities = session.server().capabilities;
  SubscriptionFilter filter;
  filter.tools_list_changed = capabilities.tools && capabilities.tools->list_changed;
  filter.prompts_list_changed = capabilities.prompts && capabilities.prompts->list_changed;
  filter.resources_list_changed = capabilities.resources && capabilities.resources->list_changed;
  if (!filter.tools_list_changed && !filter.prompts_list_changed && !filter.resources_list_changed) co_return;
  auto answered = std::make_shared<Completion<bool>>();
  scope_.spawn(follow(session, filter, answered));
  if (!filter.tools_list_changed) co_return;
  (void)co_await as_result(
      with_timeout(answered->wait(), as_duration(runtime_.limits.silent_probe), "no answer about the subscription"));
}

Task<void> Connection::follow(Session session, SubscriptionFilter filter, std::shared_ptr<Completion<bool>> answered) {
  const auto opened = opened_;
  const bool tools = filter.tools_list_changed;
  auto watch = co_await as_result(session.watch(std::move(filter)));
  if (!watch) {
    runtime_.log(LogLevel::info, "not_following", "reason", watch.error().message());
  } else if (tools) {
    on_tools_changed(opened);
  }
  answered->set(watch.has_value());
}

void Connection::on_tools_changed(std::uint64_t opened) {
  if (opened != opened_ || !parts_.follow_changes || closing_) return;
  tools_changed_ = true;
  refresh_soon();
}

void Connection::refresh_soon() {
  // While it connects the list is still to come.
  if (refreshing_ || !offers_tools()) return;
  refreshing_ = true;
  scope_.spawn(refresh());
}

// One at a time: of two lists that are on their way at once, the older might arrive last.
Task<void> Connection::refresh() {
  auto pause = std::chrono::duration_cast<Duration>(refresh_delay);
  while (tools_changed_ && offers_tools()) {
    co_await sleep_for(pause);
    if (!offers_tools()) break;
    pause = std::min<Duration>(pause * 2, longest_refresh_delay);
    tools_changed_ = false;
    const auto opened = opened_;
    auto listed = co_await as_result(fetch_tools(*session_));
    if (opened != opened_ || !offers_tools()) continue;  // another session has another list
    if (listed) {
      tools_ = std::move(*listed);
      if (parts_.on_change) parts_.on_change(*this);
    } else {
      // The old list is kept.
      call_ended(opened, listed.error());
      runtime_.log(LogLevel::warning, "tools_not_refreshed", "reason", listed.error().message());
    }
  }
  refreshing_ = false;
}

void Connection::on_lost(std::uint64_t opened, const Error& error) {
  if (closing_ || opened != opened_) return;
  lost_ = error;
  if (!session_ || state_ == ServerState::pending) return;  // still being listed: settle() will see it
  retire_session();
  settle(ServerState::failed, ServerReason::connection_lost, error);
  if (parts_.note) scope_.spawn(note(error));
}

// What one call met is how the server is, until another call tells otherwise or it is connected anew.
void Connection::call_ended(std::uint64_t opened, const std::optional<Error>& error) {
  if (closing_ || opened != opened_ || !session_ || state_ == ServerState::pending) return;
  if (!error) {
    if (!connected()) settle(ServerState::connected, ServerReason::none);
  } else if (error->code() == Errc::unauthorized) {
    if (state_ != ServerState::needs_auth) settle(ServerState::needs_auth, ServerReason::wants_credentials, error);
  } else if (error->code() == Errc::connect) {
    if (state_ != ServerState::failed) settle(ServerState::failed, ServerReason::connection_lost, error);
  }
}

void Connection::call_left(std::uint64_t opened) {
  auto calls = calls_.find(opened);
  if (--calls->second > 0) return;
  calls_.erase(calls);
  unused_.notify_all();
}

// What is left of a connection that ended by itself (a child to be reaped, say) is cleaned up
// now, not when somebody connects again.
void Connection::retire_session() {
  tools_.clear();
  if (session_) scope_.spawn(end(*std::exchange(session_, std::nullopt), CloseMode::quick));
}

// A new one is wanted in its place. Calls that run on it are not to blame.
void Connection::replace_session() {
  tools_.clear();
  if (session_) scope_.start(end_when_idle(*std::exchange(session_, std::nullopt), opened_));
}

Task<void> Connection::end_when_idle(Session session, std::uint64_t opened) {
  co_await asio::this_coro::throw_if_cancelled(false);
  while (calls_.contains(opened) && !closing_) {
    if (!co_await as_result(unused_.wait())) break;
  }
  co_await end(std::move(session), CloseMode::quick);
}

Task<void> Connection::end(Session session, CloseMode mode) {
  auto ended = mode == CloseMode::graceful ? session.close() : session.close_quickly();
  co_await std::move(ended);
}

void Connection::settle(ServerState state, ServerReason reason, std::optional<Error> error) {
  if (state == ServerState::connected && session_->closed()) {
    state = ServerState::failed;
    reason = ServerReason::connection_lost;
    if (!error) error = lost_;
    retire_session();
  }
  state_ = state;
  reason_ = reason;
  // Who waits for the server gets the same failure that its status has.
  error_ = error ? std::optional(error->marked()) : std::nullopt;
  if (parts_.on_change && !closing_) parts_.on_change(*this);
}

Task<void> Connection::fade() {
  parts_.on_change = nullptr;
  while (uses_ > 0) co_await unused_.wait();
}

Task<void> Connection::close(CloseMode mode) {
  closing_ = true;
  const bool throws = co_await asio::this_coro::throw_if_cancelled();
  co_await asio::this_coro::throw_if_cancelled(false);
  if (state_ != ServerState::disabled) {
    state_ = ServerState::pending;
    reason_ = ServerReason::closed;
    error_.reset();
  }
  scope_.cancel();
  settled_.notify_all();
  // An attempt that was too far to be cancelled may leave a session behind while it ends.
  for (int pass = 0; pass < 2; ++pass) {
    if (auto session = std::exchange(session_, std::nullopt)) co_await end(std::move(*session), mode);
    co_await scope_.join();
  }
  tools_.clear();
  co_await asio::this_coro::throw_if_cancelled(throws);
}

}  // namespace patchbay
