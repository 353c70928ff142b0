// The error object that OpenAI and everybody who speaks like it answer with, as an HTTP body and inside of a stream.
// Pure; any thread.
#pragma once

#include <functional>
#include <string_view>

#include <patchbay/json.h>

#include "agent/models/provider.h"

namespace patchbay {

// Inside of a stream: {"error": {…}}, {"error": "text"} or the error object itself. The status is that which the error
// means by itself: of its own code, else of its word.
ProviderFailure openai_failure(const Json& said);

// An HTTP body, which may be anything. `sent` makes the request's body once more, for an error that speaks of one place
// in it.
ProviderFailure openai_http_failure(int status, std::string_view body, const std::function<Json()>& sent);

}  // namespace patchbay
