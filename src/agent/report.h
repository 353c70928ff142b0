// What an agent does, as JSON for a program that started it and reads its output: one value for each event, and one
// for the answer. The names are those that readers of other agents' "stream-json" and "json" know. Pure; texts are as
// the model and the servers wrote them, inside of JSON.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <patchbay/agent.h>

namespace patchbay {

// The first line of a stream: what there is to work with.
struct ReportBegin {
  std::string session_id = {};  // of the conversation
  std::string directory = {};
  std::string model = {};            // "provider:name"
  std::string permission_mode = {};  // "default", "plan"…
  std::vector<std::string> tools = {};
  std::vector<ServerStatus> servers = {};
  std::vector<ConfigProblem> problems = {};  // of entries: those are in "mcp_server_errors"
};
Json begin_json(const ReportBegin& begin);

// What belongs to every line behind it.
struct ReportRun {
  std::string session_id = {};
  std::string model = {};  // "provider:name"
};

// Nothing for events that are only of use to a person who looks on: pieces of a text whose whole follows.
std::optional<Json> event_json(const AgentEvent& event, const ReportRun& run);

// The last line, and all of "json".
struct ReportEnd {
  std::chrono::milliseconds took{};
  std::vector<ModelToolUse> deferred = {};     // calls that are to be made when the conversation is resumed
  std::optional<ModelUsage> for_servers = {};  // what servers had of the model
};
Json answer_json(const AgentAnswer& answer, const ReportEnd& end, const ReportRun& run);
// The same of a run that came to no answer. What was used and refused until then is in `so_far`.
Json failure_json(const Error& error, const AgentAnswer& so_far, const ReportEnd& end, const ReportRun& run);

Json usage_json(const ModelUsage& usage);

}  // namespace patchbay
