#include "client/session_core.h"

#include "base/as_result.h"
#include "client/negotiate.h"
#include "protocol/codec.h"
#include "protocol/methods.h"

namespace patchbay {

SessionCore::SessionCore(asio::any_io_executor ex, const Runtime& rt, const ClientOptions& opts,
                         std::shared_ptr<Transport> how)
    : executor(ex),
      runtime(rt),
      options(opts),
      identity{opts.info, capabilities_of(opts)},
      transport(std::move(how)),
      cache(rt.clock),
      log_level(opts.log_level),
      received_tasks(std::make_shared<TaskStore>(TaskStore::Bounds{.count = rt.limits.tasks,
                                                                   .ttl = rt.limits.task_ttl,
                                                                   .ttl_most = rt.limits.task_ttl_most,
                                                                   .poll_interval = rt.limits.task_poll},
                                                 rt.clock, rt.random)),
      questions(ex),
      scope(ex) {}

Task<void> SessionCore::open_channel() {
  auto channel = co_await transport->open(runtime);
  if (closing) {
    co_await channel->close(CloseMode::quick);
    throw Error(Errc::closed, "the connection was closed");
  }
  channel->on_doubt([this] { doubt_session(); });
  Peer::Handlers handlers;
  handlers.request = [this](Request request) { return on_request(std::move(request)); };
  handlers.notification = [this](Notification notification) { on_notification(std::move(notification)); };
  handlers.closed = [this](const Error& error) { on_closed(error); };
  handlers.ignores_doubled = true;
  peer = std::make_shared<Peer>(executor, std::move(channel), runtime, std::move(handlers));
  peer->start();
}

Task<void> SessionCore::close_channel(CloseMode mode) {
  if (auto ending = peer) co_await ending->close(mode);
}

Task<void> SessionCore::connect() {
  const auto limit = as_duration(runtime.limits.connect);
  auto outcome = co_await as_result(with_timeout(
      negotiate(*this), limit,
      fmt::format(
          "no answer from {} within {} s (while opening the session); if it needs longer to start, set MCP_TIMEOUT "
          "(milliseconds)",
          transport->describe(), std::chrono::duration<double>(limit).count())));
  if (outcome) co_return;
  auto error = std::move(outcome).error().without_carried_out();
  // More time would not help a server that talks, but not to us.
  if (const auto printed = peer ? peer->channel().skipped() : std::string();
      error.code() == Errc::timeout && !printed.empty()) {
    error = Error(Errc::timeout, fmt::format("no answer from {} within {} s; it {}", transport->describe(),
                                             std::chrono::duration<double>(limit).count(), printed))
                .with_detail(error.detail());
  }
  if (error.detail().empty() && peer) error = std::move(error).with_detail(peer->channel().diagnostics());
  const bool throws = co_await asio::this_coro::throw_if_cancelled();
  co_await asio::this_coro::throw_if_cancelled(false);
  co_await close(CloseMode::quick);
  co_await asio::this_coro::throw_if_cancelled(throws);
  throw error;
}

void SessionCore::end() {
  closing = true;
  const Error why(Errc::closed, "the connection was closed");
  scope.cancel();
  received_tasks->stop();
  if (peer) peer->end(why);
  questions.end(why);
}

Task<void> SessionCore::close(CloseMode mode) {
  const auto keep = shared_from_this();
  end();
  const bool throws = co_await asio::this_coro::throw_if_cancelled();
  co_await asio::this_coro::throw_if_cancelled(false);
  const auto first = peer;
  co_await close_channel(mode);
  co_await received_tasks->finish();
  if (auto joined = co_await as_result(scope.join()); !joined) {
    runtime.log(LogLevel::error, "watch_failed", "reason", joined.error().message());
  }
  // A renewal may have been too far to be cancelled.
  if (peer != first) co_await close_channel(mode);
  co_await questions.wait_ended(as_duration(runtime.limits.exit_after_eof));
  co_await asio::this_coro::throw_if_cancelled(throws);
}

void SessionCore::on_closed(const Error& error) {
  if (on_channel_end) {
    on_channel_end(error);
  } else if (renewing) {
    // The call that renews the session tells how that went.
  } else {
    questions.fail(error);
    if (wire && !closing && options.on_lost) options.on_lost(error);
  }
}

void SessionCore::forget(const Change& change) {
  switch (change.kind) {
    case Change::Kind::tools:
      cache.drop(method::list_tools);
      task_tools.reset();
      listed_tools.clear();
      break;
    case Change::Kind::prompts:
      cache.drop(method::list_prompts);
      break;
    case Change::Kind::resources:
      cache.drop(method::list_resources);
      cache.drop(method::list_resource_templates);
      cache.drop(method::list_skills);
      break;
    case Change::Kind::resource_updated:
      cache.drop(method::read_resource, change.uri);
      break;
    case Change::Kind::roots:
    case Change::Kind::task:
      break;
  }
}

void SessionCore::announce(const Change& change) {
  forget(change);
  if (!options.on_change) return;
  try {
    options.on_change(change, context_of(nullptr));
  } catch (...) {
    runtime.log(LogLevel::error, "change_handler_failed", "reason", error_from(std::current_exception()).message());
  }
}

void SessionCore::on_notification(Notification notification) {
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
    if (const auto* uri = params["uri"].if_string()) announce({Change::Kind::resource_updated, *uri});
  } else if (name == method::log_message) {
    if (!options.on_log) return;
    if (auto message = decode<LogMessage>(read_params())) {
      options.on_log(*message, context_of(peer->only_tagged_call()));
    }
  } else if (name == method::listen_acknowledged) {
    const Json params = read_params();
    const Json* id = subscription_id_of(params);
    auto number = id ? id->to_int() : std::nullopt;
    auto watch = number ? watches.find(*number) : watches.end();
    if (watch == watches.end()) return;
    // A server that does not say what it honours is taken to honour nothing.
    auto filter = decode<SubscriptionFilter>(params["notifications"]);
    auto acknowledged = watch->second.acknowledged;
    acknowledged(filter ? *filter : SubscriptionFilter{});
  } else if (name == method::task_status || name == method::task_changed) {
    const Json params = read_params();
    const auto* id = params["taskId"].if_string();
    if (!id) return;
    auto [first, last] = task_news.equal_range(*id);
    for (; first != last; ++first) {
      first->second->raised = true;
      first->second->event.notify_all();
    }
    announce({Change::Kind::task, *id});
  } else if (name == method::cancelled) {
    // One of the ways in which a server ends a subscription.
    const Json params = read_params();
    auto id = params["requestId"].to_int();
    if (id && watches.contains(*id)) peer->fail_call(*id, Error(Errc::closed, "the server ended the subscription"));
  } else {
    runtime.log(LogLevel::debug, "unknown_notification", "method", name);
  }
}

RequestSettings SessionCore::settings_for(const CallOptions& call, std::chrono::milliseconds standard) const {
  RequestSettings settings;
  settings.total = as_duration(call.total.value_or(standard));
  if (call.idle) settings.idle = as_duration(*call.idle);
  settings.on_progress = call.on_progress;
  return settings;
}

}  // namespace patchbay
