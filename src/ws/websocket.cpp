#include "ws/websocket.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>
#include <vector>

#include <boost/asio/post.hpp>
#include <fmt/format.h>

#include "base/as_result.h"
#include "base/byte_budget.h"
#include "base/crypto.h"
#include "base/limit_text.h"
#include "base/pace.h"
#include "base/scope.h"
#include "base/strings.h"
#include "base/timer.h"
#include "base/waiting.h"
#include "base/write_queue.h"
#include "http/client/failure.h"
#include "text/clean_text.h"
#include "ws/handshake.h"

namespace patchbay {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t read_size = 64u << 10;
constexpr auto for_reader = 500ms;  // between a failed write and the reader's own verdict
constexpr std::size_t head_limit = 64u << 10;
constexpr std::size_t refusal_limit = 64u << 10;
constexpr auto refusal_wait = 2s;

}  // namespace

// Shared with the coroutines of `scope`; those may outlive the WebSocket by one turn of the loop.
struct WebSocket::State : std::enable_shared_from_this<State> {
  using Self = std::shared_ptr<State>;

  State(asio::any_io_executor e, std::unique_ptr<ByteStream> s, WebSocketSettings w)
      : executor(e),
        stream(std::move(s)),
        settings(std::move(w)),
        reader(settings.role, settings.message_limit),
        chatter(settings.chatter),
        incoming(byte_budget(), e, settings.buffered_limit, [this] { give_up(incoming.failure()); }),
        buffer(read_size),
        clock(loop_clock(e)),
        heard(clock.now()),
        alarm(e, clock),
        scope(e) {}

  asio::any_io_executor executor;
  std::unique_ptr<ByteStream> stream;
  WebSocketSettings settings;
  std::optional<Error> failure;  // what receive() throws once the events before it are gone
  Event changed;

  // Reading.
  WebSocketReader reader;
  Chatter chatter;
  Pace pace;
  ByteBudget::Unfinished incoming;
  std::vector<char> buffer;
  bool deaf = false;  // nothing more is taken from the reader
  int receivers = 0;  // who is in receive(): one, and while closing perhaps a second
  int reading = 0;    // and waits for bytes there

  // Writing.
  WriteQueue out;
  FlushPace out_pace;
  std::optional<std::string> pong;  // the latest is enough (section 5.5.3)
  bool ping_due = false;
  bool draining = false;  // drain() waits for room
  bool broken = false;    // nothing can be written any more
  bool close_sent = false;
  std::array<std::uint8_t, 256> masks{};
  std::size_t masks_used = 256;

  // Keeping alive. Silence is counted from `heard`.
  Clock& clock;
  Clock::TimePoint heard;
  bool ping_out = false;
  Timer alarm;

  bool closing = false;
  bool closed = false;
  Scope scope;

  bool has_output() const noexcept { return !broken && (!out.empty() || pong || ping_due); }

  void fail(Error error) {
    if (!failure) failure = std::move(error);
    if (stream) stream->interrupt();
    changed.notify_all();
  }

  Error closed_error(std::string_view what) const {
    return Error(Errc::closed, fmt::format("{} {}", settings.shown, what));
  }

  // ---- writing ----

  std::optional<WebSocketMask> next_mask() {
    if (settings.role == WebSocketRole::server) return std::nullopt;
    if (masks_used == masks.size()) {
      settings.random(masks);
      masks_used = 0;
    }
    WebSocketMask mask;
    std::copy_n(masks.begin() + static_cast<std::ptrdiff_t>(masks_used), mask.size(), mask.begin());
    masks_used += mask.size();
    return mask;
  }

  void say_goodbye(std::uint16_t code, std::string_view reason) {
    if (std::exchange(close_sent, true)) return;
    append_frame(out.tail(), WebSocketOpcode::close,
                 code == close_code::none ? std::string() : close_payload(code, reason), next_mask());
    flush();
  }

  // What to write next; control frames leave before what waits.
  std::string_view next_output() {
    if (out.between() && (pong || ping_due)) {
      auto& frames = out.begin();
      if (auto payload = std::exchange(pong, std::nullopt)) {
        append_frame(frames, WebSocketOpcode::pong, *payload, next_mask());
      }
      if (std::exchange(ping_due, false)) append_frame(frames, WebSocketOpcode::ping, "", next_mask());
    }
    return out.front();
  }

  void flush() {
    while (!closed && !draining && !broken && stream && has_output()) {
      auto taken = stream->write_now(next_output());
      if (!taken) {
        break_output(taken.error());
      } else if (*taken == 0) {
        draining = true;
        scope.spawn(drain(shared_from_this()));
      } else {
        out.wrote(*taken);
      }
    }
    if (!has_output()) changed.notify_all();
  }

  static Task<void> drain(Self self) {
    while (self->has_output()) {
      co_await self->stream->writable();
      auto taken = self->stream->write_now(self->next_output());
      if (!taken) {
        self->break_output(taken.error());
      } else if (*taken > 0) {
        self->out.wrote(*taken);
        // Room in a buffer that was full: the other side takes what it is sent.
        self->heard = self->clock.now();
      }
    }
    self->draining = false;
    self->changed.notify_all();
  }

  // What the reader finds, a close frame with its reason say, tells more than the failed write, so
  // it gets a moment to find it.
  void break_output(Error why) {
    broken = true;
    out.clear();
    settings.log(LogLevel::debug, "write_failed", "text", why.message());
    scope.spawn([](Self self, Error error) -> Task<void> {
      co_await sleep_for(for_reader);
      self->fail(std::move(error));
    }(shared_from_this(), std::move(why)));
  }

  // ---- reading ----

  // The peer broke a rule: it learns which, and nothing more is read.
  void refuse(const Error& error, std::uint16_t code) {
    say_goodbye(code, error.message());
    const auto remedy =
        code == close_code::too_big ? "ask the server for less at a time" : "report it to the server's author";
    fail(Error(error.code(), fmt::format("{}: {} (while reading); {}", settings.shown, error.message(), remedy)));
  }

  // There is no room for the message that is coming.
  void give_up(const Error& why) {
    deaf = true;
    reader = WebSocketReader(settings.role, settings.message_limit);
    incoming.hold(0);
    say_goodbye(close_code::too_big, "no room for the message");
    fail(why.within(settings.shown));
  }

  std::optional<std::string> take(WebSocketEvent event) {
    switch (event.kind) {
      case WebSocketEvent::Kind::text:
        chatter.heard();
        return std::move(event.data);
      case WebSocketEvent::Kind::binary:
        deaf = true;
        refuse(Error(Errc::protocol, "a binary message came, but MCP uses text messages"),
               close_code::unsupported_data);
        break;
      case WebSocketEvent::Kind::ping:
        note_chatter(event.data.size());
        if (close_sent) break;
        pong = std::move(event.data);
        flush();
        break;
      case WebSocketEvent::Kind::pong:
        note_chatter(event.data.size());
        break;
      case WebSocketEvent::Kind::close: {
        say_goodbye(event.code, "");
        auto why = describe_close_code(event.code);
        if (const auto reason = clean_line(event.data); !reason.empty()) why += fmt::format(": {}", reason);
        fail(closed_error(fmt::format("closed the connection with {}", why)));
        break;
      }
    }
    return std::nullopt;
  }

  void note_chatter(std::size_t bytes) {
    if (auto bearable = chatter.note(bytes, 1, clock.now()); !bearable) {
      deaf = true;
      refuse(bearable.error(), close_code::policy);
    }
  }

  void on_end() {
    const auto cut = reader.unfinished();
    fail(closed_error(
        cut == 0 ? std::string("ended the connection without a close message")
                 : fmt::format("ended the connection in the middle of a message (only {} bytes of it arrived)", cut)));
  }

  void on_bytes(std::string_view bytes) {
    heard = clock.now();
    if (std::exchange(ping_out, false)) alarm.cancel();
    out_pace.answered();
    // What came before the fault is handed out before it is reported.
    if (auto fed = reader.feed(bytes); !fed) refuse(fed.error(), reader.fault_code());
    incoming.hold(reader.unfinished());
  }

  // Counts for as long as it lives.
  class Present {
   public:
    Present(State& state, int State::* count) : state_(state), count_(count) { ++(state_.*count_); }
    Present(const Present&) = delete;
    Present& operator=(const Present&) = delete;
    ~Present() {
      --(state_.*count_);
      state_.changed.notify_all();
    }

   private:
    State& state_;
    int State::* count_;
  };

  static Task<std::string> receive(Self self) {
    const Present here(*self, &State::receivers);
    for (;;) {
      // The next message may always be there already.
      if (self->pace.due()) co_await self->pace.turn();
      while (!self->deaf && !self->pace.due()) {
        auto event = self->reader.next();
        if (!event) break;
        self->pace.note(event->data.size());
        if (auto text = self->take(std::move(*event))) co_return std::move(*text);
      }
      if (!self->deaf && self->pace.due()) continue;
      if (self->failure) throw Error(*self->failure);
      if (!self->incoming.fits(ByteBudget::small)) {
        auto room = co_await as_result(self->incoming.room(ByteBudget::small));
        if (!room && room.error().code() != Errc::limit) throw std::move(room).error();
        if (!room) self->give_up(room.error());
        if (self->failure) continue;
      }
      auto got = self->stream->read_now(self->buffer);
      if (!got) {
        self->fail(got.error());
      } else if (!*got) {
        self->pace.rested();
        co_await wait_for_bytes(self);
      } else if (**got == 0) {
        self->on_end();
      } else {
        self->on_bytes({self->buffer.data(), **got});
        self->pace.note(**got);
      }
    }
  }

  static Task<void> wait_for_bytes(Self self) {
    const Present waiting_here(*self, &State::reading);
    co_await self->stream->readable();
  }

  // ---- keeping alive ----

  static Task<void> keep_alive(Self self) {
    while (!self->failure) {
      const auto wait = self->ping_out ? self->settings.pong_wait : self->settings.ping_after;
      const auto now = self->clock.now();
      if (now - self->heard < wait) {
        self->alarm.set(self->heard + wait);
        (void)co_await as_result(self->alarm.wait());
        // What has arrived meanwhile is read first. Throws when we are cancelled.
        co_await asio::post(self->executor, asio::use_awaitable);
        continue;
      }
      if (self->reading == 0 || self->close_sent) {
        // Whoever does not listen cannot complain of silence; after a goodbye nothing is asked.
        self->heard = now;
        self->ping_out = false;
      } else if (!self->ping_out) {
        self->ping_out = true;
        self->heard = now;
        self->ping_due = true;
        self->flush();
      } else {
        self->broken = true;
        self->fail(self->closed_error(
            fmt::format("has not answered a ping for {}; the connection is considered lost", limit_text(wait))));
      }
    }
  }

  // ---- closing ----

  static Task<void> both_said_goodbye(Self self) {
    // Somebody has to read what the other side says; messages are nobody's any more.
    while (!self->failure && self->receivers == 0) {
      auto late = co_await as_result(receive(self));
      if (!late && late.error().code() == Errc::cancelled) throw std::move(late).error();
    }
    while (!self->failure || self->has_output()) co_await self->changed.wait();
  }

  static Task<void> close(Self self, Duration limit) {
    if (self->closing) {
      while (!self->closed) co_await self->changed.wait();
      co_return;
    }
    self->closing = true;
    const bool throws = co_await asio::this_coro::throw_if_cancelled();
    co_await asio::this_coro::throw_if_cancelled(false);
    if (!self->failure) self->say_goodbye(close_code::normal, "");
    (void)co_await as_result(with_timeout(both_said_goodbye(self), limit, ""));
    self->fail(Error(Errc::closed, fmt::format("the connection to {} was closed", self->settings.shown)));
    self->scope.cancel();
    co_await self->scope.join();
    while (self->reading > 0) (void)co_await as_result(self->changed.wait());
    self->stream.reset();
    self->closed = true;
    self->changed.notify_all();
    co_await asio::this_coro::throw_if_cancelled(throws);
  }
};

WebSocket::WebSocket(asio::any_io_executor executor, std::unique_ptr<ByteStream> stream, WebSocketSettings settings,
                     std::string begun)
    : state_(std::make_shared<State>(std::move(executor), std::move(stream), std::move(settings))) {
  if (!begun.empty()) state_->on_bytes(begun);
  if (state_->settings.ping_after != Duration::max()) state_->scope.spawn(State::keep_alive(state_));
}

WebSocket::~WebSocket() {
  state_->closing = true;
  state_->broken = true;
  state_->scope.cancel();
  state_->fail(Error(Errc::closed, "the connection was closed"));
}

Result<void> WebSocket::send(std::string_view text) {
  auto& s = *state_;
  if (s.failure) return std::unexpected(*s.failure);
  if (s.closing || s.close_sent || s.broken) {
    return fail(Errc::closed, fmt::format("{}: the connection is being closed", s.settings.shown));
  }
  if (text.size() > s.settings.outgoing_limit || s.out.size() > s.settings.outgoing_limit - text.size()) {
    return fail(Errc::limit,
                fmt::format("{} bytes are waiting for {} to read them, and {} more are too many (the limit is {})",
                            s.out.size(), s.settings.shown, text.size(), s.settings.outgoing_limit));
  }
  append_frame(s.out.tail(), WebSocketOpcode::text, text, s.next_mask());
  if (!s.draining) s.out_pace.queued(s.executor, state_);
  return {};
}

Task<std::string> WebSocket::receive() { return State::receive(state_); }
const std::string& WebSocket::shown() const noexcept { return state_->settings.shown; }
Task<void> WebSocket::close(Duration limit) { return State::close(state_, limit); }

// ---- the handshake ------------------------------------------------------------------------

namespace {

Task<void> write_all(ByteStream& stream, std::string text) {
  for (std::string_view left = text; !left.empty();) {
    auto taken = value_or_throw(stream.write_now(left));
    left.remove_prefix(taken);
    if (taken == 0) co_await stream.writable();
  }
}

// Appends the next bytes; false at the end.
Task<bool> read_more(ByteStream& stream, std::string& into) {
  std::vector<char> buffer(read_size);
  for (;;) {
    auto got = value_or_throw(stream.read_now(buffer));
    if (got) {
      into.append(buffer.data(), *got);
      co_return *got > 0;
    }
    co_await stream.readable();
  }
}

Task<HttpHeadReader> exchange_heads(ByteStream& stream, std::string request, HttpFailureContext context) {
  auto told = [&context](HttpFault fault, std::string reason) {
    return http_error({.fault = fault, .phase = HttpPhase::waiting, .reason = std::move(reason)}, context);
  };
  co_await write_all(stream, std::move(request));
  HttpHeadReader reader(head_limit);
  for (;;) {
    std::string bytes;
    const bool more = co_await read_more(stream, bytes);
    if (!more) throw told(HttpFault::closed, "");
    auto complete = reader.feed(bytes);
    if (!complete) throw told(complete.error(), "the answer is not HTTP/1.1");
    if (*complete) co_return reader;
  }
}

Task<void> read_refusal(ByteStream& stream, const HttpHead& head, std::string& body) {
  while (body.size() < refusal_limit && !is_whole_body(head, body)) {
    const bool more = co_await read_more(stream, body);
    if (!more) co_return;
  }
}

}  // namespace

Task<WebSocketAnswer> open_websocket(WebSocketTarget target, WebSocketSettings settings) {
  std::array<std::uint8_t, 16> nonce{};
  settings.random(nonce);
  const auto key = base64_encode({reinterpret_cast<const char*>(nonce.data()), nonce.size()});
  auto request = value_or_throw(handshake_request(target.url, target.headers, key));
  const std::string method = "WebSocket";
  auto stream = co_await connect_stream(method, settings.shown, target.url, target.way, target.connect);

  HttpFailureContext context;
  context.method = method;
  context.url = target.url.text();
  context.shown = settings.shown;
  context.limit = limit_text(target.handshake);
  const auto late = http_error({.fault = HttpFault::first_byte_timeout, .phase = HttpPhase::waiting}, context);
  context.limit = limit_text(head_limit);
  auto reader =
      co_await with_timeout(exchange_heads(*stream, std::move(request), context), target.handshake, late.message());
  auto& head = reader.head();
  head.url = target.url.text();
  if (head.status != 101) {
    (void)co_await as_result(with_timeout(read_refusal(*stream, head, reader.rest()), refusal_wait, ""));
    co_return WebSocketRefusal{.head = head, .body = plain_body(head, reader.rest())};
  }
  if (auto good = check_upgrade(head, key); !good) {
    throw Error(good.error().code(),
                fmt::format("{}: {} (during the WebSocket handshake); is it the url of an MCP server?", settings.shown,
                            good.error().message()));
  }
  if (!head.headers.contains("Sec-WebSocket-Protocol")) {
    settings.log(LogLevel::info, "no_subprotocol", "wanted", mcp_subprotocol);
  }
  auto executor = co_await asio::this_coro::executor;
  co_return std::make_unique<WebSocket>(executor, std::move(stream), std::move(settings), std::move(reader.rest()));
}

}  // namespace patchbay
