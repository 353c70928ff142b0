// Ollama, by its own interface: the one it shares with others cuts a conversation to its beginning and end without a
// word, because it cannot be told how much the model shall read. What is assumed of it is in this file and
// ollama_reader.h alone. Pure; make_model() is who uses it.
#pragma once

#include <memory>

#include <patchbay/model.h>

#include "agent/models/provider.h"

namespace patchbay {

// ModelInfo::context_tokens is what the server sets memory aside for, with every request. Servers before 0.8 lose calls
// in an answer that is streamed, or send them as text. Where that shows, an answer to a request with tools comes in one
// piece from then on.
std::shared_ptr<Provider> ollama_provider(ModelInfo info);

}  // namespace patchbay
