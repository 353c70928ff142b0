// The state a client carries between the rounds of one call: the answers it has given so
// far, sealed so that it can neither read nor change them, bound to the request they
// belong to, to who asked and to a time. Pure; used by the modern front.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <patchbay/json.h>

#include "base/crypto.h"

namespace patchbay {

struct RequestState {
  std::int64_t expires_ms = 0;  // since 1970
  std::vector<std::pair<std::string, Json>> answers;
};

// The call a state belongs to. `params` are the request's own, without anything that
// differs from round to round; `principal` is empty where nobody asks who the client is.
struct StateOwner {
  std::string_view method;
  const Json& params;
  std::string_view principal;
};

std::string seal_state(const Sealer& sealer, const RequestState& state, const StateOwner& owner);
// Errc::invalid_argument when it is not ours, was altered, belongs to another request or
// another client, or has expired.
Result<RequestState> open_state(const Sealer& sealer, std::string_view sealed, const StateOwner& owner,
                                std::int64_t now_ms);

}  // namespace patchbay
