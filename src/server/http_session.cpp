#include "server/http_session.h"

#include <utility>

#include "base/as_result.h"
#include "server/sse_event.h"

namespace patchbay {

using TimePoint = std::chrono::steady_clock::time_point;

// The answer to one POST, or what belongs to no request (number 0). Its connection may come
// and go.
struct HttpSession::Stream {
  std::uint64_t number = 0;
  std::set<std::string> waiting;       // ids of requests without an answer, as JSON
  bool may_stream = true;              // the client takes events
  bool events = false;                 // it is an event stream now
  std::uint64_t next_event = 1;        // 0 is the empty event it opens with
  std::uint64_t delivered = 0;         // of number 0: the last event a connection took
  ServerExchange* exchange = nullptr;  // none while the client is away
  std::optional<std::string> body;     // answers gathered for one JSON body
  TimePoint written;
  Event detached;
};

// An exchange carries a stream for as long as this lives.
struct HttpSession::Attached {
  Attached(HttpSession& s, StreamPtr to, ServerExchange& exchange) : session(s), stream(std::move(to)), mine(exchange) {
    session.detach(*stream);
    stream->exchange = &mine;
    stream->written = session.clock_.now();
    ++session.attached_;
    mine.on_gone([weak = std::weak_ptr(stream), &exchange] {
      auto left = weak.lock();
      if (!left || left->exchange != &exchange) return;
      left->exchange = nullptr;
      left->detached.notify_all();
    });
    if (mine.gone()) stream->exchange = nullptr;
  }
  Attached(const Attached&) = delete;
  Attached& operator=(const Attached&) = delete;
  ~Attached() {
    if (stream->exchange == &mine) stream->exchange = nullptr;
    mine.on_gone({});
    --session.attached_;
    session.last_seen_ = session.clock_.now();
  }
  Task<void> wait() {
    while (stream->exchange == &mine) co_await stream->detached.wait();
  }
  HttpSession& session;
  StreamPtr stream;
  ServerExchange& mine;
};

class SessionChannel final : public Channel {
 public:
  explicit SessionChannel(std::shared_ptr<HttpSession> session) : session_(std::move(session)) {}
  ~SessionChannel() override { session_->end(Error(Errc::closed, "the session has ended")); }

  Result<void> send(Message message) override { return session_->route({}, std::move(message)); }
  Result<void> send_about(const RequestId& request, Message message) override {
    return session_->route(request, std::move(message));
  }
  Result<void> send_batch(std::vector<Message> messages) override {
    return session_->answer_batch(std::move(messages));
  }
  void forget(const RequestId& request) override { session_->forget(request); }
  void release_stream(const RequestId& request, std::optional<std::chrono::milliseconds> retry) override {
    session_->release(request, retry);
  }
  Task<Incoming> receive() override { return session_->receive(); }
  void abandon(const RequestId&) override {}
  Task<void> close(CloseMode) override {
    session_->end(Error(Errc::closed, "the session has ended"));
    // Who still waits for an answer gets none.
    for (auto& [number, stream] : std::exchange(session_->streams_, {})) {
      if (stream->exchange && !stream->exchange->begun()) {
        stream->exchange->respond(404, {{"Content-Type", "text/plain; charset=utf-8"}}, "The session has ended.\n");
      } else if (stream->exchange) {
        stream->exchange->end();
      }
      session_->detach(*stream);
    }
    session_->by_request_.clear();
    if (session_->standalone_->exchange) session_->standalone_->exchange->end();
    session_->detach(*session_->standalone_);
    co_return;
  }
  void set_protocol_version(std::string_view version) override { session_->wire_ = find_wire(version); }

 private:
  std::shared_ptr<HttpSession> session_;
};

HttpSession::HttpSession(std::string id, std::string principal, HttpSessionOptions options,
                         std::shared_ptr<ReplayTotal> total, const Runtime& runtime, const Clock& clock)
    : id_(std::move(id)),
      principal_(std::move(principal)),
      options_(options),
      runtime_(runtime),
      clock_(clock),
      standalone_(std::make_shared<Stream>()),
      replay_(options.replay, total),
      standalone_replay_(options.replay, total),
      last_seen_(clock_.now()) {
  standalone_->events = true;
}

HttpSession::~HttpSession() = default;

std::unique_ptr<Channel> HttpSession::make_channel() { return std::make_unique<SessionChannel>(shared_from_this()); }

TimePoint HttpSession::last_seen() const { return attached_ > 0 ? clock_.now() : last_seen_; }

HttpHeaders HttpSession::headers() const {
  HttpHeaders headers;
  headers.reserve(2);  // with what its caller adds
  // Only a session that came to be has an id to give out.
  if (open()) headers.add("Mcp-Session-Id", id_);
  return headers;
}

// --- from the client ---

void HttpSession::take(Incoming incoming) {
  last_seen_ = clock_.now();
  if (end_) return;
  inbox_.push_back(std::move(incoming));
  arrived_.notify_all();
}

Task<Incoming> HttpSession::receive() {
  while (inbox_.empty()) {
    if (end_) throw Error(*end_);
    co_await arrived_.wait();
  }
  auto next = std::move(inbox_.front());
  inbox_.pop_front();
  co_return next;
}

void HttpSession::end(Error error) {
  if (end_) return;
  end_ = std::move(error);
  arrived_.notify_all();
}

bool HttpSession::in_use(const RequestId& id) const { return by_request_.contains(to_text(id)); }

Task<void> HttpSession::serve_requests(ServerExchange& exchange, Incoming incoming, AcceptedTypes accepted) {
  auto stream = std::make_shared<Stream>();
  stream->number = next_stream_++;
  stream->may_stream = accepted.events;
  auto add = [&](const Message& message) {
    if (const auto* request = std::get_if<Request>(&message)) stream->waiting.insert(to_text(request->id));
  };
  if (const auto* batch = std::get_if<Batch>(&incoming)) {
    for (const auto& message : batch->messages) add(message);
  } else {
    add(std::get<Message>(incoming));
  }
  streams_.emplace(stream->number, stream);
  for (const auto& key : stream->waiting) by_request_.emplace(key, stream);

  Attached attached(*this, stream, exchange);
  if (!accepted.json) begin_events(*stream);
  take(std::move(incoming));
  co_await attached.wait();
  // A stream nobody could resume is not kept for a client that left.
  if (!stream->events) {
    for (const auto& key : stream->waiting) by_request_.erase(key);
    streams_.erase(stream->number);
  }
}

Task<void> HttpSession::serve_stream(ServerExchange& exchange, std::optional<std::string> last_event) {
  auto stream = standalone_;
  std::vector<std::string> missed;
  std::optional<EventId> from;
  if (last_event) {
    from = parse_event_id(*last_event);
    if (!from) throw Error(Errc::invalid_argument, "the header Last-Event-ID does not name an event of this session");
  }
  if (from && from->stream != 0) {
    const auto found = streams_.find(from->stream);
    stream = found == streams_.end() ? nullptr : found->second;
    if (!stream && !replay_.holds(from->stream)) {
      throw Error(Errc::invalid_argument, "the events of this stream are no longer kept; repeat the request");
    }
    // A stream that is complete ends with whatever is kept last.
    auto rest = replay_.after(*from, stream ? stream->next_event : 0);
    if (stream && !rest.complete) {
      throw Error(Errc::invalid_argument,
                  "some of the events after Last-Event-ID are no longer kept; repeat the request");
    }
    missed = std::move(rest.events);
  } else {
    // Notifications that were never delivered, or those after the last one seen.
    const auto after = from ? from->event : standalone_->delivered;
    missed = standalone_replay_.after({0, after}, standalone_->next_event).events;
  }
  auto with = headers();
  for (const auto& field : sse_headers()) with.add(field.name, field.value);
  exchange.begin(200, std::move(with));
  if (stream == standalone_ && !from && wire_ && wire_->primes_streams()) {
    exchange.write(sse_place(to_text(EventId{0, standalone_->delivered}), options_.reconnect));
  }
  for (const auto& event : missed) exchange.write(event);
  if (!stream) {
    exchange.end();
    co_return;
  }
  if (stream == standalone_) standalone_->delivered = standalone_->next_event - 1;
  Attached attached(*this, stream, exchange);
  co_await attached.wait();
}

// --- to the client ---

HttpSession::StreamPtr HttpSession::stream_of(const RequestId& id) const {
  const auto found = by_request_.find(to_text(id));
  return found == by_request_.end() ? nullptr : found->second;
}

Result<void> HttpSession::route(const std::optional<RequestId>& about, Message message) {
  const bool answers = std::holds_alternative<Response>(message) || std::holds_alternative<ErrorResponse>(message);
  // Answers have been measured by who gives them.
  if (auto fits = answers ? Result<void>() : check_size(message, runtime_.limits.answer); !fits) return fits;
  std::string text;
  append_message(text, message);
  if (const auto* response = std::get_if<Response>(&message)) return answer(response->id, std::move(text));
  if (const auto* failed = std::get_if<ErrorResponse>(&message)) {
    if (failed->id) return answer(*failed->id, std::move(text));
    return {};  // about a message that had no id: its POST was answered already
  }
  auto stream = about ? stream_of(*about) : nullptr;
  // A client that takes no events, or left before the first, can hear of it only elsewhere.
  const bool reachable = stream && stream->may_stream && (stream->exchange || stream->events);
  if (about && !reachable && std::holds_alternative<Notification>(message)) return {};
  write_event(reachable ? *stream : *standalone_, text);
  return {};
}

Result<void> HttpSession::answer(const RequestId& id, std::string text) {
  auto stream = stream_of(id);
  if (!stream) return {};  // its client left and cannot come back for it
  if (stream->events) {
    write_event(*stream, text);
  } else {
    stream->body = std::move(text);
  }
  answered(stream, to_text(id));
  return {};
}

Result<void> HttpSession::answer_batch(std::vector<Message> messages) {
  std::string text = "[";
  StreamPtr stream;
  std::vector<std::string> keys;
  for (const auto& message : messages) {
    if (text.size() > 1) text += ',';
    append_message(text, message);
    std::optional<RequestId> id;
    if (const auto* response = std::get_if<Response>(&message)) id = response->id;
    if (const auto* failed = std::get_if<ErrorResponse>(&message)) id = failed->id;
    if (!id) continue;
    if (auto found = stream_of(*id)) stream = found;
    keys.push_back(to_text(*id));
  }
  text += ']';
  if (!stream) return {};
  if (stream->events) {
    write_event(*stream, text);
  } else {
    stream->body = std::move(text);
  }
  for (const auto& key : keys) answered(stream, key);
  return {};
}

void HttpSession::answered(const StreamPtr& stream, const std::string& key) {
  stream->waiting.erase(key);
  by_request_.erase(key);
  if (stream->waiting.empty()) finish(stream);
}

// Everything is said: the exchange ends, now or when its client comes back for the rest.
void HttpSession::finish(const StreamPtr& stream) {
  streams_.erase(stream->number);
  if (auto* exchange = stream->exchange) {
    if (stream->events) {
      exchange->end();
    } else if (stream->body) {
      auto with = headers();
      with.add("Content-Type", "application/json");
      exchange->respond(200, std::move(with), std::move(*stream->body));
    } else {
      // Taken back before there was anything to say.
      exchange->respond(202, headers(), {});
    }
  }
  detach(*stream);
}

void HttpSession::forget(const RequestId& id) {
  if (auto stream = stream_of(id)) answered(stream, to_text(id));
}

void HttpSession::release(const RequestId& id, std::optional<std::chrono::milliseconds> retry) {
  auto stream = stream_of(id);
  if (!stream || !stream->exchange || !stream->may_stream || !wire_ || !wire_->primes_streams()) return;
  begin_events(*stream);
  if (retry) stream->exchange->write(sse_retry(*retry));
  stream->exchange->end();
  detach(*stream);
}

void HttpSession::detach(Stream& stream) {
  if (stream.exchange && stream.number == 0 && !stream.exchange->ended()) stream.exchange->end();
  stream.exchange = nullptr;
  stream.detached.notify_all();
}

void HttpSession::begin_events(Stream& stream) {
  if (stream.events) return;
  stream.events = true;
  stream.written = clock_.now();
  if (!stream.exchange) return;
  auto with = headers();
  for (const auto& field : sse_headers()) with.add(field.name, field.value);
  stream.exchange->begin(200, std::move(with));
  if (wire_ && wire_->primes_streams()) {
    stream.exchange->write(sse_place(to_text(EventId{stream.number, 0}), options_.reconnect));
  }
}

void HttpSession::write_event(Stream& stream, std::string_view text) {
  begin_events(stream);
  const EventId id{stream.number, stream.next_event++};
  auto event = sse_message(to_text(id), text);
  stream.written = clock_.now();
  if (stream.exchange) {
    if (stream.exchange->write(event)) {
      stream.delivered = id.event;
    } else {
      stream.exchange = nullptr;
      stream.detached.notify_all();
    }
  }
  (stream.number == 0 ? standalone_replay_ : replay_).add(id, std::move(event));
}

void HttpSession::tend(TimePoint now) {
  auto look_after = [&](Stream& stream) {
    if (!stream.exchange || !stream.may_stream || now - stream.written < options_.keep_alive) return;
    // Work that takes this long is better answered by a stream, which can be resumed.
    if (!stream.events) {
      begin_events(stream);
      return;
    }
    stream.written = now;
    if (!stream.exchange->write(sse_sign_of_life)) {
      stream.exchange = nullptr;
      stream.detached.notify_all();
    }
  };
  for (auto& [number, stream] : streams_) look_after(*stream);
  look_after(*standalone_);
}

}  // namespace patchbay
