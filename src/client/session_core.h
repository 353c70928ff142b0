// SessionCore: what the handles of one Session share: the peer, the wire that was
// negotiated, the cache and the watches. Its methods are the untyped middle of every typed
// one in session.cpp. It is filled by client/negotiate and kept alive by its Session; loop
// thread only.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <patchbay/client.h>

#include "base/runtime.h"
#include "base/scope.h"
#include "client/cache.h"
#include "protocol/wire.h"
#include "rpc/peer.h"

namespace patchbay {

struct RequestSettings {
  Duration total = Duration::max();
  Duration idle = Duration::max();
  std::function<void(const Progress&)> on_progress;
};

class SessionCore : public std::enable_shared_from_this<SessionCore> {
 public:
  SessionCore(asio::any_io_executor executor, const Runtime& runtime, const ClientOptions& options,
              std::shared_ptr<Transport> transport);

  // Opens and negotiates, within limits.connect. On failure nothing is left running.
  Task<void> connect();
  // One attempt of the above: a fresh channel with a reading peer.
  Task<void> open_channel();
  Task<void> close_channel(CloseMode mode);

  // Sends a request and returns its result without envelope, having answered whatever the
  // server asked back meanwhile (client/input_loop.cpp). `asked` tells whether it did.
  // With `plain`, the result of a call that is nothing but text may go there at once; null is
  // returned then, which no result is.
  Task<Json> request(std::string_view method, Members members, RequestSettings settings, bool* asked = nullptr,
                     CallToolResult* plain = nullptr);
  // Through the cache: `key` names the request among those that may be answered from it.
  Task<Json> cached_request(std::string_view method, Members members, std::string key, RequestSettings settings);
  // One request, one answer, no asking back; for negotiation.
  Task<Json> bare_request(const Wire& with, std::string_view method, Members members, RequestSettings settings,
                          CancelBy cancel_by);

  Task<void> close(CloseMode mode);

  // Something is out of date: forgets what is cached of it and tells the program.
  void announce(const Change& change);

  // Answers what a server asks of us, in either era (client/answers.cpp).
  Task<InputResponse> answer(InputRequest request);

  RequestSettings settings_for(const CallOptions& options, std::chrono::milliseconds standard) const;

  asio::any_io_executor executor;
  Runtime runtime;
  ClientOptions options;
  ClientIdentity identity;
  std::shared_ptr<Transport> transport;
  std::unique_ptr<Peer> peer;
  const Wire* wire = nullptr;  // set when negotiated
  ServerDescription server;
  Cache cache;
  std::optional<LoggingLevel> log_level;
  std::function<void(const Error&)> on_channel_end;  // used while negotiating
  // Open watches by listen id: where their acknowledgement goes.
  struct OpenWatch {
    std::function<void(const SubscriptionFilter&)> acknowledged;
  };
  std::unordered_map<std::int64_t, OpenWatch> watches;
  std::map<std::string, std::size_t> subscriptions;  // legacy: watches per subscribed URI
  Scope scope;                                       // watches live here
  bool closing = false;

 private:
  // Writes the params now; the request goes out when the task is awaited.
  Task<Payload> send_request(const Wire& with, std::string_view method, const Members& members,
                             const RequestSettings& settings, CancelBy cancel_by);
  Task<Payload> on_request(Request request);
  void on_notification(Notification notification);
  void on_closed(const Error& error);
};

// What we tell servers we can do, from the handlers that are set.
ClientCapabilities capabilities_of(const ClientOptions& options);

}  // namespace patchbay
