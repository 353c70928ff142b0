// What a Host reports to the program, and what it asks. Values only, without coroutines, so that both faces of
// the library share them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <patchbay/call.h>
#include <patchbay/catalog.h>
#include <patchbay/config.h>
#include <patchbay/json.h>
#include <patchbay/permission.h>
#include <patchbay/problem.h>

namespace patchbay {

// What another reading of the configuration changed: names of servers, and what is wrong now.
struct ConfigChange {
  std::vector<std::string> added;
  std::vector<std::string> removed;
  std::vector<std::string> changed;
  std::vector<ConfigProblem> problems;
};

// Whether a server that a project file declares may be started.
struct ApprovalQuestion {
  ServerConfig server;
  CallContext context;  // the call that needs it, where one does
};

// A call that no rule allows or denies, and that somebody is asked about.
struct PermissionQuestion {
  CatalogEntry tool;
  Payload arguments;
  PermissionDecision decision;  // why it is asked
  CallContext context;
};

// What a model reads where a program gets an Error, so that every outcome of a call can be given to it as a result:
// "MCP error -32603: …", "MCP error: unknown tool '…'", "MCP server '…' is not connected: …", and whether the call was
// carried out. `tool` is the name the model used; `server` may be empty where no server is known. Cleaned like all
// that servers say.
std::string failure_text(const Error& error, std::string_view server, std::string_view tool);
CallToolResult failure_result(const Error& error, std::string_view server, std::string_view tool);

// How a call is that goes on in the background (Host::start_call).
struct BackgroundCallStatus {
  enum class State : std::uint8_t {
    running,
    answered,   // the result may say that the tool failed
    failed,     // with an Error
    cancelled,  // by cancel()
  };
  std::uint64_t id = 0;
  std::string tool = {};  // the name it was called by
  State state = State::running;
  std::optional<Progress> progress = {};  // the latest
  bool operator==(const BackgroundCallStatus&) const = default;
};
std::string_view to_string(BackgroundCallStatus::State state) noexcept;

}  // namespace patchbay
