// Ollama, by its own interface: the one it shares with others cuts a conversation to its beginning and end without a
// word, because it cannot be told how much the model shall read. What is assumed of it is in this file and
// ollama_reader.h alone. Pure; make_model() is who uses it.
#pragma once

#include <cstdint>
#include <memory>

#include <patchbay/model.h>

#include "agent/models/provider.h"

namespace patchbay {

struct OllamaOptions {
  // ModelInfo::context_tokens is what the server sets memory aside for, with every request.
  ModelInfo info = {.provider = "ollama", .api = ModelApi::local};
  // Servers before 0.8 lose calls in an answer that is streamed. With `whole`, an answer to a request with tools comes
  // in one piece.
  enum class WithTools : std::uint8_t { streamed, whole };
  WithTools with_tools = WithTools::streamed;
};

std::shared_ptr<Provider> ollama_provider(OllamaOptions options);

}  // namespace patchbay
