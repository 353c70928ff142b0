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
      scope(ex) {}

Task<void> SessionCore::open_channel() {
  auto channel = co_await transport->open(runtime);
  Peer::Handlers handlers;
  handlers.request = [this](Request request) { return on_request(std::move(request)); };
  handlers.notification = [this](Notification notification) { on_notification(std::move(notification)); };
  handlers.closed = [this](const Error& error) { on_closed(error); };
  peer = std::make_unique<Peer>(executor, std::move(channel), runtime, std::move(handlers));
  peer->start();
}

Task<void> SessionCore::close_channel(CloseMode mode) {
  if (!peer) co_return;
  auto ending = std::move(peer);
  co_await ending->close(mode);
}

Task<void> SessionCore::connect() {
  const auto limit = runtime.limits.connect;
  auto outcome = co_await as_result(with_timeout(
      negotiate(*this), limit,
      fmt::format("no answer from {} within {} s; if it needs longer to start, set MCP_TIMEOUT (milliseconds)",
                  transport->describe(), std::chrono::duration<double>(limit).count())));
  if (outcome) co_return;
  closing = true;
  auto error = std::move(outcome).error();
  if (error.detail().empty() && peer) error = std::move(error).with_detail(peer->channel().diagnostics());
  const bool throws = co_await asio::this_coro::throw_if_cancelled();
  co_await asio::this_coro::throw_if_cancelled(false);
  co_await close_channel(CloseMode::quick);
  co_await asio::this_coro::throw_if_cancelled(throws);
  throw error;
}

Task<void> SessionCore::close(CloseMode mode) {
  closing = true;
  const bool throws = co_await asio::this_coro::throw_if_cancelled();
  co_await asio::this_coro::throw_if_cancelled(false);
  scope.cancel();
  if (peer) co_await peer->close(mode);
  co_await scope.join();
  co_await asio::this_coro::throw_if_cancelled(throws);
}

void SessionCore::on_closed(const Error& error) {
  if (on_channel_end) {
    on_channel_end(error);
  } else if (wire && !closing && options.on_lost) {
    options.on_lost(error);
  }
}

void SessionCore::on_notification(Notification notification) {
  const auto& name = notification.method;
  auto changed = [&](Change::Kind kind, std::string uri = {}) {
    if (options.on_change) options.on_change(Change{kind, std::move(uri)});
  };
  auto params = [&]() -> Json {
    auto value = notification.params ? parse_json(notification.params.text()) : Result<Json>(Json::object());
    return value ? std::move(*value) : Json::object();
  };
  if (name == method::tools_changed) {
    cache.drop(method::list_tools);
    changed(Change::Kind::tools);
  } else if (name == method::prompts_changed) {
    cache.drop(method::list_prompts);
    changed(Change::Kind::prompts);
  } else if (name == method::resources_changed) {
    cache.drop(method::list_resources);
    cache.drop(method::list_resource_templates);
    changed(Change::Kind::resources);
  } else if (name == method::resource_updated) {
    auto value = params();
    if (const auto* uri = value["uri"].if_string()) {
      cache.drop(method::read_resource, *uri);
      changed(Change::Kind::resource_updated, *uri);
    }
  } else if (name == method::log_message) {
    if (!options.on_log) return;
    if (auto message = decode<LogMessage>(params())) options.on_log(*message);
  } else if (name == method::listen_acknowledged) {
    auto value = params();
    const Json* id = subscription_id_of(value);
    auto number = id ? id->to_int() : std::nullopt;
    auto watch = number ? watches.find(*number) : watches.end();
    if (watch == watches.end()) return;
    if (auto filter = decode<SubscriptionFilter>(value["notifications"])) watch->second.acknowledged(*filter);
  } else {
    runtime.log(LogLevel::debug, "event=unknown_notification method={}", name);
  }
}

RequestSettings SessionCore::settings_for(const CallOptions& call, std::chrono::milliseconds standard) const {
  RequestSettings settings;
  settings.total = call.total.value_or(standard);
  if (call.idle) settings.idle = *call.idle;
  settings.on_progress = call.on_progress;
  return settings;
}

}  // namespace patchbay
