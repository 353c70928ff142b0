// HttpDoor: a server behind one URL, for both eras. It lets requests in (names, then who),
// reads them, and tells the eras apart: a modern request is a connection of its own that ends
// with its answer; the others belong to sessions. Made by Server::serve_http, which stops it;
// loop thread only.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

#include <patchbay/server_http.h>

#include "base/apart.h"
#include "base/runtime.h"
#include "base/scope.h"
#include "http/server/http_server.h"
#include "server/core.h"
#include "server/http_checks.h"
#include "server/http_session.h"

namespace patchbay {

// What a channel of the door carries: the connection of a session, or one request, whose answer ends it.
enum class DoorChannel { session, one_request };
// Serves one channel, instead of a Server.
using ServeDoorChannel = std::function<Task<void>(std::unique_ptr<Channel> channel, DoorChannel kind)>;

class HttpDoor {
 public:
  HttpDoor(std::shared_ptr<ServerCore> core, asio::any_io_executor executor, ServerHttpOptions options,
           const Runtime& runtime);
  // For whoever serves channels himself, such as one who answers from a recording. There is no Server.
  HttpDoor(ServeDoorChannel serve, asio::any_io_executor executor, ServerHttpOptions options, const Runtime& runtime)
      : HttpDoor(std::shared_ptr<ServerCore>(), std::move(executor), std::move(options), runtime) {
    serve_ = std::move(serve);
  }
  HttpDoor(const HttpDoor&) = delete;
  HttpDoor& operator=(const HttpDoor&) = delete;
  ~HttpDoor();

  // Listens and serves until cancelled; then running requests may finish within the grace.
  Task<void> run();

  std::size_t sessions() const noexcept { return sessions_.size(); }

 private:
  struct OneRequest;
  class OneRequestChannel;

  struct Presence;

  Task<void> handle(ServerExchange& exchange);
  // refuse_by_name(), which is not asked again about the name that was let in last.
  std::optional<std::string> refused(const HttpHeaders& headers);
  Task<void> post(ServerExchange& exchange, std::string principal);
  Task<void> modern(ServerExchange& exchange, Message message, std::string principal, AcceptedTypes accepted);
  Task<void> legacy(ServerExchange& exchange, Decoded decoded, std::string principal, AcceptedTypes accepted);
  Task<void> get(ServerExchange& exchange, std::string principal);
  void remove(ServerExchange& exchange, const std::string& principal);
  // The session the request names, or null after an answer that says why there is none.
  std::shared_ptr<HttpSession> session_of(ServerExchange& exchange, const std::string& principal);
  std::shared_ptr<HttpSession> open_session(ServerExchange& exchange, std::string principal);
  Task<void> run_session(std::shared_ptr<HttpSession> session);
  Task<void> tend();

  std::shared_ptr<ServerCore> core_;  // null: serve_ is set
  ServeDoorChannel serve_;
  ServerHttpOptions options_;
  Runtime runtime_;
  const Clock& clock_;
  HttpGate gate_;
  std::string let_in_;  // the Host of a request without an Origin that was let in
  Scope scope_;
  Scope tending_;
  Apart authorizing_;
  HttpServer server_;
  std::shared_ptr<ReplayTotal> replay_total_ = std::make_shared<ReplayTotal>();
  std::map<std::string, std::shared_ptr<HttpSession>, std::less<>> sessions_;
  std::set<OneRequest*> requests_;
  std::map<std::string, std::size_t, std::less<>> present_;  // requests being answered, by principal
  bool stopping_ = false;
};

}  // namespace patchbay
