// What a Host asks the program. Values only, without coroutines, so that both faces of the library share them.
#pragma once

#include <patchbay/call.h>
#include <patchbay/catalog.h>
#include <patchbay/config.h>
#include <patchbay/json.h>
#include <patchbay/permission.h>

namespace patchbay {

// Whether a server that a project file declares may be started.
struct ApprovalQuestion {
  ServerConfig server;
  CallContext context;  // the call that needs it, where one does
};

// A call that no rule allows or denies.
struct PermissionQuestion {
  CatalogEntry tool;
  Payload arguments;
  PermissionDecision decision;  // why it is asked
  CallContext context;
};

}  // namespace patchbay
