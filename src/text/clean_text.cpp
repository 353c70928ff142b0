#include "text/clean_text.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "base/strings.h"
#include "text/characters.h"
#include "text/utf8.h"

namespace patchbay {

namespace {

// Blocks of scripts whose spelling needs joiners: the Arabic family and those of Indic
// descent.
constexpr std::array<CharacterRange, 16> joining_scripts{{
    {0x0600, 0x07FF},    // Arabic, Syriac, Thaana, NKo
    {0x0840, 0x085F},    // Mandaic
    {0x0860, 0x08FF},    // Syriac and Arabic extensions
    {0x0900, 0x0DFF},    // Devanagari to Sinhala
    {0x0F00, 0x109F},    // Tibetan, Myanmar
    {0x1780, 0x18AF},    // Khmer, Mongolian
    {0x1A20, 0x1AAF},    // Tai Tham
    {0x1B00, 0x1BFF},    // Balinese, Sundanese, Batak
    {0x1CD0, 0x1CFF},    // Vedic extensions
    {0xA840, 0xA95F},    // Phags-pa, Saurashtra, Devanagari extended, Kayah Li, Rejang
    {0xA980, 0xAA7F},    // Javanese, Myanmar extended, Cham
    {0xAAE0, 0xAAFF},    // Meetei Mayek extensions
    {0xABC0, 0xABFF},    // Meetei Mayek
    {0xFB50, 0xFDFF},    // Arabic presentation forms
    {0xFE70, 0xFEFE},    // Arabic presentation forms
    {0x11000, 0x11FFF},  // Brahmi and its descendants
}};

// The blocks that hold the pictographs; a joiner between two of their characters is
// harmless even where no emoji has been made of them.
constexpr std::array<CharacterRange, 6> pictographs{{
    {0x2190, 0x21FF},
    {0x2300, 0x23FF},
    {0x2600, 0x27BF},
    {0x2B00, 0x2BFF},
    {0x1F000, 0x1F1E5},
    {0x1F200, 0x1FAFF},
}};

constexpr char32_t zero_width_non_joiner = 0x200C;
constexpr char32_t zero_width_joiner = 0x200D;
constexpr char32_t emoji_selector = 0xFE0F;
constexpr char32_t black_flag = 0x1F3F4;
constexpr char32_t cancel_tag = 0xE007F;

constexpr bool is_joiner(char32_t c) noexcept {
  return c == zero_width_non_joiner || c == zero_width_joiner || (c >= 0x180B && c <= 0x180F);
}
constexpr bool is_blank(char32_t c) noexcept { return c == ' ' || c == '\n' || c == '\t'; }

constexpr bool is_annotation(char32_t c) noexcept { return c >= 0xFFF9 && c <= 0xFFFB; }

// Removed whatever is beside them; joiners, selectors and tags are judged by their neighbours.
constexpr bool is_removed(char32_t c) noexcept {
  if (is_joiner(c) || is_selector(c) || is_tag(c)) return false;
  return (is_control(c) && c != '\n' && c != '\t') || is_noncharacter(c) || is_annotation(c) || is_ignorable(c);
}

constexpr bool is_plain_ascii(char byte) noexcept {
  const auto value = static_cast<unsigned char>(byte);
  return (value >= 0x20 && value < 0x7F) || value == '\n' || value == '\t';
}

// Finds the ends of escape sequences. One object per text: it remembers that there is no
// terminator further on, which keeps many unterminated strings from costing a scan each.
class EscapeScanner {
 public:
  explicit EscapeScanner(std::string_view text) : text_(text) {}

  // The offset behind the sequence that starts at `at` with ESC or an 8-bit introducer.
  std::size_t skip(std::size_t at, char32_t introducer, std::size_t length) {
    const std::size_t next = at + length;
    switch (introducer) {
      case 0x9B:
        return skip_parameters(next);
      case 0x90:
      case 0x98:
      case 0x9D:
      case 0x9E:
      case 0x9F:
        return skip_string(next);
      default:
        break;
    }
    if (next >= text_.size()) return next;
    const char kind = text_[next];
    if (kind == '[') return skip_parameters(next + 1);
    if (kind == ']' || kind == 'P' || kind == '_' || kind == '^' || kind == 'X') return skip_string(next + 1);
    std::size_t end = next;
    while (end < text_.size() && text_[end] >= 0x20 && text_[end] <= 0x2F) ++end;
    if (end < text_.size() && text_[end] >= 0x30 && text_[end] <= 0x7E) return end + 1;
    return end;
  }

 private:
  std::size_t skip_parameters(std::size_t at) const {
    while (at < text_.size() && text_[at] >= 0x30 && text_[at] <= 0x3F) ++at;
    while (at < text_.size() && text_[at] >= 0x20 && text_[at] <= 0x2F) ++at;
    if (at < text_.size() && text_[at] >= 0x40 && text_[at] <= 0x7E) ++at;
    return at;
  }

  // Up to BEL, ST, or whatever else makes a terminal give up on the string. Without an
  // end only the introducer goes: the rest is harmless as text and may be all there is.
  std::size_t skip_string(std::size_t at) {
    if (unterminated_) return at;
    for (std::size_t i = at; i < text_.size(); ++i) {
      const auto byte = static_cast<unsigned char>(text_[i]);
      if (byte == 0x07 || byte == 0x18 || byte == 0x1A) return i + 1;
      if (byte == 0x1B) return i + 1 < text_.size() && text_[i + 1] == '\\' ? i + 2 : i;
      if (byte == 0xC2 && i + 1 < text_.size() && static_cast<unsigned char>(text_[i + 1]) == 0x9C) return i + 2;
    }
    unterminated_ = true;
    return at;
  }

  std::string_view text_;
  bool unterminated_ = false;
};

constexpr bool is_introducer(char32_t c) noexcept {
  return c == 0x1B || c == 0x90 || c == 0x98 || c == 0x9B || (c >= 0x9D && c <= 0x9F);
}

struct Filtered {
  std::string text;            // valid UTF-8
  bool needs_context = false;  // holds characters that only their neighbours can judge
};

// Everything that can be decided by looking at one character or sequence.
Filtered remove_unconditionally(std::string_view text) {
  Filtered out;
  out.text.reserve(text.size());
  EscapeScanner escapes(text);
  for (std::size_t at = 0; at < text.size();) {
    const auto plain_end = std::find_if_not(text.begin() + static_cast<std::ptrdiff_t>(at), text.end(), is_plain_ascii);
    const auto run = static_cast<std::size_t>(plain_end - text.begin()) - at;
    out.text.append(text, at, run);
    at += run;
    if (at == text.size()) break;

    const auto [c, length, _] = decode_utf8(text, at);
    if (is_introducer(c)) {
      at = escapes.skip(at, c, length);
      continue;
    }
    at += length;
    if (c == '\r') {
      if (at == text.size() || text[at] != '\n') out.text += '\n';
    } else if (is_line_separator(c)) {
      out.text += '\n';
    } else if (!is_removed(c)) {
      out.needs_context = out.needs_context || is_joiner(c) || is_selector(c) || is_tag(c);
      append_utf8(out.text, c);
    }
  }
  return out;
}

// The length in bytes of the tags behind a black flag that make it the flag of a
// subdivision (a region of two letters or three digits, then one to four more), else 0.
// Anything longer could carry a hidden message.
std::size_t flag_tags(std::string_view text, std::size_t at) noexcept {
  const std::size_t start = at;
  std::string code;
  while (at < text.size()) {
    const auto [c, length, _] = decode_utf8(text, at);
    if (!is_tag(c)) return 0;
    at += length;
    if (c == cancel_tag) break;
    code += static_cast<char>(c - 0xE0000);
    if (code.size() > 7) return 0;
    if (at == text.size()) return 0;
  }
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const auto is_letter = [](char c) { return c >= 'a' && c <= 'z'; };
  const auto letters = static_cast<std::size_t>(std::find_if_not(code.begin(), code.end(), is_letter) - code.begin());
  const auto digits = static_cast<std::size_t>(std::find_if_not(code.begin(), code.end(), is_digit) - code.begin());
  const std::size_t region = digits >= 3 ? 3 : letters >= 2 ? 2 : 0;
  if (region == 0 || code.size() <= region || code.size() > region + 4) return 0;
  const bool proper = std::all_of(code.begin(), code.end(), [&](char c) { return is_digit(c) || is_letter(c); });
  return proper ? at - start : 0;
}

bool keeps_joiner(char32_t joiner, char32_t before, char32_t after) noexcept {
  if (is_joiner(after)) return false;  // which may go itself
  if (contains(joining_scripts, before) && contains(joining_scripts, after)) return true;
  return joiner == zero_width_joiner && (contains(pictographs, before) || before == emoji_selector) &&
         contains(pictographs, after);
}

bool takes_selector(char32_t before) noexcept {
  return before != 0 && !is_blank(before) && !is_selector(before) && !is_joiner(before) && !is_tag(before);
}

// `before` is always the last character kept, so what stays has the same neighbours when
// the result is cleaned again.
std::string judge_by_neighbours(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  char32_t before = 0;
  for (std::size_t at = 0; at < text.size();) {
    const auto [c, length, _] = decode_utf8(text, at);
    const std::size_t next = at + length;
    bool keep = !is_tag(c);
    if (is_joiner(c)) {
      keep = next < text.size() && keeps_joiner(c, before, decode_utf8(text, next).value);
    } else if (is_selector(c)) {
      keep = takes_selector(before);
    }
    if (keep) {
      out.append(text, at, length);
      before = c;
    }
    at = next;
    if (c == black_flag) {
      if (const std::size_t tags = flag_tags(text, at); tags != 0) {
        out.append(text, at, tags);
        before = cancel_tag;
        at += tags;
      }
    }
  }
  return out;
}

}  // namespace

std::string clean_for_display(std::string_view text) {
  if (std::all_of(text.begin(), text.end(), is_plain_ascii)) return std::string(text);
  Filtered filtered = remove_unconditionally(text);
  if (!filtered.needs_context) return std::move(filtered.text);
  return judge_by_neighbours(filtered.text);
}

std::string clean_line(std::string_view text) {
  const std::string clean = clean_for_display(text);
  std::string out;
  out.reserve(clean.size());
  for (std::size_t at = 0; at < clean.size();) {
    if (!is_blank(static_cast<unsigned char>(clean[at]))) {
      out += clean[at++];
      continue;
    }
    const std::size_t end = std::min(clean.find_first_not_of(" \n\t", at), clean.size());
    const std::string_view blanks = std::string_view(clean).substr(at, end - at);
    if (at != 0 && end != clean.size()) {
      if (blanks.find_first_of("\n\t") == std::string_view::npos) {
        out += blanks;
      } else {
        out += ' ';
      }
    }
    at = end;
  }
  return out;
}

std::string clean_excerpt(std::string_view text, std::size_t bytes) { return clean_line(cut_utf8(trim(text), bytes)); }

std::string indentation_of(std::string_view line) {
  constexpr std::size_t most = 40;
  std::string out;
  for (const char c : line.substr(0, std::min(line.find_first_not_of(" \t"), line.size()))) {
    out += c == '\t' ? "    " : " ";
    if (out.size() >= most) break;
  }
  return out.substr(0, most);
}

}  // namespace patchbay
