#include "results/scaling.h"

#include <algorithm>

#include "base/crypto.h"
#include "results/image_header.h"

namespace patchbay {
namespace {

constexpr std::size_t most_scaled = 8;
constexpr std::uint64_t most_pixels = 64u << 20;
constexpr std::size_t most_source = 48u << 20;  // of base64
// More than this no model looks at: their APIs make larger images smaller themselves.
constexpr std::uint32_t useful_side = 2000;

bool can_be_scaled(const ImageHeader& header) {
  return header.mime_type != "image/gif" && std::uint64_t{header.width} * header.height <= most_pixels;
}

}  // namespace

std::vector<ImageToScale> images_to_scale(const CallToolResult& result, const ImageLimits& limits) {
  const auto images = std::ranges::count_if(result.content, [](const Content& block) { return image_data(block); });
  const bool many = static_cast<std::size_t>(images) > limits.few;
  std::vector<ImageToScale> out;
  for (std::size_t at = 0; at < result.content.size() && out.size() < most_scaled; ++at) {
    const auto* data = image_data(result.content[at]);
    if (data == nullptr || data->size() > most_source) continue;
    const auto plain = plain_base64(*data);
    const auto header = plain ? image_header_of_base64(*plain) : std::nullopt;
    if (!header || !can_be_scaled(*header)) continue;
    const auto side = many ? limits.side_many : limits.side;
    if (plain->size() <= limits.bytes && std::max(header->width, header->height) <= side) continue;
    out.push_back({at, std::min(side, useful_side), limits.bytes / 4 * 3});
  }
  return out;
}

std::string image_bytes(const CallToolResult& result, std::size_t block) {
  const auto* data = block < result.content.size() ? image_data(result.content[block]) : nullptr;
  if (data == nullptr) return {};
  return base64_decode(*data).value_or(std::string());
}

}  // namespace patchbay
