// Classes of characters that matter to whoever shows a text: one table, asked by everything that cleans, escapes or
// refuses. What each caller does about a class is its own affair. Pure.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

namespace patchbay {

struct CharacterRange {
  char32_t first;
  char32_t last;
};

template <std::size_t N>
constexpr bool contains(const std::array<CharacterRange, N>& sorted, char32_t c) noexcept {
  const auto after = std::upper_bound(sorted.begin(), sorted.end(), c,
                                      [](char32_t value, const CharacterRange& range) { return value < range.first; });
  return after != sorted.begin() && c <= std::prev(after)->last;
}

template <std::size_t N>
constexpr bool in_order(const std::array<CharacterRange, N>& ranges) noexcept {
  return std::ranges::is_sorted(ranges, [](const auto& a, const auto& b) { return a.last < b.first; });
}

// Unicode's Default_Ignorable_Code_Point: nothing is shown for them, so that two different texts look the same.
inline constexpr std::array<CharacterRange, 17> ignorable_characters{{
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
static_assert(in_order(ignorable_characters));

constexpr bool is_ignorable(char32_t c) noexcept { return contains(ignorable_characters, c); }
constexpr bool is_control(char32_t c) noexcept { return c < 0x20 || (c >= 0x7F && c <= 0x9F); }
// They change the direction of what follows. The formats that Unicode gave up stand among them.
constexpr bool is_directional(char32_t c) noexcept {
  return c == 0x061C || c == 0x200E || c == 0x200F || (c >= 0x202A && c <= 0x202E) || (c >= 0x2066 && c <= 0x206F);
}
constexpr bool is_line_separator(char32_t c) noexcept { return c == 0x2028 || c == 0x2029; }
constexpr bool is_selector(char32_t c) noexcept { return c >= 0xFE00 && c <= 0xFE0F; }
constexpr bool is_tag(char32_t c) noexcept { return c >= 0xE0000 && c <= 0xE007F; }
constexpr bool is_noncharacter(char32_t c) noexcept { return (c & 0xFFFE) == 0xFFFE || (c >= 0xFDD0 && c <= 0xFDEF); }

}  // namespace patchbay
