// What Gemini answers: a stream of parts, or an error. Used by gemini.cpp alone. Pure.
//
// What only Gemini understands becomes a ProviderBlock in one of two forms, both with the model that made it:
//   {"model", "part"}: a whole part, a thought for instance;
//   {"model", "signature"}: the signature of the text or call that follows it in the message.
#pragma once

#include <memory>
#include <string_view>

#include <patchbay/model.h>

#include "agent/models/provider.h"

namespace patchbay {

std::unique_ptr<AnswerReader> gemini_reader(const ModelInfo& info, const ModelRequest& request);

// `said` is {"error": {…}}, or a list with one of them. With status 0 the status is that which the error means.
ProviderFailure gemini_failure(int status, const Json& said, const ModelRequest& request);

}  // namespace patchbay
