// How a text stands in the columns of a terminal: which characters belong together, and how many columns they take. One
// place for it, asked by everything that moves a cursor, breaks lines or cuts texts here. Terminals differ about new
// emoji; what they agree on is right. Pure; any thread. Texts are UTF-8; what is not counts as one column a byte.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace patchbay::terminal {

// 0, 1 or 2; a tab and other controls 0: whoever shows a text replaces them before.
std::size_t width_of(char32_t c) noexcept;

// The end of the character that begins at `at`, as a person counts characters: with its marks, joined emoji, flags.
std::size_t next_character(std::string_view text, std::size_t at) noexcept;
// The beginning of the one that ends at `at`.
std::size_t previous_character(std::string_view text, std::size_t at) noexcept;

std::size_t columns_of(std::string_view text) noexcept;
// The longest beginning of whole characters that fits.
std::string_view fitting(std::string_view text, std::size_t columns) noexcept;
// The same with … where something is left out.
std::string cut(std::string_view text, std::size_t columns);

// The text without colours (ESC [ … m), for measuring what has them.
std::string without_colours(std::string_view text);
// Columns of a text that may have colours.
std::size_t shown_columns(std::string_view text);

}  // namespace patchbay::terminal
