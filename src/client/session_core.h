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
#include <unordered_map>
#include <variant>

#include <patchbay/client.h>

#include "base/runtime.h"
#include "base/scope.h"
#include "client/cache.h"
#include "client/listed_tools.h"
#include "client/questions.h"
#include "client/renewal_pace.h"
#include "protocol/mirrored_headers.h"
#include "protocol/wire.h"
#include "rpc/peer.h"
#include "rpc/task_store.h"
#include "rpc/transport.h"

namespace patchbay {

struct RequestSettings {
  Duration total = Duration::max();
  Duration idle = Duration::max();
  // The time of all that this is a part of: a list of many pages, the task a call became. Unset: its own.
  std::shared_ptr<CallClock> clock;
  std::function<void(const Progress&)> on_progress;
  bool tasks = false;  // whether the answer may be a task
};

// What a request led to.
struct Exchanged {
  std::variant<Json, RemoteTask> answer;
  std::shared_ptr<Peer> peer;                    // the one `progress` listens on
  std::unique_ptr<Peer::ProgressHold> progress;  // with a task, when progress was asked for
  std::size_t bytes = 0;                         // of the answer
};

// An answer that may have come from the cache, or gone there.
struct Fetched {
  Json own;                          // where nobody else has it
  std::shared_ptr<const Json> kept;  // else
  std::size_t bytes = 0;
  // To be taken apart: moved where nobody else has it.
  Json take() && { return kept ? Json(*kept) : std::move(own); }
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
  Task<Json> request(std::string_view method, Members members, RequestSettings settings, bool* asked = nullptr);
  // The same where the answer may be a task that goes on (client/remote_tasks.h). With `plain`,
  // the result of a call that is nothing but text may go there at once; the answer is null then,
  // which no result is.
  Task<Exchanged> exchange(std::string_view method, Members members, RequestSettings settings, bool* asked = nullptr,
                           CallToolResult* plain = nullptr);
  // The error of a request, saying of a tool call whether it was carried out and of nothing else: `so_far` where no
  // layer below has said it.
  static Error error_of_exchange(std::string_view method, CarriedOut so_far, Error error);
  // Through the cache: `key` names the request among those that may be answered from it.
  Task<Fetched> cached_request(std::string_view method, Members members, std::string key, RequestSettings settings);
  // One request, one answer, no asking back; for negotiation.
  Task<Json> bare_request(const Wire& with, std::string_view method, Members members, RequestSettings settings,
                          CancelBy cancel_by);

  // What a request says beside its body, where the transport and the wire have that
  // (client/routing.cpp). Throws when an argument does not fit.
  std::vector<std::pair<std::string, std::string>> headers_for(const Wire& with, std::string_view method,
                                                               const Members& members) const;
  bool uses_headers(const Wire& with) const noexcept {
    return with.repeats_in_headers() && transport->kind() == Transport::Kind::http;
  }
  // Takes out the tools that cannot be called over this transport. `all`: there are no others.
  void note_mirrored(std::vector<Tool>& tools, std::vector<DecodeProblem>& problems, bool all);
  // Lists the tools anew for what they say about calling them.
  Task<void> relist_tools();
  // `work` that a call needs before it can go on, within what is left of the time of the call.
  static Task<void> in_time(std::string_view method, const RequestSettings& settings, Task<void> work) {
    return with_timeout(std::move(work), settings.clock->left(), timed_out(method, settings.total).message());
  }
  // Keeps what calls need of a list, unless the tools have changed since it was asked for.
  void note_tools(const std::vector<Tool>& tools, std::uint64_t generation);

  // Ends everything now and for good: calls fail, handlers are cancelled, nothing new begins.
  void end();
  // The same, and waits for the channel, for our own coroutines and, so long as limits.exit_after_eof, for the
  // program's handlers; one that calls this itself does not wait for any of them (docs/adr/0007).
  Task<void> close(CloseMode mode);

  // Something may be out of date: what is kept of it is dropped, and what is on its way will not be kept.
  void forget(const Change& change);
  // Something is: the same, and tells the program.
  void announce(const Change& change);

  // Answers what a server asks of us, in either era (client/answers.cpp). Whoever calls it has stopped the
  // clocks of those on whose behalf is asked.
  Task<InputResponse> answer(InputRequest request, CallContext context);
  // Of the call that a clock belongs to; of no call without a clock.
  CallContext context_of(const CallClock* clock) const;

  RequestSettings settings_for(const CallOptions& options, std::chrono::milliseconds standard) const;
  std::shared_ptr<CallClock> clock_for(const RequestSettings& settings) const {
    return std::make_shared<CallClock>(runtime.clock, settings.total, std::min(settings.total, settings.idle));
  }

  asio::any_io_executor executor;
  Runtime runtime;
  ClientOptions options;
  ClientIdentity identity;
  std::shared_ptr<Transport> transport;
  // Replaced when the session is renewed: whoever refers to it over a wait keeps a copy.
  std::shared_ptr<Peer> peer;
  const Wire* wire = nullptr;                       // set when negotiated
  std::shared_ptr<const ServerDescription> server;  // replaced whole when the session is renewed
  Cache cache;
  ListedTools listed_tools;
  std::optional<LoggingLevel> log_level;
  std::function<void(const Error&)> on_channel_end;  // used while negotiating
  // Open watches by listen id: where their acknowledgement goes.
  struct OpenWatch {
    std::function<void(const SubscriptionFilter&)> acknowledged;
  };
  std::unordered_map<std::int64_t, OpenWatch> watches;
  std::map<std::string, std::size_t> subscriptions;  // legacy: watches per subscribed URI
  // What the tools listed last say of tasks; none when they are not known.
  std::optional<std::map<std::string, TaskSupport, std::less<>>> task_tools;
  // Who wants to hear that a task changed, by its id.
  struct TaskSignal {
    Event event;
    bool raised = false;
    std::shared_ptr<CallClock> clock;  // of the call that waits for it
  };
  std::multimap<std::string, TaskSignal*, std::less<>> task_news;
  std::map<std::string, MirroredArguments, std::less<>> mirrored;  // arguments repeated in headers, by tool
  std::size_t renewals = 0;                                        // sessions after the first (client/renew.cpp)
  bool renewing = false;                                           // by a coroutine of ours, whoever waits for it
  Event renewed;
  std::optional<Error> not_renewed;           // how the last renewal failed
  bool must_renew = false;                    // the session is gone and no new one was to be had yet
  bool doubting = false;                      // whether it still exists is being found out
  RenewalPace doubt_pace;                     // of that, from one time to the next
  std::shared_ptr<TaskStore> received_tasks;  // what servers gave us to do (client/received_tasks.cpp)
  Questions questions;                        // handlers of the program
  Scope scope;                                // watches and renewals live here
  bool closing = false;

 private:
  // Writes the params now; the request goes out when the task is awaited.
  Task<Payload> send_request(const Wire& with, std::string_view method, const Members& members,
                             const RequestSettings& settings, CancelBy cancel_by, std::int64_t id);
  // Whether a request that failed so may be sent once more after recover().
  bool can_recover(std::string_view method, const Error& error) const;
  Task<void> recover(Error error, std::size_t seen);
  // Returns when there is another session than the `seen`th; throws why there is none.
  Task<void> renew(std::size_t seen);
  struct Renewing;
  static Task<void> run_renewal(Renewing renewing);
  Task<void> open_anew();
  // The server may have forgotten the session though no call met that.
  void doubt_session();
  Task<void> settle_doubt();
  Task<Payload> on_request(Request request);
  // Stops the clocks of those on whose behalf a server asks by `request`.
  Peer::ClockStop stop_clocks(const Request& request, const Json& params);
  Task<Payload> on_task_request(std::string method, Json params);
  Payload start_received(InputRequest wish, const TaskWish& how, Peer::ClockStop stop);
  Task<void> run_received(std::shared_ptr<StoredTask> task, InputRequest wish, Peer::ClockStop stop);
  static Task<InputResponse> ask_program(std::shared_ptr<SessionCore> core, InputRequest request, CallContext context);
  void on_notification(Notification notification);
  void on_closed(const Error& error);
  void check_answer(const Json& requested_schema, const Json& content) const;
};

// Whether a call failed because the server no longer knows the session it was made in.
bool session_forgotten(const Error& error) noexcept;

// What we tell servers we can do, from the handlers that are set.
ClientCapabilities capabilities_of(const ClientOptions& options);

}  // namespace patchbay
