// The library without coroutines: the same calls, each returning when it is done. It owns a
// thread that runs the loop; every function here may be called from any thread but that one
// and throws patchbay::Error. Compiles with any C++23 compiler, g++ 12 included.
//
// Functions of the program run on helper threads of the library, never on the loop, so they may
// block and may call back into the library. Those of a Host or Session run one after the other on
// one thread; handlers of a Server run on several at the same time.
//
// Not here: transports of the program's own (TextChannel) and checks of HTTP callers
// (ServerHttpOptions::authorize). Both are functions that the loop awaits, and need coroutines: see transport.h,
// server_http.h.
#pragma once

#include <chrono>
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
#include <patchbay/host_types.h>
#include <patchbay/json.h>
#include <patchbay/log.h>
#include <patchbay/permission.h>
#include <patchbay/questions.h>
#include <patchbay/status.h>
#include <patchbay/tools.h>
#include <patchbay/types.h>

namespace patchbay::blocking {

// Functions of the program that answer servers and hear of things. Unset: the capability is not
// offered, or nobody hears of it. See ClientOptions.
struct Callbacks {
  std::function<ElicitResult(const ElicitRequest&, const CallContext&)> elicit;
  bool elicit_by_url = false;
  std::function<CreateMessageResult(const CreateMessageRequest&, const CallContext&)> sample;
  bool sample_with_tools = false;
  std::function<std::vector<Root>(const CallContext&)> roots;
  std::function<void(const LogMessage&, const CallContext&)> on_log;
  std::function<void(const Change&, const CallContext&)> on_change;
  // Once per session, when it ends for a reason other than close().
  std::function<void(const Error&)> on_lost;
  // What the library reports about its own work.
  LogOptions log;
};

struct Options {
  Implementation info{.name = "patchbay", .version = "0"};
  Callbacks callbacks;
  std::string protocol = "auto";
  std::optional<LoggingLevel> log_level;
  std::string protocol_memory;

  // The rest is for Host; see HostOptions in host.h.
  // Which servers; unset: those of `load`, by default those a command line in the current directory would see.
  std::optional<LoadedConfig> config;
  std::optional<LoadRequest> load;
  bool follow_config = false;
  bool follow_changes = true;
  bool trust_project = false;
  // Asks whether a server that a project file declares may be started; unset: it may not.
  std::function<bool(const ApprovalQuestion&)> approve;
  std::vector<std::string> allowed_tools;
  std::vector<std::string> disallowed_tools;
  std::optional<PermissionMode> permission_mode;
  // Asks about a call that no rule allows or denies; unset: it is made.
  std::function<bool(const PermissionQuestion&)> permit;
  // Gets everything that happens (events.h).
  std::function<void(const HostEvent&)> on_event;
  std::string failure_memory;
  std::optional<std::chrono::milliseconds> connect_limit;
  std::optional<std::chrono::milliseconds> tool_limit;
};

class Loop;

// One connected server. A handle; copies share the connection.
class Session {
 public:
  ServerDescription server() const;
  bool closed() const;
  // What the server wrote to stderr lately.
  std::string diagnostics() const;

  Listing<Tool> list_tools();
  Listing<Resource> list_resources();
  Listing<ResourceTemplate> list_resource_templates();
  Listing<Prompt> list_prompts();
  // A stop request cancels the call, and the server is informed.
  CallToolResult call_tool(std::string name, Json arguments = {}, CallOptions options = {}, std::stop_token stop = {});
  // Tasks: see Session in session.h.
  StartedTool start_tool(std::string name, Json arguments = {}, CallOptions options = {}, std::stop_token stop = {});
  CallToolResult await_task(std::string id, CallOptions options = {}, std::stop_token stop = {});
  RemoteTask get_task(std::string id);
  Listing<RemoteTask> list_tasks();
  void cancel_task(std::string id);

  ReadResourceResult read_resource(std::string uri, CallOptions options = {}, std::stop_token stop = {});
  Listing<Skill> list_skills();
  Skill get_skill(std::string uri, CallOptions options = {}, std::stop_token stop = {});
  ResourceContents read_skill(Skill skill, std::string file = "SKILL.md", CallOptions options = {},
                              std::stop_token stop = {});
  Listing<Resource> read_directory(std::string uri);
  GetPromptResult get_prompt(std::string name, std::map<std::string, std::string> arguments = {},
                             CallOptions options = {}, std::stop_token stop = {});
  CompleteResult complete(CompleteRequest request, CallOptions options = {});
  void set_log_level(LoggingLevel level);
  void ping(CallOptions options = {});
  // Asks to hear about changes, which arrive at Callbacks::on_change for as long as the session lasts.
  // Returns what the server agreed to.
  SubscriptionFilter watch(SubscriptionFilter filter);
  void roots_changed();
  void close();

 private:
  friend class Host;
  friend struct Connecting;
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

// Starts the server, or reaches the one behind a URL (http, https, ws or wss), and returns a working session.
Session connect(StdioOptions server, Options options = {});
Session connect(HttpOptions server, Options options = {});

// See Host in host.h.
class Host {
 public:
  explicit Host(Options options = {});
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;
  // Stops what runs, within a bounded time. Not on the library's own threads.
  ~Host();

  void add_server(ServerConfig config);

  void start();
  void start(std::vector<std::string> names);
  std::shared_ptr<const Catalog> catalog() const;
  std::vector<ServerStatus> status() const;
  LoadedConfig config() const;
  CallToolResult call(std::string tool, Json arguments = {}, CallOptions options = {}, std::stop_token stop = {});
  CatalogEntry find_tool(std::string tool);
  PermissionDecision decide(std::string tool, Json arguments = {});
  std::vector<ConfigProblem> permission_problems() const;
  Session session(std::string server);
  ConfigChange reload();
  void stop();

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

// What a tool's handler can do besides answering. Valid until the handler returns.
class ToolCall {
 public:
  // Does nothing unless the client asked to hear about progress. `value` must increase.
  void progress(double value, std::optional<double> total = {}, std::optional<std::string> message = {});
  void log(LoggingLevel level, Json data, std::optional<std::string> logger = {});
  // Questions to the client; see RequestContext in server.h. With newer clients the handler runs again from its
  // beginning when the answer has come, so let every exception out that is not an Error.
  ElicitResult elicit(ElicitRequest request);
  CreateMessageResult sample(CreateMessageRequest request);
  std::vector<Root> list_roots();

 private:
  friend class Server;
  struct Impl;
  explicit ToolCall(Impl& impl) : impl_(impl) {}
  Impl& impl_;
};

using ToolFunction = std::function<CallToolResult(ToolCall&, Json arguments)>;

// How a Server is offered over HTTP; see ServerHttpOptions in server_http.h.
struct HttpServing {
  std::string address = "127.0.0.1";
  std::uint16_t port = 0;  // 0: any that is free
  std::string path = "/mcp";
  std::vector<std::string> allowed_hosts;
  std::vector<std::string> allowed_origins;
  std::string token;  // callers must send "Authorization: Bearer <token>"; empty: everybody may call
  // Once, when requests are accepted.
  std::function<void(const std::string& url)> on_listening;
};

// Tools, resources and prompts offered to clients. Add before serving, or while it serves.
class Server {
 public:
  Server(std::string name, std::string version, std::string instructions = {});
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  ~Server();

  // As Server::add_tool in server.h: the handler takes the arguments (tools.h) by value, after a ToolCall& if it
  // wants one, and returns a CallToolResult, a text or Json. It may block.
  template <class... T, class Handler>
  void add_tool(std::string name, std::string description, Args<T...> arguments, Handler handler) {
    Tool tool;
    tool.name = std::move(name);
    tool.description = std::move(description);
    add_tool(std::move(tool), std::move(arguments), std::move(handler));
  }
  template <class... T, class Handler>
  void add_tool(Tool tool, Args<T...> arguments, Handler handler) {
    constexpr bool plain = std::is_invocable_v<Handler&, T...>;
    static_assert(plain || std::is_invocable_v<Handler&, ToolCall&, T...>,
                  "a tool's handler takes the tool's arguments in their order, after a ToolCall& if it wants one");
    tool.input_schema = arguments.schema();
    auto call = [arguments = std::move(arguments), handler = std::move(handler)](ToolCall& call, Json json) mutable {
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
    add_tool(std::move(tool), ToolFunction(std::move(call)));
  }
  void add_tool(Tool tool, ToolFunction handler);
  bool remove_tool(std::string name);
  void add_resource(Resource resource, std::function<std::vector<ResourceContents>(std::string uri)> handler);
  void add_prompt(Prompt prompt, std::function<GetPromptResult(std::map<std::string, std::string> arguments)> handler);
  // Tells subscribers of this URI, or of one above it, to read again.
  void resource_updated(std::string uri);

  // Serves this process's stdin and stdout until the end of input, or until `stop`.
  void serve_stdio(std::stop_token stop = {});
  // Serves HTTP until `stop`.
  void serve_http(HttpServing options, std::stop_token stop);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace patchbay::blocking
