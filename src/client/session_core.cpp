#include "client/session_core.h"

#include "base/as_result.h"
#include "protocol/codec.h"
#include "protocol/methods.h"

namespace patchbay {

SessionCore::SessionCore(std::shared_ptr<Transport> transport, std::unique_ptr<Channel> channel,
                         asio::any_io_executor executor, const Runtime& runtime, const ClientIdentity& identity,
                         Events events)
    : transport_(std::move(transport)),
      identity_(identity),
      events_(std::move(events)),
      routing_(runtime.log, runtime.limits.items) {
  channel->on_doubt([this] { events_.doubted(); });
  Peer::Handlers handlers;
  handlers.request = [this](Request request) { return events_.request(shared_from_this(), std::move(request)); };
  handlers.notification = [this](Notification notification) { events_.notification(*this, std::move(notification)); };
  handlers.closed = [this](const Error& error) {
    const auto told = negotiating_;
    told ? told(error) : events_.closed(*this, error);
  };
  handlers.ignores_doubled = true;
  peer_ = std::make_shared<Peer>(std::move(executor), std::move(channel), runtime, std::move(handlers));
}

void SessionCore::start(std::function<void(const Error&)> ended) {
  negotiating_ = std::move(ended);
  peer_->start();
}

void SessionCore::negotiated(const Wire& wire, ServerDescription server) {
  wire_ = &wire;
  server_ = std::make_shared<const ServerDescription>(std::move(server));
  peer_->channel().set_protocol_version(wire.version());
}

std::vector<std::pair<std::string, std::string>> SessionCore::headers_for(const Wire& with, std::string_view method,
                                                                          const Members& members) const {
  if (!with.repeats_in_headers() || !over_http()) return {};
  return routing_.headers_for(with, method, members);
}

Task<Result<Payload>> SessionCore::send(const Wire& with, std::string_view method, const Members& members,
                                        const RequestSettings& settings, CancelBy cancel_by, std::int64_t id) {
  PeerCall call;
  call.id = id;
  call.method = method;
  RequestMeta meta;
  // Progress keeps a call with an idle limit alive, so it is asked for then too.
  if (settings.on_progress || settings.idle != Duration::max()) meta.progress_token = call.id;
  meta.log_level = log_level_;
  // Whoever follows a task must be able to ask for it, whatever its own answers may be.
  meta.tasks = settings.tasks || method != method::call_tool;
  call.params = with.params(members, identity_, meta);
  call.headers = headers_for(with, method, members);
  call.total = settings.total;
  call.clock = settings.clock;
  call.idle = settings.idle;
  call.cancel_by = cancel_by;
  call.on_progress = progress_handler(settings.on_progress);
  return peer_->ask(std::move(call));
}

Task<Result<Json>> SessionCore::bare_request(const Wire& with, std::string_view method, Members members,
                                             RequestSettings settings, CancelBy cancel_by) {
  const auto keep = shared_from_this();
  try {
    auto answered = co_await send(with, method, members, settings, cancel_by, peer_->reserve_id());
    if (!answered) co_return std::unexpected(std::move(answered).error());
    co_return std::move(*answered).take();
  } catch (...) {
    co_return std::unexpected(error_from(std::current_exception()));
  }
}

std::function<void(const Json&)> progress_handler(std::function<void(const Progress&)> wanted) {
  if (!wanted) return {};
  return [wanted = std::move(wanted)](const Json& params) {
    if (auto decoded = decode<ProgressNotification>(params)) wanted(decoded->progress);
  };
}

bool session_forgotten(const Error& error) noexcept {
  return error.code() == Errc::closed && error.http_status() == 404;
}

}  // namespace patchbay
