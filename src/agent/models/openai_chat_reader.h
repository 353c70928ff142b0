// Reads an answer of Chat Completions as it streams in, with what different servers make of it. Used by openai_chat.cpp
// and by providers that speak the same. Pure; any thread.
#pragma once

#include <array>
#include <memory>
#include <string_view>

#include <patchbay/model.h>

#include "agent/models/provider.h"

namespace patchbay {

// What servers call the thoughts of a model, in a delta and in a message that goes back.
inline constexpr std::array<std::string_view, 3> chat_thinking_words{"reasoning_content", "reasoning",
                                                                     "reasoning_text"};

// Keeps what it needs of both.
std::unique_ptr<AnswerReader> openai_chat_reader(const ModelInfo& info, const ModelRequest& request);

}  // namespace patchbay
