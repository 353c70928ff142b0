// Chat Completions, as OpenAI and everybody beside it speak it: llama.cpp, vLLM, LM Studio and routers. ModelInfo::api
// says which: openai_chat, or local for servers that make one grammar of all tools. One file holds what we assume of
// them (openai_chat.cpp). Pure; make_model() is who uses it.
#pragma once

#include <memory>

#include <patchbay/model.h>

#include "agent/models/provider.h"

namespace patchbay {

// Paths are behind an address that ends in the version: https://api.openai.com/v1, http://localhost:8080/v1.
std::shared_ptr<Provider> openai_chat_provider(ModelInfo info);

}  // namespace patchbay
