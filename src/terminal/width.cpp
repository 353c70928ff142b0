#include "terminal/width.h"

#include <algorithm>

#include "terminal/width_table.h"
#include "text/utf8.h"

namespace patchbay::terminal {
namespace {

constexpr char32_t joiner = 0x200D;
constexpr char32_t emoji_selector = 0xFE0F;

constexpr bool is_region(char32_t c) noexcept { return c >= 0x1F1E6 && c <= 0x1F1FF; }
constexpr bool is_skin_tone(char32_t c) noexcept { return c >= 0x1F3FB && c <= 0x1F3FF; }
// What stands on the character before it, or says how that is shown.
constexpr bool extends(char32_t c) noexcept {
  return contains(marks, c) || is_selector(c) || is_tag(c) || is_skin_tone(c) || c == 0x200C || c == joiner;
}
constexpr bool is_lone(char32_t c) noexcept { return is_control(c); }

std::size_t columns_of_character(std::string_view text, std::size_t at, std::size_t end) noexcept {
  const auto first = decode_utf8(text, at);
  if (!first.valid) return first.length;
  std::size_t width = width_of(first.value);
  for (at += first.length; at < end;) {
    const auto c = decode_utf8(text, at);
    // A symbol that is shown as an emoji, and a flag of two letters, take two columns.
    if (c.value == emoji_selector || is_region(c.value)) width = std::max<std::size_t>(width, 2);
    if (width == 0) width = width_of(c.value);
    at += c.length;
  }
  return width;
}

}  // namespace

std::size_t width_of(char32_t c) noexcept {
  if (c >= 0x20 && c < 0x7F) return 1;
  if (is_control(c) || is_ignorable(c) || contains(marks, c)) return c == 0xAD ? 1 : 0;
  return contains(wide_characters, c) ? 2 : 1;
}

std::size_t next_character(std::string_view text, std::size_t at) noexcept {
  if (at >= text.size()) return text.size();
  const auto first = decode_utf8(text, at);
  at += first.length;
  if (!first.valid || is_lone(first.value)) return at;
  bool joined = false;
  bool region = is_region(first.value);
  while (at < text.size()) {
    const auto c = decode_utf8(text, at);
    if (!c.valid) break;
    if (extends(c.value)) {
      joined = c.value == joiner;
    } else if (joined && width_of(c.value) == 2) {
      joined = false;
    } else if (region && is_region(c.value)) {
      region = false;
    } else {
      break;
    }
    at += c.length;
  }
  return at;
}

std::size_t previous_character(std::string_view text, std::size_t at) noexcept {
  at = std::min(at, text.size());
  if (at == 0) return 0;
  // From the beginning of the line: what belongs together is decided forwards.
  const auto line = at < 2 ? std::string_view::npos : text.rfind('\n', at - 2);
  std::size_t from = line == std::string_view::npos ? 0 : line + 1;
  for (;;) {
    const auto next = next_character(text, from);
    if (next >= at) return from;
    from = next;
  }
}

std::size_t columns_of(std::string_view text) noexcept {
  std::size_t columns = 0;
  for (std::size_t at = 0; at < text.size();) {
    const auto end = next_character(text, at);
    columns += columns_of_character(text, at, end);
    at = end;
  }
  return columns;
}

std::string_view fitting(std::string_view text, std::size_t columns) noexcept {
  std::size_t used = 0;
  for (std::size_t at = 0; at < text.size();) {
    const auto end = next_character(text, at);
    used += columns_of_character(text, at, end);
    if (used > columns) return text.substr(0, at);
    at = end;
  }
  return text;
}

std::string cut(std::string_view text, std::size_t columns) {
  const auto whole = fitting(text, columns);
  if (whole.size() == text.size()) return std::string(text);
  if (columns == 0) return {};
  return std::string(fitting(text, columns - 1)) + "…";
}

std::string without_colours(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    if (text.substr(at).starts_with("\033[")) {
      const auto end = text.find_first_not_of("0123456789;", at + 2);
      if (end != std::string_view::npos && text[end] == 'm') {
        at = end + 1;
        continue;
      }
    }
    out += text[at++];
  }
  return out;
}

std::size_t shown_columns(std::string_view text) { return columns_of(without_colours(text)); }

}  // namespace patchbay::terminal
