// Channel: one live connection to a peer, made by a Transport. It frames messages and
// knows nothing of methods or eras. All calls on the loop thread.
//
//   send     never blocks and never waits for the peer: it queues. Errc::limit when the
//            peer has not read for so long that the queue is full, Errc::closed after the end.
//   receive  one caller at a time. Yields messages in order; throws Errc::closed (with the
//            cause: exit status, stderr tail) when the peer is gone, Errc::limit or protocol
//            when it broke a bound. After a throw every later call throws the same.
//   abandon  nobody waits for this request any more: a channel with one stream per request
//            closes that stream; others do nothing.
//   close    ends the connection within its bounded waits and returns when nothing of it is
//            left. Idempotent; a second caller waits for the first. Pending receives throw closed.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <patchbay/task.h>

#include "rpc/message.h"

namespace patchbay {

// This request's own stream ended without an answer (HTTP); its call fails with `error` now.
struct Lost {
  RequestId id;
  Error error;
};

// Several messages that came as one JSON array (one legacy revision allows it).
struct Batch {
  std::vector<Message> messages;
};

using Incoming = std::variant<Message, Lost, Batch>;

// How much a graceful close may take; quick is for a program that has printed its answer.
enum class CloseMode { graceful, quick };

class Channel {
 public:
  virtual ~Channel() = default;
  virtual Result<void> send(Message message) = 0;
  // The answers to a batch, as one array; a channel that cannot frame arrays sends them singly.
  virtual Result<void> send_batch(std::vector<Message> messages) {
    for (auto& message : messages) {
      if (auto sent = send(std::move(message)); !sent) return sent;
    }
    return {};
  }
  // The same for what concerns a request of the other side that is still being served: its
  // progress, its log, a question it raised. A channel with one stream per request sends it there.
  virtual Result<void> send_about(const RequestId& request, Message message) {
    (void)request;
    return send(std::move(message));
  }
  // The other side's request gets no answer: it was taken back.
  virtual void forget(const RequestId& request) { (void)request; }
  // The stream of this request of the other side may close before the answer; the client comes
  // back for the rest. Nothing where requests have no stream that can be resumed.
  virtual void release_stream(const RequestId& request, std::optional<std::chrono::milliseconds> retry) {
    (void)request;
    (void)retry;
  }
  virtual Task<Incoming> receive() = 0;
  // What receive() would yield without waiting, if that is known to be a message.
  virtual std::optional<Incoming> received() { return std::nullopt; }
  virtual void abandon(const RequestId& id) = 0;
  // Takes a request of ours back of which nothing has left: true, and nothing of it will be sent. A channel that cannot
  // tell says no.
  virtual bool withdraw(const RequestId& id) {
    (void)id;
    return false;
  }
  // The same for all of them; those that were taken back.
  virtual std::vector<RequestId> withdraw_all() { return {}; }
  virtual Task<void> close(CloseMode mode) = 0;
  // The negotiated revision, for transports that repeat it outside the message (HTTP headers).
  virtual void set_protocol_version(std::string_view version) { (void)version; }
  // `doubted` is called when something says that the peer has forgotten the session, without being proof of it. In the
  // middle of the channel's work: take note, act later. Channels without sessions of their own never call it.
  virtual void on_doubt(std::function<void()> doubted) { (void)doubted; }
  // What the peer wrote to stderr lately, cleaned of nothing; empty where there is none.
  virtual std::string diagnostics() const { return {}; }
  // What the peer sent that was not a message, in words that follow "it"; empty when there was nothing.
  virtual std::string skipped() const { return {}; }
};

}  // namespace patchbay
