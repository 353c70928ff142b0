#include "text/terminal_text.h"

#include <algorithm>
#include <array>

#include "text/characters.h"
#include "text/utf8.h"
#include "text/visible_text.h"

namespace patchbay {
namespace {

constexpr auto colours = std::to_array<std::string_view>({"\033[0m", "\033[31m", "\033[32m", "\033[33m"});

bool is_plain(char byte) noexcept { return (byte >= 0x20 && byte < 0x7F) || byte == '\n' || byte == '\t'; }

bool is_harmful(char32_t c) noexcept {
  return is_control(c) || is_directional(c) || is_line_separator(c) || (c >= 0xE0000 && c <= 0xE0FFF);
}

// The tags of a flag are harmless where one stands.
bool follows_flag(std::string_view before) { return before.ends_with("\xF0\x9F\x8F\xB4"); }

}  // namespace

std::string terminal_text(std::string_view text) {
  if (std::ranges::all_of(text, is_plain)) return std::string(text);
  std::string out;
  out.reserve(text.size());
  bool in_flag = false;
  for (std::size_t at = 0; at < text.size();) {
    if (is_plain(text[at])) {
      out += text[at++];
      in_flag = false;
      continue;
    }
    const auto rest = text.substr(at);
    const auto colour = std::ranges::find_if(colours, [&](auto one) { return rest.starts_with(one); });
    if (colour != colours.end()) {
      out += *colour;
      at += colour->size();
      continue;
    }
    const auto character = decode_utf8(text, at);
    const auto bytes = text.substr(at, character.length);
    const bool tag = is_tag(character.value);
    in_flag = tag && (in_flag || follows_flag(out));
    const bool harmful = !character.valid || (is_harmful(character.value) && !in_flag);
    out += harmful ? visible_text(bytes) : std::string(bytes);
    at += character.length;
  }
  return out;
}

}  // namespace patchbay
