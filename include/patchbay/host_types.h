// What a Host reports to the program, and what it asks. Values only, without coroutines, so that both faces of
// the library share them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
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

}  // namespace patchbay
