// SessionOwner: what the handles of one Session share. It owns the connection there is now (SessionCore) and opens
// another one when the server has forgotten the session (client/renewal.h), and it owns what outlives a connection:
// what the server listed, the program's handlers, watches and tasks. It hears what arrives and hands it to the part
// that it is for. Kept alive by its Session and by everything that runs; loop thread only.
#pragma once

#include <memory>
#include <optional>

#include <patchbay/client.h>

#include "base/runtime.h"
#include "base/scope.h"
#include "base/waiting.h"
#include "client/answers.h"
#include "client/connect.h"
#include "client/received_tasks.h"
#include "client/remote_tasks.h"
#include "client/renewal.h"
#include "client/server_lists.h"
#include "client/session_core.h"
#include "client/watch.h"

namespace patchbay {

class SessionOwner : public std::enable_shared_from_this<SessionOwner> {
 public:
  SessionOwner(asio::any_io_executor executor, const Runtime& runtime, const ClientOptions& options,
               std::shared_ptr<Transport> transport, RenewalRule renewal = {});

  // Opens and negotiates, within limits.connect. On failure nothing is left running.
  Task<void> connect();
  // Ends everything now and for good: calls fail, handlers are cancelled, nothing new begins.
  void end();
  // The same, and waits for the channel, for our own coroutines and, so long as limits.exit_after_eof, for the
  // program's handlers; one that calls this itself does not wait for any of them (docs/adr/0007).
  Task<void> close(CloseMode mode);
  // The last handle is gone: the same from now on, by a coroutine that keeps this alive until it has ended.
  void close_behind();
  bool closing() const noexcept { return closing_; }
  // Whether calls cannot succeed any more. A forgotten session is replaced by the next call.
  bool closed() const noexcept { return closing_ || (peer()->closed() && !renewal_.needed()); }

  // The connection of now. A renewal puts another one in its place: whoever refers to it, or to its peer,
  // over a wait keeps a copy.
  const std::shared_ptr<SessionCore>& core() const noexcept { return core_; }
  const Wire& wire() const noexcept { return *core_->wire(); }
  const std::shared_ptr<Peer>& peer() const noexcept { return core_->peer(); }
  const std::shared_ptr<const ServerDescription>& server() const noexcept { return core_->server(); }

  const asio::any_io_executor& executor() const noexcept { return scope_.executor(); }
  const Runtime& runtime() const noexcept { return runtime_; }
  const Clock& clock() const noexcept { return clock_; }
  const ClientOptions& options() const noexcept { return *options_; }
  const ClientIdentity& identity() const noexcept { return identity_; }
  // The one that worked, once one has.
  const std::shared_ptr<Transport>& transport() const noexcept { return transport_; }
  const std::optional<LoggingLevel>& log_level() const noexcept { return log_level_; }
  void set_log_level(LoggingLevel level);

  ServerLists& lists() noexcept { return lists_; }
  Answers& answers() noexcept { return answers_; }
  ReceivedTasks& received_tasks() noexcept { return received_; }
  TaskSignals& task_signals() noexcept { return task_signals_; }
  Watches& watches() noexcept { return watches_; }
  Renewal& renewal() noexcept { return renewal_; }
  Scope& scope() noexcept { return scope_; }  // what belongs to the session: watches, renewals

  // For every request, whoever makes it (client/exchange).
  void on_outcome(OnOutcome told) { outcome_ = std::move(told); }
  void tell_outcome(const Error* error) const {
    if (outcome_ && !closing_) outcome_(error);
  }
  // What the protocol has no word for.
  void on_other(OnOther told) { other_ = std::move(told); }
  // Held while a request, or a task it became, is under way.
  class Use {
   public:
    explicit Use(SessionOwner& session) noexcept : session_(session) { ++session_.uses_; }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;
    ~Use() {
      if (--session_.uses_ == 0) session_.unused_.notify_all();
    }

   private:
    SessionOwner& session_;
  };
  // Returns when nothing is under way. Watches do not count.
  Task<void> wait_unused();

  // Takes out the tools that cannot be called over this connection. `all`: there are no others.
  void note_routing(std::vector<Tool>& tools, std::vector<DecodeProblem>& problems, bool all);
  // Lists the tools anew for what they say about calling them.
  Task<void> relist_tools();

  // Takes over the watches of an older session with the same server, which has ended, that somebody still holds. What
  // the server refuses is logged. Each watch is of one session: those that are left when this one ends stay there.
  Task<void> take_over(std::shared_ptr<SessionOwner> older);

  // Something has changed: what is kept of it is dropped, and the program is notified.
  void announce(const Change& change);

  // For negotiation: a fresh connection, whose end is reported to `ended` while it is not settled. It is closed
  // with this session, or by close_opening().
  Task<std::shared_ptr<SessionCore>> open_core(std::shared_ptr<Transport> transport,
                                               std::function<void(const Error&)> ended);
  Task<void> close_opening(CloseMode mode);
  // It is negotiated: the connection of now.
  void adopt(std::shared_ptr<SessionCore> core);
  // Opens and negotiates, whatever there was before.
  Task<void> open_and_settle();
  // The end of the session, as the program hears of it.
  void tell_lost(const Error& error);

 private:
  Task<Payload> on_request(std::shared_ptr<SessionCore> core, Request request);
  void on_notification(SessionCore& core, Notification notification);
  void on_closed(SessionCore& core, const Error& error);
  Peer::ClockStop stop_clocks(SessionCore& core, const Request& request, const Json& params);

  Runtime runtime_;
  const Clock& clock_;
  std::shared_ptr<const ClientOptions> options_;
  ClientIdentity identity_;
  std::shared_ptr<Transport> transport_;
  std::shared_ptr<SessionCore> core_;     // negotiated
  std::shared_ptr<SessionCore> opening_;  // being negotiated
  std::optional<LoggingLevel> log_level_;
  ServerLists lists_;
  Answers answers_;
  ReceivedTasks received_;
  TaskSignals task_signals_;
  Watches watches_;
  OnOutcome outcome_;
  OnOther other_;
  std::size_t uses_ = 0;
  Event unused_;
  bool closing_ = false;
  Scope scope_;
  Renewal renewal_;
};

// From now on; servers without logging answer Errc::unsupported.
Task<void> choose_log_level(SessionOwner& session, LoggingLevel level);

// The library's way to make a Session.
struct SessionAccess {
  static Session make(std::shared_ptr<SessionOwner> owner);
  static Task<void> take_over(Session older, Session newer);
  static bool is_watched(const Session& session);  // by somebody who holds a Watch of it
  static Task<void> wait_unused(Session session);
  static std::optional<LoggingLevel> log_level(const Session& session);
  // A notification that the protocol has no word for. Errc::closed: nobody is there any more.
  static Result<void> notify(const Session& session, std::string_view method, Payload params);
};

}  // namespace patchbay
