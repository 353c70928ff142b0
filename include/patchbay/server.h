// Server: tools, resources, skills and prompts offered to MCP clients of either protocol era. The
// same handlers serve both; which era a client speaks is decided when it opens, and both
// may be served at once. One loop thread; handlers run there.
//
//   Server server("calculator", "1.0");
//   server.add_tool("add", "Adds two numbers", args(arg<double>("a"), arg<double>("b")),
//                   [](double a, double b) { return text(std::to_string(a + b)); });
//   return run(server.serve_stdio());
//
// A handler that asks the client something (elicit, sample, list_roots) is written as if
// the answer simply came back. With an older client it does: the request goes out while
// the handler waits. With a newer one the call ends, the client answers by repeating it,
// and the handler runs again from its beginning with the answers so far at hand: keep what
// happens before a question free of side effects.
//
// A tool whose `execution` allows tasks may go on after its call was answered: the client
// gets the task's id, asks for its state and fetches the result. An older client says which
// calls shall be tasks; with a newer one every call of such a tool is, if the client takes
// tasks at all. Inside a task a question waits for its answer in both, and nothing runs
// twice. Tasks belong to the server: they continue when a connection ends, and end with the server.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <patchbay/log.h>
#include <patchbay/questions.h>
#include <patchbay/server_http.h>
#include <patchbay/server_types.h>
#include <patchbay/task.h>
#include <patchbay/tools.h>
#include <patchbay/transport.h>
#include <patchbay/types.h>

namespace patchbay {

// What a handler knows about the request it serves, and what it can do meanwhile.
class RequestContext {
 public:
  virtual ~RequestContext() = default;
  // Empty when the client did not say. For display and logs only.
  virtual const std::optional<Implementation>& client() const = 0;
  virtual const ClientCapabilities& client_capabilities() const = 0;

  // Does nothing unless the client asked to hear about progress. `value` must increase.
  virtual void progress(double value, std::optional<double> total = {}, std::optional<std::string> message = {}) = 0;
  // Does nothing below the level the client asked for.
  virtual void log(LoggingLevel level, Json data, std::optional<std::string> logger = {}) = 0;

  // For long work over HTTP: the connection this request came on may close now, and the client
  // comes back for the answer after `retry`. Nothing happens where a client could not come back.
  virtual void release_stream(std::optional<std::chrono::milliseconds> retry = {}) = 0;
  // A line for whoever waits for a task. Does nothing when the call is not a task.
  virtual void status(std::string message) = 0;
  // Makes the call a task from here on, if client and tool allow it; true when it is one.
  virtual bool start_task() = 0;

  // Errc::unsupported when the client did not declare the capability. The content of an accepted
  // form fits its schema. `name` is what a newer client sees the question under, unique in the
  // call; empty: named by kind and order.
  virtual Task<ElicitResult> elicit(ElicitRequest request, std::string name = {}) = 0;
  virtual Task<CreateMessageResult> sample(CreateMessageRequest request, std::string name = {}) = 0;
  virtual Task<std::vector<Root>> list_roots(std::string name = {}) = 0;
};

// Arguments fit the tool's inputSchema when a tool handler sees them; others are answered with
// is_error. What it returns must fit the outputSchema, if there is one and it is not an error.
// An Error thrown by a tool handler becomes a result with is_error (the model can read it),
// except one with a JSON-RPC code, which is sent as that error.
using ToolHandler = std::function<Task<CallToolResult>(RequestContext&, Json arguments)>;
using ResourceHandler = std::function<Task<std::vector<ResourceContents>>(RequestContext&, std::string uri)>;
using TemplateHandler = std::function<Task<std::vector<ResourceContents>>(
    RequestContext&, std::string uri, std::map<std::string, std::string> variables)>;
using PromptHandler =
    std::function<Task<GetPromptResult>(RequestContext&, std::map<std::string, std::string> arguments)>;
using CompletionHandler = std::function<Task<CompleteResult>(RequestContext&, CompleteRequest request)>;

namespace detail {
template <class R>
struct Awaited {
  using type = R;
  static constexpr bool is_task = false;
};
template <class R>
struct Awaited<Task<R>> {
  using type = R;
  static constexpr bool is_task = true;
};

// A tool whose handler takes the arguments as C++ values.
template <class Handler, class... T>
struct TypedTool {
  Args<T...> arguments;
  Handler handler;

  static constexpr bool plain = std::is_invocable_v<Handler&, T...>;
  static constexpr bool fits = plain || std::is_invocable_v<Handler&, RequestContext&, T...>;

  // The values and the handler stay here for as long as the handler runs.
  static Task<CallToolResult> call(std::shared_ptr<TypedTool> tool, RequestContext& context, Json arguments) {
    auto values = tool->arguments.read(arguments);
    auto begin = [&](T&... each) -> decltype(auto) {
      if constexpr (plain) {
        return tool->handler(std::move(each)...);
      } else {
        return tool->handler(context, std::move(each)...);
      }
    };
    using Returned = decltype(std::apply(begin, values));
    static_assert(ToolAnswer<typename Awaited<Returned>::type>,
                  "a tool's handler returns a CallToolResult, a text or Json, or a Task of one of these");
    if constexpr (Awaited<Returned>::is_task) {
      co_return to_tool_result(co_await std::apply(begin, values));
    } else {
      co_return to_tool_result(std::apply(begin, values));
    }
  }
};
}  // namespace detail

class Server {
 public:
  explicit Server(ServerOptions options);
  Server(std::string name, std::string version);
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  ~Server();

  // Adding replaces what has the same name or URI, and clients that listen hear of it.

  // A tool with typed arguments (tools.h). The handler takes them by value, in their order, after a
  // RequestContext& if it wants one. It is a plain function, which must not take long because the loop
  // waits for it, or a coroutine. It returns a CallToolResult, a text, or Json; an Error it throws is
  // shown to the model. Throws Errc::invalid_argument when the name breaks the rules of the protocol
  // (1 to 128 of A-Z a-z 0-9 _ - .).
  template <class... T, class Handler>
  void add_tool(std::string name, std::string description, Args<T...> arguments, Handler handler,
                ToolOptions options = {}) {
    add_tool(detail::named_tool(std::move(name), std::move(description)), std::move(arguments), std::move(handler),
             options);
  }
  // The same with everything a Tool can say about itself; its input schema comes from `arguments`.
  template <class... T, class Handler>
  void add_tool(Tool tool, Args<T...> arguments, Handler handler, ToolOptions options = {}) {
    using Typed = detail::TypedTool<Handler, T...>;
    static_assert(
        Typed::fits,
        "a tool's handler takes the tool's arguments in their order, after a RequestContext& if it wants one");
    tool.input_schema = arguments.schema();
    auto typed = std::make_shared<Typed>(Typed{std::move(arguments), std::move(handler)});
    add_tool(std::move(tool), ToolHandler([typed](RequestContext& context, Json json) {
               return Typed::call(typed, context, std::move(json));
             }),
             options);
  }
  // A tool with a schema of its own. Also Errc::invalid_argument when a schema cannot be checked.
  void add_tool(Tool tool, ToolHandler handler, ToolOptions options = {});
  bool remove_tool(std::string_view name);
  void add_resource(Resource resource, ResourceHandler handler);
  bool remove_resource(std::string_view uri);
  // Throws Errc::invalid_argument when the URI template is malformed.
  void add_resource_template(ResourceTemplate resource_template, TemplateHandler handler);
  // Offers a skill: its files as resources under skill://PATH/, and for clients that know skills its
  // entry with the header of SKILL.md. The last segment of `path` is the skill's name; those before
  // it ("billing/refunds") are the program's. Throws Errc::invalid_argument when a client would
  // refuse it: no SKILL.md, a header that cannot be read or names another skill, a file twice or
  // outside, more than 512 files or 16 MiB.
  void add_skill(std::string path, std::vector<SkillFile> files);
  bool remove_skill(std::string_view path);
  void add_prompt(Prompt prompt, PromptHandler handler);
  bool remove_prompt(std::string_view name);
  void set_completion(CompletionHandler handler);
  // Tells subscribers of this URI, or of one above it, to read again.
  void resource_updated(std::string_view uri);

  const ServerOptions& options() const noexcept;

  // Serves this process's stdin and stdout until the end of input; requests that still run then may
  // answer for a while. Nothing else may write to stdout.
  Task<void> serve_stdio();
  // Serves HTTP on a port until cancelled, then lets running requests finish for a while.
  // Throws when it cannot listen there.
  Task<void> serve_http(ServerHttpOptions options);
  // Serves one connection that the program made itself, until it ends; any number may run at once. What was added to
  // the server lives as long as its connections do, even if this object is gone.
  Task<void> serve(std::unique_ptr<TextChannel> channel);

 private:
  friend struct ServerAccess;
  struct Core;
  std::shared_ptr<Core> core_;
};

}  // namespace patchbay
