// Connection: one server's life inside a Host, from its entry to its end. It connects when
// first needed, shares that attempt among all who ask, lists the tools and, once they are asked for, prompts,
// resources and their templates, and keeps what is known for status(). What it does next is decided by
// host/connection_state.h; here it is carried out. Owned by the Host; loop thread only. It does not name tools or route
// calls.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <patchbay/host.h>

#include "base/runtime.h"
#include "base/scope.h"
#include "base/semaphore.h"
#include "base/waiting.h"
#include "host/connection_state.h"
#include "host/pins/pinned_tools.h"
#include "host/relisting.h"
#include "rpc/call_clock.h"
#include "rpc/channel.h"
#include "rpc/channel_tap.h"

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
    std::optional<Error> refused;  // its credentials, in an earlier run: how it is until it is asked again
    // What it listed in an earlier run, or under an earlier entry: offered until it has listed its tools itself.
    std::vector<std::shared_ptr<const Tool>> earlier_tools;
    NamePrefix prefix = NamePrefix::server;
    bool approved = true;
    std::function<Task<bool>(ApprovalQuestion)> approve;
    bool follow_changes = true;
    bool by_itself = false;                      // comes back after a loss without being asked
    std::optional<ConnectionRule> rule = {};     // for tests; unset: the ordinary one
    std::function<void(Connection&)> on_change;  // state or tools are different now
    std::function<void(Connection&, ListKind)> on_list_change;
    // What an attempt came to, nothing being success, or why the connection was lost. An attempt waits for it.
    std::function<Task<void>(std::optional<Error>)> note;
    // What is offered of the tools it lists (host/pins); unset: all of them.
    std::function<Task<PinnedTools>(ServerDescription, std::vector<std::shared_ptr<const Tool>>)> pin = {};
    // What it tells that the protocol has no word for; unset: nobody is told.
    std::function<void(const ServerDescription&, const std::string& method, const Payload& params)> on_other = {};
    // Sees every message of every channel to it; null: nobody does.
    std::shared_ptr<ChannelTap> tap = {};
    std::shared_ptr<const TraceContext> trace_context = {};  // of its requests
  };

  // What is known of a server that nobody has asked for yet.
  static ServerStatus initial_status(const Parts& parts);

  Connection(asio::any_io_executor executor, const Runtime& runtime, ClientOptions client, Semaphore& slots,
             Parts parts);

  const std::string& name() const noexcept { return parts_.config.name; }
  const ServerConfig& config() const noexcept { return parts_.config; }
  NamePrefix prefix() const noexcept { return parts_.prefix; }
  const std::vector<std::shared_ptr<const Tool>>& tools() const noexcept { return tools_; }
  // Whether this connection has listed them; if not, they are those of an earlier run or of an earlier entry.
  bool has_listed() const noexcept { return has_listed_; }
  ServerStatus status() const;
  bool connected() const noexcept { return state_.state == ServerState::connected; }
  // Whether there is a session. One that refused credentials may take them the next time.
  bool open() const noexcept { return state_.doing == ConnectionState::Doing::open; }
  // Whether ensure() may have another outcome than last time. Who merely looks for something
  // should not wait again for a server that cannot be started, nor for one whose tools are known.
  bool worth_trying() const noexcept {
    return !attempt_failed_ && state_.state != ServerState::disabled && state_.doing != ConnectionState::Doing::pausing;
  }

  // Returns when the server is connected; throws why it is not. Idempotent. After a call that was refused it connects
  // anew, with credentials that are fetched anew. Waits for a server that is coming back.
  // `time` of who waits stops while a person is asked whether the server may be started; `context` is the call
  // that the question names.
  Task<Session> ensure(std::shared_ptr<CallClock> time = nullptr, CallContext context = {});
  // The session while it is connected.
  const Session* session() const noexcept { return connected() && session_ ? &*session_ : nullptr; }
  // Asks once more for tools that could not be listed, for whoever looks for one of them; throws why that failed, or
  // why there is nobody to ask.
  Task<void> list_again();
  // What it listed last, looked at once more: somebody may have agreed to it.
  Task<void> pin_again();
  // The other lists: see Host.
  Task<ServerList<Prompt>> prompts() { return list(prompts_); }
  Task<ServerList<Resource>> resources() { return list(resources_); }
  Task<ServerList<ResourceTemplate>> resource_templates() { return list(templates_); }
  // A new connection, whatever there is; returns when it is made, throws why it is not.
  Task<void> reconnect();

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
  // Another one has taken its place: it tells nobody of changes any more and is not opened again; who waits for that
  // gets Errc::closed. Returns when it is not in use.
  Task<void> fade();

 private:
  // Somebody in ensure().
  class Waiting {
   public:
    Waiting(Connection& connection, std::shared_ptr<CallClock> time) : connection_(connection), time_(std::move(time)) {
      connection_.waiting_.insert(this);
      hold(connection_.asking_);
    }
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;
    ~Waiting() { connection_.waiting_.erase(this); }
    void hold(bool asking) {
      stop_.reset();
      if (asking) stop_.emplace(time_);
    }

   private:
    Connection& connection_;
    std::shared_ptr<CallClock> time_;
    std::optional<CallClock::Stop> stop_;
  };
  void set_asking(bool asking);

  // What happened: decides, and carries out what follows.
  void apply(const ConnectionEvent& event);
  void carry_out(ConnectionAction action);
  void set_alarm();
  Task<void> wait_until(Clock::TimePoint due, std::uint64_t alarm);
  // While a local server has failed: notices when the files of its program are others.
  void watch_program();
  Task<void> wait_for_program(std::shared_ptr<Transport> transport, std::string before);
  bool waits_for_program() const noexcept;
  [[noreturn]] void throw_off() const;  // why it is never started
  // Whether it is never opened again.
  bool over() const noexcept { return closing_ || (fading_ && !connected()); }
  void require_not_over() const;

  Task<void> attempt(CallContext context);
  Task<void> be_approved(CallContext context);
  Task<void> note(std::optional<Error> error);
  // Nothing, or why its tools are not known.
  Task<std::optional<Error>> connect(CallContext context);
  using Tools = std::vector<std::shared_ptr<const Tool>>;
  // What is offered of its tools.
  Task<PinnedTools> fetch_tools(Session session);
  Task<PinnedTools> pinned(ServerDescription server, Tools listed);
  Task<PinnedTools> look_at_listed();
  void keep_to_entry(Tools& tools) const;
  void take(PinnedTools tools);
  Task<void> refresh_tools();
  // One list beside the tools, as it was fetched last.
  template <class T>
  struct Kept {
    Kept(Connection& connection, ListKind k)
        : kind(k),
          again(
              connection.scope_, [&connection] { return connection.open(); },
              [&connection, this] { return connection.refresh(*this); }) {}
    ListKind kind;
    ServerList<T> list;
    std::uint64_t opened = 0;  // the session that it was fetched on
    bool wanted = false;       // somebody has asked for it
    bool heard = false;        // the server of now tells when it changes
    Relisting again;
  };
  template <class T>
  Task<ServerList<T>> list(Kept<T>& kept);
  template <class T>
  Task<void> refresh(Kept<T>& kept);
  template <class T>
  static void mark_stale(Kept<T>& kept);
  template <class T, class Method>
  Task<Listing<T>> list_with_tries(Session session, Method method, std::string_view what);
  template <class Function>
  void for_each_list(Function function) {
    function(prompts_);
    function(resources_);
    function(templates_);
  }
  Task<void> begin_following(Session session);
  Task<void> follow(Session session, SubscriptionFilter filter, std::shared_ptr<Completion<bool>> answered);
  void on_list_changed(std::uint64_t opened, Change::Kind kind);
  void relist_after_opening();
  void drop_lists();
  static Task<void> end(Session session, CloseMode mode);
  // Ends a session when nothing is under way on it; what is watched on it is watched on the one that takes its place.
  Task<void> leave(Session session);
  std::optional<Session> take_session();
  ClientOptions client_for(std::uint64_t opened);
  void on_lost(std::uint64_t opened, const Error& error);
  void request_ended(std::uint64_t opened, const Error* error);

  asio::any_io_executor executor_;
  Runtime runtime_;
  ClientOptions client_;
  Semaphore& slots_;
  Parts parts_;
  ChannelTaps taps_;  // the one above, and --trace

  ConnectionRule rule_;
  ConnectionState state_;
  std::optional<Session> session_;              // also while its tools are being listed
  std::optional<Error> lost_;                   // why the session ended by itself
  Tools tools_;                                 // of a server that is gone those it had
  bool has_listed_ = false;                     // the server itself, not a run or an entry before
  Tools listed_;                                // where tools are pinned: as it listed them
  std::optional<ServerDescription> described_;  // then as well: by the server that listed them
  Semaphore pinning_{1};                        // an older list is never looked at behind a newer one
  std::optional<Error> changed_;                // some of what the attempt listed waits for somebody to agree
  std::optional<std::string> instructions_;     // in place of those it has now, which nobody has agreed to
  std::shared_ptr<Transport> tried_;            // by the last attempt
  bool watching_program_ = false;
  CallContext on_behalf_;                  // of whoever wanted the attempt
  std::optional<Clock::TimePoint> alarm_;  // what is waited for
  std::uint64_t alarms_ = 0;               // counts them: an older one is not this one
  Spawned waiting_for_alarm_;
  bool asking_ = false;  // a person, whether it may be started
  std::set<Waiting*> waiting_;
  bool attempt_failed_ = false;
  bool closing_ = false;
  bool fading_ = false;       // another one has its place
  Spawned attempt_;           // the last one
  std::uint64_t opened_ = 0;  // counts sessions: news of an older one is not news of this one
  Event settled_;
  std::size_t uses_ = 0;
  Event unused_;
  Scope scope_;
  Relisting tools_again_;
  Kept<Prompt> prompts_;
  Kept<Resource> resources_;
  Kept<ResourceTemplate> templates_;
};

}  // namespace patchbay
