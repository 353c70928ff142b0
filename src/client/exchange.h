// One request of a session and all that becomes of it: call, answer what the server asks, call again with the answers
// and its state, a bounded number of times; once more in a new session when the server has forgotten the one it was
// sent in. The time a person takes does not count against the call. Called by the typed methods of a session, on its
// loop; `session` outlives the task.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <patchbay/client.h>

#include "client/timing.h"
#include "protocol/wire.h"
#include "rpc/peer.h"

namespace patchbay {

class SessionOwner;

// What a request led to.
struct Exchanged {
  Json answer;
  std::unique_ptr<RemoteTask> task;              // instead of an answer
  std::shared_ptr<Peer> peer;                    // the one `progress` listens on
  std::unique_ptr<Peer::ProgressHold> progress;  // with a task, when progress was asked for
  std::size_t bytes = 0;                         // of the answer
};

// An answer that may have come from the cache, or gone there.
struct Fetched {
  Json own;                          // where nobody else has it
  std::shared_ptr<const Json> kept;  // else
  std::size_t bytes = 0;
  // To be taken apart: moved where nobody else has it.
  Json take() && { return kept ? Json(*kept) : std::move(own); }
};

// The result without envelope. `asked` tells whether the server asked something meanwhile.
Task<Json> request(SessionOwner& session, std::string_view method, Members members, RequestSettings settings,
                   bool* asked = nullptr);
// The same where the answer may be a task that goes on (client/remote_tasks.h). With `plain`,
// the result of a call that is nothing but text may go there at once; the answer is null then,
// which no result is.
Task<Exchanged> exchange(SessionOwner& session, std::string_view method, Members members, RequestSettings settings,
                         bool* asked = nullptr, CallToolResult* plain = nullptr);
// Through the cache: `key` names the request among those that may be answered from it.
Task<Fetched> cached_request(SessionOwner& session, std::string_view method, Members members, std::string key,
                             RequestSettings settings);
// The error of a request, saying of a tool call whether it was carried out and of nothing else: `so_far` where no
// layer below has said it.
Error error_of_exchange(std::string_view method, CarriedOut so_far, Error error);

// What an answer was decoded to; the error says to which request it was the answer.
template <class T>
T decoded_or_throw(std::string_view method, Result<T> decoded) {
  if (!decoded) throw decoded.error().within("the server's answer to " + std::string(method) + " is not valid");
  return std::move(*decoded);
}

}  // namespace patchbay
