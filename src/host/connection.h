// Connection: one server's life inside a Host, from its entry to its end. It connects when
// first needed, shares that attempt among all who ask, lists the tools and keeps what is
// known for status(). Owned by the Host; loop thread only. It does not name tools or route
// calls.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include <patchbay/host.h>

#include "base/runtime.h"
#include "base/scope.h"
#include "base/semaphore.h"
#include "base/waiting.h"
#include "rpc/channel.h"

namespace patchbay {

class Connection {
 public:
  struct Parts {
    ServerConfig config;  // as written; for in-process servers only the name counts
    std::string shown;    // the command line or URL, for people
    std::shared_ptr<Transport> transport;
    // Makes one for every attempt when there is no `transport`: secrets are fetched then, and not before.
    std::function<Task<std::shared_ptr<Transport>>(Runtime)> make_transport;
    std::optional<Error> unusable;
    NamePrefix prefix = NamePrefix::server;
    bool approved = true;
    std::function<Task<bool>(const ServerConfig&)> approve;
    bool follow_changes = true;
    std::function<void(Connection&)> on_change;  // state or tools are different now
    // What an attempt came to, nothing being success, or why the connection was lost. An attempt waits for it.
    std::function<Task<void>(std::optional<Error>)> note;
  };

  // What is known of a server that nobody has asked for yet.
  static ServerStatus initial_status(const Parts& parts);

  Connection(asio::any_io_executor executor, const Runtime& runtime, ClientOptions client, Semaphore& slots,
             Parts parts);

  const std::string& name() const noexcept { return parts_.config.name; }
  const ServerConfig& config() const noexcept { return parts_.config; }
  NamePrefix prefix() const noexcept { return parts_.prefix; }
  const std::vector<std::shared_ptr<const Tool>>& tools() const noexcept { return tools_; }
  ServerStatus status() const;
  bool connected() const noexcept { return state_ == ServerState::connected; }
  // Whether ensure() may have another outcome than last time. Who merely looks for something
  // should not wait again for a server that cannot be started.
  bool worth_trying() const noexcept { return !attempt_failed_ && state_ != ServerState::disabled; }

  // Returns when the server is connected; throws why it is not. Idempotent.
  Task<Session> ensure();

  Task<void> close(CloseMode mode);

  // Held while something goes on that must not be cut off when the entry is changed or removed.
  class Use {
   public:
    explicit Use(Connection& connection) noexcept : connection_(connection) { ++connection_.uses_; }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;
    ~Use() {
      if (--connection_.uses_ == 0) connection_.unused_.notify_all();
    }

   private:
    Connection& connection_;
  };
  // Another one has taken its place: it tells nobody of changes any more. Returns when it is not in use.
  Task<void> fade();

 private:
  Task<void> attempt();
  Task<void> note(std::optional<Error> error);
  Task<void> connect();
  Task<void> list_tools(Session session);
  Task<void> follow(Session session);
  Task<void> refresh_later();
  static Task<void> end(Session session, CloseMode mode);
  void retire_session();
  void settle(ServerState state, std::string reason, std::optional<Error> error = {});
  void on_lost(const Error& error);
  void on_server_change(const Change& change);

  asio::any_io_executor executor_;
  Runtime runtime_;
  ClientOptions client_;
  Semaphore& slots_;
  Parts parts_;

  ServerState state_ = ServerState::pending;
  std::string reason_ = "not started";
  std::optional<Error> error_;
  std::optional<Session> session_;  // also while its tools are being listed
  std::optional<Error> lost_;       // why the session ended by itself
  std::vector<std::shared_ptr<const Tool>> tools_;
  bool attempting_ = false;
  bool attempt_failed_ = false;
  bool closing_ = false;
  bool refresh_scheduled_ = false;
  Event settled_;
  std::size_t uses_ = 0;
  Event unused_;
  Scope scope_;
};

}  // namespace patchbay
