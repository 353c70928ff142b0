// What model APIs refuse a whole request for: images with too many pixels, or for a model that takes none, and too many
// bytes. Such an image is left out of the request with a note in its place; the conversation keeps it. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <patchbay/model.h>

namespace patchbay {

struct RequestLimits {
  std::uint32_t pixels = 8000;          // a side of an image
  std::uint32_t pixels_of_many = 2000;  // the same where there are many
  std::size_t many = 20;                // images beyond which there are many
  std::size_t bytes = 20'000'000;       // of the whole request
  std::size_t least_text = 2'000;       // what is left of a text of an outcome that has to be cut
};

struct FittedRequest {
  ModelRequest request;
  std::vector<std::string> notes;  // for the person
};

// Messages that fit stay the same objects. Where it is too large, the oldest images go first, then the oldest outcomes
// are cut.
FittedRequest fit_request(ModelRequest request, const ModelInfo& model, const RequestLimits& limits = {});

// About what a message or the tools of a request are in it.
std::size_t bytes_of(const ModelMessage& message);
std::size_t bytes_of(const ToolPool& tools);

}  // namespace patchbay
