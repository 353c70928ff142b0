// Host: any number of servers as one. It starts them when they are needed, keeps their tools in one
// catalog and routes calls. Loop thread only; one owner. Call stop() before it is destroyed: the destructor
// cannot wait, it can only let go of what is left (child processes end in any case). The loop must outlive
// the Host.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <patchbay/asking.h>
#include <patchbay/background_call.h>
#include <patchbay/catalog.h>
#include <patchbay/channels.h>
#include <patchbay/client.h>
#include <patchbay/config.h>
#include <patchbay/events.h>
#include <patchbay/host_types.h>
#include <patchbay/permission.h>
#include <patchbay/results.h>
#include <patchbay/session.h>
#include <patchbay/sign_in.h>
#include <patchbay/status.h>
#include <patchbay/task.h>

namespace patchbay {

// Rules beside those of settings files; docs/permissions.md has them.
struct PermissionOptions {
  std::vector<std::string> allowed_tools = {};
  std::vector<std::string> disallowed_tools = {};
  std::optional<PermissionMode> mode = {};  // unset: what settings say
  PermissionNames names = {};
  // Unset: such a call is made; only calls that a rule denies are refused. A program that calls what a model
  // wants must set it.
  std::function<Task<bool>(PermissionQuestion)> ask = {};
};

// How the user signs in at servers that want it, and what is kept of it.
struct SignInOptions {
  // Shows the user a page, for instance by opening a browser; returns when it is shown. Unset, like `paste`: nobody can
  // sign in, and a server that wants it stays without.
  std::function<Task<void>(SignInPage)> show = {};
  // For a machine whose browser is elsewhere: shows the page and returns the address that the browser ended at, which
  // the user copied. Takes precedence over `show`.
  std::function<Task<std::string>(SignInPage)> paste = {};
  // The secret of the client that the entry of this server names, instead of a kept one; an empty text where there is
  // none.
  std::function<Task<std::string>(std::string server)> client_secret = {};
  std::optional<IdentityProvider> identity_provider = {};
  // The user's identity token of that provider, instead of the one that Host::sign_in_at_provider got.
  std::function<Task<std::string>()> identity_token = {};
  // What authorization servers tell the user about who asks.
  std::string client_name = "Patchbay";
  // The URL of a document about this program (client id metadata document); unset: MCP_OAUTH_CLIENT_METADATA_URL.
  std::optional<std::string> client_metadata_url = {};
  // Where browsers come back to, unless an entry says otherwise; unset: MCP_OAUTH_CALLBACK_HOST and
  // MCP_OAUTH_CALLBACK_PORT, else 127.0.0.1 and any port that is free.
  std::optional<std::string> callback_host = {};
  std::optional<std::uint16_t> callback_port = {};
  std::chrono::milliseconds wait = std::chrono::minutes(10);  // for the user
  // Keeps tokens for this run alone; otherwise they are kept in HostOptions::state_directory, where there is one.
  bool for_this_run = false;
};

struct HostOptions {
  // Which servers: those of this load, or when unset those that `load` asks for, by default
  // those a command line in the current directory would see. Given both, `load` is for reading
  // again.
  std::optional<LoadedConfig> config = {};
  std::optional<LoadRequest> load = {};
  // Reads the files again when they change. Servers whose entry stays the same keep their
  // connection.
  bool follow_config = false;
  ClientOptions client = {};
  // Starts servers of a project file without asking.
  bool trust_project = false;
  // Asks whether a server that a project file declares may be started; unset: it may not. After false it awaits
  // approval and may be asked about again; an Error with Remedy::Kind::undo_rejection says that it was rejected for
  // good.
  std::function<Task<bool>(ApprovalQuestion)> approve = {};
  PermissionOptions permission = {};
  // With a state directory, which remembers tools: asks whether one that is not any more what it was may be called, now
  // and later. Unset: it may not (docs/pins.md).
  std::function<Task<bool>(ChangedToolQuestion)> approve_change = {};
  // How questions of servers find somebody who answers, what they may have of the model, and the user's folders.
  AskingOptions asking = {};
  // How the user signs in at servers that want it.
  SignInOptions sign_in = {};
  // Gets everything that happens (events.h). Called on the loop.
  std::function<void(const HostEvent&)> on_event = {};
  // A file that keeps the last failure of each declared server for later runs, without its secrets;
  // success takes it out again. It is made when it is missing. Empty: nothing is kept.
  std::string failure_memory = {};
  // A folder that keeps what declared servers are and list, what they write to stderr and who refused its
  // credentials, without secrets, for later runs. It is made when it is missing. Empty: nothing is kept.
  std::string state_directory = {};
  // With a state directory: the tools that a server listed in an earlier run are in the catalog before it is started
  // (docs/host.md). MCP_DISCOVERY_CACHE=0 switches it off as well.
  bool warm_start = true;
  // Whether to run the hooks of settings files (docs/hooks.md).
  bool hooks = true;
  // Whether to follow changes of the servers' lists; a program that asks once need not.
  bool follow_changes = true;
  // Whether a connection that is lost is made again without being asked for, and a remote server that has failed is
  // tried again from time to time; a program that asks once need not. Without it both happen on use.
  bool keep_connected = true;
  // Unset: MCP_TIMEOUT, MCP_TOOL_TIMEOUT and the batch sizes of the environment, else the defaults.
  std::optional<std::chrono::milliseconds> connect_limit = {};
  // What to do for a longer one, behind "if it needs longer to start, "; for a program with a setting of its own.
  std::string connect_setting = {};
  std::optional<std::chrono::milliseconds> tool_limit = {};
  std::optional<std::size_t> local_starts = {};   // servers started at once on this machine
  std::optional<std::size_t> remote_starts = {};  // and elsewhere
  // Results that are too large for a model, kept in `state_directory` (docs/results.md).
  ResultOptions results = {};
  // Which servers may push messages (docs/channels.md).
  ChannelOptions channels = {};
};

// Which servers a conversation waits for before it begins; others are there when they are there.
enum class BeginWait : std::uint8_t {
  always_loaded,  // those whose entries say "alwaysLoad"
  all,
};

class Host {
 public:
  // Reads no files: that is part of the first prepare(), start(), call() or session().
  Host();
  explicit Host(HostOptions options);
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;
  ~Host();

  // A server in this process, offered like the others; with NamePrefix::none under the bare
  // names of its tools.
  void add_server(std::string name, std::shared_ptr<Server> server, NamePrefix prefix = NamePrefix::server);
  void add_server(ServerConfig config);
  // A server reached in a way of the program's own, before any entry of that name. Of `config` its
  // name, limits, tools and protocol count.
  void add_server(ServerConfig config, std::shared_ptr<Transport> transport);
  // Takes a server away again that one of these added; a declared one of that name is there again then. Calls that run
  // on it finish. False: the program added none of that name.
  bool remove_server(const std::string& name);

  // Reads the configuration, and the tools that earlier runs kept (HostOptions::warm_start). Starts nothing.
  Task<void> prepare();
  // Starts every server that may be started and returns when each has connected or failed.
  // A server that fails does not affect the others; see status().
  Task<void> start();
  // The same for some; a name nobody configured is Errc::invalid_argument.
  Task<void> start(std::vector<std::string> names);

  // The same for a conversation, which should not wait for a slow server: all are started, and it returns when those in
  // this process and those it waits for have connected or failed, after MCP_CONNECT_TIMEOUT_MS (5 s) at the latest, and
  // those that are "required" have connected. Throws why a required one has not.
  Task<void> begin(BeginWait wait = BeginWait::always_loaded);

  // Without the tools that a rule denies whatever their arguments are.
  std::shared_ptr<const Catalog> catalog() const;
  // Servers of files are in these two from the first prepare(), start(), call() or session() on.
  std::vector<ServerStatus> status() const;
  const LoadedConfig& config() const noexcept;

  // Accepts mcp__server__tool, server/tool, or a bare tool name if only one server has it.
  // Starts the servers that can be meant, and no others. Every call to a tool goes this way: one that a rule or
  // the user denies is never sent and fails with Errc::denied.
  Task<CallToolResult> call(std::string tool, Payload arguments = {}, CallOptions options = {});
  // The same in the background: returns when the call has been put on its way, and it goes on whoever stops waiting.
  // Its result is kept until somebody fetches it or the host stops, which ends it. Errc::limit beyond 64 of them,
  // those that have ended and were not fetched included.
  Task<BackgroundCall> start_call(std::string tool, Payload arguments = {}, CallOptions options = {});
  // Those that are kept, in the order in which they were started.
  std::vector<BackgroundCall> background_calls() const;
  // What a model is given of a result of this tool, within MAX_MCP_OUTPUT_TOKENS (25,000) or what the tool asks for
  // ("anthropic/maxResultSizeChars"). One that is larger is kept, and the model gets its size, its shape, its beginning
  // and a handle; cut off where it cannot be kept. A failure is given by failure_result(). `principal`: of the call.
  Task<ModelResult> for_model(std::string tool, CallToolResult result, std::string principal = {});
  // Reads on in one of them. Errc::invalid_argument when this conversation has none by that name, or the pointer or
  // pattern is wrong.
  Task<ResultPart> read_result(ResultQuery query, std::string principal = {});
  // From now on results belong to this conversation (ResultOptions::conversation); those of another one can be named
  // again when it is set again. Calls of a principal are a conversation of their own inside it.
  void set_conversation(std::string conversation);
  // The entry such a name means, also when a rule keeps it out of the catalog.
  Task<CatalogEntry> find_tool(std::string tool);
  // What the rules say about such a call, with the rule and its place. Asks nobody.
  Task<PermissionDecision> decide(std::string tool, Payload arguments = {});
  // Rules that were not applied, deny rules and channels with names that nobody has, and hooks that are not run.
  std::vector<ConfigProblem> permission_problems() const;

  // A connected session; starts the server when needed. However many ask at once, there is
  // one connection. Errc::denied when a rule denies every tool of the server: its resources, prompts and
  // skills are then denied as well. `on_behalf`: whose wish it is, for whoever is asked to approve the server.
  Task<Session> session(std::string server, CallContext on_behalf = {});

  // What a server lists beside its tools. Fetched when it is first asked for, starting the server when needed, then
  // kept: fetched again when the server says that it changed and when it has come back after a loss. However many ask
  // at once, it is fetched once; a server that does not tell of changes is asked each time, and one that did not
  // declare them never. Items of before are returned, with the reason, while the server is away or newer ones cannot be
  // fetched; without any, that is thrown. Errc::denied as for session().
  Task<ServerList<Prompt>> prompts(std::string server);
  Task<ServerList<Resource>> resources(std::string server);
  Task<ServerList<ResourceTemplate>> resource_templates(std::string server);

  // Messages that servers pushed, the oldest first, with all that came in meanwhile: waits until there is one. Each is
  // given once, and kept until it is acknowledged: a later run gets those that were not, under the same ids.
  Task<std::vector<ChannelMessage>> next_channel_messages();
  // They are where they will not be lost; unknown ids do no harm.
  Task<void> acknowledge_channel_messages(std::vector<std::string> ids);
  // Servers that may push messages, or say that they do.
  std::vector<ChannelStatus> channels() const;

  // A new connection to this server, whatever there is; returns when it is made. Attempts and failures of before
  // do not count any more.
  Task<void> reconnect(std::string server);

  // The user signs in at this server, and a new connection is made with the token; returns when both are done. Asks the
  // server first what it wants. Takes as long as the user does: cancel it, or SignInOptions::wait. Errc::unsupported
  // for a server whose entry has credentials of its own or that is not reached by HTTP. However many ask at once, one
  // page is shown at a time.
  Task<SignInResult> sign_in(std::string server);
  // Forgets the token for what this server is, also for other servers that share it, and tells who gave it.
  Task<SignOutResult> sign_out(std::string server);
  // The user signs in at SignInOptions::identity_provider, once for all servers that use it (cross-app access).
  // Errc::config when there is none.
  Task<void> sign_in_at_provider();

  // Other folders than AskingOptions::folders; servers that are connected are told if they are others.
  void set_folders(std::vector<std::string> folders);

  // Reads the configuration again, or takes this one, and applies what is different. Servers that
  // stay the same keep their connection; calls that run on one that changes finish on it.
  Task<ConfigChange> reload();
  Task<ConfigChange> reload(LoadedConfig config);

  // Ends every connection in parallel within bounded time.
  Task<void> stop();
  Task<void> stop_quickly();

 private:
  friend struct HostMaker;
  class Impl;
  explicit Host(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;
};

}  // namespace patchbay
