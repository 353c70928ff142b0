// Whole-text UTF-8 checks, vectorised. Pure.
#pragma once

#include <cstddef>
#include <string_view>

namespace patchbay {

inline constexpr std::size_t all_utf8 = static_cast<std::size_t>(-1);

// The offset of the first byte that does not begin a well-formed UTF-8 sequence.
std::size_t first_invalid_utf8(std::string_view text) noexcept;

// The length of the well-formed sequence at `text[offset]`, 0 when there is none.
std::size_t utf8_sequence(std::string_view text, std::size_t offset) noexcept;

}  // namespace patchbay
