// HttpSession: one client of the session era over HTTP. It is the channel's other side: what
// the connection sends is put on the stream of the request it belongs to, what belongs to
// none on the stream the client opened with GET. A stream outlives its TCP connection: a
// client that comes back with the id of the last event it saw gets what it missed.
//
// A request is answered as one JSON body, unless something about it is sent before, or it
// takes long: then its answer becomes an event stream. Owned by the door; loop thread only.
#pragma once

#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "base/runtime.h"
#include "base/waiting.h"
#include "http/server/http_server.h"
#include "protocol/wire.h"
#include "rpc/channel.h"
#include "server/http_checks.h"
#include "server/replay.h"

namespace patchbay {

struct HttpSessionOptions {
  std::size_t replay = 1u << 20;
  std::chrono::milliseconds reconnect{1'000};
  std::chrono::milliseconds keep_alive{15'000};
};

class HttpSession final : public std::enable_shared_from_this<HttpSession> {
 public:
  HttpSession(std::string id, std::string principal, HttpSessionOptions options, std::shared_ptr<ReplayTotal> total,
              const Runtime& runtime, const Clock& clock);
  HttpSession(const HttpSession&) = delete;
  HttpSession& operator=(const HttpSession&) = delete;
  ~HttpSession();

  const std::string& id() const noexcept { return id_; }
  const std::string& principal() const noexcept { return principal_; }
  bool ended() const noexcept { return end_.has_value(); }
  bool allows_batches() const noexcept { return wire_ && wire_->allows_batches(); }
  // Whether `initialize` has been answered with a result.
  bool open() const noexcept { return wire_ != nullptr; }

  // The channel of the connection that serves it. Once.
  std::unique_ptr<Channel> make_channel();

  // A POST with at least one request: returns when its answers are on their way, or its
  // connection is gone or was let go. The caller has checked that none of the ids is in use.
  Task<void> serve_requests(ServerExchange& exchange, Incoming incoming, AcceptedTypes accepted);
  // Notifications and answers.
  void take(Incoming incoming);
  bool in_use(const RequestId& id) const;
  // A GET: the stream for what belongs to no request, or the rest of one that broke off.
  Task<void> serve_stream(ServerExchange& exchange, std::optional<std::string> last_event);

  // Nothing more comes from the client. Errc::closed lets running requests finish.
  void end(Error error);
  // Signs of life on silent streams.
  void tend(std::chrono::steady_clock::time_point now);
  // When a connection was last seen; now while one is there.
  std::chrono::steady_clock::time_point last_seen() const;

 private:
  friend class SessionChannel;
  struct Stream;
  struct Attached;
  using StreamPtr = std::shared_ptr<Stream>;

  Result<void> route(const std::optional<RequestId>& about, Message message);
  Result<void> answer(const RequestId& id, std::string text);
  Result<void> answer_batch(std::vector<Message> messages);
  void forget(const RequestId& id);
  void release(const RequestId& id, std::optional<std::chrono::milliseconds> retry);
  Task<Incoming> receive();

  StreamPtr stream_of(const RequestId& id) const;
  void begin_events(Stream& stream);
  void write_event(Stream& stream, std::string_view text);
  void answered(const StreamPtr& stream, const std::string& key);
  void finish(const StreamPtr& stream);
  void detach(Stream& stream);
  HttpHeaders headers() const;

  std::string id_;
  std::string principal_;
  HttpSessionOptions options_;
  Runtime runtime_;
  const Clock& clock_;
  const Wire* wire_ = nullptr;

  std::deque<Incoming> inbox_;
  Event arrived_;
  std::optional<Error> end_;

  std::map<std::uint64_t, StreamPtr> streams_;   // with requests that are not answered yet
  std::map<std::string, StreamPtr> by_request_;  // by id as JSON
  std::uint64_t next_stream_ = 1;
  StreamPtr standalone_;  // number 0
  ReplayBuffer replay_;
  ReplayBuffer standalone_replay_;
  std::size_t attached_ = 0;
  std::chrono::steady_clock::time_point last_seen_;
};

}  // namespace patchbay
