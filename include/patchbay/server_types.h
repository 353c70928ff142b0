// What a Server is made of and how it is offered: values without coroutines, so that both faces of the library share
// them. server.h and blocking.h have the Servers.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <patchbay/log.h>
#include <patchbay/types.h>

namespace patchbay {

// One file of a skill.
struct SkillFile {
  std::string path;                           // in the skill's directory: "SKILL.md", "references/forms.md"
  std::string content;                        // its bytes
  std::optional<std::string> mime_type = {};  // unset: guessed
};

// When a call that may be a task becomes one, where the server decides.
enum class TaskStart : std::uint8_t {
  at_once,     // before its handler runs
  by_handler,  // when the handler calls start_task(): what it asks before is asked of the
               // call itself, and one that returns before answers the call
};

struct ToolOptions {
  TaskStart task_start = TaskStart::at_once;
};

// One caller is one principal (see HttpVerdict) or, where nobody has a name, one session.
struct ServerOptions {
  Implementation info;
  std::optional<std::string> instructions = {};                     // for the model, about the whole server
  LogOptions log = {};                                              // what the library reports about its own work
  std::size_t page_size = 100;                                      // of every list
  CacheHints cache{.ttl_ms = 0, .scope = CacheScope::personal};     // said about lists
  std::size_t requests_in_flight = 1024;                            // per connection
  std::int64_t request_state_seconds = 600;                         // how long a client may take to answer a question
  std::size_t tasks = 1000;                                         // kept at once; more are refused
  std::size_t tasks_each = 500;                                     // of these, for one caller
  std::size_t task_bytes = 256u << 20;                              // of results kept; without room a task fails
  std::size_t task_bytes_each = 128u << 20;                         // of these, for one caller
  std::chrono::milliseconds task_ttl{std::chrono::hours(1)};        // kept from creation, finished or not
  std::chrono::milliseconds task_ttl_most{std::chrono::hours(24)};  // whatever a client asks for
  std::chrono::milliseconds task_poll_interval{500};                // how often clients should ask
};

// Where a Server is offered over HTTP, to whom, and with which limits.
struct HttpListening {
  std::string address = "127.0.0.1";
  std::uint16_t port = 0;  // 0: any that is free
  std::string path = "/mcp";
  // Names a request may give as its host; empty: the loopback names, or any when the address
  // is not loopback.
  std::vector<std::string> allowed_hosts = {};
  // Origins of web pages that may call, as "https://app.example"; empty: pages from loopback.
  // A browser lets a page of another origin than the server's read answers only if its origin
  // is named here (CORS).
  std::vector<std::string> allowed_origins = {};
  // Called once, when requests are accepted.
  std::function<void(const std::string& url)> on_listening = {};

  std::size_t max_connections = 4096;
  std::size_t max_body = 64u << 20;    // bytes of a request
  std::size_t max_answer = 64u << 20;  // bytes of an answer; what is larger becomes an error that says so
  std::size_t max_sessions = 4096;
  // Of these, for one principal, so that nobody can have them all. They hold where callers are told apart.
  std::size_t max_sessions_each = 2048;
  std::size_t max_requests_each = 2048;                    // being answered at once, open streams included
  std::chrono::milliseconds session_idle{30 * 60 * 1000};  // then an unused session ends
  std::size_t replay = 1u << 20;                           // bytes kept per session for clients that reconnect
  std::chrono::milliseconds reconnect{1'000};              // what such clients are asked to wait
  std::chrono::milliseconds keep_alive{15'000};            // between signs of life on a silent stream
  std::chrono::milliseconds grace{5'000};                  // for running requests when the server stops
};

}  // namespace patchbay
