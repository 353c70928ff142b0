#include "json/utf8.h"

#include <cstdint>
#include <cstring>

#include <simdjson.h>

namespace patchbay {

std::size_t utf8_sequence(std::string_view text, std::size_t offset) noexcept {
  const auto byte = [&](std::size_t i) -> unsigned {
    return offset + i < text.size() ? static_cast<unsigned char>(text[offset + i]) : 0;
  };
  const auto continues = [&](std::size_t i) { return (byte(i) & 0xC0) == 0x80; };
  const unsigned lead = byte(0);
  if (lead < 0x80) return offset < text.size() ? 1 : 0;
  if (lead >= 0xC2 && lead <= 0xDF) return continues(1) ? 2 : 0;
  if (lead >= 0xE0 && lead <= 0xEF) {
    if (!continues(1) || !continues(2)) return 0;
    if (lead == 0xE0 && byte(1) < 0xA0) return 0;   // overlong
    if (lead == 0xED && byte(1) >= 0xA0) return 0;  // surrogate
    return 3;
  }
  if (lead >= 0xF0 && lead <= 0xF4) {
    if (!continues(1) || !continues(2) || !continues(3)) return 0;
    if (lead == 0xF0 && byte(1) < 0x90) return 0;   // overlong
    if (lead == 0xF4 && byte(1) >= 0x90) return 0;  // beyond U+10FFFF
    return 4;
  }
  return 0;
}

namespace {

bool short_ascii(std::string_view text) noexcept {
  if (text.size() > 256) return false;
  std::uint64_t high = 0;
  const char* at = text.data();
  std::size_t left = text.size();
  for (; left >= 8; at += 8, left -= 8) {
    std::uint64_t word;
    std::memcpy(&word, at, 8);
    high |= word;
  }
  for (; left != 0; ++at, --left) high |= static_cast<unsigned char>(*at);
  return (high & 0x8080808080808080u) == 0;
}

}  // namespace

std::size_t first_invalid_utf8(std::string_view text) noexcept {
  if (short_ascii(text)) return all_utf8;  // cheaper than choosing the vector code
  if (simdjson::validate_utf8(text.data(), text.size())) return all_utf8;
  std::size_t offset = 0;
  while (offset < text.size()) {
    const auto length = utf8_sequence(text, offset);
    if (length == 0) return offset;
    offset += length;
  }
  return all_utf8;
}

}  // namespace patchbay
