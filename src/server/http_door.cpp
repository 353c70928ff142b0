#include "server/http_door.h"

#include <algorithm>

#include <boost/asio/this_coro.hpp>
#include <fmt/format.h>

#include "base/as_result.h"
#include "base/crypto.h"
#include "base/strings.h"
#include "protocol/methods.h"
#include "rpc/read_messages.h"
#include "server/connection.h"
#include "server/serve.h"
#include "server/sse_event.h"

namespace patchbay {
namespace {

using TimePoint = std::chrono::steady_clock::time_point;

constexpr std::string_view session_header = "Mcp-Session-Id";

HttpServerLimits limits_of(const ServerHttpOptions& options) {
  HttpServerLimits limits;
  limits.connections = options.max_connections;
  limits.body = options.max_body;
  return limits;
}

void refuse(ServerExchange& exchange, int status, std::optional<RequestId> id, RpcError error,
            HttpHeaders headers = {}) {
  std::string body;
  append_message(body, ErrorResponse{std::move(id), std::move(error)});
  headers.add("Content-Type", "application/json");
  exchange.respond(status, std::move(headers), std::move(body));
}

void refuse(ServerExchange& exchange, int status, std::optional<RequestId> id, std::string message) {
  refuse(exchange, status, std::move(id), RpcError{rpc_code::invalid_request, std::move(message), {}});
}

std::string_view path_of(std::string_view target) {
  // A proxy may send the whole URL.
  if (const auto scheme = target.find("://"); scheme != std::string_view::npos && !target.starts_with('/')) {
    const auto slash = target.find('/', scheme + 3);
    target = slash == std::string_view::npos ? std::string_view("/") : target.substr(slash);
  }
  return target.substr(0, target.find_first_of("?#"));
}

HttpCaller caller_of(const ServerExchange& exchange) {
  const auto& request = exchange.request();
  HttpCaller caller{
      .method = request.method, .path = std::string(path_of(request.url)), .remote = exchange.remote(), .headers = {}};
  for (const auto& field : request.headers) caller.headers.emplace_back(field.name, field.value);
  return caller;
}

const Payload* params_of(const Message& message) {
  if (const auto* request = std::get_if<Request>(&message)) return &request->params;
  if (const auto* notification = std::get_if<Notification>(&message)) return &notification->params;
  return nullptr;
}

// With a copy of the function: it may run on when the door has closed.
Task<HttpVerdict> ask_who(std::function<Task<HttpVerdict>(HttpCaller)> authorize, HttpCaller caller) {
  co_return co_await authorize(std::move(caller));
}

std::optional<RequestId> id_of(const Message& message) {
  if (const auto* request = std::get_if<Request>(&message)) return request->id;
  return std::nullopt;
}

}  // namespace

std::string_view HttpCaller::header(std::string_view name) const noexcept {
  for (const auto& [key, value] : headers) {
    if (HttpHeaders::same_name(key, name)) return value;
  }
  return {};
}

std::function<Task<HttpVerdict>(HttpCaller)> bearer_token(std::string token) {
  // Digests are compared, so that the time it takes says nothing about the token.
  const auto digest = sha256(token);
  return [digest](HttpCaller caller) -> Task<HttpVerdict> {
    return [](std::array<std::uint8_t, 32> wanted, HttpCaller who) -> Task<HttpVerdict> {
      const auto given = who.header("authorization");
      const auto blank = given.find(' ');
      const bool bearer = blank != std::string_view::npos && HttpHeaders::same_name(given.substr(0, blank), "bearer");
      HttpVerdict verdict;
      if (!bearer) {
        verdict.kind = HttpVerdict::Kind::unauthorized;
      } else if (sha256(trim(given.substr(blank))) != wanted) {
        verdict.kind = HttpVerdict::Kind::unauthorized;
        verdict.challenge = "Bearer error=\"invalid_token\"";
      }
      co_return verdict;
    }(digest, std::move(caller));
  };
}

// A request of a principal, for as long as it is being answered.
struct HttpDoor::Presence {
  Presence(HttpDoor& d, const std::string& principal) : door(d), at(d.present_.try_emplace(principal).first) {
    ++at->second;
  }
  Presence(const Presence&) = delete;
  Presence& operator=(const Presence&) = delete;
  ~Presence() {
    if (--at->second == 0) door.present_.erase(at);
  }
  HttpDoor& door;
  decltype(HttpDoor::present_)::iterator at;
};

// One modern request: what its connection sends becomes the answer to its POST.
struct HttpDoor::OneRequest {
  OneRequest(HttpDoor& d, ServerExchange& e, Request r, AcceptedTypes a)
      : door(d), exchange(&e), request(std::move(r)), accepted(a), written(d.clock_.now()) {
    door.requests_.insert(this);
    exchange->on_gone([this] { finish(Error(Errc::cancelled, "the client closed the stream")); });
  }
  OneRequest(const OneRequest&) = delete;
  OneRequest& operator=(const OneRequest&) = delete;
  ~OneRequest() {
    exchange->on_gone({});
    door.requests_.erase(this);
  }

  // Nothing more is received. Errc::closed lets the request finish, anything else cancels it.
  void finish(Error error) {
    if (end) return;
    end = std::move(error);
    changed.notify_all();
  }

  Result<void> send(const Message& message) {
    if (answered) return {};
    const auto* failed = std::get_if<ErrorResponse>(&message);
    const bool last = failed || std::holds_alternative<Response>(message);
    if (!last && !accepted.events) return {};
    // Answers have been measured by who gives them.
    if (auto fits = last ? Result<void>() : check_size(message, door.runtime_.limits.answer); !fits) return fits;
    std::string text;
    append_message(text, message);
    const int status = failed ? http_status_of(failed->error.code) : 200;
    // A status that says it all goes before what the client would rather read.
    if (last && !exchange->begun() && (accepted.json || status != 200)) {
      exchange->respond(status, {{"Content-Type", "application/json"}}, std::move(text));
    } else {
      begin_events();
      exchange->write(sse_message({}, text));
    }
    written = door.clock_.now();
    if (last) {
      answered = true;
      exchange->end();
      finish(Error(Errc::closed, "the request was answered"));
    }
    return {};
  }

  void begin_events() {
    if (!exchange->begun()) exchange->begin(200, sse_headers());
  }

  void tend(TimePoint now) {
    if (answered || !accepted.events || now - written < door.options_.keep_alive) return;
    written = now;
    begin_events();
    exchange->write(sse_sign_of_life);
  }

  HttpDoor& door;
  ServerExchange* exchange;
  std::optional<Request> request;
  AcceptedTypes accepted;
  TimePoint written;
  std::optional<Error> end;
  bool answered = false;
  Event changed;
};

class HttpDoor::OneRequestChannel final : public Channel {
 public:
  explicit OneRequestChannel(OneRequest& one) : one_(one) {}

  Result<void> send(Message message) override { return one_.send(message); }
  Task<Incoming> receive() override {
    if (one_.request) {
      Message message = std::move(*one_.request);
      one_.request.reset();
      co_return Incoming(std::move(message));
    }
    while (!one_.end) co_await one_.changed.wait();
    throw Error(*one_.end);
  }
  void abandon(const RequestId&) override {}
  Task<void> close(CloseMode) override {
    one_.finish(Error(Errc::closed, "the connection was closed"));
    co_return;
  }

 private:
  OneRequest& one_;
};

HttpDoor::HttpDoor(std::shared_ptr<ServerCore> core, asio::any_io_executor executor, ServerHttpOptions options,
                   const Runtime& runtime)
    : core_(std::move(core)),
      options_(std::move(options)),
      runtime_(runtime),
      clock_(loop_clock(executor)),
      scope_(executor),
      tending_(executor),
      authorizing_(executor),
      server_(executor, limits_of(options_), [this](ServerExchange& exchange) { return handle(exchange); }, runtime) {
  runtime_.limits.answer = options_.max_answer;
}

HttpDoor::~HttpDoor() = default;

Task<void> HttpDoor::run() {
  server_.listen(options_.address, options_.port);
  gate_ = {server_.loopback(), options_.allowed_hosts, options_.allowed_origins};
  const auto url = fmt::format("http://{}{}", server_.address(), options_.path);
  runtime_.log(LogLevel::info, "http_listening", "url", url);
  if (!gate_.loopback && !options_.authorize) {
    runtime_.log(LogLevel::warning, "http_open_to_the_network", "url", url, "reason", "no bearer check");
  }
  if (options_.on_listening) options_.on_listening(url);
  tending_.spawn(tend());
  auto accepting = co_await as_result(server_.accept());

  co_await asio::this_coro::throw_if_cancelled(false);
  co_await asio::this_coro::reset_cancellation_state();
  stopping_ = true;
  for (auto* one : requests_) one->finish(Error(Errc::closed, "the server is stopping"));
  for (const auto& [id, session] : sessions_) session->end(Error(Errc::closed, "the server is stopping"));
  co_await server_.stop(as_duration(options_.grace));
  tending_.cancel();
  scope_.cancel();
  co_await tending_.join();
  co_await scope_.join();
  (void)co_await authorizing_.wait_ended(as_duration(runtime_.limits.exit_after_eof));
  if (!accepting && accepting.error().code() != Errc::cancelled) throw std::move(accepting).error();
}

Task<void> HttpDoor::tend() {
  const auto step = std::clamp<Duration>(std::min(options_.keep_alive, options_.session_idle) / 4,
                                         std::chrono::milliseconds(10), std::chrono::seconds(1));
  for (;;) {
    auto slept = co_await as_result(sleep_for(step));
    if (!slept) co_return;
    const auto now = clock_.now();
    // Writing may end a client, whose request then leaves the set on a later turn.
    for (auto* one : requests_) one->tend(now);
    for (const auto& [id, session] : sessions_) {
      session->tend(now);
      if (now - session->last_seen() >= options_.session_idle) {
        session->end(Error(Errc::cancelled, "the session was idle for too long"));
      }
    }
  }
}

std::optional<std::string> HttpDoor::refused(const HttpHeaders& headers) {
  const std::string* host = nullptr;
  bool plain = true;  // one Host, no Origin
  for (const auto& field : headers) {
    if (HttpHeaders::same_name(field.name, "host")) {
      plain = plain && host == nullptr;
      host = &field.value;
    } else if (HttpHeaders::same_name(field.name, "origin")) {
      plain = false;
    }
  }
  plain = plain && host != nullptr;
  if (plain && *host == let_in_) return std::nullopt;
  auto reason = refuse_by_name(gate_, headers);
  if (plain && !reason) let_in_ = *host;
  return reason;
}

Task<void> HttpDoor::handle(ServerExchange& exchange) {
  const auto& request = exchange.request();
  if (auto reason = refused(request.headers)) {
    refuse(exchange, 403, {}, std::move(*reason));
    co_return;
  }
  exchange.add_to_answer(page_headers(gate_, request.method, request.headers));
  if (path_of(request.url) != options_.path) {
    exchange.respond(404, {{"Content-Type", "text/plain; charset=utf-8"}},
                     fmt::format("There is nothing at this address. The MCP endpoint is {}\n", options_.path));
    co_return;
  }
  // Before the caller is asked for: a browser that asks first shows no credentials. Unless the
  // origin was named, the answer lacks what it looks for, and no request follows.
  if (asks_first(request.method, request.headers)) {
    exchange.respond(204, {}, {});
    co_return;
  }
  std::string principal;
  if (options_.authorize) {
    auto verdict = co_await authorizing_.run(ask_who(options_.authorize, caller_of(exchange)));
    if (verdict.kind != HttpVerdict::Kind::allow) {
      HttpHeaders headers;
      const bool unknown = verdict.kind == HttpVerdict::Kind::unauthorized;
      if (!verdict.challenge.empty() || unknown) {
        headers.add("WWW-Authenticate", verdict.challenge.empty() ? "Bearer" : verdict.challenge);
      }
      refuse(exchange, unknown ? 401 : 403, {},
             {rpc_code::invalid_request,
              unknown ? "this server needs a sign-in: send an Authorization header with a valid token"
                      : "you are signed in, but this request is not allowed for you",
              {}},
             std::move(headers));
      co_return;
    }
    principal = std::move(verdict.principal);
  }
  const Presence presence(*this, principal);
  if (options_.authorize && presence.at->second > options_.max_requests_each) {
    refuse(exchange, 429, {},
           {rpc_code::internal_error,
            fmt::format("{} of your requests are running, which is the limit; wait for answers",
                        options_.max_requests_each),
            {}},
           {{"Retry-After", "1"}});
    co_return;
  }
  if (request.method == "POST") {
    co_await post(exchange, std::move(principal));
  } else if (request.method == "GET") {
    co_await get(exchange, std::move(principal));
  } else if (request.method == "DELETE") {
    remove(exchange, principal);
  } else {
    exchange.respond(405, {{"Allow", "GET, POST, DELETE"}}, {});
  }
}

Task<void> HttpDoor::post(ServerExchange& exchange, std::string principal) {
  const auto& headers = exchange.request().headers;
  const auto type = headers.get("content-type");
  if (type != "application/json" && media_type(type) != "application/json") {
    refuse(exchange, 415, {}, "the Content-Type of the body must be application/json");
    co_return;
  }
  const auto accepted = accepted_types(headers);
  if (!accepted.json && !accepted.events) {
    refuse(exchange, 406, {}, "the header Accept must allow application/json and text/event-stream");
    co_return;
  }
  auto block = std::make_shared<std::string>(co_await exchange.read_body());
  const std::string_view text = *block;
  const auto& limits = runtime_.limits;
  const bool large = is_read_aside(text.size(), limits);
  auto decoded = large ? (co_await read_messages_aside(block, text, byte_budget().charge(text.size()), limits)).decoded
                       : read_messages(block, text, limits).decoded;
  if (!decoded) {
    // What is too much to be looked at is not looked at once more.
    const bool json =
        large || decoded.error().code() == Errc::limit || parse_json(text, {.max_depth = limits.depth}).has_value();
    refuse(exchange, 400, {},
           RpcError{json ? rpc_code::invalid_request : rpc_code::parse_error, decoded.error().message(), {}});
    co_return;
  }
  if (stopping_) {
    refuse(exchange, 503, {}, "the server is stopping");
    co_return;
  }
  const Json* params = nullptr;
  if (!decoded->batch) {
    if (const auto* payload = params_of(decoded->messages.front())) {
      std::optional<Error> broken;
      try {
        params = &payload->value();
      } catch (const Error& error) {  // a key that is there twice
        broken = error;
      }
      if (broken) {
        refuse(exchange, 400, id_of(decoded->messages.front()),
               RpcError{rpc_code::invalid_request, broken->message(), {}});
        co_return;
      }
    }
  }
  if (era_of(headers, params) == Era::legacy) {
    co_await legacy(exchange, std::move(*decoded), std::move(principal), accepted);
  } else if (decoded->batch) {
    refuse(exchange, 400, {}, "this protocol revision has no batches; send each message alone");
  } else {
    co_await modern(exchange, std::move(decoded->messages.front()), std::move(principal), accepted);
  }
}

Task<void> HttpDoor::modern(ServerExchange& exchange, Message message, std::string principal, AcceptedTypes accepted) {
  if (std::holds_alternative<Notification>(message)) {
    exchange.respond(202, {}, {});
    co_return;
  }
  auto* request = std::get_if<Request>(&message);
  if (!request) {
    refuse(exchange, 400, {}, "in this protocol revision a client sends only requests and notifications");
    co_return;
  }
  // The schema stays where it is: nothing is awaited before the check is done.
  auto schema_of = [this](std::string_view tool) -> const Json* {
    const auto entry = core_ ? core_->tools.find(tool) : nullptr;
    return entry ? &entry->item.input_schema : nullptr;
  };
  const Json& params = request->params.value();
  auto wrong = check_modern_request(exchange.request().headers, request->method, params, schema_of);
  if (!wrong && request->method == method::listen && !accepted.events) {
    refuse(exchange, 406, request->id, "the header Accept must allow text/event-stream");
    co_return;
  }
  if (wrong) {
    refuse(exchange, 400, request->id, rpc_error_of(*wrong));
    co_return;
  }
  auto executor = co_await asio::this_coro::executor;
  OneRequest one(*this, exchange, std::move(*request), accepted);
  if (exchange.gone()) co_return;
  if (serve_) {
    co_await serve_(std::make_unique<OneRequestChannel>(one), DoorChannel::one_request);
    co_return;
  }
  ClientConnection connection(core_, executor, std::make_unique<OneRequestChannel>(one), runtime_,
                              as_duration(options_.grace));
  connection.set_principal(std::move(principal));
  co_await connection.run();
}

Task<void> HttpDoor::legacy(ServerExchange& exchange, Decoded decoded, std::string principal, AcceptedTypes accepted) {
  auto& messages = decoded.messages;
  const auto* first = std::get_if<Request>(&messages.front());
  const bool opens = !decoded.batch && first && first->method == method::initialize &&
                     !exchange.request().headers.contains(session_header);
  auto session = opens ? open_session(exchange, std::move(principal)) : session_of(exchange, principal);
  if (!session) co_return;
  if (decoded.batch && !session->allows_batches()) {
    refuse(exchange, 400, {}, "this protocol revision has no batches; send each message alone");
    co_return;
  }
  std::set<RequestId> ids;  // of a batch
  bool asks = false;
  for (const auto& message : messages) {
    const auto* request = std::get_if<Request>(&message);
    if (!request) continue;
    asks = true;
    const bool twice = decoded.batch && !ids.insert(request->id).second;
    if (twice || session->in_use(request->id)) {
      refuse(exchange, 400, request->id, "the id of this request is already used by a request that is still running");
      co_return;
    }
  }
  Incoming incoming = decoded.batch ? Incoming(Batch{std::move(messages)}) : Incoming(std::move(messages.front()));
  if (!asks) {
    session->take(std::move(incoming));
    exchange.respond(202, {}, {});
    co_return;
  }
  co_await session->serve_requests(exchange, std::move(incoming), accepted);
  // What was refused at the door never became a session.
  if (opens && !session->open()) {
    session->end(Error(Errc::cancelled, "the session was never opened"));
    sessions_.erase(session->id());
  }
}

Task<void> HttpDoor::get(ServerExchange& exchange, std::string principal) {
  const auto& headers = exchange.request().headers;
  if (!accepted_types(headers).events) {
    refuse(exchange, 406, {}, "the header Accept must allow text/event-stream");
    co_return;
  }
  auto session = session_of(exchange, principal);
  if (!session) co_return;
  std::optional<std::string> last;
  if (const auto* id = headers.find("Last-Event-ID")) last = *id;
  auto served = co_await as_result(session->serve_stream(exchange, std::move(last)));
  if (served) co_return;
  if (served.error().code() != Errc::invalid_argument || exchange.begun()) throw std::move(served).error();
  refuse(exchange, 400, {}, served.error().message());
}

void HttpDoor::remove(ServerExchange& exchange, const std::string& principal) {
  auto session = session_of(exchange, principal);
  if (!session) return;
  session->end(Error(Errc::cancelled, "the client ended the session"));
  sessions_.erase(session->id());
  exchange.respond(204, {}, {});
}

std::shared_ptr<HttpSession> HttpDoor::session_of(ServerExchange& exchange, const std::string& principal) {
  const auto* id = exchange.request().headers.find(session_header);
  if (!id) {
    refuse(exchange, 400, {}, "the header Mcp-Session-Id is missing; begin with initialize");
    return nullptr;
  }
  const auto found = sessions_.find(trim(*id));
  // Somebody else's session does not exist for this caller.
  if (found == sessions_.end() || found->second->ended() || found->second->principal() != principal) {
    refuse(exchange, 404, {},
           "the session in the header Mcp-Session-Id does not exist (it may have ended); begin with initialize");
    return nullptr;
  }
  return found->second;
}

std::shared_ptr<HttpSession> HttpDoor::open_session(ServerExchange& exchange, std::string principal) {
  if (sessions_.size() >= options_.max_sessions) {
    refuse(exchange, 503, {},
           {rpc_code::internal_error,
            fmt::format("the server has {} sessions, which is the limit; try again later", options_.max_sessions),
            {}},
           {{"Retry-After", "10"}});
    return nullptr;
  }
  const auto own =
      std::ranges::count_if(sessions_, [&](const auto& other) { return other.second->principal() == principal; });
  if (options_.authorize && static_cast<std::size_t>(own) >= options_.max_sessions_each) {
    refuse(exchange, 429, {},
           {rpc_code::internal_error,
            fmt::format("you have {} sessions, which is the limit; end some of them", options_.max_sessions_each),
            {}},
           {{"Retry-After", "10"}});
    return nullptr;
  }
  const HttpSessionOptions with{
      .replay = options_.replay, .reconnect = options_.reconnect, .keep_alive = options_.keep_alive};
  auto session = std::make_shared<HttpSession>(new_session_id(runtime_.random), std::move(principal), with,
                                               replay_total_, runtime_, clock_);
  sessions_.emplace(session->id(), session);
  scope_.spawn(run_session(session));
  return session;
}

Task<void> HttpDoor::run_session(std::shared_ptr<HttpSession> session) {
  auto executor = co_await asio::this_coro::executor;
  if (serve_) {
    (void)co_await as_result(serve_(session->make_channel(), DoorChannel::session));
  } else {
    ClientConnection connection(core_, executor, session->make_channel(), runtime_, as_duration(options_.grace));
    connection.set_principal(session->principal());
    (void)co_await as_result(connection.run());
  }
  sessions_.erase(session->id());
}

namespace {

Task<void> serve_over_http(std::shared_ptr<ServerCore> core, ServerHttpOptions options, Runtime runtime) {
  auto executor = co_await asio::this_coro::executor;
  const auto for_handlers = as_duration(runtime.limits.exit_after_eof);
  ++core->doors;
  Result<void> ended;
  {
    HttpDoor door(core, executor, std::move(options), runtime);
    ended = co_await as_result(door.run());
  }
  co_await asio::this_coro::throw_if_cancelled(false);
  co_await asio::this_coro::reset_cancellation_state();
  co_await ServerCore::close_door(core, for_handlers);
  value_or_throw(std::move(ended));
}

}  // namespace

Task<void> Server::serve_http(ServerHttpOptions options) {
  return serve_over_http(core_, std::move(options), core_->own_runtime());
}
Task<void> serve_http(Server& server, ServerHttpOptions options, const Runtime& runtime) {
  return serve_over_http(ServerAccess::core(server), std::move(options), runtime);
}

}  // namespace patchbay
