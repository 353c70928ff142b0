// What Ollama answers: a line of JSON for every piece, all of it in one, or an error. Used by ollama.cpp alone. Pure.
//
// What the model thought becomes a ProviderBlock {"model", "thinking"}, for the model that made it.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include <patchbay/model.h>

#include "agent/models/provider.h"

namespace patchbay {

// How calls of tools were asked for. With `streamed`, an answer in which one seems lost is a suspicion: one without a
// word although the model wrote something, or one whose text is a call and nothing else. With `whole`, the latter is
// warned of.
enum class OllamaCalls : std::uint8_t { streamed, whole };

std::unique_ptr<AnswerReader> ollama_reader(const ModelInfo& info, const ModelRequest& request, OllamaCalls calls);

// `said` is {"error": …}. With status 0 it came inside of an answer.
ProviderFailure ollama_failure(int status, const Json& said);

}  // namespace patchbay
