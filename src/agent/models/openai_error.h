// The error object that OpenAI and everybody who speaks like it answer with, as an HTTP body and inside of a stream.
// Pure; any thread.
#pragma once

#include <string_view>

#include <patchbay/model.h>

#include "agent/models/provider.h"

namespace patchbay {

// `said` is {"error": {…}}, {"error": "text"} or the error object itself. With status 0 the status is that which the
// error means by itself: of its own code, else of its word.
ProviderFailure openai_failure(int status, const Json& said, const ModelRequest& request);
// An HTTP body, which may be anything.
ProviderFailure openai_http_failure(int status, std::string_view body, const ModelRequest& request);

}  // namespace patchbay
