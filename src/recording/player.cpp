#include "recording/player.h"

#include <utility>

#include <fmt/format.h>

#include "base/as_result.h"
#include "base/scope.h"
#include "base/strings.h"
#include "base/waiting.h"
#include "protocol/methods.h"
#include "text/clean_text.h"

namespace patchbay {
namespace {

using End = RecordedExchange::End;

constexpr std::string_view key_subscription = "io.modelcontextprotocol/subscriptionId";
constexpr std::size_t longest_shown = 200;
constexpr std::size_t most_playing = 1000;  // requests of one channel at the same time

Json value_of(const Payload& payload) {
  if (!payload) return {};
  auto parsed = parse_json(payload.text());
  return parsed ? std::move(*parsed) : Json();
}

std::optional<Json> progress_token_of(const Payload& params) {
  const Json value = value_of(params);
  const Json* token = value["_meta"].find("progressToken");
  return token ? std::optional(*token) : std::nullopt;
}

// The stream of changes that a message belongs to, as its request was called.
std::optional<RequestId> subscription_of(const Json& params) {
  const Json* id = params["_meta"].find(key_subscription);
  return id ? request_id_of(*id) : std::nullopt;
}

Message with_id(Message answer, const RequestId& id) {
  if (auto* response = std::get_if<Response>(&answer)) {
    response->id = id;
    auto result = value_of(response->result);
    if (subscription_of(result)) {
      result["_meta"][key_subscription] = to_json(id);
      response->result = Payload(std::move(result));
    }
  } else {
    std::get<ErrorResponse>(answer).id = id;
  }
  return answer;
}

// A channel with sessions lets requests in when one has been agreed on.
void settle_version(Channel& channel, const Message& answer) {
  const auto* response = std::get_if<Response>(&answer);
  const auto result = response ? value_of(response->result) : Json();
  if (const auto version = result["protocolVersion"].text()) channel.set_protocol_version(*version);
}

std::string shown(std::string_view text) { return std::string(cut_utf8(clean_line(text), longest_shown)); }

}  // namespace

// One channel that is being served.
struct Player::Link {
  Link(const asio::any_io_executor& executor, std::unique_ptr<Channel> c, const Script& script, PlayedChannel k)
      : channel(std::move(c)), kind(k), own(script), scope(executor) {}

  // While a request is played.
  struct Playing {
    Playing(Link& l, std::string i) : link(l), id(std::move(i)) { ++link.playing; }
    Playing(const Playing&) = delete;
    Playing& operator=(const Playing&) = delete;
    ~Playing() {
      --link.playing;
      link.running.erase(id);
      link.changed.notify_all();
    }
    Link& link;
    std::string id;
  };

  bool over() const noexcept { return ends || (input_ended && playing == 0); }

  std::unique_ptr<Channel> channel;
  PlayedChannel kind;
  Matcher own;
  std::map<std::string, bool> asked;  // questions by their id, and whether they were answered
  std::map<std::string, Spawned> running;
  std::size_t playing = 0;
  bool input_ended = false;
  bool ends = false;  // as it did when it was recorded
  Event changed;
  Scope scope;
};

Player::Player(Script script, std::function<void(const std::string&)> say)
    : script_(std::move(script)), say_(std::move(say)), shared_(script_) {}

Task<bool> Player::serve(std::shared_ptr<Player> self, std::unique_ptr<Channel> channel, PlayedChannel kind) {
  auto executor = co_await asio::this_coro::executor;
  auto link = std::make_shared<Link>(executor, std::move(channel), self->script_, kind);
  link->scope.spawn(self->read(link));
  if (kind == PlayedChannel::connection) {
    for (const auto& message : self->script_.opening) (void)link->channel->send(message);
  }
  auto waited = co_await as_result([](std::shared_ptr<Link> l) -> Task<void> {
    while (!l->over()) co_await l->changed.wait();
  }(link));
  const bool throws = co_await asio::this_coro::throw_if_cancelled();
  co_await asio::this_coro::throw_if_cancelled(false);
  (void)co_await as_result(link->channel->close(CloseMode::graceful));
  link->scope.cancel();
  co_await link->scope.join();
  std::erase_if(self->listeners_, [&](const auto& one) { return one.second.link.lock() == link; });
  co_await asio::this_coro::throw_if_cancelled(throws);
  value_or_throw(std::move(waited));
  co_return link->ends;
}

Task<void> Player::read(std::shared_ptr<Link> link) {
  for (;;) {
    auto incoming = co_await as_result(link->channel->receive());
    if (!incoming) break;
    if (auto* message = std::get_if<Message>(&*incoming)) {
      take(link, std::move(*message));
    } else if (auto* batch = std::get_if<Batch>(&*incoming)) {
      for (auto& one : batch->messages) take(link, std::move(one));
    }
  }
  link->input_ended = true;
  link->changed.notify_all();
}

void Player::take(const std::shared_ptr<Link>& link, Message message) {
  if (auto* request = std::get_if<Request>(&message)) {
    if (link->playing >= most_playing) {
      (void)link->channel->send(
          ErrorResponse{request->id, {rpc_code::internal_error, "too many requests at once; wait for answers", {}}});
      return;
    }
    auto id = to_text(request->id);
    link->running.insert_or_assign(id, link->scope.spawn(play(link, std::move(*request))));
  } else if (const auto* notification = std::get_if<Notification>(&message)) {
    if (notification->method != method::cancelled) return;
    const auto params = value_of(notification->params);
    const auto found = link->running.find(to_text(std::as_const(params)["requestId"]));
    if (found == link->running.end()) return;
    found->second.cancel();
    if (const auto id = request_id_of(std::as_const(params)["requestId"])) link->channel->forget(*id);
  } else if (const auto id = answered_id(message)) {
    if (const auto asked = link->asked.find(to_text(*id)); asked != link->asked.end()) asked->second = true;
    link->changed.notify_all();
  }
}

Task<void> Player::play(std::shared_ptr<Link> link, Request request) {
  const auto self = shared_from_this();
  const Link::Playing playing(*link, to_text(request.id));
  const bool alone = link->kind == PlayedChannel::one_request;
  auto& matcher = alone ? shared_ : link->own;
  // Another client begins.
  if (alone && request.method == method::discover) matcher.begin_again();
  const auto params = params_to_match(request.params);
  const auto token = progress_token_of(request.params);
  const auto found = matcher.match(request.method, params);
  if (!found) {
    auto error = matcher.no_match(request.method);
    say_(shown(error.message));
    (void)link->channel->send(ErrorResponse{request.id, std::move(error)});
    co_return;
  }
  const auto& exchange = script_.exchanges[*found];
  if (request.method == method::listen) listeners_[to_text(exchange.id)] = {link, request.id};
  for (const auto& message : exchange.during) {
    const bool goes_on = co_await tell(link, message, request.id, &exchange, token);
    if (!goes_on) co_return;
  }
  switch (exchange.end) {
    case End::answered:
      if (request.method == method::initialize) settle_version(*link->channel, *exchange.answer);
      (void)link->channel->send(with_id(*exchange.answer, request.id));
      break;
    case End::cut:
      (void)link->channel->send(
          ErrorResponse{request.id,
                        {rpc_code::internal_error,
                         fmt::format("the answer is not in this recording: it had {} bytes, which is more than the "
                                     "recorder keeps of one message",
                                     exchange.bytes),
                         {}}});
      break;
    case End::lost:
      (void)link->channel->send(ErrorResponse{
          request.id,
          {rpc_code::internal_error, fmt::format("the answer was lost when this was recorded: {}", exchange.why), {}}});
      break;
    case End::unanswered:
      // A stream of changes ends with its connection.
      if (request.method != method::listen) {
        say_(fmt::format("{} was not answered when this was recorded, and is not answered now", shown(request.method)));
      }
      co_return;
    case End::ended:
      say_(fmt::format("the server ended the connection here when this was recorded: {}", shown(exchange.why)));
      link->ends = true;
      co_return;
  }
  for (const auto& message : exchange.after) (void)co_await tell(link, message, request.id, nullptr, token);
  if (exchange.server_ends_then) {
    say_("the server ended the connection here when this was recorded");
    link->ends = true;
  }
}

// `exchange`: of which the message is a part; null: its answer has been sent. False: the client has gone.
Task<bool> Player::tell(std::shared_ptr<Link> link, Message message, RequestId about, const RecordedExchange* exchange,
                        std::optional<Json> token) {
  if (auto* notification = std::get_if<Notification>(&message)) {
    auto params = value_of(notification->params);
    if (notification->method == method::progress && exchange && exchange->progress_token &&
        std::as_const(params)["progressToken"] == *exchange->progress_token) {
      if (!token) co_return true;  // this client wants none
      params["progressToken"] = std::move(*token);
      notification->params = Payload(std::move(params));
    } else if (const auto subscription = subscription_of(params)) {
      const auto listener = listeners_.find(to_text(*subscription));
      const auto to = listener == listeners_.end() ? nullptr : listener->second.link.lock();
      if (!to) co_return true;  // nobody listens
      params["_meta"][key_subscription] = to_json(listener->second.id);
      notification->params = Payload(std::move(params));
      (void)to->channel->send_about(listener->second.id, std::move(message));
      co_return true;
    }
  }
  const auto* question = std::get_if<Request>(&message);
  const auto key = question ? to_text(question->id) : std::string();
  if (question) link->asked[key] = false;
  const auto sent =
      exchange ? link->channel->send_about(about, std::move(message)) : link->channel->send(std::move(message));
  if (!question || !exchange || !sent) co_return sent.has_value();
  while (!link->asked[key] && !link->input_ended) co_await link->changed.wait();
  co_return std::exchange(link->asked[key], true);
}

}  // namespace patchbay
