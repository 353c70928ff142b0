// Google's Gemini, by its generateContent interface. What the model thought, and the signatures of it that come with
// texts and calls, go back as they came to the model that made them and to no other. What is assumed of the API is in
// this file and gemini_reader alone. Pure; make_model() is who uses it.
#pragma once

#include <memory>
#include <string_view>

#include <patchbay/model.h>

#include "agent/models/provider.h"

namespace patchbay {

// Paths are behind an address without the version: https://generativelanguage.googleapis.com.
std::shared_ptr<Provider> gemini_provider(ModelInfo info);

// "gemini-2.5-pro": 2. Names that follow the newest model count as the newest generation that is known here; 0 for
// models that are no Gemini.
int gemini_generation(std::string_view model) noexcept;

}  // namespace patchbay
