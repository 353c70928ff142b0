// Small text helpers used across folders.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace patchbay {

std::string_view trim(std::string_view text) noexcept;  // ASCII white space
std::vector<std::string_view> split(std::string_view text, char separator);
std::string join(const std::vector<std::string>& parts, std::string_view separator);
std::string to_lower_ascii(std::string_view text);
// Letters to add, drop or replace, or neighbours to swap, to make one of the other: at most `limit`, else limit + 1.
std::size_t edit_distance(std::string_view a, std::string_view b, std::size_t limit);
// The candidate that `word` was meant to be, or empty: at most three slips, and one in three letters. What both
// begin with for form's sake (mcp__, --, a server before its /) is not counted among the letters. A word of which
// half was typed is near as well, and so is one with half as much behind it.
std::string nearest(std::string_view word, const std::vector<std::string>& candidates);
// "1 tool", "2 tools".
std::string plural(std::size_t count, std::string_view noun);
// Cuts to at most `bytes` without splitting a UTF-8 sequence.
std::string_view cut_utf8(std::string_view text, std::size_t bytes) noexcept;
bool valid_utf8(std::string_view text) noexcept;
// As a URI writes it (RFC 3986, section 2.1): letters, digits and what is in `kept` stay, other bytes become %XX.
std::string percent_encoded(std::string_view text, std::string_view kept);
// Line and column (from 1) of a byte offset.
struct Position {
  std::size_t line = 1;
  std::size_t column = 1;
  bool operator==(const Position&) const = default;
};
Position position_of(std::string_view text, std::size_t offset) noexcept;

}  // namespace patchbay
