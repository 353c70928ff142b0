// Responses, OpenAI's own interface. Nothing is stored at the provider: every request holds the whole conversation, and
// what a model thought goes back encrypted. With ModelInfo::holds_deferred, tools that come up in a conversation are
// announced by `additional_tools` items, which leave the cached beginning as it is; else in words alone. What
// we assume of the API is in openai_responses.cpp and openai_responses_reader.cpp alone. Pure; make_model() is who uses
// it.
#pragma once

#include <memory>
#include <string_view>

#include <patchbay/model.h>

#include "agent/models/provider.h"

namespace patchbay {

// Paths are behind an address that ends in the version: https://api.openai.com/v1.
std::shared_ptr<Provider> openai_responses_provider(ModelInfo info);

// Whether a model of OpenAI thinks: the others refuse a request that asks for its thoughts.
bool openai_model_thinks(std::string_view model) noexcept;

}  // namespace patchbay
