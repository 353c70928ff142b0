// A visit whose answer comes to a listener of ours on this machine (RFC 8252, 7.3): opened before the browser is,
// closed after the first answer that belongs to it. Only this machine reaches it, only a browser that goes there by
// itself is heard, and only the address that was announced counts. What it shows is a page that says how it ended. Loop
// thread only.
#pragma once

#include <functional>
#include <string>

#include "auth/engine/visit.h"
#include "base/runtime.h"

namespace patchbay {

struct LoopbackOptions {
  // Shows the user the address, by opening a browser or by saying it. Returns at once or when it is done; what it
  // throws ends the visit.
  std::function<Task<void>(std::string url, std::string redirect_uri)> show;
  std::chrono::milliseconds wait{std::chrono::minutes(10)};  // for the user
  Runtime runtime;
};
OpenVisit loopback_visits(LoopbackOptions options);

// The page, with every word of others escaped. `problem` is empty when all went well.
std::string callback_page(std::string_view server, std::string_view problem);

// Whether a request may be the user's browser coming back. Nothing, or why not. Pure.
struct CallbackRequest {
  std::string method, target, host, fetch_mode, fetch_dest, origin;
};
std::string callback_fault(const CallbackRequest& request, std::string_view redirect_uri);

}  // namespace patchbay
