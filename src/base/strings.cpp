#include "base/strings.h"

#include <algorithm>
#include <cstdint>

#include <fmt/format.h>

namespace patchbay {

std::string_view trim(std::string_view text) noexcept {
  constexpr std::string_view blank = " \t\r\n\v\f";
  auto first = text.find_first_not_of(blank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blank) - first + 1);
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    auto at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

std::string join(const std::vector<std::string>& parts, std::string_view separator) {
  return fmt::format("{}", fmt::join(parts, separator));
}

std::string to_lower_ascii(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

std::size_t edit_distance(std::string_view a, std::string_view b, std::size_t limit) {
  if (a.size() > b.size()) std::swap(a, b);
  if (b.size() - a.size() > limit) return limit + 1;
  // Three rows of the table: two back for swapped neighbours.
  std::vector<std::size_t> earlier(a.size() + 1), before(a.size() + 1), row(a.size() + 1);
  for (std::size_t i = 0; i <= a.size(); ++i) row[i] = i;
  std::size_t best_before = 0;
  for (std::size_t j = 1; j <= b.size(); ++j) {
    earlier.swap(before);
    before.swap(row);
    row[0] = j;
    std::size_t best = row[0];
    for (std::size_t i = 1; i <= a.size(); ++i) {
      const auto substitute = before[i - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[i] = std::min({before[i] + 1, row[i - 1] + 1, substitute});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[i] = std::min(row[i], earlier[i - 2] + 1);
      best = std::min(best, row[i]);
    }
    // A swap looks two rows back.
    if (best > limit && best_before > limit) return limit + 1;
    best_before = best;
  }
  return std::min(row[a.size()], limit + 1);
}

namespace {

// How much both begin with that ends in a sign: "mcp__", "--", "docs/".
std::size_t common_form(std::string_view a, std::string_view b) {
  const auto same = static_cast<std::size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
  std::size_t form = 0;
  for (std::size_t i = 0; i < same; ++i) {
    const char c = a[i];
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    // "_" inside a name is a letter of it; "__" is between names.
    if (c == '_' ? i > 0 && a[i - 1] == '_' : !letter) form = i + 1;
  }
  return form;
}

}  // namespace

std::string nearest(std::string_view word, const std::vector<std::string>& candidates) {
  constexpr std::size_t most_slips = 3;
  constexpr std::size_t shortest_beginning = 3;
  std::string_view best;
  std::size_t best_distance = most_slips + 1;
  for (const auto& candidate : candidates) {
    const auto form = common_form(word, candidate);
    const auto typed = word.substr(form);
    const auto whole = std::string_view(candidate).substr(form);
    const auto slips = std::min((typed.size() + 1) / 3, most_slips);
    auto distance = edit_distance(typed, whole, slips);
    // Half of it was typed, and rightly, or it was typed and half as much again.
    const bool begun = std::min(typed.size(), whole.size()) >= shortest_beginning &&
                       (whole.starts_with(typed) || typed.starts_with(whole)) &&
                       std::min(typed.size(), whole.size()) * 2 >= std::max(typed.size(), whole.size());
    if (distance > slips && !begun) continue;
    if (distance > slips) distance = most_slips;
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return std::string(best);
}

std::string plural(std::size_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string_view cut_utf8(std::string_view text, std::size_t bytes) noexcept {
  if (text.size() <= bytes) return text;
  while (bytes > 0 && (static_cast<std::uint8_t>(text[bytes]) & 0xC0) == 0x80) --bytes;
  return text.substr(0, bytes);
}

bool valid_utf8(std::string_view text) noexcept {
  std::size_t i = 0;
  auto byte = [&](std::size_t at) { return static_cast<std::uint8_t>(text[at]); };
  while (i < text.size()) {
    std::uint8_t lead = byte(i);
    if (lead < 0x80) {
      ++i;
      continue;
    }
    std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
    if (lead < 0xC2 || lead > 0xF4 || i + length > text.size()) return false;
    std::uint8_t low = 0x80, high = 0xBF;  // RFC 3629: no overlong forms, surrogates or values past U+10FFFF
    if (lead == 0xE0) low = 0xA0;
    if (lead == 0xED) high = 0x9F;
    if (lead == 0xF0) low = 0x90;
    if (lead == 0xF4) high = 0x8F;
    if (byte(i + 1) < low || byte(i + 1) > high) return false;
    for (std::size_t k = 2; k < length; ++k) {
      if ((byte(i + k) & 0xC0) != 0x80) return false;
    }
    i += length;
  }
  return true;
}

std::string percent_encoded(std::string_view text, std::string_view kept) {
  std::string out;
  for (const char c : text) {
    const char lower = static_cast<char>(c | 0x20);
    const bool plain = (lower >= 'a' && lower <= 'z') || (c >= '0' && c <= '9') || kept.find(c) != kept.npos;
    if (plain) {
      out += c;
    } else {
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return out;
}

Position position_of(std::string_view text, std::size_t offset) noexcept {
  auto before = text.substr(0, offset);
  Position position;
  position.line = 1 + static_cast<std::size_t>(std::ranges::count(before, '\n'));
  auto line_start = before.rfind('\n');
  auto line = line_start == std::string_view::npos ? before : before.substr(line_start + 1);
  position.column = 1 + static_cast<std::size_t>(std::ranges::count_if(
                            line, [](char c) { return (static_cast<std::uint8_t>(c) & 0xC0) != 0x80; }));
  return position;
}

}  // namespace patchbay
