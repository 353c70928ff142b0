#include "server/connection.h"

#include <fmt/format.h>

#include "base/as_result.h"
#include "base/timeout.h"
#include "protocol/methods.h"
#include "server/requests.h"

namespace patchbay {
namespace {

// Holds back the end of input until `finish` is done, so that answers still leave.
class DrainingChannel final : public Channel {
 public:
  DrainingChannel(std::unique_ptr<Channel> inner, std::function<Task<void>()> finish, Duration limit)
      : inner_(std::move(inner)), finish_(std::move(finish)), limit_(limit) {}

  Result<void> send(Message message) override { return inner_->send(std::move(message)); }
  Result<void> send_batch(std::vector<Message> messages) override { return inner_->send_batch(std::move(messages)); }
  Result<void> send_about(const RequestId& request, Message message) override {
    return inner_->send_about(request, std::move(message));
  }
  void forget(const RequestId& request) override { inner_->forget(request); }
  void release_stream(const RequestId& request, std::optional<std::chrono::milliseconds> retry) override {
    inner_->release_stream(request, retry);
  }
  Task<Incoming> receive() override {
    auto incoming = co_await as_result(inner_->receive());
    if (incoming) co_return std::move(*incoming);
    if (incoming.error().code() == Errc::closed && !finished_) {
      finished_ = true;
      (void)co_await as_result(with_timeout(finish_(), limit_, "requests were still running"));
    }
    throw std::move(incoming).error();
  }
  void abandon(const RequestId& id) override { inner_->abandon(id); }
  Task<void> close(CloseMode mode) override { return inner_->close(mode); }
  void set_protocol_version(std::string_view version) override { inner_->set_protocol_version(version); }
  std::string diagnostics() const override { return inner_->diagnostics(); }
  std::string skipped() const override { return inner_->skipped(); }

 private:
  std::unique_ptr<Channel> inner_;
  std::function<Task<void>()> finish_;
  Duration limit_;
  bool finished_ = false;
};

Runtime for_server(Runtime runtime, const ServerOptions& options) {
  runtime.limits.server_requests = options.requests_in_flight;
  return runtime;
}

bool known_method(std::string_view method) {
  return find_wire(modern_versions().front())->has_request(method) ||
         find_wire(legacy_versions().front())->has_request(method);
}

}  // namespace

ClientConnection::ClientConnection(std::shared_ptr<ServerCore> core, asio::any_io_executor executor,
                                   std::unique_ptr<Channel> channel, Runtime runtime, Duration drain)
    : core_(std::move(core)),
      runtime_(for_server(std::move(runtime), core_->options)),
      scope_(executor),
      peer_(executor,
            drain > Duration::zero() ? std::make_unique<DrainingChannel>(
                                           std::move(channel), [this] { return finish_requests(); }, drain)
                                     : std::move(channel),
            runtime_,
            {.request = [this](Request request) { return on_request(std::move(request)); },
             .notification = [this](Notification notification) { on_notification(notification); },
             .closed = {},
             .accepts_batches = [this] { return legacy_.allows_batches(); }}),
      link_(std::make_shared<PeerLink>(&peer_, Apart(executor))),
      legacy_(core_, link_, peer_, runtime_),
      modern_(core_, link_, peer_, runtime_) {
  core_->follow(peer_.clock());
  core_->listeners.insert(this);
}

ClientConnection::~ClientConnection() {
  core_->listeners.erase(this);
  link_->peer = nullptr;
}

Task<void> ClientConnection::run() {
  peer_.start();
  (void)co_await as_result(peer_.wait_closed());
  co_await asio::this_coro::throw_if_cancelled(false);
  co_await asio::this_coro::reset_cancellation_state();
  if (!peer_.closed()) co_await modern_.end_subscriptions();
  core_->listeners.erase(this);
  scope_.cancel();
  co_await scope_.join();
  co_await peer_.close(CloseMode::graceful);
  // Nobody waits for them any more. Those that listen end now; the program that offers them may go after this.
  const bool ended = co_await link_->handlers.wait_ended(as_duration(runtime_.limits.exit_after_eof));
  if (!ended) runtime_.log(LogLevel::warning, "handlers_go_on", "running", link_->handlers.running());
}

Task<void> ClientConnection::finish_requests() {
  co_await modern_.end_subscriptions();
  while (running_ > 0) co_await idle_.wait();
}

Task<Payload> ClientConnection::on_request(Request request) {
  struct Running {
    explicit Running(ClientConnection& c) : connection(c) { ++connection.running_; }
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;
    ~Running() {
      if (--connection.running_ == 0) connection.idle_.notify_all();
    }
    ClientConnection& connection;
  } running(*this);

  if (link_->handlers.running() >= core_->options.requests_in_flight) {
    throw Error(Errc::internal, "too many requests at once; wait for answers");
  }
  auto outcome = co_await as_result(route(std::move(request)));
  if (outcome) co_return std::move(*outcome);
  const auto& error = outcome.error();
  const auto state = co_await asio::this_coro::cancellation_state;
  const bool cancelled = state.cancelled() != asio::cancellation_type::none;
  // What a handler let escape: a "cancelled" of its own must not leave the client without
  // an answer, and an "unsupported" must not tell it that the method is unknown.
  if ((error.code() == Errc::cancelled && !cancelled) || (error.code() == Errc::unsupported && !error.rpc_code())) {
    throw Error(Errc::internal, error.message());
  }
  throw error;
}

Task<Json> ClientConnection::route(Request request) {
  Json params = std::move(request.params).take();
  if (params.is_null()) params = Json::object();
  if (!params.is_object())
    throw invalid_params(fmt::format("params: expected an object, found {}", to_string(params.kind())));

  if (is_modern_request(params)) {
    co_return co_await modern_.handle(std::move(request.id), std::move(request.method), std::move(params));
  }
  if (legacy_.open() || request.method == method::initialize || request.method == method::ping) {
    co_return co_await legacy_.handle(std::move(request.id), std::move(request.method), std::move(params));
  }
  if (!known_method(request.method)) throw method_not_found(request.method);
  throw invalid_params(
      "_meta has no io.modelcontextprotocol/protocolVersion, and the connection is not initialized; begin with "
      "initialize");
}

void ClientConnection::on_notification(const Notification& notification) {
  legacy_.on_notification(notification.method);
}

void ClientConnection::on_change(const Change& change) {
  const bool scheduled = !changes_.empty();
  changes_.emplace(change.kind, change.uri);
  if (!scheduled) scope_.spawn(tell_changes());
}

// A program that adds ten tools in a row is heard once.
Task<void> ClientConnection::tell_changes() {
  for (const auto& [kind, uri] : std::exchange(changes_, {})) {
    const Change change{kind, uri};
    legacy_.on_change(change);
    modern_.on_change(change);
  }
  co_return;
}

}  // namespace patchbay
