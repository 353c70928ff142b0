// Every bound of Patchbay with its default, in one place. All can be configured.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace patchbay {

struct Limits {
  // Sizes.
  std::size_t message = 64u << 20;      // one line, event or body; one byte more closes the channel
  std::size_t answer = 64u << 20;       // what our server sends as one answer
  std::size_t depth = 128;              // JSON nesting
  std::size_t nodes = 4'000'000;        // values in one message
  std::size_t parse_here = 256u << 10;  // larger messages are parsed off the loop
  std::size_t buffered = 256u << 20;    // over all channels, bodies and parsed values of the process
  std::size_t list_bytes = 64u << 20;   // of all pages of one list
  std::size_t outgoing = 64u << 20;     // bytes queued for a peer that does not read
  std::size_t stderr_tail = 64u << 10;  // kept of a child's stderr
  std::size_t skill_bytes = 16u << 20;  // of all files of one skill
  std::size_t frontmatter = 64u << 10;  // the header of a SKILL.md
  // Counts.
  std::size_t pages = 1000;           // of one list
  std::size_t items = 10'000;         // of one list, messages in one batch
  std::size_t cursor = 64u << 10;     // bytes of a pagination cursor
  std::size_t server_requests = 32;   // a server's requests to us, in flight
  std::size_t skill_files = 512;      // of one skill
  std::size_t input_rounds = 10;      // times a server may ask back during one call
  std::size_t list_tries = 3;         // per list call
  std::size_t tasks = 256;            // a server's requests that we run as tasks, and keep
  std::size_t task_questions = 100;   // a task may ask during its life
  std::size_t background_calls = 64;  // of a host: those that run, and results that nobody has fetched
  // Steps to check one value against its schema. Beyond them it counts as not checked; that
  // takes some tens of milliseconds with the worst schemas we know, during which nothing else runs.
  std::uint64_t schema_steps = 200'000;
  // Waits.
  std::chrono::milliseconds connect{30'000};                       // from spawn to a working session
  std::string connect_setting = "set MCP_TIMEOUT (milliseconds)";  // how a person lengthens it
  std::chrono::milliseconds conversation{5'000};   // for servers that a conversation waits for (MCP_CONNECT_TIMEOUT_MS)
  std::chrono::milliseconds silent_probe{3'000};   // before `initialize` is sent as well
  std::chrono::milliseconds list{15'000};          // each list call
  std::chrono::milliseconds request{60'000};       // other requests
  std::chrono::milliseconds tool{100'000'000};     // a tool call in total (MCP_TOOL_TIMEOUT)
  std::chrono::milliseconds task_poll{1'000};      // between looks at a task of a server that does not say
  std::chrono::milliseconds task_poll_least{100};  // however often it wants to be asked
  std::chrono::milliseconds task_poll_most{30'000};     // however seldom
  std::chrono::milliseconds task_ttl{3'600'000};        // of a task a server gives us, if it does not say
  std::chrono::milliseconds task_ttl_most{86'400'000};  // however long it wants it kept
  std::chrono::milliseconds exit_after_eof{1'000};
  std::chrono::milliseconds exit_after_int{500};
  std::chrono::milliseconds exit_after_term{500};
  // Concurrency of starting servers.
  std::size_t local_starts = 3;
  std::size_t remote_starts = 20;
};

}  // namespace patchbay
