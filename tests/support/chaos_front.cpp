#include "support/chaos_front.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include <patchbay/json.h>

namespace patchbay::test {
namespace {

using Request = ScriptConnection::Request;
using Ended = ScriptConnection::Ended;

struct Weighted {
  Mishap mishap;
  unsigned weight;
};
// Of a hundred requests; what is left goes well.
constexpr Weighted usual[] = {
    {Mishap::drop, 4},      {Mishap::lose_answer, 4}, {Mishap::silence, 3},   {Mishap::status, 6},
    {Mishap::forget, 4},    {Mishap::redirect, 2},    {Mishap::junk, 2},      {Mishap::oversize, 2},
    {Mishap::garble, 3},    {Mishap::truncate, 9},    {Mishap::duplicate, 6}, {Mishap::reorder, 6},
    {Mishap::elsewhere, 4}, {Mishap::twice, 3},       {Mishap::endless, 5},
};
// Of the requests a session begins with: few, or nothing else would ever be tried.
constexpr Weighted beginning[] = {
    {Mishap::drop, 1},     {Mishap::lose_answer, 1}, {Mishap::silence, 1},  {Mishap::status, 2},
    {Mishap::redirect, 1}, {Mishap::garble, 1},      {Mishap::truncate, 3}, {Mishap::duplicate, 3},
    {Mishap::twice, 2},    {Mishap::endless, 2},     {Mishap::oversize, 1},
};

template <std::size_t N>
Mishap choose(const Weighted (&table)[N], std::uint64_t roll) {
  for (const auto& [mishap, weight] : table) {
    if (roll < weight) return mishap;
    roll -= weight;
  }
  return Mishap::none;
}

bool is_answer(std::string_view event) {
  const auto data = event.find("data:");
  if (data == std::string_view::npos) return false;
  return event.find("\"result\":", data) != std::string_view::npos ||
         event.find("\"error\":", data) != std::string_view::npos;
}

std::string as_event(std::string_view json) { return fmt::format("event: message\ndata: {}\n\n", json); }

// Replaces what is between the first brace and the end of the JSON by something that is none.
std::string garbled(std::string text, std::uint64_t how) {
  const auto brace = text.find('{');
  if (brace == std::string::npos) return text;
  auto end = text.find_last_of('}');
  switch (how) {
    case 0:
      text[brace + 1] = '\xff';
      break;
    case 1:
      text.erase(brace + (end - brace) / 2, end + 1 - (brace + (end - brace) / 2));
      break;
    default:
      text.insert(end, ",,");
      break;
  }
  return text;
}

}  // namespace

std::string_view to_string(Mishap mishap) noexcept {
  constexpr std::string_view names[] = {"none",     "drop",      "lose_answer", "silence", "status",   "forget",
                                        "redirect", "junk",      "oversize",    "garble",  "truncate", "duplicate",
                                        "reorder",  "elsewhere", "twice",       "endless"};
  return names[static_cast<std::size_t>(mishap)];
}

struct ChaosFront::Plan {
  Mishap mishap = Mishap::none;
  int delay = 0;           // milliseconds before anything else
  std::size_t split = 0;   // bytes per write; 0: as they come
  bool reset = false;      // broken connections end so, or in good order
  bool as_stream = false;  // a plain answer comes as an event stream
  bool close = false;      // the connection is not used again
  std::string label;
};

// A session of the older pair of endpoints: what its one stream has to deliver.
struct ChaosFront::OlderSession {
  std::mutex mutex;
  std::deque<std::string> events;
  std::string id;  // the session behind
  int wake = ::eventfd(0, EFD_CLOEXEC);
  ~OlderSession() { ::close(wake); }
  void put(std::string event) {
    std::lock_guard lock(mutex);
    events.push_back(std::move(event));
    ::eventfd_write(wake, 1);
  }
  std::optional<std::string> take() {
    std::lock_guard lock(mutex);
    if (events.empty()) return {};
    auto event = std::move(events.front());
    events.pop_front();
    return event;
  }
};

// One answer to the client, cut and split as planned.
class ChaosFront::Output {
 public:
  Output(ChaosFront& front, ScriptConnection& connection, const Plan& plan)
      : front_(front), connection_(connection), plan_(plan) {
    if (plan.mishap == Mishap::truncate) cut_ = 1 + front.dice_.number(plan.label, "cut", 700);
    const int on = 1;
    ::setsockopt(connection.fd(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }

  void write(std::string_view bytes) {
    while (!bytes.empty()) {
      auto piece = bytes.substr(0, plan_.split ? plan_.split : bytes.size());
      if (cut_ && written_ + piece.size() > *cut_) piece = piece.substr(0, *cut_ - written_);
      connection_.write(piece);
      written_ += piece.size();
      bytes.remove_prefix(piece.size());
      if (cut_ && written_ >= *cut_) front_.hold_back(connection_, plan_);
    }
  }
  void chunk(std::string_view bytes) {
    if (!bytes.empty()) write(fmt::format("{:x}\r\n{}\r\n", bytes.size(), bytes));
  }
  ScriptConnection& connection() { return connection_; }

 private:
  ChaosFront& front_;
  ScriptConnection& connection_;
  const Plan& plan_;
  std::optional<std::size_t> cut_;
  std::size_t written_ = 0;
};

// One request to the server behind, on a connection of its own.
class ChaosFront::Upstream {
 public:
  Upstream(ChaosFront& front, const ScriptConnection* client) : front_(front), client_(client) {
    socket_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(front.upstream_);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
      ::close(socket_);
      throw Ended{};
    }
  }
  Upstream(const Upstream&) = delete;
  Upstream& operator=(const Upstream&) = delete;
  ~Upstream() { ::close(socket_); }

  void ask(std::string_view verb, const std::vector<std::pair<std::string, std::string>>& fields,
           std::string_view body) {
    auto text = fmt::format("{} /mcp HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nConnection: close\r\n", verb, front_.upstream_);
    for (const auto& [name, value] : fields) text += fmt::format("{}: {}\r\n", name, value);
    if (verb == "POST") text += fmt::format("Content-Length: {}\r\n", body.size());
    text += "\r\n";
    text += body;
    for (std::string_view left = text; !left.empty();) {
      const auto count = ::send(socket_, left.data(), left.size(), MSG_NOSIGNAL);
      if (count <= 0) throw Ended{};
      left.remove_prefix(static_cast<std::size_t>(count));
    }
    std::size_t end = 0;
    while ((end = raw_.find("\r\n\r\n")) == std::string::npos) {
      if (!more()) throw Ended{};
    }
    head_.head = raw_.substr(0, end + 2);
    raw_.erase(0, end + 4);
    chunked_ = head_.field("Transfer-Encoding") == "chunked";
  }
  // With "HTTP/1.1 200 OK" as its line.
  const Request& head() const { return head_; }
  int status() const { return std::stoi(head_.line().substr(9, 3)); }

  // What comes next of the body; nothing at its end.
  std::optional<std::string> piece() {
    for (;;) {
      if (!chunked_) {
        if (!raw_.empty()) return std::exchange(raw_, {});
      } else if (const auto line = raw_.find("\r\n"); line != std::string::npos) {
        const auto size = std::stoul(raw_.substr(0, line), nullptr, 16);
        if (size == 0) return {};
        if (raw_.size() >= line + 2 + size + 2) {
          auto chunk = raw_.substr(line + 2, size);
          raw_.erase(0, line + 2 + size + 2);
          return chunk;
        }
      }
      if (!more()) return {};
    }
  }
  std::string rest() {
    std::string all;
    while (auto next = piece()) all += *next;
    return all;
  }
  // The next whole event with its blank line; nothing at the end.
  std::optional<std::string> event() {
    std::size_t end = 0;
    while ((end = events_.find("\n\n")) == std::string::npos) {
      auto next = piece();
      if (!next) return {};
      events_ += *next;
    }
    auto event = events_.substr(0, end + 2);
    events_.erase(0, end + 2);
    return event;
  }

 private:
  bool more() {
    front_.wait(socket_, client_, -1);
    char buffer[16384];
    const auto count = ::recv(socket_, buffer, sizeof buffer, 0);
    if (count <= 0) return false;
    raw_.append(buffer, static_cast<std::size_t>(count));
    return true;
  }

  ChaosFront& front_;
  const ScriptConnection* client_;
  int socket_ = -1;
  std::string raw_;
  std::string events_;
  bool chunked_ = false;
  Request head_;
};

ChaosFront::ChaosFront(std::uint16_t upstream, std::uint64_t seed, std::size_t limit)
    : upstream_(upstream),
      dice_(seed),
      limit_(limit),
      stop_(::eventfd(0, EFD_CLOEXEC)),
      calmed_(::eventfd(0, EFD_CLOEXEC)),
      server_(std::make_unique<ScriptedServer>([this](ScriptConnection& connection) { serve(connection); })) {}

ChaosFront::~ChaosFront() {
  ::eventfd_write(stop_, 1);
  server_.reset();
  ::close(stop_);
  ::close(calmed_);
}

void ChaosFront::calm() {
  calm_ = true;
  ::eventfd_write(calmed_, 1);
}

std::vector<std::string> ChaosFront::story() const {
  std::lock_guard lock(mutex_);
  return story_;
}

bool ChaosFront::was_reset(std::string_view text) const {
  std::lock_guard lock(mutex_);
  return std::ranges::any_of(reset_, [&](const auto& body) { return body.find(text) != std::string::npos; });
}

std::map<Mishap, int> ChaosFront::counts() const {
  std::lock_guard lock(mutex_);
  return counts_;
}

// Returns when the descriptor can be read, or the time has passed; throws when the client has gone,
// when the test is over and, if asked, when nothing shall go wrong any more.
void ChaosFront::wait(int descriptor, const ScriptConnection* client, int milliseconds, bool until_calm) {
  pollfd watched[4] = {{.fd = descriptor, .events = POLLIN, .revents = 0},
                       {.fd = stop_, .events = POLLIN, .revents = 0},
                       {.fd = client ? client->fd() : -1, .events = POLLRDHUP, .revents = 0},
                       {.fd = until_calm ? calmed_ : -1, .events = POLLIN, .revents = 0}};
  ::poll(watched, 4, milliseconds);
  if (watched[1].revents || watched[2].revents || watched[3].revents) throw Ended{};
}

void ChaosFront::hold(ScriptConnection& client) {
  wait(-1, &client, -1, true);
  throw Ended{};
}

void ChaosFront::hold_back(ScriptConnection& connection, const Plan& plan) {
  if (plan.reset) connection.reset();
  connection.finish();
  hold(connection);
}

// What a request is, with how often it came before. `handshake`: a session begins with it.
std::string ChaosFront::label_of(const Request& request, bool& handshake) {
  const auto line = request.line();
  std::string name = line.substr(0, line.find(' '));
  handshake = false;
  if (name == "POST") {
    const auto body = parse_json(request.body).value_or(Json());
    const auto method = body["method"].text();
    name += fmt::format(" {} {}", method ? *method : "answer", body.find("id") ? to_text(body["id"]) : "-");
    handshake =
        method && (*method == "initialize" || *method == "server/discover" || *method == "notifications/initialized");
  } else if (name == "GET") {
    handshake = line.find("/sse") != std::string::npos;
    if (request.field("Last-Event-ID") != "(none)") name += " again";
  }
  std::lock_guard lock(mutex_);
  return fmt::format("{} #{}", name, ++seen_[name]);
}

ChaosFront::Plan ChaosFront::plan_for(const std::string& label, const Request& request, bool handshake) const {
  Plan plan;
  plan.label = label;
  if (calm_) return plan;
  // Some seeds are rough, in others most of it goes well.
  constexpr std::uint64_t out_of[] = {100, 200, 500};
  const auto roll = dice_.number(label, "mishap", out_of[dice_.number("front", "calmness", std::size(out_of))]);
  plan.mishap = handshake ? choose(beginning, roll) : choose(usual, roll);
  if (plan.mishap == Mishap::forget && request.field("Mcp-Session-Id") == "(none)") plan.mishap = Mishap::status;
  if (dice_.chance(label, "delayed", 25)) plan.delay = static_cast<int>(dice_.number(label, "delay", 40));
  if (dice_.chance(label, "in pieces", 25)) plan.split = 1 + dice_.number(label, "piece", 40);
  plan.reset = dice_.chance(label, "reset", 50);
  plan.as_stream = dice_.chance(label, "as stream", 30);
  plan.close = dice_.chance(label, "close", 15);
  return plan;
}

std::vector<std::string> ChaosFront::take_strays(const std::string& session) {
  std::lock_guard lock(mutex_);
  return std::exchange(strays_[session], {});
}

void ChaosFront::serve(ScriptConnection& connection) {
  for (;;) {
    const auto request = connection.read_request();
    bool handshake = false;
    const auto label = label_of(request, handshake);
    const auto plan = plan_for(label, request, handshake);
    const auto session = request.field("Mcp-Session-Id");
    bool forgotten = false;
    {
      std::lock_guard lock(mutex_);
      ++counts_[plan.mishap];
      story_.push_back(fmt::format("{}{}: {}{}{}", label, session == "(none)" ? "" : " in " + session.substr(0, 6),
                                   to_string(plan.mishap), plan.delay ? fmt::format(" after {} ms", plan.delay) : "",
                                   plan.split ? fmt::format(" in pieces of {}", plan.split) : ""));
      // Ids begin anew with a session: what strayed in the last one must not answer calls of the next.
      if (handshake && session == "(none)") strays_[session].clear();
      if (plan.mishap == Mishap::forget) forgotten_.insert(session);
      forgotten = forgotten_.contains(session);
    }
    if (plan.delay > 0) pause(connection, plan.delay);
    if (forgotten) {
      connection.answer("404 Not Found", plan.reset ? "<html>gone</html>" : "");
      continue;
    }
    const auto line = request.line();
    if (misbehave(connection, request, plan)) continue;
    if (line.starts_with("GET /sse")) return serve_older_stream(connection, plan);
    if (const auto at = line.find("/message?s="); at != std::string::npos) {
      return serve_older_post(connection, request, plan, line.substr(at + 11, line.find(' ', at) - at - 11));
    }
    forward(connection, request, plan);
    if (plan.close) return;
  }
}

// Mishaps that need no answer of the server behind. True when the request has been dealt with.
bool ChaosFront::misbehave(ScriptConnection& connection, const Request& request, const Plan& plan) {
  switch (plan.mishap) {
    case Mishap::drop:
      if (plan.reset) connection.reset();
      throw Ended{};
    case Mishap::silence:
      hold(connection);
      break;
    case Mishap::status: {
      constexpr std::pair<std::string_view, std::string_view> pages[] = {
          {"500 Internal Server Error", "Content-Type: text/plain\r\n"},
          {"502 Bad Gateway", "Content-Type: text/html\r\n"},
          {"503 Service Unavailable", "Retry-After: 1\r\n"},
          {"429 Too Many Requests", ""},
          {"403 Forbidden", ""},
          {"404 Not Found", "Content-Type: text/html\r\n"},
          {"400 Bad Request", "Content-Type: application/json\r\n"},
          {"200 OK", "Content-Type: text/html\r\n"},
          {"200 OK", "Content-Type: application/json\r\n"},
          {"202 Accepted", ""},
      };
      const auto& [status, fields] = pages[dice_.number(plan.label, "page", std::size(pages))];
      // A session that is forgotten is another mishap.
      if (status.starts_with("404") && request.field("Mcp-Session-Id") != "(none)") throw Ended{};
      const bool empty = status.starts_with("202") || dice_.chance(plan.label, "empty", 40);
      connection.answer(status, empty ? "" : "<html><h1>Oops</h1></html>", fields);
      return true;
    }
    case Mishap::redirect:
      connection.answer(
          "307 Temporary Redirect", "",
          "Location: " +
              request.line().substr(request.line().find('/'), request.line().rfind(' ') - request.line().find('/')) +
              "\r\n");
      return true;
    case Mishap::junk:
      if (dice_.chance(plan.label, "header", 50)) {
        connection.write("HTTP/1.1 200 OK\r\nX: " + std::string(70u << 10, 'x') + "\r\n\r\n");
      } else {
        connection.write("SSH-2.0-OpenSSH_9.2\r\n");
      }
      throw Ended{};
    default:
      break;
  }
  return false;
}

void ChaosFront::forward(ScriptConnection& connection, const Request& request, const Plan& plan) {
  Upstream upstream(*this, &connection);
  std::vector<std::pair<std::string, std::string>> fields;
  std::size_t at = request.head.find("\r\n") + 2;
  while (at < request.head.size()) {
    const auto end = request.head.find("\r\n", at);
    const auto field = request.head.substr(at, end - at);
    at = end + 2;
    const auto colon = field.find(':');
    auto name = field.substr(0, colon);
    if (name == "Host" || name == "Content-Length" || name == "Connection") continue;
    auto value = field.substr(colon + 1);
    value.erase(0, value.find_first_not_of(' '));
    fields.emplace_back(std::move(name), std::move(value));
  }
  const auto line = request.line();
  upstream.ask(line.substr(0, line.find(' ')), fields, request.body);
  if (plan.mishap == Mishap::lose_answer) {
    if (plan.reset) {
      {
        std::lock_guard lock(mutex_);
        reset_.push_back(request.body);
      }
      connection.reset();
    }
    throw Ended{};
  }
  const auto& head = upstream.head();
  const auto type = head.field("Content-Type");
  const auto granted = head.field("Mcp-Session-Id");
  const auto session = request.field("Mcp-Session-Id");
  const auto session_line = granted == "(none)" ? std::string() : fmt::format("Mcp-Session-Id: {}\r\n", granted);
  const auto closing = plan.close ? "Connection: close\r\n" : "";
  Output out(*this, connection, plan);
  if (upstream.status() != 200 || (type != "text/event-stream" && type != "application/json")) {
    const auto body = upstream.rest();
    out.write(fmt::format("{}\r\nContent-Length: {}\r\n{}{}{}\r\n{}", head.line(), body.size(), session_line, closing,
                          type == "(none)" ? "" : fmt::format("Content-Type: {}\r\n", type), body));
    return;
  }
  std::string only;
  if (type == "application/json") only = upstream.rest();
  const bool needs_stream = plan.mishap == Mishap::duplicate || plan.mishap == Mishap::reorder ||
                            plan.mishap == Mishap::elsewhere || plan.mishap == Mishap::endless;
  if (!only.empty() && !plan.as_stream && !needs_stream) {
    if (plan.mishap == Mishap::garble) only = garbled(std::move(only), dice_.number(plan.label, "garble", 3));
    if (plan.mishap == Mishap::oversize) only.insert(only.size() - 1, std::string(limit_, ' '));
    const auto answer =
        fmt::format("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n{}{}\r\n{}",
                    only.size(), session_line, closing, only);
    out.write(answer);
    if (plan.mishap == Mishap::twice) out.write(answer);
    return;
  }
  out.write(fmt::format("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n{}{}\r\n",
                        session_line, closing));
  stream(out, upstream, plan, session, only.empty() ? "" : as_event(only));
}

// The events of one stream: `first`, then what comes from behind.
void ChaosFront::stream(Output& out, Upstream& upstream, const Plan& plan, const std::string& session,
                        std::string first) {
  std::string held;
  auto emit = [&](std::string event) {
    for (const auto& stray : take_strays(session)) out.chunk(stray);
    if (plan.mishap == Mishap::garble && is_answer(event)) {
      event = garbled(std::move(event), dice_.number(plan.label, "garble", 3));
    }
    if (plan.mishap == Mishap::oversize && is_answer(event)) {
      out.chunk("data: " + std::string(limit_ + 1000, 'x'));
      hold(out.connection());
    }
    if (plan.mishap == Mishap::elsewhere && is_answer(event)) {
      std::lock_guard lock(mutex_);
      strays_[session].push_back(std::move(event));
      return;
    }
    if (plan.mishap == Mishap::reorder && held.empty() && !is_answer(event)) {
      held = std::move(event);
      return;
    }
    out.chunk(event);
    if (plan.mishap == Mishap::duplicate || plan.mishap == Mishap::twice) out.chunk(event);
    if (!held.empty()) out.chunk(std::exchange(held, {}));
  };
  if (!first.empty()) emit(std::move(first));
  while (auto event = upstream.event()) emit(std::move(*event));
  if (!held.empty()) out.chunk(held);
  if (plan.mishap == Mishap::elsewhere) hold(out.connection());
  while (plan.mishap == Mishap::endless && !calm_) {
    out.chunk(": still here\n\n");
    pause(out.connection(), 20);
  }
  out.write("0\r\n\r\n");
}

// The older pair: one stream for everything that comes back ...
void ChaosFront::serve_older_stream(ScriptConnection& connection, const Plan& plan) {
  auto session = std::make_shared<OlderSession>();
  std::string key;
  {
    std::lock_guard lock(mutex_);
    key = std::to_string(older_.size());
    older_[key] = session;
  }
  Output out(*this, connection, plan);
  out.write(fmt::format("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"));
  out.chunk(fmt::format("event: endpoint\ndata: /message?s={}\n\n", key));
  try {
    for (;;) {
      wait(session->wake, &connection, -1);
      eventfd_t ignored = 0;
      ::eventfd_read(session->wake, &ignored);
      while (auto event = session->take()) out.chunk(*event);
    }
  } catch (const Ended&) {
    // The server behind ends what the session still has under way.
    std::string id;
    {
      std::lock_guard lock(session->mutex);
      id = session->id;
    }
    if (id.empty()) throw;
    Upstream upstream(*this, nullptr);
    upstream.ask("DELETE", {{"Mcp-Session-Id", id}}, "");
    throw;
  }
}

// ... and a POST for each message, which is accepted before it is answered.
void ChaosFront::serve_older_post(ScriptConnection& connection, const Request& request, const Plan& plan,
                                  const std::string& key) {
  std::shared_ptr<OlderSession> session;
  {
    std::lock_guard lock(mutex_);
    session = older_[key];
  }
  if (!session) return connection.answer("404 Not Found", "no such session", "Connection: close\r\n");
  Output out(*this, connection, plan);
  if (plan.mishap == Mishap::lose_answer && plan.reset) {
    ::shutdown(connection.fd(), SHUT_RDWR);
  } else {
    out.write("HTTP/1.1 202 Accepted\r\nContent-Length: 8\r\nConnection: close\r\n\r\nAccepted");
    connection.finish();
  }
  // Servers with this pair of endpoints are older than that request.
  if (plan.label.starts_with("POST server/discover")) {
    const auto id = to_text(parse_json(request.body).value_or(Json())["id"]);
    return session->put(as_event(
        fmt::format(R"({{"jsonrpc":"2.0","id":{},"error":{{"code":-32601,"message":"Method not found"}}}})", id)));
  }
  Upstream upstream(*this, nullptr);
  std::vector<std::pair<std::string, std::string>> fields{{"Content-Type", "application/json"},
                                                          {"Accept", "application/json, text/event-stream"}};
  {
    std::lock_guard lock(session->mutex);
    if (!session->id.empty()) fields.emplace_back("Mcp-Session-Id", session->id);
  }
  upstream.ask("POST", fields, request.body);
  if (const auto granted = upstream.head().field("Mcp-Session-Id"); granted != "(none)") {
    std::lock_guard lock(session->mutex);
    session->id = granted;
  }
  std::string held;
  auto emit = [&](std::string event) {
    if (is_answer(event)) {
      if (plan.mishap == Mishap::lose_answer) return;
      if (plan.mishap == Mishap::garble) event = garbled(std::move(event), dice_.number(plan.label, "garble", 3));
      if (plan.mishap == Mishap::oversize) event = "data: " + std::string(limit_ + 1000, 'x') + "\n\n";
      if (plan.mishap == Mishap::elsewhere) wait(-1, nullptr, 30);
    }
    if (plan.mishap == Mishap::reorder && held.empty() && !is_answer(event)) {
      held = std::move(event);
      return;
    }
    session->put(event);
    if (plan.mishap == Mishap::duplicate || plan.mishap == Mishap::twice) session->put(event);
    if (!held.empty()) session->put(std::exchange(held, {}));
  };
  if (upstream.head().field("Content-Type") == "text/event-stream") {
    while (auto event = upstream.event()) emit(std::move(*event));
  } else if (auto body = upstream.rest(); !body.empty()) {
    emit(as_event(body));
  }
  if (!held.empty()) session->put(held);
}

}  // namespace patchbay::test
