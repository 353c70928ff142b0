// The options of one call, the options of one server, and the answer to a listing. Without coroutines, so
// that both faces of the library share it.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <patchbay/types.h>

namespace patchbay {

// Whether a tool call may go on at the server as a task, to be asked for its result. Either
// way the call returns that result.
enum class TaskUse : std::uint8_t {
  automatic,  // when the tool needs it, or the server decides
  prefer,     // whenever the tool can
  avoid,      // never; a tool that needs it refuses
};

// Whose question, log message or change it is: the server, and the call it belongs to where that is known. A server
// that works on several calls over one connection need not say which of them it means; then no call is named.
struct CallContext {
  std::string server = {};  // the name of its entry; empty for a Session that no Host made
  std::string method = {};  // the call, as the protocol names it: "tools/call", "resources/read"; empty: none is known
  std::string tool = {};    // as the server calls it, of "tools/call"
  std::string principal = {};  // CallOptions::principal of that call
  std::uint64_t call_id = 0;   // its CallOptions::call_id, or the number it got
  bool operator==(const CallContext&) const = default;
};

// Of any call of a Session, and of Host::call.
struct CallOptions {
  // For the whole call, without the time that answering the server's questions takes. Unset: the default for
  // this kind of call.
  std::optional<std::chrono::milliseconds> total = {};
  // Without an answer or progress. Unset: none.
  std::optional<std::chrono::milliseconds> idle = {};
  std::function<void(const Progress&)> on_progress = {};

  // For whoever is asked on behalf of the call (CallContext): on whose behalf it is made, and a number to know it
  // by. 0: it is numbered, differently from every other call of the same Host, or of a Session that no Host made.
  std::string principal = {};
  std::uint64_t call_id = 0;

  // The rest is for tool calls only.
  TaskUse task = TaskUse::automatic;
  // How long the server is asked to keep the result of a task. Unset: the server decides.
  std::optional<std::chrono::milliseconds> task_ttl = {};
  // The task a call became, at first and whenever its state or status message changed.
  std::function<void(const RemoteTask&)> on_task = {};
  // Of a tool call, when the tool was listed before: arguments that do not fit its inputSchema
  // are not sent (Errc::invalid_argument), and structured content that does not fit its
  // outputSchema is an Errc::protocol. A schema that cannot be understood checks nothing.
  bool check_arguments = true;
  bool check_result = true;
  // Of Host::call, before rules and the check look at them: texts become the numbers, booleans, arrays or objects that
  // the inputSchema wants, if that loses nothing and all arguments fit then. CallToolResult::coerced says which. Not
  // without check_arguments.
  bool coerce_arguments = true;
  // Of Host::call, for whoever calls where nobody can answer: a call that the user would be asked about is refused
  // (Errc::denied), whether or not there is a PermissionOptions::ask.
  bool refuse_asking = false;
};

// A call that goes on as a task, or was answered at once.
using StartedTool = std::variant<RemoteTask, CallToolResult>;

// All pages of a list, within bounds.
template <class T>
struct Listing {
  std::vector<T> items;
  std::vector<DecodeProblem> problems;  // items that could not be read
  std::optional<std::string> cut;       // why the list is not complete
};

// A child process that speaks MCP on stdin and stdout. The command is looked up along the
// PATH of `env` overlaid on the parent's environment; no shell is involved.
struct StdioOptions {
  std::string command = {};
  std::vector<std::string> args = {};
  std::map<std::string, std::string> env = {};  // overlays the environment
  std::string cwd = {};                         // empty: the current directory
};

// A server behind a URL, by Streamable HTTP, HTTP+SSE or WebSocket.
struct HttpOptions {
  std::string url = {};  // http or https; ws or wss for WebSocket
  // Sent with every request, or with the WebSocket handshake; none of them replaces what the protocol needs.
  std::vector<std::pair<std::string, std::string>> headers = {};
  std::string ca_file = {};               // the only trust of this server; empty: the system's, or SSL_CERT_FILE
  std::string client_certificate = {};    // PEM
  std::string client_key = {};            // PEM; empty: it is in the certificate's file
  std::string client_key_password = {};   // where the key is encrypted
  std::optional<std::string> proxy = {};  // "" for none; unset: HTTPS_PROXY, HTTP_PROXY and NO_PROXY decide
};

}  // namespace patchbay
