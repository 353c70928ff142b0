// The library without coroutines: the same calls, each returning when it is done. It owns a
// thread that runs the loop; every function here may be called from any thread but that one
// and throws patchbay::Error. Compiles with any C++23 compiler, g++ 12 included.
//
// Functions of the program run on helper threads of the library, never on the loop, so they may
// block and may call back into the library. Those of a Host or Session run one after the other on
// one thread; handlers of a Server run on several at the same time.
//
// Not here: transports of the program's own (TextChannel) and checks of HTTP callers
// (ServerHttpOptions::authorize), which are functions that the loop awaits and need coroutines: see transport.h,
// server_http.h. Arguments are Json; sending a text byte for byte (Payload) needs host.h or session.h. Handlers of
// resources, prompts and completion get values only: what asks, reports or logs is a tool.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <patchbay/call.h>
#include <patchbay/catalog.h>
#include <patchbay/config.h>
#include <patchbay/error.h>
#include <patchbay/events.h>
#include <patchbay/failure.h>
#include <patchbay/host_types.h>
#include <patchbay/json.h>
#include <patchbay/log.h>
#include <patchbay/model_view.h>
#include <patchbay/permission.h>
#include <patchbay/questions.h>
#include <patchbay/server_types.h>
#include <patchbay/sign_in.h>
#include <patchbay/status.h>
#include <patchbay/tools.h>
#include <patchbay/types.h>

namespace patchbay::blocking {

// Functions of the program that answer servers and hear of things. Unset: the capability is not
// offered, or nobody hears of it. See ClientOptions.
struct Callbacks {
  std::function<ElicitResult(const ElicitRequest&, const CallContext&)> elicit = {};
  bool elicit_by_url = false;
  std::function<CreateMessageResult(const CreateMessageRequest&, const CallContext&)> sample = {};
  bool sample_with_tools = false;  // `sample` can also give the model tools that the server sends
  std::function<std::vector<Root>(const CallContext&)> roots = {};
  std::function<void(const LogMessage&, const CallContext&)> on_log = {};
  std::function<void(const Change&, const CallContext&)> on_change = {};
  // Once per session, when it ends for a reason other than close().
  std::function<void(const Error&)> on_lost = {};
  // What the library reports about its own work.
  LogOptions log = {};
};

struct Options {
  Implementation info{.name = "patchbay", .version = "0"};
  Callbacks callbacks = {};
  std::string protocol = "auto";
  std::optional<LoggingLevel> log_level = {};
  std::string protocol_memory = {};

  // The rest is for Host; see HostOptions in host.h.
  // Which servers; unset: those of `load`, by default those a command line in the current directory would see.
  std::optional<LoadedConfig> config = {};
  std::optional<LoadRequest> load = {};
  bool follow_config = false;
  bool follow_changes = true;
  bool keep_connected = true;
  bool trust_project = false;
  // Asks whether a server that a project file declares may be started; unset: it may not.
  std::function<bool(const ApprovalQuestion&)> approve = {};
  std::vector<std::string> allowed_tools = {};
  std::vector<std::string> disallowed_tools = {};
  std::optional<PermissionMode> permission_mode = {};
  // Asks about a call that no rule allows or denies; unset: it is made.
  std::function<bool(const PermissionQuestion&)> permit = {};
  // Shows the user a page on which they sign in, for instance by opening a browser; returns when it is shown. Unset:
  // nobody can sign in.
  std::function<void(const SignInPage&)> show_page = {};
  // Gets everything that happens (events.h).
  std::function<void(const HostEvent&)> on_event = {};
  std::string failure_memory = {};
  std::string state_directory = {};
  bool warm_start = true;
  std::optional<std::chrono::milliseconds> connect_limit = {};
  std::string connect_setting = {};
  std::optional<std::chrono::milliseconds> tool_limit = {};
  std::optional<std::size_t> local_starts = {};
  std::optional<std::size_t> remote_starts = {};
};

// One connected server. A handle; copies share the connection.
class Session {
 public:
  ServerDescription server() const;
  bool closed() const;
  // What the server wrote to stderr lately.
  std::string diagnostics() const;

  Listing<Tool> list_tools(CallOptions options = {});
  Listing<Resource> list_resources(CallOptions options = {});
  Listing<ResourceTemplate> list_resource_templates(CallOptions options = {});
  Listing<Prompt> list_prompts(CallOptions options = {});
  // One page, for callers that show pages.
  Page<Tool> list_tools_page(std::optional<std::string> cursor, CallOptions options = {});
  // A stop request cancels the call, and the server is informed.
  CallToolResult call_tool(std::string name, Json arguments = {}, CallOptions options = {}, std::stop_token stop = {});
  // Tasks: see Session in session.h.
  StartedTool start_tool(std::string name, Json arguments = {}, CallOptions options = {}, std::stop_token stop = {});
  CallToolResult await_task(std::string id, CallOptions options = {}, std::stop_token stop = {});
  RemoteTask get_task(std::string id);
  Listing<RemoteTask> list_tasks(CallOptions options = {});
  void cancel_task(std::string id);

  ReadResourceResult read_resource(std::string uri, CallOptions options = {}, std::stop_token stop = {});
  Listing<Skill> list_skills(CallOptions options = {});
  Skill get_skill(std::string uri, CallOptions options = {}, std::stop_token stop = {});
  ResourceContents read_skill(Skill skill, std::string file = "SKILL.md", CallOptions options = {},
                              std::stop_token stop = {});
  Listing<Resource> read_directory(std::string uri, CallOptions options = {});
  GetPromptResult get_prompt(std::string name, std::map<std::string, std::string> arguments = {},
                             CallOptions options = {}, std::stop_token stop = {});
  CompleteResult complete(CompleteRequest request, CallOptions options = {}, std::stop_token stop = {});
  void set_log_level(LoggingLevel level);
  void ping(CallOptions options = {});
  // Asks to hear about changes, which arrive at Callbacks::on_change for as long as the session lasts.
  // Returns what the server agreed to.
  SubscriptionFilter watch(SubscriptionFilter filter);
  void roots_changed();
  void close();
  void close_quickly();

 private:
  friend class Host;
  friend struct Connecting;
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

// Starts the server, or reaches the one behind a URL (http, https, ws or wss), and returns a working session.
Session connect(StdioOptions server, Options options = {});
Session connect(HttpOptions server, Options options = {});

class Server;

// A call that goes on in the background; see BackgroundCall in background_call.h. A handle; copies are the same call.
class BackgroundCall {
 public:
  std::uint64_t id() const;
  BackgroundCallStatus status() const;
  // Waits until it has ended: its result, or its Error thrown. A stop request ends the wait, not the call.
  CallToolResult result(std::stop_token stop = {});
  void cancel();

 private:
  friend class Host;
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

// See Host in host.h.
class Host {
 public:
  explicit Host(Options options = {});
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;
  // Stops what runs, within a bounded time. Not on the library's own threads.
  ~Host();

  // A server in this process, offered like the others. From then on it runs on the loop of this host, and may
  // serve HTTP or stdio as well; one that serves already, or that another host has, is Errc::invalid_argument. When
  // it is destroyed before the host, its calls fail.
  void add_server(std::string name, Server& server, NamePrefix prefix = NamePrefix::server);
  void add_server(ServerConfig config);

  void prepare();
  void start();
  void start(std::vector<std::string> names);
  void begin();
  std::shared_ptr<const Catalog> catalog() const;
  std::vector<ServerStatus> status() const;
  LoadedConfig config() const;
  CallToolResult call(std::string tool, Json arguments = {}, CallOptions options = {}, std::stop_token stop = {});
  // on_progress and on_task of the options may be called until the call has ended.
  BackgroundCall start_call(std::string tool, Json arguments = {}, CallOptions options = {});
  std::vector<BackgroundCall> background_calls() const;
  CatalogEntry find_tool(std::string tool);
  PermissionDecision decide(std::string tool, Json arguments = {});
  std::vector<ConfigProblem> permission_problems() const;
  Session session(std::string server, CallContext on_behalf = {});
  void reconnect(std::string server);
  // Waits for the user; a stop request gives it up.
  SignInResult sign_in(std::string server, std::stop_token stop = {});
  SignOutResult sign_out(std::string server);
  ConfigChange reload();
  ConfigChange reload(LoadedConfig config);
  void stop();
  void stop_quickly();

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

// What a tool's handler knows about its call, and what it can do besides answering; see RequestContext in server.h.
// Valid until the handler returns.
class ToolCall {
 public:
  // Empty when the client did not say. For display and logs only.
  std::optional<Implementation> client() const;
  ClientCapabilities client_capabilities() const;
  // Stops when nobody waits for the answer any more: the client cancelled the call or is gone, or the server stops.
  // From then on questions throw Errc::cancelled, also those that wait for their answer. A std::stop_callback on it
  // runs on the loop and must not block.
  std::stop_token stopped() const noexcept;

  // Does nothing unless the client asked to hear about progress. `value` must increase.
  void progress(double value, std::optional<double> total = {}, std::optional<std::string> message = {});
  void log(LoggingLevel level, Json data, std::optional<std::string> logger = {});
  // For long work over HTTP: the connection may close now, and the client comes back for the answer.
  void release_stream(std::optional<std::chrono::milliseconds> retry = {});
  // A line for whoever waits for a task. Does nothing when the call is not a task.
  void status(std::string message);
  // Makes the call a task from here on, if client and tool allow it; true when it is one.
  bool start_task();
  // Questions to the client. With newer clients the handler runs again from its
  // beginning when the answer has come, so let every exception out that is not an Error.
  ElicitResult elicit(ElicitRequest request, std::string name = {});
  CreateMessageResult sample(CreateMessageRequest request, std::string name = {});
  std::vector<Root> list_roots(std::string name = {});

 private:
  friend class Server;
  struct Impl;
  explicit ToolCall(Impl& impl) : impl_(impl) {}
  Impl& impl_;
};

using ToolFunction = std::function<CallToolResult(ToolCall&, Json arguments)>;

// How a Server is offered over HTTP; see server_http.h.
struct HttpServing : HttpListening {
  std::string token = {};  // callers must send "Authorization: Bearer <token>"; empty: everybody may call
};

// Tools, resources, skills and prompts offered to clients; see Server in server.h. Add before serving, or while it
// serves.
class Server {
 public:
  explicit Server(ServerOptions options);
  Server(std::string name, std::string version, std::string instructions = {});
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  ~Server();

  // As Server::add_tool in server.h: the handler takes the arguments (tools.h) by value, after a ToolCall& if it
  // wants one, and returns a CallToolResult, a text or Json. It may block.
  template <class... T, class Handler>
  void add_tool(std::string name, std::string description, Args<T...> arguments, Handler handler,
                ToolOptions options = {}) {
    add_tool(detail::named_tool(std::move(name), std::move(description)), std::move(arguments), std::move(handler),
             options);
  }
  template <class... T, class Handler>
  void add_tool(Tool tool, Args<T...> arguments, Handler handler, ToolOptions options = {}) {
    constexpr bool plain = std::is_invocable_v<Handler&, T...>;
    static_assert(plain || std::is_invocable_v<Handler&, ToolCall&, T...>,
                  "a tool's handler takes the tool's arguments in their order, after a ToolCall& if it wants one");
    tool.input_schema = arguments.schema();
    auto run = [arguments = std::move(arguments), handler = std::move(handler)](ToolCall& call, Json json) mutable {
      auto values = arguments.read(json);
      return std::apply(
          [&](T&... each) {
            if constexpr (plain) {
              return to_tool_result(handler(std::move(each)...));
            } else {
              return to_tool_result(handler(call, std::move(each)...));
            }
          },
          values);
    };
    add_tool(std::move(tool), ToolFunction(std::move(run)), options);
  }
  void add_tool(Tool tool, ToolFunction handler, ToolOptions options = {});
  bool remove_tool(std::string name);
  void add_resource(Resource resource, std::function<std::vector<ResourceContents>(std::string uri)> handler);
  bool remove_resource(std::string uri);
  void add_resource_template(
      ResourceTemplate resource_template,
      std::function<std::vector<ResourceContents>(std::string uri, std::map<std::string, std::string> variables)>
          handler);
  void add_skill(std::string path, std::vector<SkillFile> files);
  bool remove_skill(std::string path);
  void add_prompt(Prompt prompt, std::function<GetPromptResult(std::map<std::string, std::string> arguments)> handler);
  bool remove_prompt(std::string name);
  void set_completion(std::function<CompleteResult(CompleteRequest request)> handler);
  // Tells subscribers of this URI, or of one above it, to read again.
  void resource_updated(std::string uri);

  // Serves this process's stdin and stdout until the end of input, or until `stop`.
  void serve_stdio(std::stop_token stop = {});
  // Serves HTTP until `stop`.
  void serve_http(HttpServing options, std::stop_token stop);

 private:
  friend class Host;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace patchbay::blocking
