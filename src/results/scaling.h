// Which images of a result are too large for a model's API and can be made smaller, and how small. Pure; whoever makes
// them smaller is elsewhere (host/results/image_scaler.h), and fit.h takes what came of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <patchbay/types.h>

#include "results/fit.h"

namespace patchbay {

struct ImageToScale {
  std::size_t block = 0;   // of the result's content
  std::uint32_t side = 0;  // pixels it may have at most
  std::size_t bytes = 0;   // and bytes
  bool operator==(const ImageToScale&) const = default;
};

// At most `most_scaled` of them, the first ones; none for an image that decoding could make enormous.
std::vector<ImageToScale> images_to_scale(const CallToolResult& result, const ImageLimits& limits = {});
// The bytes of that image; empty where there are none.
std::string image_bytes(const CallToolResult& result, std::size_t block);

}  // namespace patchbay
