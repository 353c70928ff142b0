// The Streamable HTTP transport, for both protocol eras. Every request is a POST of its own,
// answered by one JSON body or by a stream of events that ends in the answer; when that
// stream dies, that call is lost and no other.
//
// What only an older server has stays in here: the session id it hands out with the answer
// to `initialize`, the GET stream for what belongs to no call, resuming a broken stream by
// the id of its last event, and DELETE at the end. A request that meets a session the server has
// forgotten (404, unless the body says that it does not know the method) is lost with Errc::closed, that status and
// CarriedOut::no, and so is every later one: the client opens a new session. What was under way then may have been
// carried out. Where something else than a request meets a 404, that is a reason for doubt and no more
// (Channel::on_doubt).
//
// Loop thread only. Methods matter here only where the transport is tied to them:
// `initialize`, after which a session exists, its notification, and the request to listen, whose
// stream ends when it stops showing signs of life (StreamPulse).
#pragma once

#include <memory>

#include "base/runtime.h"
#include "http/auth.h"
#include "http/chatter.h"
#include "rpc/transport.h"
#include "transport/stream_pulse.h"
#include "transport/targets.h"

namespace patchbay {

// Waits of one channel that are no limits of a call. Tests have shorter ones.
struct HttpWaits {
  PulseRule pulse;                            // of the streams that belong to no call
  Duration answer = std::chrono::seconds(5);  // for an answer of ours to be taken, when many wait behind it
  Duration resume = Duration::max();          // the longest pause before a stream is asked for again
  ChatterRule chatter;                        // what a stream may bring that is no message
};

class HttpChannel final : public Channel {
 public:
  HttpChannel(asio::any_io_executor executor, HttpTarget options, std::shared_ptr<HttpAuth> auth, Runtime runtime,
              HttpWaits waits = {});
  ~HttpChannel() override;

  Result<void> send(Message message) override;
  Result<void> send_batch(std::vector<Message> messages) override;
  Task<Incoming> receive() override;
  std::optional<Incoming> received() override;
  void abandon(const RequestId& id) override;
  bool withdraw(const RequestId& id) override;
  std::vector<RequestId> withdraw_all() override;
  Task<void> close(CloseMode mode) override;
  void set_protocol_version(std::string_view version) override;
  void on_doubt(std::function<void()> doubted) override;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

// With sign-in; http_transport() in the public header is the same without.
std::unique_ptr<Transport> http_transport_with(HttpTarget options, std::shared_ptr<HttpAuth> auth);
std::unique_ptr<Transport> sse_transport_with(HttpTarget options, std::shared_ptr<HttpAuth> auth);

// Errc::config when the text cannot be the URL of a server; says why.
Result<void> check_server_url(std::string_view url);

}  // namespace patchbay
