// Reads an answer of Responses as it streams in. Items are told apart by their place in the output: their ids differ
// from event to event with some servers, and the last event need not repeat them. Used by openai_responses.cpp. Pure;
// any thread.
#pragma once

#include <memory>
#include <string_view>

#include <patchbay/model.h>

#include "agent/models/provider.h"

namespace patchbay {

// The member of a ProviderBlock that says which phase the text behind it belongs to; such a block has no `type`.
inline constexpr std::string_view responses_phase = "phase";

// Keeps what it needs of both.
std::unique_ptr<AnswerReader> openai_responses_reader(const ModelInfo& info, const ModelRequest& request);

}  // namespace patchbay
