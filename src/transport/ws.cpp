#include "transport/ws.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/as_result.h"
#include "base/byte_budget.h"
#include "base/close_once.h"
#include "base/crypto.h"
#include "base/scope.h"
#include "base/timeout.h"
#include "base/waiting.h"
#include "http/url.h"
#include "transport/http_requester.h"
#include "transport/inbox.h"

namespace patchbay {
namespace {

using namespace std::chrono_literals;

constexpr auto goodbye_wait = 2s;      // for the other side's goodbye, in a graceful close
constexpr auto quick_goodbye = 100ms;  // in a quick one
constexpr std::size_t inbox_room = 8u << 20;

}  // namespace

struct WsChannel::State {
  using Self = std::shared_ptr<State>;

  State(asio::any_io_executor executor, std::unique_ptr<WebSocket> s, Runtime r)
      : socket(std::move(s)), runtime(std::move(r)), clock(loop_clock(executor)), inbox(inbox_room), scope(executor) {}

  std::unique_ptr<WebSocket> socket;
  Runtime runtime;
  const Clock& clock;
  MessageInbox inbox;
  Chatter chatter;
  std::string text;  // of the message being sent
  CloseOnce closing;
  Scope scope;

  static Task<void> read(Self self) {
    for (;;) {
      auto message = co_await as_result(self->socket->receive());
      if (!message) {
        if (message.error().code() != Errc::cancelled) self->inbox.finish(std::move(message).error());
        co_return;
      }
      while (!self->inbox.has_room()) co_await self->inbox.taken();
      if (auto good = co_await take_text(self, std::move(*message)); !good) {
        self->inbox.finish(std::move(good).error());
        co_return;
      }
    }
  }

  static Task<Result<void>> take_text(Self self, std::string text) {
    const auto size = text.size();
    auto put = MessageInbox::Put::nothing;
    if (is_read_aside(size, self->runtime.limits)) {
      put =
          co_await self->inbox.put_text_aside(std::move(text), byte_budget().charge(size), std::nullopt, self->runtime);
    } else {
      put = self->inbox.put_text(std::move(text), std::nullopt, self->runtime);
    }
    if (put != MessageInbox::Put::nothing) {
      self->chatter.heard();
      co_return Result<void>();
    }
    auto bearable = self->chatter.note(size, 1, self->clock.now());
    if (!bearable) co_return std::unexpected(bearable.error().within(self->socket->shown()));
    co_return Result<void>();
  }

  static Task<void> close(Self self, CloseMode mode) {
    if (!self->closing.begin()) co_return co_await self->closing.finished();
    self->inbox.close();
    const bool throws = co_await asio::this_coro::throw_if_cancelled();
    co_await asio::this_coro::throw_if_cancelled(false);
    co_await self->socket->close(mode == CloseMode::graceful ? Duration(goodbye_wait) : Duration(quick_goodbye));
    self->scope.cancel();
    co_await self->scope.join();
    self->closing.finish();
    co_await asio::this_coro::throw_if_cancelled(throws);
  }
};

WsChannel::WsChannel(asio::any_io_executor executor, std::unique_ptr<WebSocket> socket, Runtime runtime)
    : state_(std::make_shared<State>(executor, std::move(socket), std::move(runtime))) {
  state_->scope.spawn(State::read(state_));
}

WsChannel::~WsChannel() {
  state_->closing.begin();
  state_->scope.cancel();
  state_->inbox.finish(Error(Errc::closed, "the connection was closed"));
}

Result<void> WsChannel::send(Message message) {
  if (state_->inbox.end()) return std::unexpected(*state_->inbox.end());
  auto& text = state_->text;
  text.clear();
  append_message(text, message);
  auto sent = state_->socket->send(text);
  if (text.capacity() > (1u << 20)) text = {};
  return sent;
}

Result<void> WsChannel::send_batch(std::vector<Message> messages) {
  if (state_->inbox.end()) return std::unexpected(*state_->inbox.end());
  std::string text;
  append_batch(text, messages);
  return state_->socket->send(text);
}

Task<Incoming> WsChannel::receive() { return MessageInbox::take({state_, &state_->inbox}); }

std::optional<Incoming> WsChannel::received() { return state_->inbox.take_now(); }

Task<void> WsChannel::close(CloseMode mode) { return State::close(state_, mode); }

namespace {

// Errc::config when the text cannot be the URL of such a server; says why.
Result<Url> checked_url(std::string_view text) {
  auto url = parse_url(text);
  if (!url) return fail(Errc::config, fmt::format("{}; correct the \"url\" of its entry", url.error().message()));
  if (url->scheme != "ws" && url->scheme != "wss") {
    return fail(Errc::config, fmt::format("\"{}\": the url of a server of type \"ws\" must begin with wss:// or ws://",
                                          url->redacted()));
  }
  return url;
}

class WsTransport final : public Transport {
 public:
  WsTransport(HttpTarget options, std::shared_ptr<HttpAuth> auth)
      : options_(std::move(options)), auth_(std::move(auth)) {}

  Kind kind() const noexcept override { return Kind::websocket; }
  std::string describe() const override { return options_.shown.empty() ? redacted_url(options_.url) : options_.shown; }
  Identity identity() const override { return {sha256_hex("ws " + options_.url), {}}; }
  Task<std::unique_ptr<Channel>> open(const Runtime& runtime) override {
    return open_channel(options_, auth_, describe(), runtime);
  }

 private:
  static Task<std::unique_ptr<Channel>> open_channel(HttpTarget options, std::shared_ptr<HttpAuth> auth,
                                                     std::string shown, Runtime runtime) {
    WebSocketTarget target;
    target.url = value_or_throw(checked_url(options.url));
    target.way = http_client_options(options, runtime);
    // Less than the whole time for a session, so that an error can name the phase.
    target.connect = target.handshake = as_duration(runtime.limits.connect) / 3 * 2;
    WebSocketSettings settings;
    settings.shown = shown;
    settings.message_limit = runtime.limits.message;
    settings.outgoing_limit = runtime.limits.outgoing;
    settings.buffered_limit = runtime.limits.buffered;
    settings.random = runtime.random;
    settings.log = runtime.log;

    // Sign-in knows the server by the address an HTTP request would have.
    HttpRequest request;
    auto http_url = target.url;
    http_url.scheme = http_url.scheme == "wss" ? "https" : "http";
    request.url = http_url.text();
    for (const auto& [name, value] : options.headers) request.headers.add(name, value);
    for (bool again = false;; again = true) {
      auto sending = request;
      SentCredentials sent;
      if (auth) sent = co_await auth->authorize(sending);
      target.headers = sending.headers;
      auto answer = co_await open_websocket(target, settings);
      if (auto* socket = std::get_if<std::unique_ptr<WebSocket>>(&answer)) {
        auto executor = co_await asio::this_coro::executor;
        co_return std::make_unique<WsChannel>(executor, std::move(*socket), std::move(runtime));
      }
      auto& refusal = std::get<WebSocketRefusal>(answer);
      const auto status = refusal.head.status;
      if (auth && !again && (status == 401 || status == 403)) {
        refusal.head.url = request.url;
        if (co_await auth->on_challenge(std::move(sent), std::move(sending), refusal.head)) continue;
      }
      throw refusal_error(shown, refusal, request.headers.contains("Authorization"),
                          auth ? auth->remedy() : std::string());
    }
  }

  static Error refusal_error(const std::string& shown, const WebSocketRefusal& refusal, bool had_credentials,
                             const std::string& remedy) {
    const auto& head = refusal.head;
    if (head.status == 401 || head.status == 403) {
      return access_error(shown, head.status, had_credentials, refusal.body, remedy);
    }
    if (head.status / 100 == 3) {
      const auto location = head.headers.get("Location");
      return Error(Errc::http, fmt::format("{} redirects the WebSocket handshake ({}) to {}; redirects are not "
                                           "followed: if you trust that url, write it into the entry",
                                           shown, head.status,
                                           location.empty() ? "a place that it does not name" : redacted_url(location)))
          .with_http_status(head.status);
    }
    if (head.status / 100 == 2) {
      return Error(Errc::protocol,
                   fmt::format("{} answered the WebSocket handshake with {} and {}; is it the url of a WebSocket "
                               "server? (for a server that uses HTTP write \"type\": \"http\")",
                               shown, head.status, shown_type(head)))
          .with_http_status(head.status)
          .with_detail(excerpt(refusal.body));
    }
    return status_error(shown, head, refusal.body).within("the WebSocket handshake failed");
  }

  HttpTarget options_;
  std::shared_ptr<HttpAuth> auth_;
};

}  // namespace

std::unique_ptr<Transport> ws_transport_with(HttpTarget options, std::shared_ptr<HttpAuth> auth) {
  return std::make_unique<WsTransport>(std::move(options), std::move(auth));
}

std::shared_ptr<Transport> ws_transport(HttpOptions options) { return ws_transport_with(std::move(options), nullptr); }

}  // namespace patchbay
