#include "text/ignorable.h"

#include <cstddef>

#include <fmt/format.h>

#include "text/characters.h"
#include "text/utf8.h"

namespace patchbay {

bool holds_ignorable(std::string_view text) noexcept {
  for (std::size_t at = 0; at < text.size();) {
    const auto character = decode_utf8(text, at);
    if (character.valid && is_ignorable(character.value)) return true;
    at += character.length;
  }
  return false;
}

std::string with_ignorable_escaped(std::string_view json) {
  std::string out;
  for (std::size_t at = 0; at < json.size();) {
    const auto [value, length, valid] = decode_utf8(json, at);
    if (!valid || !is_ignorable(value)) {
      out += json.substr(at, length);
    } else if (value < 0x10000) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(value));
    } else {
      const auto rest = static_cast<unsigned>(value) - 0x10000;
      out += fmt::format("\\u{:04x}\\u{:04x}", 0xD800 + (rest >> 10), 0xDC00 + (rest & 0x3FF));
    }
    at += length;
  }
  return out;
}

}  // namespace patchbay
