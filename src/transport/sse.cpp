#include "transport/sse.h"

#include <algorithm>
#include <deque>
#include <vector>

#include <fmt/format.h>

#include "base/as_result.h"
#include "base/byte_budget.h"
#include "base/close_once.h"
#include "base/crypto.h"
#include "base/pace.h"
#include "base/scope.h"
#include "base/timeout.h"
#include "base/waiting.h"
#include "http/chatter.h"
#include "http/sse_parser.h"
#include "http/url.h"
#include "protocol/methods.h"
#include "transport/http.h"
#include "transport/http_requester.h"
#include "transport/inbox.h"

namespace patchbay {
namespace {

using namespace std::chrono_literals;

constexpr auto head_wait = 30s;
constexpr std::size_t inbox_room = 8u << 20;
constexpr std::size_t most_unsent = 64;    // more than these wait: nothing more is read that would add to them
constexpr std::size_t most_posts = 8;      // under way at a time
constexpr std::size_t most_leftovers = 8;  // bodies behind a nod, each on a connection of its own

}  // namespace

struct SseChannel::State : std::enable_shared_from_this<State> {
  using Self = std::shared_ptr<State>;

  State(asio::any_io_executor e, HttpTarget o, std::shared_ptr<HttpAuth> auth, Runtime r)
      : options(std::move(o)),
        runtime(std::move(r)),
        clock(loop_clock(e)),
        requester(e, options, std::move(auth), runtime),
        inbox(inbox_room),
        parser(runtime.limits.message),
        incoming(byte_budget(), e, runtime.limits.buffered,
                 [this] {
                   if (stream) stream->cancel();
                 }),
        scope(e) {}

  struct Outgoing {
    std::optional<RequestId> id;     // whose call fails when this is not taken
    std::optional<RequestId> about;  // the request that this takes back
    bool opens;                      // `initialize`, and what follows it
    std::string body;
  };

  HttpTarget options;
  Runtime runtime;
  const Clock& clock;
  HttpRequester requester;
  MessageInbox inbox;
  std::unique_ptr<HttpExchange> stream;
  SseParser parser;
  Chatter chatter;
  Pace pace;
  ByteBudget::Unfinished incoming;
  std::string endpoint;
  std::string version;
  std::deque<Outgoing> outgoing;
  std::size_t queued = 0;
  Event sent;
  std::size_t leftovers = 0;
  std::vector<std::optional<RequestId>> posting;  // under way; without an id when it is no request
  bool opening = false;                           // one of them opens the session
  CloseOnce closing;
  Scope scope;

  static Task<void> connect(Self self) {
    HttpHeaders headers;
    headers.set("Accept", "text/event-stream");
    HttpRequestLimits limits;
    limits.first_byte = head_wait;
    self->stream = co_await self->requester.send("GET", self->options.url, std::move(headers), {}, limits);
    const auto& head = self->stream->head();
    // What is configured was left behind on the way there, and stays: the endpoint must be where the entry points.
    if (auto away = self->requester.led_away(head)) throw std::move(*away);
    if (head.status != 200) {
      throw self->requester.status_error(head, co_await explaining_body(*self->stream))
          .within("the server opened no event stream (if it is a newer server, write \"type\": \"http\")");
    }
    if (media_type(head.headers.get("Content-Type")) != "text/event-stream") {
      throw Error(Errc::protocol, fmt::format("{} answered with {} instead of an event stream (while opening the "
                                              "stream); is it the url of an MCP server?",
                                              self->requester.shown(), shown_type(head)))
          .with_http_status(head.status);
    }
    auto first = co_await with_timeout(next_event(self), head_wait,
                                       fmt::format("{} opened a stream but did not name the endpoint for messages "
                                                   "(while reading the stream); is it the url of an MCP server?",
                                                   self->requester.shown()));
    if (!first || first->event != "endpoint") {
      throw Error(Errc::protocol,
                  fmt::format("the stream of {} does not begin with the endpoint for messages (while reading the "
                              "stream); is it the url of an MCP server?",
                              self->requester.shown()));
    }
    auto base = parse_url(head.url.empty() ? self->options.url : head.url);
    auto target = base ? resolve_url(*base, first->data) : base;
    if (!target) throw target.error().within(fmt::format("the endpoint that {} names", self->requester.shown()));
    if (!same_origin(*base, *target)) {
      throw Error(Errc::protocol, fmt::format("{} names an endpoint on another server ({}), and nothing is sent there; "
                                              "if that is the server you mean, use its own url",
                                              self->requester.shown(), target->origin()));
    }
    self->endpoint = target->text();
  }

  // The next event with data, or nothing at the end of the stream.
  static Task<std::optional<SseEvent>> next_event(Self self) {
    for (;;) {
      if (self->pace.due()) co_await self->pace.turn();
      while (auto event = self->parser.next()) {
        self->pace.note(event->data.size());
        if (!event->data.empty()) co_return std::move(event);
        self->bear(0, 1);
      }
      if (!self->incoming.fits(ByteBudget::small)) {
        auto room = co_await as_result(self->incoming.room(ByteBudget::small));
        if (!room && room.error().code() == Errc::limit) throw self->give_up();
        if (!room) throw std::move(room).error();
      }
      auto piece = co_await as_result(self->stream->read());
      if (!piece && self->incoming.failed()) throw self->give_up();
      if (!piece) throw std::move(piece).error();
      if (piece->empty()) co_return std::nullopt;
      const auto lines = self->parser.ignored_lines();
      const auto bytes = self->parser.ignored_bytes();
      if (auto fed = self->parser.feed(*piece); !fed) throw fed.error().within(self->requester.shown());
      self->incoming.hold(self->parser.unfinished());
      if (self->incoming.failed()) throw self->give_up();
      self->bear(self->parser.ignored_bytes() - bytes, self->parser.ignored_lines() - lines);
    }
  }

  // There is no room for the event that is coming.
  Error give_up() {
    parser = SseParser(runtime.limits.message);
    incoming.hold(0);
    return incoming.failure().within(requester.shown());
  }

  // Something came that is no message; throws when that is too much by now.
  void bear(std::size_t bytes, std::size_t pieces) {
    auto bearable = chatter.note(bytes, pieces, clock.now());
    if (!bearable) throw bearable.error().within(requester.shown());
  }

  // True when it was a message.
  static Task<bool> take_event(Self self, std::string data) {
    while (!self->inbox.has_room()) co_await self->inbox.taken();
    while (self->outgoing.size() > most_unsent) co_await self->sent.wait();
    auto put = MessageInbox::Put::nothing;
    if (is_read_aside(data.size(), self->runtime.limits)) {
      auto weight = byte_budget().charge(data.size());
      put = co_await self->inbox.put_text_aside(std::move(data), std::move(weight), std::nullopt, self->runtime);
    } else {
      put = self->inbox.put_text(std::move(data), std::nullopt, self->runtime);
    }
    co_return put != MessageInbox::Put::nothing;
  }

  // The next event that is worth something, as a message; false at the end of the stream.
  static Task<bool> read_one(Self self) {
    auto event = co_await next_event(self);
    if (!event) co_return false;
    const auto size = event->data.size();
    if (event->is_message() && co_await take_event(self, std::move(event->data))) {
      self->chatter.heard();
    } else {
      self->bear(size, 1);
    }
    co_return true;
  }

  static Task<void> read(Self self) {
    for (;;) {
      auto more = co_await as_result(read_one(self));
      if (!more) {
        if (more.error().code() == Errc::cancelled) co_return;
        const auto& cause = more.error();
        self->inbox.finish(cause.code() == Errc::limit
                               ? cause
                               : Error(Errc::closed, fmt::format("the stream of {} broke off: {}",
                                                                 self->requester.shown(), cause.message())));
        co_return;
      }
      if (!*more) {
        self->inbox.finish(Error(Errc::closed, fmt::format("{} ended its stream", self->requester.shown())));
        co_return;
      }
    }
  }

  static Task<void> post(Self self, std::string body) {
    HttpHeaders headers;
    headers.set("Content-Type", "application/json");
    if (!self->version.empty()) headers.set("MCP-Protocol-Version", self->version);
    headers.set("Accept", "application/json, text/event-stream");
    HttpRequestLimits limits;
    limits.first_byte = head_wait;
    auto exchange = co_await self->requester.send("POST", self->endpoint, std::move(headers), std::move(body), limits);
    if (exchange->head().status / 100 == 2) co_return let_go(self, std::move(exchange));
    const auto text = co_await explaining_body(*exchange);
    throw self->requester.status_error(exchange->head(), text);
  }

  // What follows a nod says nothing. It is read so that the connection can be used again, but the next message does
  // not wait for it.
  static void let_go(Self self, std::unique_ptr<HttpExchange> exchange) {
    if (self->leftovers == most_leftovers) return;
    ++self->leftovers;
    self->scope.spawn([](Self state, std::unique_ptr<HttpExchange> rest) -> Task<void> {
      (void)co_await explaining_body(*rest);
      --state->leftovers;
    }(self, std::move(exchange)));
  }

  // Few at a time, begun in the order in which they were sent. The opening of the session is alone: these servers rely
  // on its order. A cancellation does not overtake the request it is about.
  bool may_begin(const Outgoing& next) const {
    if (opening || posting.size() == most_posts) return false;
    if (next.opens) return posting.empty();
    return !next.about || std::ranges::find(posting, next.about) == posting.end();
  }

  static void begin_posts(Self self) {
    for (auto at = self->outgoing.begin(); at != self->outgoing.end() && self->posting.size() < most_posts;) {
      if (!self->may_begin(*at)) {
        if (at->opens || self->opening) return;  // nothing goes before it, and nothing beside it
        ++at;
        continue;
      }
      auto next = std::move(*at);
      at = self->outgoing.erase(at);
      self->queued -= next.body.size();
      self->opening = next.opens;
      self->posting.push_back(next.id);
      self->sent.notify_all();
      self->scope.spawn(post_one(self, std::move(next)));
    }
  }

  static Task<void> post_one(Self self, Outgoing next) {
    auto taken = co_await as_result(post(self, std::move(next.body)));
    self->posting.erase(std::ranges::find(self->posting, next.id));
    if (next.opens) self->opening = false;
    if (!taken && taken.error().code() == Errc::cancelled) co_return;
    if (!taken && next.id) {
      self->inbox.put(Lost{std::move(*next.id), std::move(taken).error()}, 0);
    } else if (!taken) {
      self->runtime.log(LogLevel::warning, "not_sent", "reason", taken.error().message());
    }
    begin_posts(self);
  }
};

Task<std::unique_ptr<Channel>> SseChannel::open(HttpTarget options, std::shared_ptr<HttpAuth> auth, Runtime runtime) {
  auto executor = co_await asio::this_coro::executor;
  auto state = std::make_shared<State>(executor, std::move(options), std::move(auth), std::move(runtime));
  co_await State::connect(state);
  auto channel = std::make_unique<SseChannel>(state);
  state->scope.spawn(State::read(state));
  co_return channel;
}

SseChannel::~SseChannel() {
  state_->closing.begin();
  state_->scope.cancel();
  state_->inbox.finish(Error(Errc::closed, "the connection was closed"));
}

Result<void> SseChannel::send(Message message) {
  auto& state = *state_;
  if (state.inbox.end()) return std::unexpected(*state.inbox.end());
  std::string body;
  append_message(body, message);
  if (state.queued > 0 && state.queued + body.size() > state.runtime.limits.outgoing) {
    return fail(Errc::limit, fmt::format("{} bytes wait to be sent, because {} does not accept them", state.queued,
                                         state.requester.shown()));
  }
  State::Outgoing next{.id = {}, .about = {}, .opens = false, .body = {}};
  if (const auto* request = std::get_if<Request>(&message)) {
    next.id = request->id;
    next.opens = request->method == method::initialize;
  } else if (const auto* notification = std::get_if<Notification>(&message)) {
    next.opens = notification->method == method::initialized;
    if (notification->method == method::cancelled)
      next.about = request_id_of(notification->params.value()["requestId"]);
  }
  state.queued += body.size();
  next.body = std::move(body);
  state.outgoing.push_back(std::move(next));
  State::begin_posts(state_);
  return {};
}

bool SseChannel::withdraw(const RequestId& id) {
  auto& state = *state_;
  const auto found =
      std::ranges::find_if(state.outgoing, [&](const auto& waiting) { return waiting.id && *waiting.id == id; });
  if (found == state.outgoing.end()) return false;
  state.queued -= found->body.size();
  state.outgoing.erase(found);
  state.sent.notify_all();
  return true;
}

std::vector<RequestId> SseChannel::withdraw_all() {
  std::vector<RequestId> unsent;
  auto& state = *state_;
  std::erase_if(state.outgoing, [&](const auto& waiting) {
    if (!waiting.id) return false;
    unsent.push_back(*waiting.id);
    state.queued -= waiting.body.size();
    return true;
  });
  state.sent.notify_all();
  return unsent;
}

Task<Incoming> SseChannel::receive() { return MessageInbox::take({state_, &state_->inbox}); }

Task<void> SseChannel::close(CloseMode) {
  return [](std::shared_ptr<State> state) -> Task<void> {
    if (!state->closing.begin()) co_return co_await state->closing.finished();
    state->inbox.close();
    state->scope.cancel();
    co_await state->scope.join();
    state->stream.reset();
    state->closing.finish();
  }(state_);
}

void SseChannel::set_protocol_version(std::string_view version) { state_->version = version; }

namespace {

class SseTransport final : public Transport {
 public:
  SseTransport(HttpTarget options, std::shared_ptr<HttpAuth> auth)
      : options_(std::move(options)), auth_(std::move(auth)) {}

  Kind kind() const noexcept override { return Kind::sse; }
  std::string describe() const override { return options_.shown.empty() ? redacted_url(options_.url) : options_.shown; }
  Identity identity() const override { return {sha256_hex("sse " + options_.url), {}}; }
  Task<std::unique_ptr<Channel>> open(const Runtime& runtime) override {
    return [](HttpTarget options, std::shared_ptr<HttpAuth> auth, Runtime with) -> Task<std::unique_ptr<Channel>> {
      if (auto good = check_server_url(options.url); !good) throw good.error();
      co_return co_await SseChannel::open(std::move(options), std::move(auth), std::move(with));
    }(options_, auth_, runtime);
  }

 private:
  HttpTarget options_;
  std::shared_ptr<HttpAuth> auth_;
};

}  // namespace

std::unique_ptr<Transport> sse_transport_with(HttpTarget options, std::shared_ptr<HttpAuth> auth) {
  return std::make_unique<SseTransport>(std::move(options), std::move(auth));
}

std::shared_ptr<Transport> sse_transport(HttpOptions options) {
  return sse_transport_with(std::move(options), nullptr);
}

}  // namespace patchbay
