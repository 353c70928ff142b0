#include "transport/http.h"

#include <algorithm>
#include <unordered_map>

#include <fmt/format.h>

#include "base/as_result.h"
#include "base/byte_budget.h"
#include "base/close_once.h"
#include "base/scope.h"
#include "base/timeout.h"
#include "base/waiting.h"
#include "protocol/methods.h"
#include "transport/http_requester.h"
#include "transport/inbox.h"
#include "transport/known_session.h"
#include "transport/outbox.h"
#include "transport/resuming.h"
#include "transport/stream_reader.h"

namespace patchbay {
namespace {

using namespace std::chrono_literals;

constexpr auto head_wait = 30s;        // for what takes no work: notifications, GET, DELETE
constexpr auto rest_wait = 1s;         // for a stream to end after its answer, so that the connection can be reused
constexpr auto goodbye_wait = 2s;      // DELETE in a graceful close
constexpr auto quick_goodbye = 300ms;  // DELETE in a quick one
constexpr auto others_wait = 1s;       // for those who will hear as well that the session is gone
constexpr std::size_t inbox_room = 8u << 20;  // bytes received that nobody has taken
constexpr std::size_t most_tellers = 8;       // POSTs at a time that are no requests
constexpr std::size_t most_untold = 64;       // more than these wait: nothing more is read that would add to them

// The error a body consists of, if it is one to this request or does not say to which.
std::optional<ErrorResponse> error_in(std::string_view body, const RequestId& id) {
  auto block = std::make_shared<const std::string>(body);
  auto decoded = decode_messages(block, *block);
  if (!decoded || decoded->messages.size() != 1) return {};
  auto* error = std::get_if<ErrorResponse>(&decoded->messages.front());
  if (error == nullptr || (error->id && *error->id != id)) return {};
  return std::move(*error);
}

KnownSession::NotFound not_found_in(std::string_view body, const RequestId& id) {
  using NotFound = KnownSession::NotFound;
  const auto found = error_in(body, id);
  if (!found) return NotFound::nothing;
  if (!found->id) return NotFound::error_without_id;
  return found->error.code == rpc_code::method_not_found ? NotFound::unknown_method : NotFound::other_error;
}

bool is_json(std::string_view type) { return type == "application/json" || type.ends_with("+json"); }

}  // namespace

struct HttpChannel::State : std::enable_shared_from_this<State> {
  using Self = std::shared_ptr<State>;
  using Sending = Task<std::unique_ptr<HttpExchange>>;

  State(asio::any_io_executor e, HttpTarget o, std::shared_ptr<HttpAuth> auth, Runtime r, HttpWaits w)
      : options(std::move(o)),
        runtime(std::move(r)),
        waits(w),
        requester(e, options, std::move(auth), runtime),
        inbox(inbox_room),
        streams(e, runtime, waits, requester, inbox, [this] { return crowded(); }),
        scope(e) {}

  HttpTarget options;
  Runtime runtime;
  HttpWaits waits;
  HttpRequester requester;
  MessageInbox inbox;
  StreamReader streams;
  KnownSession session;
  struct Post {
    Spawned spawned;
    bool sent = false;  // or about to be
  };
  std::unordered_map<RequestId, Post> posts;  // requests under way
  std::size_t outgoing = 0;                   // bytes of bodies nobody has answered yet
  Outbox untold;
  std::size_t tellers = 0;           // A server can ask for any number of answers, so few are under way at a time.
  bool tells_cancellations = false;  // one more, for these alone
  Event queued, told;
  // Requests of the session whose answer has not begun, and those that were refused because it is gone.
  std::size_t unheard = 0;
  Event heard;
  std::vector<RequestId> refused;
  bool telling_refused = false;
  std::string version;
  HttpHeaders post_headers;  // of the last POST in the session, and what they depend on
  std::string post_version, post_session;
  Event opened;                   // the session, for those who wait to send
  std::function<void()> doubted;  // see Channel::on_doubt
  CloseOnce closing;
  Scope scope;

  Error lost(const std::optional<Error>& cause, std::string_view what) const {
    return Error(Errc::closed, cause ? fmt::format("the stream of {} {}: {}", requester.shown(), what, cause->message())
                                     : fmt::format("the stream of {} {}", requester.shown(), what));
  }

  // Those of a POST in the session are the same object as long as they are the same.
  HttpHeaders headers_for(const Request* request, bool posting) {
    const bool stateless = request && !request->headers.empty();
    if (!posting || stateless) return make_headers(request, posting);
    const std::string_view id = session.covers(false) ? std::string_view(session.id()) : std::string_view();
    if (post_headers.empty() || post_version != version || post_session != id) {
      post_headers = make_headers(request, posting);
      post_version = version;
      post_session = id;
    }
    return post_headers;
  }
  HttpHeaders make_headers(const Request* request, bool posting) const {
    HttpHeaders headers;
    const bool stateless = request && !request->headers.empty();
    headers.reserve(4 + (stateless ? request->headers.size() : 0));
    if (posting) headers.set("Content-Type", "application/json");
    if (!version.empty()) headers.set("MCP-Protocol-Version", version);
    if (session.covers(stateless)) headers.set("Mcp-Session-Id", session.id());
    if (stateless) {
      for (const auto& [name, value] : request->headers) headers.set(name, value);
    }
    // Last, so that nothing configured can drop it.
    headers.set("Accept", posting ? "application/json, text/event-stream" : "text/event-stream");
    return headers;
  }

  // This request was not carried out, for the session is gone: it alone may be repeated in another one. What else is
  // under way goes on. But whoever hears of the end opens a new session and closes this channel, so others who
  // are about to hear the same are told together with the first.
  static void refuse(Self self, const RequestId& id) {
    self->refused.push_back(id);
    if (!std::exchange(self->telling_refused, true)) self->scope.spawn(tell_refused(self));
  }

  static Task<void> tell_refused(Self self) {
    auto all = [](Self state) -> Task<void> {
      while (state->unheard > 0) co_await state->heard.wait();
    };
    (void)co_await as_result(with_timeout(all(self), others_wait, "some take longer"));
    self->telling_refused = false;
    for (auto& id : std::exchange(self->refused, {})) {
      auto error = Error(Errc::closed, fmt::format("{} no longer knows the session", self->requester.shown()));
      error = std::move(error).with_http_status(404).with_carried_out(CarriedOut::no);
      self->inbox.put(Lost{std::move(id), std::move(error)}, 0);
    }
  }

  // Set while so much waits to be told that nothing more is read that would add to it.
  std::optional<Task<void>> crowded() {
    if (untold.size() <= most_untold) return std::nullopt;
    return told.wait();
  }

  Duration pause_before(int attempt, const StreamMemory& memory) const {
    return std::min(pause_before_resuming(memory.retry, attempt), waits.resume);
  }

  // An answer that comes as a stream, over as many connections as an older server needs.
  static Task<void> follow_stream(Self self, std::unique_ptr<HttpExchange> exchange, RequestId id, bool stateless,
                                  bool listens) {
    StreamMemory memory;
    AnswerResume resume(stateless);
    for (;;) {
      if (exchange && co_await self->streams.read(*exchange, id, listens, memory)) {
        self->posts.erase(id);
        (void)co_await as_result(with_timeout(read_all(*exchange, 64u << 10), rest_wait, "the stream continues"));
        co_return;
      }
      exchange.reset();
      switch (resume.over(memory.last_id, memory.broken.has_value())) {
        case AnswerResume::Do::ask:
          break;
        case AnswerResume::Do::lost:
          throw self->lost(memory.broken, "broke off before the answer");
        case AnswerResume::Do::empty:
          self->requester.use_fresh_connections();
          throw self->lost({}, "broke off before the answer").with_http_status(200);
        case AnswerResume::Do::worn_out:
          throw self->lost(memory.broken, "broke off and could not be resumed");
      }
      co_await sleep_for(self->pause_before(resume.attempt(), memory));
      auto resumed = co_await as_result(get(self, memory.last_id));
      if (!resumed) {
        // The GET was refused; the request it continues was sent all the same.
        if (resumed.error().code() == Errc::cancelled || resumed.error().http_status())
          throw std::move(resumed).error().with_carried_out(CarriedOut::unknown);
        memory.broken = std::move(resumed).error();
        continue;
      }
      const auto& head = (*resumed)->head();
      switch (stream_reply(head.status, media_type(head.headers.get("Content-Type")))) {
        case StreamReply::stream:
          exchange = std::move(*resumed);
          break;
        case StreamReply::later:
          memory.broken = Error(Errc::http, fmt::format("the server answered {}", head.status));
          break;
        case StreamReply::none:
          // Also a 404: whether the session is gone, the next POST finds out. This request may have been carried out.
          throw self->lost({}, fmt::format("broke off before the answer, and the server does not resume it (status {})",
                                           head.status));
      }
    }
  }

  static Task<std::unique_ptr<HttpExchange>> get(Self self, std::string last_id) {
    auto headers = self->headers_for(nullptr, false);
    if (!last_id.empty()) headers.set("Last-Event-ID", std::move(last_id));
    HttpRequestLimits limits;
    limits.first_byte = head_wait;
    auto exchange = co_await self->requester.send("GET", self->options.url, std::move(headers), {}, limits);
    // Nothing of the session went along to another place, so what comes from there is not of it.
    if (auto away = self->requester.led_away(exchange->head())) throw std::move(*away);
    co_return exchange;
  }

  // Counts a body until its answer begins.
  struct Counted {
    Counted(State& s, const std::string& body) : state(s), size(body.size()) { state.outgoing += size; }
    Counted(const Counted&) = delete;
    Counted& operator=(const Counted&) = delete;
    ~Counted() { state.outgoing -= size; }
    State& state;
    std::size_t size;
  };

  Task<std::unique_ptr<HttpExchange>> post(const Request* request, std::string body, Duration wait) {
    HttpRequestLimits limits;
    limits.first_byte = wait;
    return requester.send("POST", options.url, headers_for(request, true), std::move(body), limits);
  }

  struct Unheard {
    explicit Unheard(State* s) : state(s) {
      if (state) ++state->unheard;
    }
    Unheard(const Unheard&) = delete;
    Unheard& operator=(const Unheard&) = delete;
    ~Unheard() {
      if (state && --state->unheard == 0) state->heard.notify_all();
    }
    State* state;
  };

  // One request and all that becomes of it; throws when its answer will never come.
  static Task<void> run(const Self& self, const Request& request, std::string& body) {
    const bool stateless = !request.headers.empty();
    auto& session = self->session;
    while (session.before_request(stateless) == KnownSession::Before::wait) co_await self->opened.wait();
    if (session.before_request(stateless) == KnownSession::Before::refuse) co_return refuse(self, request.id);
    const bool in_session = session.covers(stateless);
    if (auto post = self->posts.find(request.id); post != self->posts.end()) post->second.sent = true;
    std::unique_ptr<HttpExchange> exchange;
    std::optional<std::string> not_found;
    {
      const Unheard unheard(in_session ? self.get() : nullptr);
      const Counted counted(*self, body);
      exchange = co_await self->post(&request, std::move(body), Duration::max());
      if (in_session && exchange->head().status == 404) {
        not_found = co_await explaining_body(*exchange);
        const auto state = co_await asio::this_coro::cancellation_state;
        if (state.cancelled() != asio::cancellation_type::none) throw Error(Errc::cancelled, "the call was cancelled");
      }
    }
    const auto& head = exchange->head();
    if (not_found && session.request_not_found(not_found_in(*not_found, request.id))) {
      co_return refuse(self, request.id);
    }
    if (head.status / 100 != 2) {
      const auto text = not_found ? std::move(*not_found) : co_await explaining_body(*exchange);
      auto found = error_in(text, request.id);
      if (!found) throw self->requester.status_error(head, text);
      found->error.http_status = head.status;
      self->inbox.put(ErrorResponse{request.id, std::move(found->error)}, text.size());
      co_return;
    }
    if (request.method == method::initialize) session.initialized(head.headers.get("Mcp-Session-Id"));
    const auto type = media_type(head.headers.get("Content-Type"));
    if (type == "text/event-stream") {
      co_await follow_stream(self, std::move(exchange), request.id, stateless, request.method == method::listen);
      co_return;
    }
    if (!is_json(type)) {
      // A body of another type may still be an answer: some servers do not say what they send.
      auto text = co_await explaining_body(*exchange);
      if (type.empty() && !text.empty() &&
          self->inbox.put_text(text, request.id, self->runtime) == MessageInbox::Put::answer) {
        co_return;
      }
      self->requester.use_fresh_connections();
      throw self->requester.content_error(head, text);
    }
    std::string text;
    ByteBudget::Charge weight;
    if (auto whole = exchange->take_whole(self->runtime.limits.message)) {
      text = std::move(*whole);
    } else {
      auto incoming = self->streams.incoming(*exchange);
      text = co_await read_all(*exchange, self->runtime.limits.message, &incoming);
      weight = incoming.finish();
    }
    if (text.empty()) throw self->requester.content_error(HttpHead{.status = head.status}, text);
    while (!self->inbox.has_room()) co_await self->inbox.taken();
    const auto beginning = text.substr(0, 200);
    auto put = MessageInbox::Put::nothing;
    if (is_read_aside(text.size(), self->runtime.limits)) {
      put = co_await self->inbox.put_text_aside(std::move(text), std::move(weight), request.id, self->runtime);
    } else {
      put = self->inbox.put_text(std::move(text), request.id, self->runtime);
    }
    if (put != MessageInbox::Put::answer) {
      self->requester.use_fresh_connections();
      throw Error(
          Errc::protocol,
          fmt::format("{} answered {} with JSON that is not an MCP answer ({}); is it the url of an MCP server?",
                      self->requester.shown(), request.method, excerpt(beginning)))
          .with_http_status(head.status);
    }
  }

  static Task<void> ask(Self self, Request request, std::string body) {
    std::optional<Error> failed;
    try {
      co_await run(self, request, body);
    } catch (...) {
      failed = error_from(std::current_exception());
    }
    self->posts.erase(request.id);
    if (failed && failed->code() != Errc::cancelled) self->inbox.put(Lost{request.id, std::move(*failed)}, 0);
  }

  static void tell_soon(Self self, Outbox::Kind kind, std::string body) {
    self->untold.put(kind, std::move(body));
    self->queued.notify_all();
    if (self->tellers < most_tellers) {
      ++self->tellers;
      self->scope.spawn(tell_all(self));
    } else if (kind == Outbox::Kind::cancellation && !std::exchange(self->tells_cancellations, true)) {
      self->scope.spawn(tell_cancellations(self));
    }
  }

  static Task<void> tell_all(Self self) {
    while (auto next = self->untold.take()) {
      self->told.notify_all();
      co_await tell(self, next->kind, std::move(next->body));
    }
    --self->tellers;
  }

  // All the others may be held up by a server that takes no answers.
  static Task<void> tell_cancellations(Self self) {
    while (auto next = self->untold.take_cancellation()) {
      self->told.notify_all();
      co_await tell(self, next->kind, std::move(next->body));
    }
    self->tells_cancellations = false;
  }

  // Returns when an answer has had its time and so many wait behind it that nothing more is read.
  static Task<void> crowd(Self self) {
    co_await sleep_for(self->waits.answer);
    while (self->untold.size() <= most_untold) co_await self->queued.wait();
  }
  static Sending unless_crowded(Self self, Sending sending) {
    return unless(std::move(sending), crowd(std::move(self)),
                  [] { return std::string("the server asks questions but does not accept the answers"); });
  }

  // Notifications and our answers: nothing comes back but a nod.
  static Task<void> tell(Self self, Outbox::Kind kind, std::string body) {
    const bool in_session = self->session.covers(false);
    const bool opens = kind == Outbox::Kind::opening;
    std::optional<Counted> counted(std::in_place, *self, body);
    auto sending = self->post(nullptr, std::move(body), head_wait);
    if (kind == Outbox::Kind::answer) sending = unless_crowded(self, std::move(sending));
    auto sent = co_await as_result(std::move(sending));
    counted.reset();
    bool accepted = false;
    if (sent) {
      const auto& head = (*sent)->head();
      const auto text = co_await explaining_body(**sent);
      accepted = head.status / 100 == 2;
      if (!accepted) {
        self->runtime.log(LogLevel::warning, "not_accepted", "status", head.status, "reason", excerpt(text));
        // It may be the session that is not found, or it is how this server takes notifications.
        if (KnownSession::raises_doubt(head.status, in_session, kind) && self->doubted) self->doubted();
      }
    } else if (sent.error().code() != Errc::cancelled) {
      self->runtime.log(LogLevel::warning, "not_sent", "reason", sent.error().message());
    }
    if (!opens) co_return;
    // The stream goes first and takes the connection that is there already: what the server has to
    // say about the first requests would otherwise find no stream, and few servers keep it.
    if (accepted && !self->closing.begun()) self->scope.spawn(listen_quietly(self));
    self->session.opened();
    self->opened.notify_all();
  }

  // What an older server says outside of calls. Many have no such stream; that is no fault.
  static Task<void> listen(Self self) {
    StreamMemory memory;
    ListenResume resume;
    for (;;) {
      if (resume.attempt() > 0) co_await sleep_for(self->pause_before(resume.attempt(), memory));
      auto opened = co_await as_result(get(self, memory.last_id));
      if (!opened) {
        if (opened.error().code() == Errc::cancelled || opened.error().http_status()) throw std::move(opened).error();
        resume.failed();
        continue;
      }
      const auto& head = (*opened)->head();
      const auto reply = stream_reply(head.status, media_type(head.headers.get("Content-Type")));
      const auto next = resume.answered(reply, head.status);
      if (next == ListenResume::Do::again) continue;
      if (next == ListenResume::Do::doubt_again || next == ListenResume::Do::doubt_stop) {
        if (self->doubted) self->doubted();
      }
      if (next == ListenResume::Do::doubt_again) continue;
      if (next != ListenResume::Do::read) {
        // One that was there and is gone is worth a word: nothing is heard until there is another session.
        self->runtime.log(resume.was_open() ? LogLevel::warning : LogLevel::debug, "no_get_stream", "status",
                          head.status);
        co_return;
      }
      const auto events = memory.events;
      const auto messages = memory.messages;
      auto read = co_await as_result(self->streams.read(**opened, std::nullopt, true, memory));
      if (read) {
        resume.ended(memory.events > events);
        continue;
      }
      if (read.error().code() != Errc::limit || !resume.skips(memory.messages > messages)) {
        throw std::move(read).error();
      }
      // Without the id: it would come again.
      memory.last_id.clear();
      self->runtime.log(LogLevel::warning, "message_skipped", "reason", read.error().message());
    }
  }

  static Task<void> listen_quietly(Self self) {
    auto ended = co_await as_result(listen(self));
    if (ended || ended.error().code() == Errc::cancelled) co_return;
    self->runtime.log(LogLevel::info, "get_stream_ended", "reason", ended.error().message());
  }

  // The server may forget the session now; it need not answer.
  static Task<void> say_goodbye(Self self, Duration limit) {
    if (!self->session.wants_goodbye()) co_return;
    auto headers = self->headers_for(nullptr, false);
    HttpRequestLimits limits;
    limits.connect = limit;
    limits.total = limit;
    auto answer = co_await as_result(self->requester.send("DELETE", self->options.url, std::move(headers), {}, limits));
    if (!answer) self->runtime.log(LogLevel::debug, "session_not_ended", "reason", answer.error().message());
  }

  Result<void> check_room(std::size_t size) const {
    if (inbox.end()) return std::unexpected(*inbox.end());
    if (closing.begun()) return fail(Errc::closed, "the connection was closed");
    const auto waiting = outgoing + untold.bytes();
    if (waiting > 0 && waiting + size > runtime.limits.outgoing) {
      return fail(Errc::limit,
                  fmt::format("{} bytes wait to be sent, because {} does not accept them", waiting, requester.shown()));
    }
    return {};
  }
};

HttpChannel::HttpChannel(asio::any_io_executor executor, HttpTarget options, std::shared_ptr<HttpAuth> auth,
                         Runtime runtime, HttpWaits waits)
    : state_(std::make_shared<State>(std::move(executor), std::move(options), std::move(auth), std::move(runtime),
                                     waits)) {}

HttpChannel::~HttpChannel() {
  state_->closing.begin();
  state_->doubted = nullptr;  // whoever is told may be gone before the last frame is
  state_->scope.cancel();
  state_->inbox.finish(Error(Errc::closed, "the connection was closed"));
}

Result<void> HttpChannel::send(Message message) {
  std::string body;
  body.reserve(256);  // most are smaller
  append_message(body, message);
  if (auto room = state_->check_room(body.size()); !room) return room;
  if (auto* request = std::get_if<Request>(&message)) {
    request->params = {};
    const auto id = request->id;
    state_->posts.try_emplace(id);
    const auto spawned = state_->scope.start(State::ask(state_, std::move(*request), std::move(body)));
    // It may be at its end already.
    if (auto found = state_->posts.find(id); found != state_->posts.end()) found->second.spawned = spawned;
    return {};
  }
  auto kind = Outbox::Kind::answer;
  if (const auto* notification = std::get_if<Notification>(&message)) {
    kind = notification->method == method::initialized ? Outbox::Kind::opening
           : notification->method == method::cancelled ? Outbox::Kind::cancellation
                                                       : Outbox::Kind::notification;
  }
  if (kind == Outbox::Kind::opening) state_->session.opening();
  State::tell_soon(state_, kind, std::move(body));
  return {};
}

Result<void> HttpChannel::send_batch(std::vector<Message> messages) {
  std::string body;
  append_batch(body, messages);
  if (auto room = state_->check_room(body.size()); !room) return room;
  State::tell_soon(state_, Outbox::Kind::answer, std::move(body));
  return {};
}

Task<Incoming> HttpChannel::receive() { return MessageInbox::take({state_, &state_->inbox}); }

std::optional<Incoming> HttpChannel::received() { return state_->inbox.take_now(); }

void HttpChannel::abandon(const RequestId& id) {
  auto found = state_->posts.find(id);
  if (found == state_->posts.end()) return;
  auto spawned = found->second.spawned;
  state_->posts.erase(found);
  spawned.cancel();
}

bool HttpChannel::withdraw(const RequestId& id) {
  const auto found = state_->posts.find(id);
  if (found == state_->posts.end() || found->second.sent) return false;
  abandon(id);
  return true;
}

std::vector<RequestId> HttpChannel::withdraw_all() {
  std::vector<RequestId> unsent;
  for (const auto& [id, post] : state_->posts) {
    if (!post.sent) unsent.push_back(id);
  }
  for (const auto& id : unsent) abandon(id);
  return unsent;
}

Task<void> HttpChannel::close(CloseMode mode) {
  return [](std::shared_ptr<State> state, CloseMode how) -> Task<void> {
    if (!state->closing.begin()) co_return co_await state->closing.finished();
    state->inbox.close();
    state->scope.cancel();
    co_await state->scope.join();
    co_await State::say_goodbye(state, how == CloseMode::quick ? Duration(quick_goodbye) : Duration(goodbye_wait));
    state->closing.finish();
  }(state_, mode);
}

void HttpChannel::set_protocol_version(std::string_view version) { state_->version = version; }

void HttpChannel::on_doubt(std::function<void()> doubted) { state_->doubted = std::move(doubted); }

}  // namespace patchbay
