// Agent: a conversation with a model that may use the tools of a Host and those of the program in the same way. It
// keeps the conversation, asks the model, calls what the model wants, gives it the outcomes and goes on until it is
// content. One Agent is one conversation; sub-agents are Agents that it makes itself and that share its Host. Loop
// thread only; the Host outlives it. Call stop() before it is destroyed.
//
//   Agent agent(host, model, {});
//   co_await agent.begin();
//   auto answer = co_await agent.send({.text = "Which files are here?"});
//   std::cout << answer.text << '\n';
//
// Who may call what is not decided here: Host::call is the door, and asks through PermissionOptions::ask, which the
// program gives to the Host; CallContext::principal names the agent, call_id the call (AgentToolCall::call).
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <patchbay/events.h>
#include <patchbay/host.h>
#include <patchbay/model.h>
#include <patchbay/model_tools.h>
#include <patchbay/results.h>

namespace patchbay {

// ---- what happens, for whoever shows it -------------------------------------------------------------------------

// Every event belongs to the agent itself, or to a sub-agent (empty: the agent itself).
struct AgentText {
  std::string text;  // a piece, as it arrives; uncleaned
};
struct AgentThinking {
  std::string text;
};
// The model has finished a message; it is in the transcript.
struct AgentMessage {
  std::shared_ptr<const ModelMessage> message;
  ModelStop stop = ModelStop::end_turn;
  ModelUsage usage;
};
struct AgentToolCall {
  std::uint64_t call = 0;  // CallOptions::call_id; 0 for a call that never reaches the Host
  ModelToolUse use;
  std::string catalog_name;  // what Host::call is given; empty for a tool of the program
  bool only_reads = false;
};
struct AgentToolProgress {
  std::string id;  // of the ModelToolUse
  Progress progress;
};
struct AgentToolResult {
  std::string id;
  std::string name;
  ModelResult result;
  std::chrono::milliseconds took{};
  // How it came to nothing: a rule, a hook or the person refused; or it was interrupted.
  enum class End : std::uint8_t { answered, failed, denied, deferred, interrupted } end = End::answered;
  std::string reason;  // with denied: the rule, hook or mode that decided
};
struct AgentRetry {
  ModelRetry retry;
};
// For the person, in one line: a tool that a provider refuses, a server that is late, a warning.
struct AgentNotice {
  std::string text;
};
struct AgentCompacted {
  std::size_t tokens_before = 0;
  std::size_t tokens_after = 0;
};
struct SubAgentBegun {
  std::string name;
  std::string task;
};
struct SubAgentEnded {
  bool failed = false;
};

struct AgentEvent {
  std::string sub_agent;  // its id; empty: the agent itself
  std::variant<AgentText, AgentThinking, AgentMessage, AgentToolCall, AgentToolProgress, AgentToolResult, AgentRetry,
               AgentNotice, AgentCompacted, SubAgentBegun, SubAgentEnded>
      what;
};

// ---- options --------------------------------------------------------------------------------------------------------

// A tool of the program itself, which the model is offered beside those of servers. Rules are not asked about it.
struct AgentTool {
  Tool tool;
  bool only_reads = false;  // called at the same time as others, and in plan mode
  // Cancelled when the person interrupts. What it throws is told to the model; Errc::denied counts as a refused call.
  // CallOptions has the principal, the number of the call and where its progress goes.
  std::function<Task<CallToolResult>(Json arguments, CallOptions options)> call;
};

enum class AgentMode : std::uint8_t {
  normal,
  plan,  // only tools that say they only read are called
};

struct AgentOptions {
  std::string directory = {};          // what it works in; empty: the current one
  std::string instructions = {};       // the system text; empty: the usual one
  std::string more_instructions = {};  // behind it
  AgentMode mode = AgentMode::normal;
  // Requests to the model for one send(); 0: as many as it takes.
  std::size_t max_turns = 0;
  std::optional<Json> answer_schema = {};
  // Where conversations are kept (docs/agent.md); empty: nowhere. A conversation is locked by the process that has it.
  std::string state_directory = {};
  std::string resume = {};  // the id of one that is kept there
  // The folder of its file, where that is not the one of the directory; for a sub-agent, beside its parent's.
  std::string kept_in = {};
  // Tools of the program itself beside files and commands of the built-in server, which the program adds to the Host.
  bool sub_agents = true;
  std::size_t sub_agents_at_once = 4;
  // A model for a sub-agent whose definition names one. Null, or unset: the agent's own.
  std::function<std::shared_ptr<Model>(std::string name)> other_model = {};
  bool connect_tool = true;  // connect_mcp
  // Asks the person about a server that the model itself gives a command or URL for. Unset: there is none such.
  std::function<Task<bool>(ApprovalQuestion)> approve_server = {};
  std::vector<AgentTool> tools = {};
  // Which tools of servers it has; unset: all. Others are not there for it, whatever the model calls.
  std::function<bool(const CatalogEntry&)> sees = {};
  std::function<bool(const std::string& server)> sees_server = {};  // likewise, with all that it has
  bool start_servers = true;                                        // all that may be started, with the first send()
  BeginWait wait_for_servers = BeginWait::always_loaded;            // before the model is asked for the first time
  bool resource_tools = true;  // resources and skills of servers, and the search for tools
  // Messages of channels (docs/channels.md) are told to it, and acknowledged once its conversation has them: a Host
  // gives each of them once, so one agent of a Host has this. A sub-agent (`principal`) never has.
  bool channels = true;
  std::string principal = {};  // CallContext::principal of its calls; empty: it is nobody's sub-agent
  ModelToolsOptions model_tools = {};
  std::size_t tools_at_once = 8;  // read-only calls of one answer
  std::function<void(const AgentEvent&)> on_event = {};
};

struct AgentInput {
  std::string text = {};
  std::vector<ModelImage> images = {};
};

struct AgentDenied {
  ModelToolUse use;
  std::string reason;
};

struct AgentAnswer {
  enum class End : std::uint8_t {
    answered,
    refused,  // by the model or its provider
    max_turns,
    interrupted,
    deferred,  // a hook wants a call to be made later: resume the conversation for it
  };
  End end = End::answered;
  std::string text = {};                 // the last message
  std::optional<Json> structured = {};   // with answer_schema
  ModelUsage usage = {};                 // of all requests
  std::size_t turns = 0;                 // requests to the model
  std::vector<AgentDenied> denied = {};  // calls that were refused
};

// What fills the context, in tokens as about four bytes each.
struct AgentContext {
  std::size_t limit = 0;
  std::size_t system = 0;
  std::size_t messages = 0;
  struct ServerTools {
    std::string server;  // empty: the program's own
    std::vector<std::pair<std::string, std::size_t>> tools;
    std::size_t deferred = 0;  // how many more are found by searching
  };
  std::vector<ServerTools> tools;
};

class Agent {
 public:
  Agent(Host& host, std::shared_ptr<Model> model, AgentOptions options);
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;
  ~Agent();

  // What the host tells its program has to come here as well (HostOptions::on_event).
  void heard(const HostEvent& event);
  // Takes up the conversation of AgentOptions::resume, if any, and repairs it. Starts no server: those are started when
  // the first message is sent. Errc::invalid_argument: there is no such conversation; Errc::config: another process has
  // it.
  Task<void> begin();
  Task<void> stop();

  // What the person says, up to the model's last word. One at a time: Errc::invalid_argument while another is under
  // way. It may be empty where something was told, or calls were deferred. Throws what Model::ask throws; the
  // conversation is valid all the same and goes on with the next send(). Errc::denied: a hook (docs/hooks.md) refused
  // what the person said, and the model has nothing of it. Cancelling it ends what is under way first.
  Task<AgentAnswer> send(AgentInput input);
  // Ends the call that runs, if any, with an outcome that says so, and the model goes on; with none running, or the
  // second time, ends the turn.
  void interrupt();
  void interrupt_turn();
  // A message for the model that the person did not type: from a channel, or from a tool that ended in the background.
  // It is given with the next request. Whoever sleeps is woken.
  void tell(std::string text);
  // Returns when something was told that no request has yet, and nothing is under way: then send({}) gives it to the
  // model. Throws Errc::closed after stop().
  Task<void> told();

  bool is_busy() const noexcept;           // a send() or a compact() is under way
  const std::string& id() const noexcept;  // of the conversation; empty before begin()
  const std::vector<std::shared_ptr<const ModelMessage>>& messages() const noexcept;
  const ModelUsage& usage() const noexcept;  // of the whole conversation
  AgentContext context() const;
  AgentMode mode() const noexcept;
  void set_mode(AgentMode mode);
  void set_model(std::shared_ptr<Model> model);
  const Model& model() const noexcept;
  ModelTools& model_tools() noexcept;
  // Shortens the conversation now. Errc::invalid_argument while a send() is under way, denied: a hook keeps it so.
  Task<void> compact();

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace patchbay
