// What a model gets of a result, for a person and for a script that looks at it. Pure. Called by `call --for-model`.
#pragma once

#include <string>

#include <patchbay/json.h>
#include <patchbay/results.h>

namespace patchbay::cli {

// The texts, and a line for each image.
std::string model_text(const ModelResult& result);
// All of it, images as base64.
Json model_json(const ModelResult& result);
// What a model reads about reading on: the commands that do it.
std::string reading_words();

}  // namespace patchbay::cli
