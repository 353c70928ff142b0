// WebSocket: text messages both ways over a ByteStream (RFC 6455). It frames, answers pings, pings
// when the other side has been silent and gives it up when nothing comes back, and closes by
// the book within bounds. Transports use it; loop thread only; knows nothing of JSON.
//
//   send     queues and never waits. Errc::limit when too much is queued for a peer that does
//            not read, Errc::closed after the end.
//   receive  one caller at a time; pings are answered while somebody receives. Throws Errc::closed
//            with code and reason when the peer closed, Errc::limit or protocol when it broke a
//            rule (it learns which), and the same ever after.
//   close    says goodbye, waits for the other side to do the same within `limit`, and returns when
//            nothing is left. A second caller waits for the first.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <variant>

#include <patchbay/task.h>

#include "base/log.h"
#include "base/timeout.h"
#include "http/chatter.h"
#include "http/client/byte_stream.h"
#include "http/message.h"
#include "http/url.h"
#include "ws/frames.h"

namespace patchbay {

struct WebSocketSettings {
  WebSocketRole role = WebSocketRole::client;
  std::string shown;  // the other side, in messages
  std::size_t message_limit = 64u << 20;
  std::size_t outgoing_limit = 64u << 20;
  std::size_t buffered_limit = 256u << 20;         // of the process, see base/byte_budget.h
  Duration ping_after = std::chrono::seconds(30);  // of silence; Duration::max(): never
  Duration pong_wait = std::chrono::seconds(20);   // for anything at all to come back
  ChatterRule chatter;                             // pings and pongs between messages
  Random random = system_random();
  Log log;
};

class WebSocket {
 public:
  // On a stream whose handshake is done; `begun` is what came right behind that.
  WebSocket(asio::any_io_executor executor, std::unique_ptr<ByteStream> stream, WebSocketSettings settings,
            std::string begun = {});
  WebSocket(const WebSocket&) = delete;
  WebSocket& operator=(const WebSocket&) = delete;
  // Drops the connection.
  ~WebSocket();

  Result<void> send(std::string_view text);
  Task<std::string> receive();
  Task<void> close(Duration limit);
  const std::string& shown() const noexcept;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

// A server that answered the handshake with an ordinary HTTP answer.
struct WebSocketRefusal {
  HttpHead head;
  std::string body;  // what arrived of it, within bounds
};
using WebSocketAnswer = std::variant<std::unique_ptr<WebSocket>, WebSocketRefusal>;

struct WebSocketTarget {
  Url url;              // ws or wss
  HttpHeaders headers;  // sent with the handshake
  HttpClientOptions way;
  Duration connect = std::chrono::seconds(30);    // name, TCP, proxy and TLS
  Duration handshake = std::chrono::seconds(30);  // from there to the head of the answer
};

// Redirects are an answer like any other: none is followed.
Task<WebSocketAnswer> open_websocket(WebSocketTarget target, WebSocketSettings settings);

}  // namespace patchbay
