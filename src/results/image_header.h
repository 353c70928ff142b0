// What an image is and how large, read from its first bytes: nothing is decoded, so nothing can explode. Pure; any
// thread. What a server claims of an image is not believed: a model's API refuses the whole request when it is wrong.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace patchbay {

struct ImageHeader {
  std::string_view mime_type;
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  bool operator==(const ImageHeader&) const = default;
};

// png, jpeg, webp and gif. Nothing for anything else, and where the size is not among these bytes.
std::optional<ImageHeader> image_header(std::string_view bytes);

// Base64 without blanks and with padding, as the APIs of models want it; nothing when it is none.
std::optional<std::string> plain_base64(std::string_view data);
// The same of base64 that plain_base64() returned.
std::optional<ImageHeader> image_header_of_base64(std::string_view data);

}  // namespace patchbay
