// Chat Completions. ModelInfo::api says whose: openai_chat is OpenAI's own, local everybody else's (llama.cpp, vLLM,
// LM Studio, routers), where fewer members are sure to be understood. What we assume of them is in openai_chat.cpp and
// openai_chat_reader.cpp alone. Pure; make_model() is who uses it.
#pragma once

#include <memory>

#include <patchbay/model.h>

#include "agent/models/provider.h"

namespace patchbay {

// Paths are behind an address that ends in the version: https://api.openai.com/v1, http://localhost:8080/v1.
std::shared_ptr<Provider> openai_chat_provider(ModelInfo info);

}  // namespace patchbay
