// Whether a request that failed was carried out all the same: the one table that decides it,
// from what the layers below know. Pure. The Peer asks it for every call that fails; transports
// say what only they can know (not sent, not acknowledged, the session is gone, a scope is
// missing) by Error::with_carried_out, and that counts before the table.
#pragma once

#include <cstdint>
#include <optional>

#include <patchbay/error.h>

namespace patchbay {

struct CallEnd {
  bool sent = true;                      // something of the request may have reached the server
  std::optional<std::int64_t> rpc_code;  // of the JSON-RPC error that answered it
  std::optional<int> http_status;        // of the HTTP answer
  bool operator==(const CallEnd&) const = default;
};

CarriedOut carried_out(const CallEnd& end) noexcept;

// The same error, saying whether its call was carried out: as a layer below has said it, else
// as the table does.
Error judged(Error error, bool sent = true);

// Only what was not carried out is repeated without asking anybody.
bool may_be_repeated(const Error& error) noexcept;

}  // namespace patchbay
