// What a Host reports to the program, and what it asks. Values only, without coroutines, so that both faces of
// the library share them.
#pragma once

#include <cstdint>
#include <memory>
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

// What a host keeps of a server beside its tools, which are in the catalog.
enum class ListKind : std::uint8_t { prompts, resources, resource_templates };

// One of these lists, as the host knows it.
template <class T>
struct ServerList {
  std::shared_ptr<const std::vector<T>> items;  // never null in what a host returns
  std::uint64_t generation = 0;                 // grows whenever the items are others; begins anew with another entry
  std::optional<Error> error = {};              // why newer ones could not be fetched
  bool from_before = false;  // the connection they were fetched on was lost, and there are none of a new one yet
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

// Whether a tool may be called that is not any more what somebody agreed to.
struct ChangedToolQuestion {
  std::string server;
  std::shared_ptr<const Tool> before;  // null: it was not there
  std::shared_ptr<const Tool> now;     // as its server declares it
  std::vector<std::string> changes;    // what is different, in words: "its description is another one"
  CallContext context;                 // the call that needs it
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
