#include "text/ignorable.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include <fmt/format.h>

namespace patchbay {
namespace {

struct Range {
  char32_t first;
  char32_t last;
};

constexpr std::array<Range, 17> ignorable{{
    {0x00AD, 0x00AD},    // soft hyphen
    {0x034F, 0x034F},    // grapheme joiner
    {0x061C, 0x061C},    // Arabic letter mark
    {0x115F, 0x1160},    // Hangul fillers
    {0x17B4, 0x17B5},    // Khmer inherent vowels
    {0x180B, 0x180F},    // Mongolian selectors and separator
    {0x200B, 0x200F},    // zero-width characters, directional marks
    {0x202A, 0x202E},    // embeddings and overrides
    {0x2060, 0x206F},    // word joiner, invisible operators, isolates
    {0x3164, 0x3164},    // Hangul filler
    {0xFE00, 0xFE0F},    // variation selectors
    {0xFEFF, 0xFEFF},    // byte order mark
    {0xFFA0, 0xFFA0},    // halfwidth Hangul filler
    {0xFFF0, 0xFFF8},    // unassigned
    {0x1BCA0, 0x1BCA3},  // shorthand format controls
    {0x1D173, 0x1D17A},  // musical format controls
    {0xE0000, 0xE0FFF},  // tags, variation selectors, unassigned
}};

struct Read {
  char32_t value;
  std::size_t length;
};

// What is not UTF-8 is passed over byte by byte: no reader ignores it.
Read read_at(std::string_view text, std::size_t at) noexcept {
  const auto lead = static_cast<unsigned char>(text[at]);
  const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC2 ? 2 : 1;
  if (length == 1 || at + length > text.size()) return {lead, 1};
  char32_t value = lead & (0xFFu >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    const auto next = static_cast<unsigned char>(text[at + i]);
    if ((next & 0xC0) != 0x80) return {0, 1};
    value = value << 6 | (next & 0x3Fu);
  }
  return {value, length};
}

}  // namespace

bool is_ignorable(char32_t c) noexcept {
  const auto after = std::ranges::upper_bound(ignorable, c, {}, &Range::first);
  return after != ignorable.begin() && c <= std::prev(after)->last;
}

bool holds_ignorable(std::string_view text) noexcept {
  for (std::size_t at = 0; at < text.size();) {
    const auto [value, length] = read_at(text, at);
    if (length > 1 && is_ignorable(value)) return true;
    at += length;
  }
  return false;
}

std::string with_ignorable_escaped(std::string_view json) {
  std::string out;
  for (std::size_t at = 0; at < json.size();) {
    const auto [value, length] = read_at(json, at);
    if (length == 1 || !is_ignorable(value)) {
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
