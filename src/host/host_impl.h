// What a Host consists of. host.cpp starts and stops servers, host_call.cpp makes calls, host_config.cpp makes servers
// of the configuration and follows it when it changes. Parts of their own: host_hooks.cpp, host_sign_in.cpp,
// host_changed_tools.cpp, host_results.cpp, host_channels.cpp. Loop thread only. Any wait may end after stop(): whoever
// goes on behind one looks at check_running() first.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <patchbay/host.h>

#include "base/apart.h"
#include "base/runtime.h"
#include "base/scope.h"
#include "base/semaphore.h"
#include "base/waiting.h"
#include "hooks/hook_input.h"
#include "hooks/hook_set.h"
#include "host/asking/questions.h"
#include "host/background_calls.h"
#include "host/channels/channels.h"
#include "host/connection.h"
#include "host/events.h"
#include "host/flight/flight_recorder.h"
#include "host/hooks/hook_runner.h"
#include "host/input_schemas.h"
#include "host/kept/recall.h"
#include "host/kept/recorder.h"
#include "host/make_host.h"
#include "host/offered_tools.h"
#include "host/pins/host_pins.h"
#include "host/results/host_results.h"
#include "host/sign_in/sign_ins.h"
#include "host/start/server_start.h"
#include "permission/decide.h"
#include "rpc/trace_context.h"
#include "servers/load.h"

namespace patchbay {

class Host::Impl : public std::enable_shared_from_this<Host::Impl> {
 public:
  Impl(HostOptions options, const Runtime& runtime, std::string doing, std::shared_ptr<SecretVault> vault = nullptr);
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl() { events_->end(); }

  VariableLookup startup_variables() const;  // without what settings set
  Limits configured_limits() const;          // the given ones, what settings set, and the options over both
  std::shared_ptr<SecretVault> vault_in(const std::string& config_dir) const;

  std::shared_ptr<const StartContext> start_context() const;

  // What an organisation's lists say about a server that no file declares.
  void keep_to_lists(ServerConfig& config) const;

  void tell_rules_of_servers();

  // Rules of the configuration and of the program; again whenever the configuration is another one.
  void apply_settings();

  struct InProcess {
    std::shared_ptr<Server> server;
    NamePrefix prefix;
  };

  struct Reached {
    ServerConfig config;
    std::shared_ptr<Transport> transport;
  };

  // Servers that have no connection yet, by name. One in this process overrides an entry of
  // the same name, and the entry that was added last before the others.
  std::map<std::string, Connection::Parts> new_servers() const;

  // The files of the configuration, once; constructing a host reads none.
  Task<void> read_config();

  // Connections need a loop, and so are made when one is there. Nothing to do unless servers were added or changed.
  Task<void> prepare();
  // Of the new servers, without a wait: nobody sees a server whose old connection is gone and whose new one is missing.
  void make_connections();

  // Reads what earlier runs kept of these entries, for make_connections().
  Task<void> recall(KeyContext context, std::vector<ServerConfig> entries);
  // What is offered of a server until it has listed its tools itself: those of its entry before it was edited, else
  // those of an earlier run. Nothing of one that may not be started.
  OfferedTools::Tools earlier_tools(const Connection::Parts& parts) const;

  // Keeps why a server failed, or forgets it. Nothing that goes wrong with that is anybody's error.
  Task<void> note(ServerConfig config, std::optional<Error> error) const;

  // Whether failures of this server are kept.
  bool is_noted(const ServerConfig& config) const;
  // What led to a failure of this server is kept.
  void keep_recording(const ServerConfig& config, const std::optional<Error>& error) const;
  // The last call on a server counts like its start.
  Task<void> note_call(std::shared_ptr<Connection> connection, std::optional<Error> error);

  std::vector<ServerStatus> status() const;

  std::shared_ptr<Connection> require(const std::string& name);

  // For a call, with its time and context.
  Task<void> start(std::vector<std::shared_ptr<Connection>> wanted, std::shared_ptr<CallClock> time = nullptr,
                   CallContext context = {});

  // Why rules deny all of a server: it is not started, then, unless it is named. Nothing where it is not known what is
  // denied: then no call is made, and how the servers are can be seen all the same.
  std::optional<PermissionDecision> refused_whole(const std::string& server) const;
  void require_permitted(const std::string& server) const;
  std::vector<std::shared_ptr<Connection>> startable() const;

  // A person is asked one thing at a time: questions wait in a queue. Who stops waiting takes his question out of it;
  // stop() takes them all out.
  Task<bool> approve(ApprovalQuestion question);
  // Keeps the program's function and what it is asked about alive, for one that goes on when nobody waits any more.
  template <class Function, class About>
  static Task<bool> ask(Function function, About about) {
    co_return co_await function(about);
  }
  Task<bool> ask_person(PermissionQuestion question);
  static Task<void> put_question(std::shared_ptr<Impl> self, PermissionQuestion question,
                                 std::shared_ptr<Completion<Result<bool>>> answer);

  // --- channels (host_channels.cpp)

  // Whether this server may push messages, and what follows for its connection.
  void open_channel(Connection::Parts& parts, ClientOptions& client);
  // Puts the question through servers that can carry it, for as long as what is returned is there.
  Channels::Relayed relay(const PermissionQuestion& question, std::shared_ptr<Completion<Result<bool>>> answer);
  std::vector<ChannelStatus> channel_statuses() const;
  std::vector<ConfigProblem> channel_problems() const;
  static Task<std::vector<ChannelMessage>> next_channel_messages(std::shared_ptr<Impl> impl);

  // What servers say, told as events, and what they ask, put to whoever answers.
  ClientOptions client_of_connection(const ServerConfig& config);
  // Servers that are connected hear that the user's folders are others.
  void tell_folders() const;

  void changed(Connection& connection);

  // Tells the program that the catalog is another one, if it is.
  void tell_catalog();
  void tell_catalog_soon();
  Task<void> tell_catalogs();

  // An entry and the catalog it is in.
  using Entry = std::shared_ptr<const CatalogEntry>;
  Entry find_now(std::string_view text);
  std::vector<std::shared_ptr<Connection>> servers_meant(std::string_view text) const;
  // Waits for servers that have to be started for it, within `time` if there is one.
  Task<Entry> find_tool(std::string text, std::shared_ptr<CallClock> time = nullptr, CallContext context = {});

  PermissionDecision decide(const CatalogEntry& entry, const ServerConfig& server, const Payload& arguments) const;

  // All that does not change from one call by a name to the next; see spelled_.
  struct Target {
    const Catalog* catalog = nullptr;  // which `entry` keeps
    Entry entry;
    std::shared_ptr<Connection> connection;
    std::optional<std::chrono::milliseconds> limit;  // of the server's entry
    InputSchemas::Compiled input;
    std::optional<PermissionDecision> decision;  // unless rules look at the arguments
    std::shared_ptr<const ToolHooks> hooks;      // null: none is about this tool
    bool waits = false;                          // for somebody to agree to what it is now
  };
  // A call up to where it is sent.
  struct Prepared {
    std::string server;  // once only one can be meant
    Payload arguments;
    std::vector<CoercedArgument> coerced;
    std::shared_ptr<const Target> target;
    std::optional<Connection::Use> use;
    Session session;
    bool for_hook = false;  // rules count, nobody is asked, and no hook is run
  };
  // Null when there is none yet, or when it takes time to make one.
  std::shared_ptr<const Target> target_now(std::string_view text);
  std::shared_ptr<const Target> add_target(std::string_view text, Entry entry, InputSchemas::Compiled input);
  // The usual case: the tool is known, its server connected and nobody has to be asked. False: it may have to wait.
  bool prepare_now(std::string_view tool, const CallOptions& options, Prepared& call);
  Task<void> prepare_call(std::string tool, CallOptions options, std::shared_ptr<CallClock> time, Prepared& call);
  // Where the tool waits for somebody to agree: asks, and returns true when the name means what was agreed to; throws
  // why it may not be called. host_changed_tools.cpp
  Task<bool> settle_change(Entry entry, CallContext context, std::shared_ptr<CallClock> time);
  Task<void> agree_on(std::string server, std::string tool, std::string shown_name, CallContext context,
                      std::shared_ptr<CallClock> time);
  // The same of a name that nobody has, because the tool is new.
  Task<bool> settle_new(std::string text, CallContext context, std::shared_ptr<CallClock> time);
  // Puts kept results in the place of their handles, before anybody looks at the arguments.
  Task<void> insert_results(Payload& arguments, std::string principal) const;
  // Before anybody judges the arguments.
  void coerce(const Target& target, const CallOptions& options, Prepared& call) const;
  // Returns when the call may be made.
  Task<void> permit(const Prepared& call, const CallOptions& options, CallContext context,
                    std::shared_ptr<CallClock> time);
  // --- hooks (host_hooks.cpp)

  HookSurroundings hook_surroundings() const;
  // What the hooks that are due come to. In our own scope, so that stop() ends it, whoever waits.
  Task<HookVerdict> ask_hooks(HookEvent event, HookList hooks, Json input);
  static Task<void> put_to_hooks(std::shared_ptr<Impl> self, HookEvent event, HookList hooks, Json input,
                                 std::shared_ptr<Completion<Result<HookVerdict>>> answer);
  void log_outcomes(HookEvent event, const std::vector<HookOutcome>& outcomes) const;
  // permit() of a call that hooks are about, or that one of them makes.
  Task<void> permit_hooked(Prepared& call, const CallOptions& options, CallContext context,
                           std::shared_ptr<CallClock> time);
  Task<void> ask_before(Prepared& call, const CallOptions& options, CallContext context,
                        std::shared_ptr<CallClock> time);
  void take_input(Prepared& call, const CallOptions& options, HookVerdict& verdict) const;
  // send(), and what hooks make of its outcome.
  Task<CallToolResult> send_hooked(Prepared& call, CallOptions& options);
  Task<CallToolResult> ask_after(std::shared_ptr<const Target> target, Json facts, CallToolResult result);
  Task<Error> ask_about_failure(std::shared_ptr<const Target> target, HookEvent event, Json facts, Error error);
  static Task<CallToolResult> call_for_hook(std::weak_ptr<Impl> self, std::string tool, Json arguments,
                                            std::chrono::milliseconds limit);
  // An event of an agent itself, for hooks/agent_hooks.h.
  static Task<HookVerdict> ask_agent_hooks(std::shared_ptr<Impl> self, HookEvent event, std::string what, Json facts);
  Spawned remind(std::string type, std::string message);
  // A question of a server: hooks, then the program, then hooks about its answer.
  using Elicit = std::function<Task<ElicitResult>(ElicitRequest, CallContext)>;
  void put_hooks_around(ClientOptions& client, const std::string& server);
  static Task<ElicitResult> elicit_hooked(std::weak_ptr<Impl> self, Elicit program, ElicitRequest question,
                                          CallContext context);

  static Task<void> prepare_in_time(Impl& impl, const std::string& tool, CallOptions& options, Prepared& call);
  static Task<std::optional<CallToolResult>> prepare_or_sign_in(std::shared_ptr<Impl> impl, const std::string& tool,
                                                                CallOptions& options, Prepared& call);
  Task<CallToolResult> send(Prepared& call, CallOptions& options) const;
  // A whole call.
  static Task<CallToolResult> call(std::shared_ptr<Impl> impl, std::string tool, Payload arguments,
                                   CallOptions options);
  static Task<void> run_in_background(std::shared_ptr<Impl> impl, std::string tool, Payload arguments,
                                      CallOptions options, BackgroundCalls::Ending ending);
  Error denied(const CatalogEntry& entry, const PermissionDecision& decision) const;
  Error refused_unasked(const CatalogEntry& entry, const PermissionDecision& decision) const;

  // The tool was in the catalog `before` and is not any more: say how the tools of its server changed.
  Error with_changes(Error error, std::string_view text, const Catalog& before);

  // An unknown tool may belong to a server that did not start: say which did not, and why unless
  // the program was notified when it happened.
  Error with_failures(Error error) const;

  // What a server offers, and while it needs a sign-in that a person can do, a tool that begins one.
  OfferedTools::Tools tools_of(const Connection& connection);
  // The server whose sign-in this name stands for; empty for every other tool.
  std::string sign_in_meant(std::string_view tool);
  static Task<CallToolResult> sign_in_by_tool(std::shared_ptr<Impl> impl, std::string server);
  static Task<SignInResult> sign_in(std::shared_ptr<Impl> impl, std::string server);
  static Task<SignInResult> sign_in_now(std::shared_ptr<Impl> impl, std::string server);
  static Task<SignOutResult> sign_out_now(std::shared_ptr<Impl> impl, std::string server);
  static Task<void> sign_in_at_provider_now(std::shared_ptr<Impl> impl);
  // The directory of connectors is called like a server, when no server has that name.
  bool means_connectors(const std::string& name) const;
  static Task<SignInResult> sign_in_at_connectors(std::shared_ptr<Impl> impl);
  static Task<void> let_others_in(std::shared_ptr<Impl> impl, std::string server);
  // Whoever signs in for this server, after a try that shows what it wants; throws why there is nobody.
  Task<std::shared_ptr<ServerSignIn>> signing_in(std::shared_ptr<Connection> connection);

  // Reaches its end whoever stops waiting for it. Whoever comes later waits for the same end.
  Task<void> stop(CloseMode mode);
  static Task<void> end_all(std::shared_ptr<Impl> self, CloseMode mode);

  // Throws Errc::closed once the host was stopped. Asked after every wait.
  void check_running() const;

  // Not replaced, nor removed.
  bool is_current(const Connection& connection) const;
  // A connection that is replaced while somebody waits for it is not an answer; its successor is.
  Task<Session> ensure(std::string name, std::shared_ptr<CallClock> time = nullptr, CallContext context = {});

  // One of a server's lists beside its tools, by a method of its connection; the same about a replaced one.
  template <class T>
  Task<ServerList<T>> list(std::string name, Task<ServerList<T>> (Connection::*method)());

  // What another reading of the configuration changes. Servers that stay the same keep their connection; calls
  // that run on one that does not, finish on it.
  Task<ConfigChange> apply(LoadedConfig next);

  // Servers of the program override entries of the same name, whatever those say now.
  bool is_programs_own(const std::string& name) const;

  Task<void> start_quietly(std::vector<std::shared_ptr<Connection>> wanted);

  // Takes the connection of this name out; true when it was connected. make_connections() comes next.
  bool replace(const std::string& name);
  // Ends one that was taken out, when nobody uses it any more.
  Task<void> let_fade(std::shared_ptr<Connection> old);

  Task<ConfigChange> reload();
  Task<LoadedConfig> read_files();

  // In the background: nothing waits for it, and its failure is a line in the log.
  Task<void> ask_for_connectors();

  Task<void> reload_quietly();

  Task<void> follow_config();

  Task<void> follow_config_files();

  HostOptions options_;
  std::shared_ptr<HostEvents> events_;
  Runtime runtime_;
  Reach reach_;  // set by tests
  Limits given_limits_;
  std::string given_protocol_;          // what settings can change for a while
  std::string doing_;                   // kept with failures
  std::shared_ptr<SecretVault> vault_;  // handed in, or made when the configuration is known; null: there is none
  bool unread_ = false;                 // the configuration is in files nobody has read yet
  Semaphore local_slots_;
  Semaphore remote_slots_;
  std::shared_ptr<Questions> asking_;  // of servers; all others wait in its queue
  std::map<std::string, InProcess> in_process_;
  std::map<std::string, Reached> reached_;
  std::vector<ServerConfig> added_;  // by the program, whatever files say
  std::map<std::string, std::shared_ptr<Connection>> connections_;
  std::set<std::shared_ptr<Connection>> fading_;       // replaced, and not closed yet
  std::map<std::string, RecalledTools> recalled_;      // by name, until its connection is made
  std::map<std::string, OfferedTools::Tools> before_;  // by name: of connections whose successors are not made yet
  OfferedTools offered_;
  std::shared_ptr<const Catalog> told_catalog_ = offered_.all();
  bool catalog_untold_ = false;
  bool telling_catalog_ = false;
  // What names of tools mean, as long as servers, tools and rules stay the same.
  struct NameHash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  std::unordered_map<std::string, std::shared_ptr<const Target>, NameHash, std::equal_to<>> spelled_;
  InputSchemas inputs_;
  BackgroundCalls background_;
  HostResults results_;
  Permissions permissions_;
  HookSet hooks_;
  std::shared_ptr<HookRunner> hook_runner_;
  struct {
    std::string id;
    std::string transcript;
  } conversation_of_hooks_;                 // empty: none
  std::set<std::string> hooks_elsewhere_;   // servers whose hooks are run where they are reached
  std::set<std::uint64_t> calls_of_hooks_;  // those that run now
  std::size_t questions_at_hooks_ = 0;
  std::string directory_;  // paths in rules and arguments are relative to it
  asio::any_io_executor executor_;
  std::optional<Scope> scope_;  // once there is a loop
  // The program's answers come from its own coroutines: one that does not listen when it is cancelled, or that itself
  // waits for stop(), must not hold up the end.
  std::optional<Apart> questions_;
  ConfigMemory memory_;
  Semaphore reloading_{1};
  std::string session_id_;
  std::shared_ptr<SignIns> sign_ins_;
  bool signing_in_at_connectors_ = false;
  std::map<std::string, std::shared_ptr<const Tool>> sign_in_tools_;  // by server; those that are offered now
  std::shared_ptr<ServerRecorder> recorder_;                          // none: nothing is kept
  std::unique_ptr<HostPins> pins_;
  std::shared_ptr<FlightRecorder> flight_;  // none: nothing is kept
  std::shared_ptr<Channels> channels_;
  bool unprepared_ = true;  // servers may be without a connection
  bool started_ = false;    // all of them, so new ones are started, too
  std::shared_ptr<const StartContext> context_;
  std::shared_ptr<const TraceContext> trace_context_;  // of requests to servers; null: they have none
  std::optional<std::chrono::milliseconds> idle_limit_;
  bool stopped_ = false;  // stop() was called
  bool ended_ = false;    // and has ended everything
  Event all_ended_;
  std::set<std::string> failed_calls_;  // servers whose last call is remembered as a failure
};

}  // namespace patchbay
