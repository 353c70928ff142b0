#include "client/session_owner.h"

#include "base/as_result.h"
#include "base/strings.h"
#include "client/exchange.h"
#include "client/listing.h"
#include "client/negotiate.h"
#include "protocol/codec.h"
#include "protocol/methods.h"

namespace patchbay {
namespace {

Error is_echo() {
  return Error(Errc::protocol,
               "it sends back what it is sent, so it is not an MCP server, or a terminal is in between that does so "
               "(of docker only -i is needed, not -t)");
}

}  // namespace

SessionOwner::SessionOwner(asio::any_io_executor executor, const Runtime& runtime, const ClientOptions& options,
                           std::shared_ptr<Transport> transport, RenewalRule renewal)
    : runtime_(runtime),
      clock_(loop_clock(executor)),
      options_(std::make_shared<const ClientOptions>(options)),
      identity_{options.info, capabilities_of(options)},
      transport_(std::move(transport)),
      log_level_(options.log_level),
      lists_(clock_),
      answers_(executor, runtime, options_),
      received_(runtime, clock_),
      scope_(executor),
      renewal_(*this, renewal) {
  if (!runtime_.calls) runtime_.calls = std::make_shared<std::uint64_t>(0);
}

Task<std::shared_ptr<SessionCore>> SessionOwner::open_core(std::shared_ptr<Transport> transport,
                                                           std::function<void(const Error&)> ended) {
  auto channel = co_await transport->open(runtime_);
  if (closing_) {
    co_await channel->close(CloseMode::quick);
    throw Error(Errc::closed, "this session was closed");
  }
  SessionCore::Events events;
  events.request = [this](std::shared_ptr<SessionCore> core, Request request) {
    return on_request(std::move(core), std::move(request));
  };
  events.notification = [this](SessionCore& core, Notification notification) {
    on_notification(core, std::move(notification));
  };
  events.closed = [this](SessionCore& core, const Error& error) { on_closed(core, error); };
  events.doubted = [this] { renewal_.doubt(); };
  opening_ = std::make_shared<SessionCore>(std::move(transport), std::move(channel), executor(), runtime_, identity_,
                                           std::move(events));
  opening_->set_log_level(log_level_);
  opening_->start(std::move(ended));
  co_return opening_;
}

Task<void> SessionOwner::close_opening(CloseMode mode) {
  if (auto ending = opening_) co_await ending->peer()->close(mode);
}

void SessionOwner::adopt(std::shared_ptr<SessionCore> core) {
  core_ = std::move(core);
  // It may have been set while this one was opened.
  core_->set_log_level(log_level_);
}

Task<void> SessionOwner::open_and_settle() {
  co_await negotiate(*this);
  transport_ = core_->transport();
  opening_ = nullptr;
}

Task<void> SessionOwner::connect() {
  const auto limit = as_duration(runtime_.limits.connect);
  auto outcome = co_await as_result(
      with_timeout(open_and_settle(), limit,
                   fmt::format("no answer from {} within {} s (while connecting); if it needs longer to start, {}",
                               transport_->describe(), std::chrono::duration<double>(limit).count(),
                               runtime_.limits.connect_setting)));
  if (outcome) co_return;
  auto error = std::move(outcome).error().without_carried_out();
  const auto last = opening_ ? opening_->peer() : nullptr;
  // More time would not help a server that talks, but not to us.
  if (const auto printed = last ? last->channel().skipped() : std::string();
      error.code() == Errc::timeout && !printed.empty()) {
    error = Error(Errc::timeout, fmt::format("no answer from {} within {} s; it {}", transport_->describe(),
                                             std::chrono::duration<double>(limit).count(), printed))
                .with_detail(error.detail());
  }
  if (error.detail().empty() && last) error = std::move(error).with_detail(last->channel().diagnostics());
  const bool throws = co_await asio::this_coro::throw_if_cancelled();
  co_await asio::this_coro::throw_if_cancelled(false);
  co_await close(CloseMode::quick);
  co_await asio::this_coro::throw_if_cancelled(throws);
  throw error;
}

void SessionOwner::end() {
  closing_ = true;
  const Error why(Errc::closed, "this session was closed");
  scope_.cancel();
  received_.stop();
  if (core_) core_->peer()->end(why);
  if (opening_) opening_->peer()->end(why);
  answers_.handlers().end(why);
}

Task<void> SessionOwner::close(CloseMode mode) {
  const auto keep = shared_from_this();
  end();
  const bool throws = co_await asio::this_coro::throw_if_cancelled();
  co_await asio::this_coro::throw_if_cancelled(false);
  const auto newest = [this] { return opening_ ? opening_ : core_; };
  const auto first = newest();
  if (first) co_await first->peer()->close(mode);
  co_await received_.finish();
  if (auto joined = co_await as_result(scope_.join()); !joined) {
    runtime_.log(LogLevel::error, "watch_failed", "reason", joined.error().message());
  }
  // A renewal may have been too far to be cancelled.
  if (const auto last = newest(); last != first) co_await last->peer()->close(mode);
  // A handler that closes its own session was cancelled by that, and would wait for itself.
  const auto now = co_await asio::this_coro::cancellation_state;
  if (now.cancelled() == asio::cancellation_type::none) {
    co_await answers_.handlers().wait_ended(as_duration(runtime_.limits.exit_after_eof));
  }
  co_await asio::this_coro::throw_if_cancelled(throws);
}

void SessionOwner::close_behind() {
  if (std::exchange(closing_, true)) return;  // on this turn; the rest is the coroutine's
  Scope ending(executor());
  ending.spawn_last([](std::shared_ptr<SessionOwner> keep) -> Task<void> {
    co_await keep->close(CloseMode::quick);
  }(shared_from_this()));
}

void SessionOwner::on_closed(SessionCore& core, const Error& error) {
  if (&core == core_.get()) tell_lost(error);
}

void SessionOwner::tell_lost(const Error& error) {
  if (renewal_.running()) return;  // the call that renews the session tells how that went
  answers_.handlers().fail(error);
  if (closing_ || !options_->on_lost) return;
  try {
    options_->on_lost(error);
  } catch (...) {
    runtime_.log(LogLevel::error, "closed_handler_failed", "reason", error_from(std::current_exception()).message());
  }
}

void SessionOwner::set_log_level(LoggingLevel level) {
  log_level_ = level;
  core_->set_log_level(level);
}

void SessionOwner::note_routing(std::vector<Tool>& tools, std::vector<DecodeProblem>& problems, bool all) {
  if (core_->uses_headers()) core_->routing().note(tools, problems, all);
}

Task<void> SessionOwner::relist_tools() {
  auto [listing, generation] = co_await list_whole<Tool>(*this, {method::list_tools}, "tools");
  note_routing(listing.items, listing.problems, true);
  lists_.note_tools(listing.items, generation);
}

Task<void> choose_log_level(SessionOwner& session, LoggingLevel level) {
  if (!session.server()->capabilities.logging) throw Error(Errc::unsupported, "the server does not send log messages");
  session.set_log_level(level);
  // Where the level is not a request of its own, every later request carries it.
  if (!session.wire().has_request(method::set_log_level)) co_return;
  Members members;
  members.emplace_back("level", Json(to_string(level)));
  RequestSettings settings;
  settings.total = session.runtime().limits.request;
  co_await request(session, method::set_log_level, std::move(members), settings);
}

Task<void> SessionOwner::take_over(std::shared_ptr<SessionOwner> older) {
  const auto keep = shared_from_this();
  while (!closed()) {
    auto watch = older->watches().take();
    if (!watch) co_return;
    auto opened = co_await as_result(move_watch(keep, std::move(watch)));
    if (opened) continue;
    if (opened.error().code() == Errc::cancelled) throw std::move(opened).error();
    runtime_.log(LogLevel::warning, "not_subscribed_again", "reason", opened.error().message());
  }
}

Task<void> SessionOwner::wait_unused() {
  const auto keep = shared_from_this();
  while (uses_ > 0) co_await unused_.wait();
}

void SessionOwner::announce(const Change& change) {
  lists_.forget(change);
  if (!options_->on_change) return;
  try {
    options_->on_change(change, answers_.context_of(nullptr));
  } catch (...) {
    runtime_.log(LogLevel::error, "change_handler_failed", "reason", error_from(std::current_exception()).message());
  }
}

void SessionOwner::on_notification(SessionCore& core, Notification notification) {
  const auto& name = notification.method;
  auto read_params = [&]() -> Json {
    if (!notification.params) return Json::object();
    try {
      return std::move(notification.params).take();
    } catch (const Error&) {
      return Json::object();
    }
  };
  if (name == method::tools_changed) {
    announce({Change::Kind::tools, {}});
  } else if (name == method::prompts_changed) {
    announce({Change::Kind::prompts, {}});
  } else if (name == method::resources_changed) {
    announce({Change::Kind::resources, {}});
  } else if (name == method::resource_updated) {
    const Json params = read_params();
    if (const auto uri = params["uri"].text()) announce({Change::Kind::resource_updated, std::string(*uri)});
  } else if (name == method::log_message) {
    if (!options_->on_log) return;
    if (auto message = decode<LogMessage>(read_params())) {
      options_->on_log(*message, answers_.context_of(core.peer()->call_behind(notification.on_stream).get()));
    }
  } else if (name == method::listen_acknowledged) {
    const Json params = read_params();
    const Json* id = subscription_id_of(params);
    auto number = id ? id->to_int() : std::nullopt;
    if (!number || !watches_.contains(*number)) return;
    // A server that does not say what it honours is taken to honour nothing.
    auto filter = decode<SubscriptionFilter>(params["notifications"]);
    watches_.acknowledge(*number, filter ? *filter : SubscriptionFilter{});
  } else if (name == method::task_status || name == method::task_changed) {
    const Json params = read_params();
    const auto id = params["taskId"].text();
    if (!id) return;
    task_signals_.raise(*id);
    announce({Change::Kind::task, std::string(*id)});
  } else if (name == method::elicitation_complete) {
    // Whoever visits the page says by themselves when they are done, so nobody waits for it.
    const Json params = read_params();
    if (const auto id = params["elicitationId"].text()) runtime_.log(LogLevel::info, "visit_completed", "id", *id);
  } else if (name == method::cancelled) {
    // One of the ways in which a server ends a subscription.
    const Json params = read_params();
    auto id = params["requestId"].to_int();
    if (id && watches_.contains(*id))
      core.peer()->fail_call(*id, Error(Errc::closed, "the server ended the subscription"));
  } else {
    runtime_.log(LogLevel::debug, "unknown_notification", "method", name);
    if (!other_ || closing_ || !core.server()) return;
    try {
      other_(*core.server(), name, notification.params);
    } catch (...) {
      runtime_.log(LogLevel::error, "notification_handler_failed", "reason",
                   error_from(std::current_exception()).message());
    }
  }
}

Peer::ClockStop SessionOwner::stop_clocks(SessionCore& core, const Request& request, const Json& params) {
  const auto task = related_task_of(params);
  if (auto followed = task ? task_signals_.clock_of(*task) : nullptr) return Peer::ClockStop(std::move(followed));
  return Peer::ClockStop(*core.peer(), request.on_stream);
}

// A request of the server's own.
Task<Payload> SessionOwner::on_request(std::shared_ptr<SessionCore> core, Request request) {
  const auto keep = shared_from_this();
  const auto* wire = core->wire();
  if (!wire && (request.method == method::initialize || request.method == method::discover)) {
    // What only a client asks is what we have just asked. An answer would come back as well, as the server's.
    if (const auto* id = std::get_if<std::int64_t>(&request.id)) core->peer()->fail_call(*id, is_echo());
    throw Error(Errc::cancelled, "not answered");
  }
  if (wire && !wire->has_server_request(request.method)) {
    if (!wire->has_server_request(method::ping)) {
      // By this wire a server sends no requests at all, so there is nothing to answer: only to note.
      runtime_.log(LogLevel::warning, "unexpected_request", "method", cut_utf8(request.method, 120));
      throw Error(Errc::cancelled, "not answered");
    }
    throw Error::rpc(rpc_code::method_not_found, fmt::format("unknown method {}", request.method));
  }
  const Json params = request.params ? request.params.value() : Json::object();
  auto decoded = [](auto result) {
    if (!result) throw Error::rpc(rpc_code::invalid_params, result.error().message());
    return InputRequest(std::move(*result));
  };
  if (request.method == method::ping) co_return Json::object();
  if (wire && request.method.starts_with("tasks/") && identity_.capabilities.tasks) {
    co_return co_await ReceivedTasks::on_request(received_.store(), *wire, std::move(request.method), params);
  }
  InputRequest wish;
  if (request.method == method::elicit) {
    wish = decoded(decode<ElicitRequest>(params));
  } else if (request.method == method::create_message) {
    wish = decoded(decode<CreateMessageRequest>(params));
  } else if (request.method == method::list_roots) {
    wish = decoded(decode<ListRootsRequest>(params));
  } else {
    throw Error::rpc(rpc_code::method_not_found, fmt::format("unknown method {}", request.method));
  }
  if (wire && identity_.capabilities.tasks && !std::holds_alternative<ListRootsRequest>(wish)) {
    auto how = wire->task_wish(params);
    if (!how) throw Error::rpc(rpc_code::invalid_params, how.error().message());
    if (*how) {
      auto stop = stop_clocks(*core, request, params);
      auto answer = answers_.ask_for_call(std::move(wish), answers_.context_of(stop.clock()), stop.clock());
      co_return received_.start(*wire, **how, std::move(answer), std::move(stop), executor());
    }
  }
  const auto* elicit = std::get_if<ElicitRequest>(&wish);
  const bool form = elicit && elicit->mode == ElicitRequest::Mode::form;
  const auto stop = stop_clocks(*core, request, params);
  auto response =
      co_await as_result(answers_.ask_for_call(std::move(wish), answers_.context_of(stop.clock()), stop.clock()));
  if (!response) {
    // The question was a good one; what is wrong with the answer is not the server's fault.
    if (form && response.error().code() == Errc::invalid_argument) {
      runtime_.log(LogLevel::warning, "answer_not_sent", "reason", response.error().message());
      throw Error(Errc::internal, response.error().message());
    }
    throw std::move(response).error();
  }
  co_return std::visit([](const auto& value) { return encode(value); }, *response);
}

}  // namespace patchbay
