#include "terminal/keys.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "text/characters.h"
#include "text/utf8.h"

namespace patchbay::terminal {
namespace {

constexpr char esc = '\033';
constexpr std::string_view paste_end = "\033[201~";
// Longer than any sequence that a terminal sends for a key.
constexpr std::size_t longest_sequence = 64;

bool is_parameter(char c) noexcept { return c >= 0x20 && c <= 0x3F; }
bool is_final(char c) noexcept { return c >= 0x40 && c <= 0x7E; }

// The numbers of a sequence; of "1:2" the first part counts.
struct Numbers {
  std::array<int, 4> values{};
  std::size_t count = 0;
  int at(std::size_t i) const noexcept { return i < count ? values.at(i) : 0; }
};
Numbers numbers_of(std::string_view text) {
  Numbers out;
  bool sub = false;
  bool begun = false;
  for (const char c : text) {
    if (c == ';') {
      if (++out.count >= out.values.size()) return out;
      sub = false;
      begun = false;
    } else if (c == ':') {
      sub = true;
    } else if (c >= '0' && c <= '9' && !sub) {
      auto& value = out.values.at(out.count);
      value = std::min(value * 10 + (c - '0'), 0x110000);
      begun = true;
    }
  }
  if (begun || out.count > 0) ++out.count;
  return out;
}

Key with_modifiers(Key key, int modifier) {
  if (modifier < 2 || modifier > 256) return key;
  const int bits = modifier - 1;
  key.shift = (bits & 1) != 0;
  key.alt = (bits & (2 | 8)) != 0;
  key.ctrl = (bits & 4) != 0;
  return key;
}

std::optional<KeyCode> arrow(char letter) noexcept {
  switch (letter) {
    case 'A':
      return KeyCode::up;
    case 'B':
      return KeyCode::down;
    case 'C':
      return KeyCode::right;
    case 'D':
      return KeyCode::left;
    case 'H':
      return KeyCode::home;
    case 'F':
      return KeyCode::end;
    default:
      return std::nullopt;
  }
}

std::optional<Key> numbered(int number) {
  switch (number) {
    case 1:
    case 7:
      return Key{.code = KeyCode::home};
    case 2:
      return Key{.code = KeyCode::insert};
    case 3:
      return Key{.code = KeyCode::erase};
    case 4:
    case 8:
      return Key{.code = KeyCode::end};
    case 5:
      return Key{.code = KeyCode::page_up};
    case 6:
      return Key{.code = KeyCode::page_down};
    default:
      break;
  }
  constexpr auto functions = std::to_array<int>({11, 12, 13, 14, 15, 17, 18, 19, 20, 21, 23, 24});
  const auto found = std::ranges::find(functions, number);
  if (found == functions.end()) return std::nullopt;
  return Key{.code = KeyCode::function, .number = static_cast<int>(found - functions.begin()) + 1};
}

// A byte below blank, or DEL.
std::optional<Key> control(char byte) {
  const auto value = static_cast<unsigned char>(byte);
  switch (value) {
    case '\r':
      return Key{.code = KeyCode::enter};
    case '\t':
      return Key{.code = KeyCode::tab};
    case 0x7F:
    case 0x08:
      return Key{.code = KeyCode::backspace};
    case 0:
      return Key{.text = " ", .ctrl = true};
    default:
      break;
  }
  if (value < 0x1B) return Key{.text = std::string(1, static_cast<char>('a' + value - 1)), .ctrl = true};
  if (value > 0x1B && value < 0x20) return Key{.text = std::string(1, static_cast<char>(value + 0x40)), .ctrl = true};
  return std::nullopt;
}

// A character told by its number (modifyOtherKeys, kitty).
std::optional<Key> character(int number, int modifier) {
  const auto c = static_cast<char32_t>(number);
  if (number == 13 || number == 57414) return with_modifiers({.code = KeyCode::enter}, modifier);
  if (number == 9) return with_modifiers({.code = KeyCode::tab}, modifier);
  if (number == 27) return with_modifiers({.code = KeyCode::escape}, modifier);
  if (number == 127 || number == 8) return with_modifiers({.code = KeyCode::backspace}, modifier);
  const bool surrogate = c >= 0xD800 && c <= 0xDFFF;
  const bool own = c >= 0xE000 && c <= 0xF8FF;  // kitty's numbers of other keys
  if (number < 0x20 || number > 0x10FFFF || is_control(c) || surrogate || own) return std::nullopt;
  Key key;
  append_utf8(key.text, c);
  key = with_modifiers(std::move(key), modifier);
  if (key.ctrl && c >= 'A' && c <= 'Z') key.text = static_cast<char>(c - 'A' + 'a');
  if (!key.ctrl && key.shift && c >= 'a' && c <= 'z') key.text = static_cast<char>(c - 'a' + 'A');
  if (!key.ctrl && !key.alt) key.shift = false;
  return key;
}

// Behind ESC [, with its last byte.
std::optional<Key> csi(std::string_view parameters, char last) {
  if (!parameters.empty() && (parameters.front() < '0' || parameters.front() > ';')) return std::nullopt;
  const auto numbers = numbers_of(parameters);
  if (const auto code = arrow(last)) return with_modifiers({.code = *code}, numbers.at(1));
  switch (last) {
    case '~':
      if (numbers.at(0) == 27 && numbers.count >= 3) return character(numbers.at(2), numbers.at(1));
      if (auto key = numbered(numbers.at(0))) return with_modifiers(std::move(*key), numbers.at(1));
      return std::nullopt;
    case '^':  // rxvt: Ctrl, Shift, both
    case '$':
    case '@':
      if (auto key = numbered(numbers.at(0))) {
        key->ctrl = last != '$';
        key->shift = last != '^';
        return key;
      }
      return std::nullopt;
    case 'a':
    case 'b':
    case 'c':
    case 'd':
      return Key{.code = *arrow(static_cast<char>(last - 'a' + 'A')), .shift = true};
    case 'Z':
      return Key{.code = KeyCode::tab, .shift = true};
    case 'P':
    case 'Q':
    case 'R':
    case 'S':
      // A report of the cursor's place ends in R as well; it has two numbers, and so has F3 with a modifier, whose
      // first is 1. Nobody asks for reports here.
      return with_modifiers({.code = KeyCode::function, .number = last - 'P' + 1}, numbers.at(1));
    case 'u':
      return character(numbers.at(0), numbers.at(1));
    default:
      return std::nullopt;
  }
}

// Behind ESC O.
std::optional<Key> ss3(char last) {
  if (const auto code = arrow(last)) return Key{.code = *code};
  if (last >= 'P' && last <= 'S') return Key{.code = KeyCode::function, .number = last - 'P' + 1};
  if (last == 'M') return Key{.code = KeyCode::enter};
  if (last >= 'a' && last <= 'd') return Key{.code = *arrow(static_cast<char>(last - 'a' + 'A')), .ctrl = true};
  if (last >= 'j' && last <= 'y') return Key{.text = std::string(1, static_cast<char>(last - 0x40))};  // the keypad
  return std::nullopt;
}

}  // namespace

KeyReader::Held KeyReader::held() const noexcept {
  if (state_ == State::paste) return Held::paste;
  return pending_.empty() && state_ == State::plain ? Held::nothing : Held::sequence;
}

std::vector<Key> KeyReader::feed(std::string_view bytes) {
  pending_ += bytes;
  return read(false);
}

std::vector<Key> KeyReader::timed_out() {
  auto out = read(true);
  if (!pasted_.empty()) out.push_back({.code = KeyCode::paste, .text = std::exchange(pasted_, {})});
  state_ = State::plain;
  pending_.clear();
  return out;
}

std::vector<Key> KeyReader::read(bool all) {
  std::vector<Key> out;
  std::size_t at = 0;
  while (at < pending_.size()) {
    const auto before = state_;
    const auto taken = take(std::string_view(pending_).substr(at), all, out);
    if (taken == 0 && state_ == before) break;
    at += taken;
  }
  pending_.erase(0, at);
  return out;
}

std::size_t KeyReader::take(std::string_view bytes, bool all, std::vector<Key>& out) {
  if (state_ == State::paste) return take_paste(bytes, all, out);
  if (state_ == State::string) return take_string(bytes, all);
  if (bytes.front() == esc) return take_sequence(bytes, all, out);
  if (auto key = control(bytes.front())) {
    out.push_back(std::move(*key));
    return 1;
  }
  const auto c = decode_utf8(bytes, 0);
  // The rest of it may still come.
  const bool whole = c.valid || bytes.size() > c.length;
  if (!whole && !all && bytes.size() < 4) return 0;
  if (!c.valid) {
    out.push_back({.text = "\xEF\xBF\xBD"});
  } else if (!is_control(c.value)) {
    out.push_back({.text = std::string(bytes.substr(0, c.length))});
  }
  return c.length;
}

std::size_t KeyReader::take_sequence(std::string_view bytes, bool all, std::vector<Key>& out) {
  const std::size_t needs_more = 0;
  if (bytes.size() == 1) {
    if (!all) return needs_more;
    out.push_back({.code = KeyCode::escape});
    return 1;
  }
  auto add = [&](std::optional<Key> key, bool alt) {
    if (!key) return;
    key->alt |= alt;
    out.push_back(std::move(*key));
  };
  // ESC in front of a sequence is Alt: rxvt, screen.
  const bool alt = bytes[1] == esc;
  if (alt && bytes.size() == 2) {
    if (!all) return needs_more;
    out.push_back({.code = KeyCode::escape, .alt = true});
    return 2;
  }
  if (alt && bytes[2] != '[' && bytes[2] != 'O') {
    out.push_back({.code = KeyCode::escape});
    return 1;
  }
  const std::size_t at = alt ? 2 : 1;
  const char kind = bytes[at];
  if (kind == 'O') {
    if (bytes.size() == at + 1) {
      if (!all) return needs_more;
      out.push_back({.text = "O", .alt = true});
      return at + 1;
    }
    const char last = bytes[at + 1];
    if (static_cast<unsigned char>(last) < 0x20 || static_cast<unsigned char>(last) > 0x7E) {
      out.push_back({.text = "O", .alt = true});
      return at + 1;
    }
    add(ss3(last), alt);
    return at + 2;
  }
  if (kind == '[') {
    std::size_t end = at + 1;
    if (end < bytes.size() && bytes[end] == '[') {  // the Linux console: ESC [ [ A
      if (end + 1 == bytes.size()) return all ? bytes.size() : needs_more;
      const char last = bytes[end + 1];
      if (last >= 'A' && last <= 'E') {
        out.push_back({.code = KeyCode::function, .alt = alt, .number = last - 'A' + 1});
      }
      return end + 2;
    }
    // rxvt ends Shift with a dollar, which is none of the bytes that end one elsewhere.
    while (end < bytes.size() && is_parameter(bytes[end]) && end < longest_sequence) {
      if (bytes[end] == '$' && bytes[end - 1] >= '0' && bytes[end - 1] <= '9') break;
      ++end;
    }
    if (end == bytes.size()) {
      if (!all) return needs_more;
      // ESC [ alone is Alt and a bracket; anything longer is a sequence that was cut off.
      if (end == at + 1) out.push_back({.text = "[", .alt = true});
      return bytes.size();
    }
    if (end >= longest_sequence) return end;  // of no terminal
    const char last = bytes[end];
    if (last != '$' && !is_final(last)) return end;  // cut off by what follows
    const auto parameters = bytes.substr(at + 1, end - at - 1);
    if (last == 'M' && parameters.empty()) {  // a mouse of old: three bytes follow
      if (bytes.size() < end + 4 && !all) return needs_more;
      return std::min(bytes.size(), end + 4);
    }
    if (last == '~' && parameters == "200") {
      state_ = State::paste;
    } else if (!(last == '~' && parameters == "201")) {
      add(csi(parameters, last), alt);
    }
    return end + 1;
  }
  if (kind == ']' || kind == 'P' || kind == '_' || kind == '^' || kind == 'X') {
    // What terminals answer when they are asked. A letter of these with Alt comes alone.
    if (bytes.size() == 2) {
      if (!all) return needs_more;
      out.push_back({.text = std::string(1, kind), .alt = true});
      return 2;
    }
    state_ = State::string;
    return 2;
  }
  if (auto key = control(kind)) {
    add(std::move(key), true);
    return 2;
  }
  const auto c = decode_utf8(bytes, 1);
  if (!c.valid) {
    if (!all && bytes.size() < 5 && bytes.size() == 1 + c.length) return needs_more;
    return 1 + c.length;
  }
  if (!is_control(c.value)) out.push_back({.text = std::string(bytes.substr(1, c.length)), .alt = true});
  return 1 + c.length;
}

std::size_t KeyReader::take_paste(std::string_view bytes, bool all, std::vector<Key>& out) {
  const auto end = bytes.find(paste_end);
  // What may be the beginning of the end stays.
  std::size_t keep = 0;
  if (end == std::string_view::npos && !all) {
    for (std::size_t size = std::min(paste_end.size() - 1, bytes.size()); size > 0 && keep == 0; --size) {
      if (paste_end.starts_with(bytes.substr(bytes.size() - size))) keep = size;
    }
  }
  const auto text = bytes.substr(0, end == std::string_view::npos ? bytes.size() - keep : end);
  pasted_ += text.substr(0, longest_paste - std::min(longest_paste, pasted_.size()));
  if (end == std::string_view::npos) return text.size();
  out.push_back({.code = KeyCode::paste, .text = std::exchange(pasted_, {})});
  state_ = State::plain;
  return end + paste_end.size();
}

std::size_t KeyReader::take_string(std::string_view bytes, bool all) {
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const char c = bytes[i];
    if (c == '\a' || c == 0x18 || c == 0x1A) {
      state_ = State::plain;
      return i + 1;
    }
    if (c != esc) continue;
    if (i + 1 == bytes.size() && !all) return i;
    // ST, or something new that begins here.
    state_ = State::plain;
    return i + 1 < bytes.size() && bytes[i + 1] == '\\' ? i + 2 : i;
  }
  return bytes.size();
}

}  // namespace patchbay::terminal
