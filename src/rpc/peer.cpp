#include "rpc/peer.h"

#include <unordered_set>
#include <utility>

#include <boost/asio/post.hpp>
#include <fmt/format.h>

#include "base/as_result.h"
#include "base/limit_text.h"
#include "protocol/methods.h"
#include "rpc/carried_out.h"

namespace patchbay {
namespace {

constexpr std::size_t batch_part = 100;  // messages of a batch that are begun in one turn of the loop

// The codes of a peer that could not read a request, and so could not name its id either.
// Others without an id answer something that is not a request, such as a notification.
bool unread_request(std::int64_t code) { return code == rpc_code::parse_error || code == rpc_code::invalid_request; }

// Nothing when a key comes twice. A channel has made the value of a large one already.
const Json* value_of(const Payload& payload) {
  try {
    return &payload.value();
  } catch (const Error&) {
    return nullptr;
  }
}

}  // namespace

// The answers to one batch are sent together when the last is known.
struct Peer::BatchReplies {
  Peer* peer;
  std::vector<Message> replies;
  std::size_t size = 2;  // of the array they make
  ~BatchReplies() {
    if (!replies.empty() && !peer->closed()) peer->answer_batch(std::move(replies));
  }
};

// Counts a handler for as long as its frame exists.
struct Peer::Active {
  explicit Active(Peer& p) : peer(&p) { ++peer->active_; }
  Active(Active&& other) noexcept : peer(std::exchange(other.peer, nullptr)) {}
  Active& operator=(Active&&) = delete;
  ~Active() {
    if (peer && --peer->active_ == 0) peer->handlers_ended_.notify_all();
  }
  Peer* peer;
};

Peer::Peer(asio::any_io_executor executor, std::unique_ptr<Channel> channel, const Runtime& runtime, Handlers handlers)
    : executor_(executor),
      channel_(std::move(channel)),
      runtime_(runtime),
      handlers_(std::move(handlers)),
      scope_(executor),
      requests_(executor),
      clock_(loop_clock(executor)),
      deadline_timer_(executor, clock_) {}

Peer::~Peer() = default;

void Peer::start() {
  scope_.spawn(read());
  scope_.spawn(watch_deadlines());
}

// What does not wait is in functions of its own: their variables are not kept while the call waits, and a small
// coroutine is a cheap one.
Task<Result<Payload>> Peer::ask(PeerCall call) {
  // Whoever awaits this need not keep the peer.
  const auto self = weak_from_this().lock();
  Pending pending;
  const struct Forget {
    Peer& peer;
    PeerCall& call;
    ~Forget() {
      if (call.clock) call.clock->went_on = nullptr;
      peer.pending_.erase(call.id);
      if (peer.pending_.empty()) peer.idle_event_.notify_all();
    }
  } forget{*this, call};
  try {
    if (auto begun = begin(call, pending); !begun) co_return std::unexpected(std::move(begun).error());
    while (!pending.done.is_set()) co_await pending.done.changed();
  } catch (...) {
    co_return std::unexpected(give_up(call));
  }
  co_return pending.done.take();
}

Task<Payload> Peer::call(PeerCall call) { co_return value_or_throw(co_await ask(std::move(call))); }

Result<void> Peer::begin(PeerCall& call, Pending& pending) {
  if (ended_) return std::unexpected(judged(*ended_, false));
  Message request = Request{call.id, call.method, std::move(call.params), std::move(call.headers)};
  if (!fits(request, runtime_.limits.outgoing)) {
    return std::unexpected(Error(Errc::limit, fmt::format("the request {} has {} bytes; the limit is {}", call.method,
                                                          size_of(request), runtime_.limits.outgoing))
                               .with_carried_out(CarriedOut::no));
  }
  if (!call.clock) call.clock = std::make_shared<CallClock>(clock_, call.total, std::min(call.total, call.idle));
  pending.call = &call;
  const auto now = call.clock->now();
  pending.total_end = std::min(time_after(now, call.total), call.clock->end());
  pending.idle_end = time_after(now, call.idle);
  pending_.emplace(call.id, &pending);
  call.clock->went_on = [this, id = call.id] {
    if (auto found = pending_.find(id); found != pending_.end()) arm(found->second->deadline());
  };
  // The params travel as bytes; the call itself keeps none of them while it waits.
  auto sent = send(std::move(request), call.about);
  if (!sent) return std::unexpected(judged(std::move(sent).error(), false));
  arm(pending.deadline());
  return {};
}

// Whoever waited is leaving: says so to the peer, without waiting for it.
Error Peer::give_up(const PeerCall& call) {
  auto left = error_from(std::current_exception());
  const bool withdrawn = !ended_ && channel_->withdraw(call.id);
  if (!withdrawn) tell_cancelled(call.id, call, "cancelled by the caller");
  return judged(std::move(left), !withdrawn);
}

Result<void> Peer::notify(std::string_view method, Payload params, const std::optional<RequestId>& about) {
  if (ended_) return std::unexpected(*ended_);
  return send(Notification{std::string(method), std::move(params)}, about);
}

Result<void> Peer::send_unawaited(std::string_view method, Payload params,
                                  std::vector<std::pair<std::string, std::string>> headers) {
  if (ended_) return std::unexpected(*ended_);
  return send(Request{reserve_id(), std::string(method), std::move(params), std::move(headers)});
}

Task<void> Peer::read() {
  std::optional<Error> cause;
  while (!cause) {
    std::optional<Incoming> incoming;
    try {
      incoming = co_await channel_->receive();
    } catch (...) {
      cause = error_from(std::current_exception());
    }
    // Whatever goes wrong in here, pending calls must hear of it.
    try {
      for (; incoming; incoming = channel_->received()) {
        auto* batch = std::get_if<Batch>(&*incoming);
        if (batch) {
          co_await take_batch(std::move(*batch));
        } else {
          take(std::move(*incoming));
        }
      }
    } catch (...) {
      cause = error_from(std::current_exception());
    }
  }
  end(cause->code() == Errc::cancelled ? Error(Errc::closed, "the connection was closed") : *cause);
}

void Peer::take(Incoming incoming) {
  if (auto* lost = std::get_if<Lost>(&incoming)) {
    on_response(lost->id, std::unexpected(std::move(lost->error)));
  } else {
    dispatch(std::move(std::get<Message>(incoming)), nullptr);
  }
}

// Others get their turn between the parts of a large one.
Task<void> Peer::take_batch(Batch batch) {
  if (handlers_.accepts_batches && !handlers_.accepts_batches()) {
    ++counters_.refused_requests;
    answer(
        ErrorResponse{
            std::nullopt,
            {rpc_code::invalid_request, "this protocol revision has no batches; send each message alone", {}}},
        nullptr);
    co_return;
  }
  auto replies = std::make_shared<BatchReplies>(this);
  for (std::size_t i = 0; i < batch.messages.size() && !ended_; ++i) {
    if (i > 0 && i % batch_part == 0) co_await asio::post(executor_, asio::use_awaitable);
    dispatch(std::move(batch.messages[i]), replies);
  }
}

void Peer::trace(std::string_view direction, const Message& message) {
  if (!runtime_.trace) return;
  std::string text;
  append_message(text, message);
  try {
    runtime_.trace(direction, text);
  } catch (...) {
    if (std::exchange(trace_failed_, true)) return;
    runtime_.log(LogLevel::error, "trace_failed", "reason", error_from(std::current_exception()).message());
  }
}

Result<void> Peer::send(Message message, const std::optional<RequestId>& about) {
  trace("->", message);
  return about ? channel_->send_about(*about, std::move(message)) : channel_->send(std::move(message));
}

void Peer::dispatch(Message message, std::shared_ptr<BatchReplies> batch) {
  trace("<-", message);
  if (auto* request = std::get_if<Request>(&message)) {
    on_request(std::move(*request), std::move(batch));
  } else if (auto* notification = std::get_if<Notification>(&message)) {
    on_notification(std::move(*notification));
  } else if (auto* response = std::get_if<Response>(&message)) {
    on_response(response->id, std::move(response->result));
  } else {
    auto& failed = std::get<ErrorResponse>(message);
    auto error = Error::rpc(failed.error.code, std::move(failed.error.message),
                            failed.error.data ? std::string(failed.error.data.text()) : std::string());
    if (failed.error.http_status) error = std::move(error).with_http_status(*failed.error.http_status);
    if (failed.id) {
      on_response(*failed.id, std::unexpected(std::move(error)));
    } else if (unread_request(failed.error.code) && pending_.size() == 1) {
      // With one call pending there is no doubt which request it could not read.
      on_response(pending_.begin()->first, std::unexpected(std::move(error)));
    } else {
      ++counters_.unknown_replies;
      runtime_.log(LogLevel::warning, "error_without_id", "code", failed.error.code, "pending", pending_.size());
    }
  }
}

void Peer::on_response(const RequestId& id, Result<Payload> outcome) {
  const auto* number = std::get_if<std::int64_t>(&id);
  auto found = number ? pending_.find(*number) : pending_.end();
  if (!number) {
    // "1" is not 1, yet a server that turns numbers into strings has answered this call for
    // good: waiting on would only end in a timeout.
    const auto& text = std::get<std::string>(id);
    for (auto it = pending_.begin(); it != pending_.end(); ++it) {
      if (std::to_string(it->first) == text) {
        found = it;
        outcome = std::unexpected(
            Error(Errc::protocol,
                  fmt::format("the server answered request {} with the string id \"{}\" instead of the number",
                              it->first, text)));
        break;
      }
    }
  }
  if (found == pending_.end()) {
    ++counters_.unknown_replies;
    runtime_.log(LogLevel::debug, "unknown_reply", "id", to_text(id));
    return;
  }
  if (!outcome) outcome = std::unexpected(judged(std::move(outcome).error()));
  found->second->done.set(std::move(outcome));
  pending_.erase(found);
}

void Peer::on_notification(Notification notification) {
  if (notification.method == method::progress) {
    on_progress(notification.params);
    return;
  }
  if (notification.method == method::cancelled && notification.params) {
    const Json* params = value_of(notification.params);
    const Json* id = params ? params->find("requestId") : nullptr;
    if (id) {
      if (auto running = running_.find(to_text(*id)); running != running_.end()) {
        auto spawned = running->second.spawned;
        running_.erase(running);
        spawned.cancel();
        if (auto taken_back = request_id_of(*id)) channel_->forget(*taken_back);
        return;
      }
    }
  }
  if (!handlers_.notification) return;
  // Every other call waits for what is read next, so a callback of the program above must
  // not be able to end the reading.
  const auto name = notification.method;
  try {
    handlers_.notification(std::move(notification));
  } catch (...) {
    runtime_.log(LogLevel::error, "notification_handler_failed", "method", name, "reason",
                 error_from(std::current_exception()).message());
  }
}

void Peer::on_progress(const Payload& params) {
  const Json* value = value_of(params);
  if (value == nullptr) return;
  const Json* token = value->find("progressToken");
  auto id = token ? token->to_int() : std::nullopt;
  if (!id) return;
  auto found = pending_.find(*id);
  auto hold = holds_.find(*id);
  if (found == pending_.end() && hold == holds_.end()) return;
  std::function<void(const Json&)> handler;
  if (found != pending_.end()) {
    auto& pending = *found->second;
    pending.idle_end = time_after(pending.call->clock->now(), pending.call->idle);
    handler = pending.call->on_progress;
  }
  if (hold != holds_.end()) {
    hold->second->last_ = hold->second->clock_->now();
    if (!handler) handler = hold->second->on_progress_;
  }
  if (!handler) return;
  try {
    handler(*value);
  } catch (...) {
    runtime_.log(LogLevel::error, "progress_handler_failed", "reason", error_from(std::current_exception()).message());
  }
}

void Peer::on_request(Request request, std::shared_ptr<BatchReplies> batch) {
  if (ended_) return;  // nobody would get the answer
  auto refuse = [&](std::int64_t code, std::string message) {
    ++counters_.refused_requests;
    answer(ErrorResponse{request.id, {code, std::move(message), {}}}, batch);
  };
  auto key = to_text(request.id);
  if (!handlers_.request) return refuse(rpc_code::method_not_found, "this side does not accept requests");
  if (running_.contains(key)) {
    if (!handlers_.ignores_doubled)
      return refuse(rpc_code::invalid_request,
                    "the id of this request is already used by a request that is still running");
    ++counters_.refused_requests;
    runtime_.log(LogLevel::debug, "doubled_request", "id", key, "method", request.method);
    return;
  }
  if (active_ >= runtime_.limits.server_requests) {
    return refuse(rpc_code::internal_error, "too many requests at once; wait for answers");
  }
  const auto serial = next_serial_++;
  auto spawned = requests_.spawn(
      run_request(weak_from_this().lock(), std::move(request), std::move(batch), serial, Active(*this)));
  running_.emplace(std::move(key), Running{spawned, serial});
}

// A handler that throws before it first waits fails like one that throws later.
Task<Payload> Peer::handle(Request request) { co_return co_await handlers_.request(std::move(request)); }

Task<void> Peer::run_request(std::shared_ptr<Peer> /*self*/, Request request, std::shared_ptr<BatchReplies> batch,
                             std::uint64_t serial, Active /*active*/) {
  auto id = request.id;
  auto outcome = co_await as_result(handle(std::move(request)));
  // Cancelled by the peer (then it is no longer listed, and its id may be in use again) or by
  // our end: either way no answer.
  auto running = running_.find(to_text(id));
  if (ended_ || running == running_.end() || running->second.serial != serial) co_return;
  running_.erase(running);
  if (outcome) {
    answer(Response{id, std::move(*outcome)}, batch);
  } else if (outcome.error().code() != Errc::cancelled) {
    answer(ErrorResponse{id, rpc_error_of(outcome.error())}, batch);
  } else {
    channel_->forget(id);
  }
}

void Peer::answer(Message message, const std::shared_ptr<BatchReplies>& batch) {
  const auto limit = runtime_.limits.answer;
  if (batch) {
    message = within_limit(std::move(message), limit, batch->size);
    batch->size += size_of(message) + 1;
    batch->replies.push_back(std::move(message));
    return;
  }
  message = within_limit(std::move(message), limit);
  const auto id = answered_id(message);
  if (auto sent = send(std::move(message)); !sent) {
    give_up_answering(sent.error(), id ? std::vector{*id} : std::vector<RequestId>{});
  }
}

void Peer::answer_batch(std::vector<Message> replies) {
  std::vector<RequestId> ids;
  for (const auto& reply : replies) {
    trace("->", reply);
    if (auto id = answered_id(reply)) ids.push_back(std::move(*id));
  }
  if (auto sent = channel_->send_batch(std::move(replies)); !sent) give_up_answering(sent.error(), ids);
}

// What found no room in the queue is not sent later. Whoever asked is notified; a queue without
// room even for that belongs to somebody who does not read, and would wait for ever.
void Peer::give_up_answering(const Error& why, const std::vector<RequestId>& ids) {
  runtime_.log(LogLevel::warning, "answer_not_sent", "reason", why.message());
  if (why.code() != Errc::limit || ended_) return;
  for (const auto& id : ids) {
    auto told = send(ErrorResponse{id, {rpc_code::internal_error, why.message(), {}}});
    if (!told) return end(told.error());
  }
}

void Peer::tell_cancelled(std::int64_t id, const PeerCall& call, std::string_view reason) {
  if (ended_) return;
  switch (call.cancel_by) {
    case CancelBy::notification:
      (void)notify(method::cancelled, Json{{"requestId", id}, {"reason", reason}}, call.about);
      channel_->abandon(id);  // nobody reads its stream any more
      break;
    case CancelBy::abandon:
      channel_->abandon(id);
      break;
    case CancelBy::nothing:
      break;
  }
}

void Peer::end(const Error& why) {
  if (ended_) return;
  // Every call that was pending, and the owner, gets the same failure.
  const auto error = why.marked();
  ended_ = error;
  ended_at_ = clock_.now();
  auto pending = std::exchange(pending_, {});
  const auto withdrawn = channel_->withdraw_all();
  const std::unordered_set<RequestId> unsent(withdrawn.begin(), withdrawn.end());
  for (auto& [id, call] : pending) call->done.set(std::unexpected(judged(error, !unsent.contains(id))));
  auto running = std::exchange(running_, {});
  for (auto& [key, request] : running) request.spawned.cancel();
  deadline_timer_.cancel();
  ended_event_.notify_all();
  if (!handlers_.closed) return;
  try {
    handlers_.closed(error);
  } catch (...) {
    runtime_.log(LogLevel::error, "closed_handler_failed", "reason", error_from(std::current_exception()).message());
  }
}

Task<void> Peer::close(CloseMode mode, Error why) {
  const auto self = weak_from_this().lock();
  end(why);
  const bool throws = co_await asio::this_coro::throw_if_cancelled();
  co_await asio::this_coro::throw_if_cancelled(false);
  // Whatever the channel says, the coroutines that use this object must have ended first.
  auto closed = co_await as_result(shielded(channel_->close(mode)));
  if (!closed) runtime_.log(LogLevel::warning, "close_failed", "reason", closed.error().message());
  scope_.cancel();
  co_await scope_.join();
  requests_.cancel();
  if (self) {
    co_await wait_for_handlers();
  } else {
    co_await requests_.join();
  }
  co_await asio::this_coro::throw_if_cancelled(throws);
}

// Frames that have not ended by then keep this object, and end silently.
Task<void> Peer::wait_for_handlers() {
  const auto state = co_await asio::this_coro::cancellation_state;
  const auto left = as_duration(runtime_.limits.exit_after_eof) - (clock_.now() - ended_at_);
  if (active_ == 0 || left <= Duration::zero() || state.cancelled() != asio::cancellation_type::none) co_return;
  auto ended = co_await as_result(with_timeout(
      [](Peer& peer) -> Task<void> {
        while (peer.active_ > 0) co_await peer.handlers_ended_.wait();
      }(*this),
      left, "handlers go on"));
  if (!ended && ended.error().code() == Errc::timeout) {
    runtime_.log(LogLevel::warning, "handlers_left", "running", active_);
  }
}

Task<void> Peer::wait_closed() {
  while (!ended_) co_await ended_event_.wait();
}

Task<void> Peer::wait_idle() {
  while (!pending_.empty()) co_await idle_event_.wait();
}

// One timer for all pending calls: it is armed for the earliest deadline and, when it
// fires, looks at every call. Calls usually end long before, so arming is rare.
void Peer::arm(TimePoint deadline) {
  if (deadline >= armed_for_) return;
  armed_for_ = deadline;
  deadline_timer_.set(deadline);  // wakes watch_deadlines, which waits anew
}

void Peer::fail_call(std::int64_t id, Error error) {
  if (pending_.contains(id)) on_response(id, std::unexpected(std::move(error)));
}

Task<void> Peer::watch_deadlines() {
  deadline_timer_.set(armed_for_);
  while (!ended_) {
    const auto [failed] = co_await deadline_timer_.came();
    auto state = co_await asio::this_coro::cancellation_state;
    if (state.cancelled() != asio::cancellation_type::none) co_return;
    if (!failed) expire();  // else it was armed anew
  }
}

void Peer::expire() {
  const auto now = clock_.now();
  auto next = TimePoint::max();
  std::vector<std::int64_t> expired;
  for (auto& [id, pending] : pending_) {
    const auto deadline = pending->deadline();  // the end of a stop arms it again
    if (deadline <= now) {
      expired.push_back(id);
    } else {
      next = std::min(next, deadline);
    }
  }
  for (auto id : expired) {
    auto* pending = pending_.at(id);
    const auto by_clock = pending->call->clock->now();
    const bool idle = pending->idle_end <= by_clock && pending->total_end > by_clock;
    const bool sent = !channel_->withdraw(id);
    if (sent) tell_cancelled(id, *pending->call, "timed out");
    auto error = idle ? Error(Errc::timeout, fmt::format("no answer and no progress on {} for {}",
                                                         pending->call->method, limit_text(pending->call->idle)))
                      : timed_out(pending->call->method, pending->call->total);
    pending->done.set(std::unexpected(judged(std::move(error), sent)));
    pending_.erase(id);
  }
  armed_for_ = next;
  deadline_timer_.set(next);
}

Peer::ClockStop::ClockStop(Peer& peer, const std::optional<RequestId>& on_stream)
    : clock_(peer.call_behind(on_stream)) {
  if (on_stream) {
    // Of a call that is over: the others are not meant.
    const auto* id = std::get_if<std::int64_t>(&*on_stream);
    if (const auto known = id ? peer.pending_.find(*id) : peer.pending_.end(); known != peer.pending_.end()) {
      stops_.emplace_back(known->second->call->clock);
    }
    return;
  }
  const auto whose = clock_ ? CallClock::Whose::this_calls : CallClock::Whose::perhaps;
  for (auto& [other, pending] : peer.pending_) {
    if (!pending->call->listens) stops_.emplace_back(pending->call->clock, whose);
  }
}

std::shared_ptr<const CallClock> Peer::call_behind(const std::optional<RequestId>& on_stream) const {
  if (on_stream) {
    const auto* id = std::get_if<std::int64_t>(&*on_stream);
    const auto known = id ? pending_.find(*id) : pending_.end();
    return known != pending_.end() ? known->second->call->clock : nullptr;
  }
  std::shared_ptr<const CallClock> only;
  for (const auto& [id, pending] : pending_) {
    if (pending->call->listens) continue;
    if (only) return nullptr;
    only = pending->call->clock;
  }
  return only;
}

Peer::ProgressHold::ProgressHold(Peer& peer, std::int64_t token, std::shared_ptr<const CallClock> clock,
                                 std::function<void(const Json& params)> on_progress)
    : peer_(peer), token_(token), clock_(std::move(clock)), on_progress_(std::move(on_progress)), last_(clock_->now()) {
  peer_.holds_.emplace(token_, this);
}

Peer::ProgressHold::~ProgressHold() { peer_.holds_.erase(token_); }

Error timed_out(std::string_view method, Duration limit) {
  return Error(Errc::timeout, fmt::format("no answer to {} within {}", method, limit_text(limit)));
}

RpcError rpc_error_of(const Error& error) {
  RpcError rpc;
  rpc.message = error.message();
  if (!error.rpc_data().empty()) {
    if (auto data = Payload::parse(error.rpc_data())) rpc.data = std::move(*data);
  }
  if (error.rpc_code()) {
    rpc.code = *error.rpc_code();
    return rpc;
  }
  switch (error.code()) {
    case Errc::invalid_argument:
    case Errc::protocol:
      rpc.code = rpc_code::invalid_params;
      break;
    case Errc::unsupported:
      rpc.code = rpc_code::method_not_found;
      break;
    default:
      rpc.code = rpc_code::internal_error;
  }
  return rpc;
}

}  // namespace patchbay
