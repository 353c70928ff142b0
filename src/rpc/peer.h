// Peer: JSON-RPC over one Channel. It owns the channel, gives out ids, matches answers to
// calls, runs the other side's requests, passes progress on and cancels. It knows no
// method but the two notifications about requests themselves (cancelled, progress).
//
// Every call ends in exactly one outcome: the answer, the peer's error, timeout,
// cancelled, or closed with the channel's cause. A pending id is registered before its
// request is sent. A cancelled call returns to its caller at once; the peer is notified by a
// queued notification (or by dropping the request's stream) that nobody waits for.
//
// Its end has two halves. end() is synchronous and final: every call has its outcome, every handler is
// cancelled. close() also waits: for the channel, and for the handlers. A peer that is held by a
// shared_ptr gives handlers limits.exit_after_eof and then goes on without them, and whoever is cancelled does not
// wait for them at all (a handler that closes its own connection is cancelled by that); frames that are
// left keep the peer alive until they end. Held otherwise, close() waits until the last frame has ended,
// and is not for handlers to call. Loop thread only.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <unordered_map>

#include <patchbay/task.h>

#include "base/runtime.h"
#include "base/scope.h"
#include "base/timeout.h"
#include "base/timer.h"
#include "base/waiting.h"
#include "rpc/call_clock.h"
#include "rpc/channel.h"

namespace patchbay {

// How the peer learns that a request is no longer wanted.
enum class CancelBy { notification, abandon, nothing };

struct PeerCall {
  std::int64_t id = 0;  // from Peer::reserve_id, so that it can serve as progress token
  std::string method;
  Payload params;
  std::vector<std::pair<std::string, std::string>> headers;  // see Request
  Duration total = Duration::max();                          // of this request
  Duration idle = Duration::max();                           // since the request or the last progress
  // The time of all that this request is a part of, which must not be over either. Unset: its own.
  std::shared_ptr<CallClock> clock;
  CancelBy cancel_by = CancelBy::notification;
  std::function<void(const Json& params)> on_progress;
  std::optional<RequestId> about;  // the request of the other side that raised it
  // It only waits for news: the other side neither asks nor logs on its behalf.
  bool listens = false;
};

class Peer : public std::enable_shared_from_this<Peer> {
 public:
  struct Handlers {
    // The other side's request; what it throws becomes the error answer. Cancelled: no answer.
    std::function<Task<Payload>(Request)> request;
    // What this or a progress handler throws is logged; the connection goes on.
    std::function<void(Notification)> notification;
    // Once, when nothing more will arrive. Pending calls have failed by then.
    std::function<void(const Error&)> closed;
    // Whether arrays of messages are legal now; absent means yes.
    std::function<bool()> accepts_batches;
    // A request that comes once more while it runs is passed over. Otherwise it is refused, and
    // the other side may take the refusal for the answer to the first.
    bool ignores_doubled = false;
  };
  struct Counters {
    std::size_t unknown_replies = 0;  // for ids nobody waits for: late, doubled or made up
    std::size_t refused_requests = 0;
  };

  Peer(asio::any_io_executor executor, std::unique_ptr<Channel> channel, const Runtime& runtime, Handlers handlers);
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;
  ~Peer();

  // Begins reading. Once.
  void start();

  const Runtime& runtime() const noexcept { return runtime_; }
  std::int64_t reserve_id() { return next_id_++; }
  // The one outcome of a call. Throws nothing, also when the caller is cancelled: an exception costs thousands of
  // instructions for every coroutine it passes, and a server that refuses is nothing unusual.
  Task<Result<Payload>> ask(PeerCall call);
  // The same; anything but an answer is thrown.
  Task<Payload> call(PeerCall call);
  // `about`: the request of the other side this belongs to, if any.
  Result<void> notify(std::string_view method, Payload params, const std::optional<RequestId>& about = {});
  // Ends one pending call with `error`, when the other side took it back by other means than
  // an answer. Nothing happens when no such call is pending.
  void fail_call(std::int64_t id, Error error);

  // Sends a request whose answer nobody waits for; it is dropped when it comes.
  Result<void> send_unawaited(std::string_view method, Payload params,
                              std::vector<std::pair<std::string, std::string>> headers = {});

  using TimePoint = CallClock::TimePoint;
  // Stops the clocks of the calls on whose behalf the other side asks by a request that came on the
  // stream of our call `on_stream`, if it is known; see CallClock about the others.
  class ClockStop {
   public:
    ClockStop(Peer& peer, const std::optional<RequestId>& on_stream);
    // Of one call that is known by other means.
    explicit ClockStop(std::shared_ptr<CallClock> clock) : clock_(clock) { stops_.emplace_back(std::move(clock)); }
    ClockStop(ClockStop&&) = default;
    // Of the call on whose behalf is asked; null when it is not known.
    const CallClock* clock() const noexcept { return clock_.get(); }

   private:
    std::vector<CallClock::Stop> stops_;
    std::shared_ptr<const CallClock> clock_;
  };

  // The clock of our call that a message belongs to: the one on whose stream it came, or where no stream is known
  // the only one that is pending. Null when it may be another.
  std::shared_ptr<const CallClock> call_behind(const std::optional<RequestId>& on_stream) const;
  const Clock& clock() const noexcept { return clock_; }

  // Passes progress on for a token whose request may have been answered already, because
  // what it began goes on. Made before the request is sent; the token is its id.
  class ProgressHold {
   public:
    ProgressHold(Peer& peer, std::int64_t token, std::shared_ptr<const CallClock> clock,
                 std::function<void(const Json& params)> on_progress);
    ProgressHold(const ProgressHold&) = delete;
    ProgressHold& operator=(const ProgressHold&) = delete;
    ~ProgressHold();
    // When there was progress last, by the clock of the call.
    TimePoint last() const noexcept { return last_; }

   private:
    friend class Peer;
    Peer& peer_;
    std::int64_t token_;
    std::shared_ptr<const CallClock> clock_;
    std::function<void(const Json& params)> on_progress_;
    TimePoint last_;
  };

  // Fails pending calls with `why` and cancels running handlers, now. Once; later ones do nothing.
  void end(const Error& why = Error(Errc::closed, "the connection was closed"));
  // The same, then closes the channel and waits as said above. Any number of callers.
  Task<void> close(CloseMode mode, Error why = Error(Errc::closed, "the connection was closed"));
  // Returns when no call of ours is pending.
  Task<void> wait_idle();
  // Ends when the channel does, for whatever reason.
  Task<void> wait_closed();
  bool closed() const noexcept { return ended_.has_value(); }
  const Error& close_error() const { return *ended_; }

  Channel& channel() noexcept { return *channel_; }
  const Counters& counters() const noexcept { return counters_; }
  std::size_t pending_calls() const noexcept { return pending_.size(); }

 private:
  struct Pending {
    Completion<Result<Payload>> done;
    const PeerCall* call = nullptr;
    // By the clock of the call.
    TimePoint total_end = TimePoint::max();
    TimePoint idle_end = TimePoint::max();
    TimePoint deadline() const { return call->clock->when(std::min(total_end, idle_end)); }  // in real time
  };
  struct BatchReplies;
  struct Active;
  struct Running {
    Spawned spawned;
    std::uint64_t serial = 0;  // ids may come again; this does not
  };

  Result<void> begin(PeerCall& call, Pending& pending);
  Error give_up(const PeerCall& call);
  Task<void> read();
  void take(Incoming incoming);
  Task<void> take_batch(Batch batch);
  Task<void> watch_deadlines();
  Task<Payload> handle(Request request);
  Task<void> run_request(std::shared_ptr<Peer> self, Request request, std::shared_ptr<BatchReplies> batch,
                         std::uint64_t serial, Active active);
  Task<void> wait_for_handlers();
  void dispatch(Message message, std::shared_ptr<BatchReplies> batch);
  void on_request(Request request, std::shared_ptr<BatchReplies> batch);
  void on_response(const RequestId& id, Result<Payload> outcome);
  void on_notification(Notification notification);
  void on_progress(const Payload& params);
  Result<void> send(Message message, const std::optional<RequestId>& about = {});
  void trace(std::string_view direction, const Message& message);
  void answer(Message message, const std::shared_ptr<BatchReplies>& batch);
  void answer_batch(std::vector<Message> replies);
  void give_up_answering(const Error& why, const std::vector<RequestId>& ids);
  void tell_cancelled(std::int64_t id, const PeerCall& call, std::string_view reason);
  void expire();
  void arm(TimePoint deadline);

  asio::any_io_executor executor_;
  std::unique_ptr<Channel> channel_;
  Runtime runtime_;
  Handlers handlers_;
  Scope scope_;     // the reader and the timer
  Scope requests_;  // handlers

  std::int64_t next_id_ = 1;
  std::unordered_map<std::int64_t, Pending*> pending_;
  std::unordered_map<std::int64_t, ProgressHold*> holds_;
  std::unordered_map<std::string, Running> running_;  // their requests, by id as JSON text
  std::uint64_t next_serial_ = 1;
  std::size_t active_ = 0;  // handlers that have not ended, also cancelled ones
  Counters counters_;

  Clock& clock_;
  Timer deadline_timer_;
  TimePoint armed_for_ = TimePoint::max();
  bool trace_failed_ = false;  // that was told

  std::optional<Error> ended_;
  TimePoint ended_at_{};
  Event handlers_ended_;  // after the last
  Event ended_event_;
  Event idle_event_;
};

// What a call fails with when its time is over.
Error timed_out(std::string_view method, Duration limit);

// What a failed handler sends: the error's own JSON-RPC code, or the one its Errc stands for.
RpcError rpc_error_of(const Error& error);

}  // namespace patchbay
