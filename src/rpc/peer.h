// Peer: JSON-RPC over one Channel. It owns the channel, gives out ids, matches answers to
// calls, runs the other side's requests, passes progress on and cancels. It knows no
// method but the two notifications about requests themselves (cancelled, progress).
//
// Every call ends in exactly one outcome: the answer, the peer's error, timeout,
// cancelled, or closed with the channel's cause. A pending id is registered before its
// request is sent. A cancelled call returns to its caller at once; the peer is told by a
// queued notification (or by dropping the request's stream) that nobody waits for.
// Loop thread only.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <unordered_map>

#include <patchbay/task.h>

#include "base/runtime.h"
#include "base/scope.h"
#include "base/timeout.h"
#include "base/waiting.h"
#include "rpc/channel.h"

namespace patchbay {

// How the peer learns that a request is no longer wanted.
enum class CancelBy { notification, abandon, nothing };

struct PeerCall {
  std::int64_t id = 0;  // from Peer::reserve_id, so that it can serve as progress token
  std::string method;
  Payload params;
  std::vector<std::pair<std::string, std::string>> headers;  // see Request
  Duration total = Duration::max();
  Duration idle = Duration::max();  // since the request or the last progress
  CancelBy cancel_by = CancelBy::notification;
  std::function<void(const Json& params)> on_progress;
  std::optional<RequestId> about;  // the request of the other side that raised it
};

class Peer {
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
  Task<Payload> call(PeerCall call);
  // `about`: the request of the other side this belongs to, if any.
  Result<void> notify(std::string_view method, Payload params, const std::optional<RequestId>& about = {});
  // Ends one pending call with `error`, when the other side took it back by other means than
  // an answer. Nothing happens when no such call is pending.
  void fail_call(std::int64_t id, Error error);

  // Sends a request whose answer nobody waits for; it is dropped when it comes.
  Result<void> send_unawaited(std::string_view method, Payload params,
                              std::vector<std::pair<std::string, std::string>> headers = {});

  // Time as pending calls see it: it stands still while a person is asked.
  using TimePoint = std::chrono::steady_clock::time_point;
  TimePoint call_time() const;
  // Stops the clocks of pending calls while a person is asked on their behalf.
  class ClockStop {
   public:
    explicit ClockStop(Peer& peer);
    ClockStop(const ClockStop&) = delete;
    ClockStop& operator=(const ClockStop&) = delete;
    ~ClockStop();

   private:
    Peer& peer_;
  };

  // Passes progress on for a token whose request may have been answered already, because
  // what it began goes on. Made before the request is sent; the token is its id.
  class ProgressHold {
   public:
    ProgressHold(Peer& peer, std::int64_t token, std::function<void(const Json& params)> on_progress);
    ProgressHold(const ProgressHold&) = delete;
    ProgressHold& operator=(const ProgressHold&) = delete;
    ~ProgressHold();
    // When there was progress last, in call_time().
    TimePoint last() const noexcept { return last_; }

   private:
    friend class Peer;
    Peer& peer_;
    std::int64_t token_;
    std::function<void(const Json& params)> on_progress_;
    TimePoint last_;
  };

  // Fails pending calls, cancels running handlers, closes the channel, returns when all of
  // that has ended. `why` is what pending calls fail with.
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
    // In call_time().
    TimePoint total_end = TimePoint::max();
    TimePoint idle_end = TimePoint::max();
  };
  struct BatchReplies;
  struct Active;
  struct Running {
    Spawned spawned;
    std::uint64_t serial = 0;  // ids may come again; this does not
  };

  Task<void> read();
  void take(Incoming incoming);
  Task<void> take_batch(Batch batch);
  Task<void> watch_deadlines();
  Task<Payload> handle(Request request);
  Task<void> run_request(Request request, std::shared_ptr<BatchReplies> batch, std::uint64_t serial, Active active);
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
  void end(const Error& error);
  void expire();
  void arm(TimePoint deadline);
  void set_timer(TimePoint deadline);

  asio::any_io_executor executor_;
  std::unique_ptr<Channel> channel_;
  Runtime runtime_;
  Handlers handlers_;
  Scope scope_;

  std::int64_t next_id_ = 1;
  std::unordered_map<std::int64_t, Pending*> pending_;
  std::unordered_map<std::int64_t, ProgressHold*> holds_;
  std::unordered_map<std::string, Running> running_;  // their requests, by id as JSON text
  std::uint64_t next_serial_ = 1;
  std::size_t active_ = 0;  // handlers that have not ended, also cancelled ones
  Counters counters_;

  asio::steady_timer deadline_timer_;
  TimePoint armed_for_ = TimePoint::max();  // in call_time()
  int clock_stops_ = 0;
  TimePoint stopped_at_{};
  Duration stopped_for_{};  // all stops that have ended

  std::optional<Error> ended_;
  Event ended_event_;
  Event idle_event_;
};

// What a failed handler sends: the error's own JSON-RPC code, or the one its Errc stands for.
RpcError rpc_error_of(const Error& error);

}  // namespace patchbay
