#include "text/visible_text.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include <fmt/format.h>

#include "text/characters.h"
#include "text/utf8.h"

namespace patchbay {
namespace {

// Beside what nothing is shown for: Unicode's blanks but U+0020, Bidi_Control and the blocks of scripts that run from
// right to left, marks that strike through or join two letters, private use, noncharacters.
constexpr std::array<CharacterRange, 40> odd{{
    {0x0000, 0x001F},      // controls
    {0x007F, 0x00A0},      // controls, no-break space
    {0x0334, 0x0338},      // overlays
    {0x035C, 0x0362},      // marks over two letters
    {0x0483, 0x0489},      // Cyrillic enclosing marks
    {0x0590, 0x08FF},      // Hebrew, Arabic, Syriac, Thaana, NKo, Samaritan, Mandaic
    {0x1680, 0x1680},      // Ogham space
    {0x1AB0, 0x1AFF},      // combining marks extended
    {0x2000, 0x200F},      // blanks of all widths, zero-width characters, directional marks
    {0x2028, 0x202F},      // separators, embeddings, overrides, narrow no-break space
    {0x205F, 0x206F},      // mathematical space, word joiner, invisible operators, isolates
    {0x20D0, 0x20FF},      // marks for symbols
    {0x2800, 0x2800},      // Braille without dots
    {0x2D7F, 0x2D7F},      // Tifinagh joiner
    {0x2FF0, 0x2FFF},      // ideographic description
    {0x3000, 0x3000},      // ideographic space
    {0x302A, 0x302F},      // tone marks
    {0xA670, 0xA672},      // Cyrillic enclosing marks
    {0xD800, 0xF8FF},      // surrogates, private use
    {0xFB1D, 0xFDFF},      // Hebrew and Arabic presentation forms, noncharacters
    {0xFE20, 0xFE2F},      // half marks
    {0xFE70, 0xFEFF},      // Arabic presentation forms, byte order mark
    {0xFFF0, 0xFFFC},      // annotations, object replacement
    {0xFFFE, 0xFFFF},      // noncharacters
    {0x10800, 0x10FFF},    // scripts from right to left
    {0x11F02, 0x11F02},    // Kawi repha
    {0x13430, 0x1345F},    // hieroglyph format controls
    {0x16FE4, 0x16FE4},    // Khitan filler
    {0x1D159, 0x1D159},    // musical null notehead
    {0x1D165, 0x1D169},    // musical combining stems
    {0x1D16D, 0x1D182},    // musical format controls
    {0x1D185, 0x1D18B},    // musical marks
    {0x1D1AA, 0x1D1AD},    // musical marks
    {0x1E800, 0x1EFFF},    // scripts from right to left
    {0x1FFFE, 0x1FFFF},    // noncharacters
    {0x2FFFE, 0x2FFFF},    // noncharacters
    {0x323B0, 0xE0FFF},    // unassigned, tags, variation selectors
    {0xE1000, 0xEFFFF},    // unassigned
    {0xF0000, 0x10FFFF},   // private use
    {0x110000, 0x110000},  // not a character
}};

// Marks that belong to the letter before them, and cover what else stands there.
constexpr std::array<CharacterRange, 4> marks{{{0x0300, 0x036F}, {0x1DC0, 0x1DFF}, {0x3099, 0x309A}, {0xA66F, 0xA67D}}};

constexpr bool is_letter(char32_t c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= 0xC0 && !contains(marks, c));
}

static_assert(in_order(odd));

enum class Backslash : std::uint8_t { doubled, kept };

constexpr std::size_t fewest_counted = 3;

// Of a character outside ASCII a terminal may make two.
std::size_t columns_of(char32_t c) noexcept { return c < 0x80 ? 1 : 2; }

std::size_t columns_of(std::string_view text) {
  std::size_t columns = 0;
  for (std::size_t at = 0; at < text.size();) {
    const auto character = decode_utf8(text, at);
    columns += columns_of(character.value);
    at += character.length;
  }
  return columns;
}

// A colour (\033[32m) shows nothing by itself.
std::string_view colour_at(std::string_view text, std::size_t at) {
  const auto rest = text.substr(at);
  if (!rest.starts_with("\033[")) return {};
  const auto end = rest.find_first_not_of("0123456789;", 2);
  return end != std::string_view::npos && rest[end] == 'm' ? rest.substr(0, end + 1) : std::string_view();
}

bool is_plain_byte(char byte) noexcept { return byte > 0x20 && byte < 0x7F && byte != '\\'; }

void append_escape(std::string& out, char32_t c) {
  switch (c) {
    case '\n':
      out += "\\n";
      return;
    case '\t':
      out += "\\t";
      return;
    case '\r':
      out += "\\r";
      return;
    default:
      break;
  }
  const auto code = static_cast<std::uint32_t>(c);
  if (code < 0x80) {
    out += fmt::format("\\x{:02x}", code);
  } else {
    out += code < 0x10000 ? fmt::format("\\u{:04x}", code) : fmt::format("\\U{:08x}", code);
  }
}

std::string written_out(std::string_view text, Backslash backslash) {
  std::string out;
  out.reserve(text.size());
  char32_t before = 0;
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] == ' ') {
      const auto end = std::min(text.find_first_not_of(' ', at), text.size());
      out += end - at < fewest_counted ? std::string(end - at, ' ') : fmt::format("\\{{{} blanks}}", end - at);
      at = end;
      before = ' ';
      continue;
    }
    if (is_plain_byte(text[at])) {
      before = static_cast<unsigned char>(text[at]);
      out += text[at++];
      continue;
    }
    if (text[at] == '\\') {
      out += backslash == Backslash::doubled ? "\\\\" : "\\";
      before = U'\\';
      ++at;
      continue;
    }
    const auto character = decode_utf8(text, at);
    const auto bytes = text.substr(at, character.length);
    at += character.length;
    if (!character.valid) {
      for (char byte : bytes) out += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
      before = 0;
    } else if (!shows_itself(character.value) || (contains(marks, character.value) && !is_letter(before))) {
      append_escape(out, character.value);
      before = 0;
    } else {
      out += bytes;
      before = character.value;
    }
  }
  return out;
}

}  // namespace

bool shows_itself(char32_t c) noexcept { return !contains(odd, c) && !is_ignorable(c); }

std::string visible_text(std::string_view text) { return written_out(text, Backslash::doubled); }

std::string visible_message(std::string_view text) { return written_out(text, Backslash::kept); }

std::string visible_word(std::string_view text) {
  constexpr std::string_view plain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_./:=@%+,${}~";
  if (!text.empty() && text.find_first_not_of(plain) == std::string_view::npos) return std::string(text);
  std::string out = "'";
  for (char c : visible_text(text)) {
    if (c == '\'') out += '\\';
    out += c;
  }
  return out + "'";
}

std::vector<std::string> wrapped(std::string_view visible, std::size_t columns, std::string_view before) {
  std::vector<std::string> lines(1);
  // Narrower than this nothing can be read in any case.
  const auto room = columns == 0 ? 0 : std::max(columns, before.size() + 8);
  std::size_t used = 0;
  for (std::size_t at = 0; at < visible.size();) {
    if (const auto colour = colour_at(visible, at); !colour.empty()) {
      lines.back() += colour;
      at += colour.size();
      continue;
    }
    const auto character = decode_utf8(visible, at);
    const auto width = columns_of(character.value);
    if (room != 0 && used + width > room) {
      // Between words, unless the word does not fit a line either. The blank stays where it was, so nothing is lost.
      auto& full = lines.back();
      const auto blank = full.rfind(' ');
      const auto indentation = lines.size() > 1 ? before.size() : full.find_first_not_of(' ');
      std::string rest;
      if (visible[at] != ' ' && blank != std::string::npos && blank >= indentation) {
        const auto word = full.substr(blank + 1);
        const auto end = std::min(visible.find(' ', at), visible.size());
        if (before.size() + columns_of(word) + columns_of(visible.substr(at, end - at)) <= room) {
          rest = word;
          full.resize(blank + 1);
        }
      }
      used = before.size() + columns_of(rest);
      lines.push_back(std::string(before) + rest);
      // The line is full with the end of a word: the blank behind it would only indent the next one.
      if (visible[at] == ' ') {
        ++at;
        continue;
      }
    }
    lines.back() += visible.substr(at, character.length);
    used += width;
    at += character.length;
  }
  return lines;
}

}  // namespace patchbay
