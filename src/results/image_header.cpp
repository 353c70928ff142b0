#include "results/image_header.h"

#include <algorithm>

#include "base/crypto.h"

namespace patchbay {
namespace {

// Of a jpeg, what stands before its size (previews, profiles) is seldom longer.
constexpr std::size_t looked_at = 512u << 10;

using namespace std::string_view_literals;

std::uint32_t byte_at(std::string_view bytes, std::size_t at) noexcept { return static_cast<std::uint8_t>(bytes[at]); }
std::uint32_t big16(std::string_view bytes, std::size_t at) noexcept {
  return byte_at(bytes, at) << 8 | byte_at(bytes, at + 1);
}
std::uint32_t big32(std::string_view bytes, std::size_t at) noexcept {
  return big16(bytes, at) << 16 | big16(bytes, at + 2);
}
std::uint32_t little16(std::string_view bytes, std::size_t at) noexcept {
  return byte_at(bytes, at) | byte_at(bytes, at + 1) << 8;
}
std::uint32_t little24(std::string_view bytes, std::size_t at) noexcept {
  return little16(bytes, at) | byte_at(bytes, at + 2) << 16;
}

std::optional<ImageHeader> sized(std::string_view type, std::uint32_t width, std::uint32_t height) {
  if (width == 0 || height == 0) return std::nullopt;
  return ImageHeader{type, width, height};
}

std::optional<ImageHeader> jpeg(std::string_view bytes) {
  std::size_t at = 2;
  while (at + 9 < bytes.size()) {
    if (byte_at(bytes, at) != 0xFF) return std::nullopt;
    const auto marker = byte_at(bytes, at + 1);
    if (marker == 0xFF) {  // filling
      ++at;
      continue;
    }
    if (marker == 0x01 || (marker >= 0xD0 && marker <= 0xD8)) {  // without a length
      at += 2;
      continue;
    }
    if (marker == 0xD9 || marker == 0xDA) return std::nullopt;
    const bool frame = marker >= 0xC0 && marker <= 0xCF && marker != 0xC4 && marker != 0xC8 && marker != 0xCC;
    if (frame) return sized("image/jpeg", big16(bytes, at + 7), big16(bytes, at + 5));
    const auto length = big16(bytes, at + 2);
    if (length < 2) return std::nullopt;
    at += 2 + length;
  }
  return std::nullopt;
}

std::optional<ImageHeader> webp(std::string_view bytes) {
  if (bytes.size() < 30) return std::nullopt;
  const auto form = bytes.substr(12, 4);
  if (form == "VP8 ") return sized("image/webp", little16(bytes, 26) & 0x3FFF, little16(bytes, 28) & 0x3FFF);
  if (form == "VP8X") return sized("image/webp", little24(bytes, 24) + 1, little24(bytes, 27) + 1);
  if (form != "VP8L" || byte_at(bytes, 20) != 0x2F) return std::nullopt;
  const auto bits = little16(bytes, 21) | little16(bytes, 23) << 16;
  return sized("image/webp", (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1);
}

}  // namespace

std::optional<ImageHeader> image_header(std::string_view bytes) {
  if (bytes.starts_with("\x89PNG\r\n\x1a\n"sv)) {
    if (bytes.size() < 24 || bytes.substr(12, 4) != "IHDR") return std::nullopt;
    return sized("image/png", big32(bytes, 16), big32(bytes, 20));
  }
  if (bytes.starts_with("\xff\xd8\xff"sv)) return jpeg(bytes);
  if (bytes.starts_with("GIF87a") || bytes.starts_with("GIF89a")) {
    if (bytes.size() < 10) return std::nullopt;
    return sized("image/gif", little16(bytes, 6), little16(bytes, 8));
  }
  if (bytes.starts_with("RIFF") && bytes.size() > 12 && bytes.substr(8, 4) == "WEBP") return webp(bytes);
  return std::nullopt;
}

std::optional<std::string> plain_base64(std::string_view data) {
  std::string out;
  out.reserve(data.size());
  std::size_t padding = 0;
  for (const char c : data) {
    if (c == '\n' || c == '\r' || c == ' ' || c == '\t') continue;
    const bool digit =
        (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '+' || c == '/';
    if (c == '=') {
      ++padding;
    } else if (!digit || padding > 0) {
      return std::nullopt;
    }
    out += c;
  }
  if (out.empty() || padding > 2) return std::nullopt;
  if (padding == 0) out.append((4 - out.size() % 4) % 4, '=');
  if (out.size() % 4 != 0 || out.ends_with("===")) return std::nullopt;
  return out;
}

std::optional<ImageHeader> image_header_of_base64(std::string_view data) {
  const auto decoded = base64_decode(data.substr(0, looked_at / 3 * 4));
  return decoded ? image_header(*decoded) : std::nullopt;
}

}  // namespace patchbay
