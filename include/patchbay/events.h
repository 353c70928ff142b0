// What happens in a Host, as one stream of values: HostOptions::on_event gets each of them on the loop, in
// order. It must be quick; what it throws is logged and changes nothing.
#pragma once

#include <string>
#include <variant>

#include <patchbay/call.h>
#include <patchbay/host_types.h>
#include <patchbay/log.h>
#include <patchbay/status.h>
#include <patchbay/types.h>

namespace patchbay {

// Host::catalog() returns another one. Servers that connect within a moment are reported together.
struct CatalogChange {};

// A log message that a server sent.
struct ServerLog {
  CallContext context;
  LogMessage message;
};

// A list, a resource or a task of a server changed.
struct ServerChange {
  CallContext context;
  Change change;
};

// A list that somebody asked this host for is another one: Host::prompts(), resources() or resource_templates()
// return it. Told after it was fetched, where ServerChange tells of a server's word that it changed.
struct ListChange {
  std::string server;
  ListKind kind = ListKind::prompts;
};

using HostEvent = std::variant<ServerStatus,   // a server connected, failed, or is in another state for another reason
                               CatalogChange,  //
                               ConfigChange,   // after every reading that follow_config or reload() caused
                               ServerLog,      //
                               ServerChange,   //
                               ListChange,     //
                               LogEvent>;  // a problem: what the library itself reports at LogLevel::warning or above

}  // namespace patchbay
