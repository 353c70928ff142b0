// TOML 1.0, as a value with places. Our own reader, since the ones Debian has do not stand up to hostile
// texts (docs/adr/0006). One pass from front to back; the only recursion is that of arrays and inline
// tables inside one another, which is bounded, as is the depth of what keys make. Dates and times are
// kept as the text that was written.
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "text/formats.h"

namespace patchbay {
namespace {

constexpr std::size_t most_key_parts = 32;

// How a table came to be, which decides who may add to it.
enum class Made : std::uint8_t {
  on_the_way,  // by a header that names a table inside it: its own header may still come
  by_header,   // [a]: nobody may name it again
  by_dots,     // a.b = 1: more dots may follow in the same section
  inside,      // {…} and […]: complete when it is closed
  list,        // [[a]]: more elements may follow
};

struct TomlNode {
  Json value;  // of what is neither a table nor an array
  bool is_table = false;
  bool is_array = false;
  Made made = Made::inside;
  std::size_t section = 0;  // in which dots made it
  std::vector<std::unique_ptr<TomlNode>> children;
  std::vector<std::string> names;                      // of a table's children
  std::unordered_map<std::string, std::size_t> index;  // the same, to find them
  std::size_t key = 0;
  std::size_t begin = 0;
  std::size_t end = 0;

  TomlNode* find(const std::string& name) const {
    const auto found = index.find(name);
    return found == index.end() ? nullptr : children[found->second].get();
  }
  TomlNode& add(const std::string& name, std::size_t offset) {
    index.emplace(name, children.size());
    names.push_back(name);
    return push(offset);
  }
  TomlNode& push(std::size_t offset) {
    auto& child = *children.emplace_back(std::make_unique<TomlNode>());
    child.key = child.begin = child.end = offset;
    return child;
  }
};

struct KeyPart {
  std::string name;
  std::size_t offset = 0;
};
using Key = std::vector<KeyPart>;

bool is_blank(char c) noexcept { return c == ' ' || c == '\t'; }
bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }
bool is_bare(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_' || c == '-';
}
// Nothing but a tab may be in a text or a comment.
bool is_control(char c) noexcept { return (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7F; }

void append_utf8(std::string& out, std::uint32_t point) {
  if (point < 0x80) {
    out.push_back(static_cast<char>(point));
  } else if (point < 0x800) {
    out.push_back(static_cast<char>(0xC0 | (point >> 6)));
    out.push_back(static_cast<char>(0x80 | (point & 0x3F)));
  } else if (point < 0x10000) {
    out.push_back(static_cast<char>(0xE0 | (point >> 12)));
    out.push_back(static_cast<char>(0x80 | ((point >> 6) & 0x3F)));
    out.push_back(static_cast<char>(0x80 | (point & 0x3F)));
  } else {
    out.push_back(static_cast<char>(0xF0 | (point >> 18)));
    out.push_back(static_cast<char>(0x80 | ((point >> 12) & 0x3F)));
    out.push_back(static_cast<char>(0x80 | ((point >> 6) & 0x3F)));
    out.push_back(static_cast<char>(0x80 | (point & 0x3F)));
  }
}

// ---- Words that are not texts: numbers, dates, times ----

// Takes a pattern off the front: 'd' is a digit, everything else itself.
bool take_shape(std::string_view& text, std::string_view shape) noexcept {
  if (text.size() < shape.size()) return false;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 'd' ? !is_digit(text[i]) : text[i] != shape[i]) return false;
  }
  text.remove_prefix(shape.size());
  return true;
}

bool take_time(std::string_view& text) noexcept {
  if (!take_shape(text, "dd:dd:dd")) return false;
  if (text.empty() || text.front() != '.') return true;
  text.remove_prefix(1);
  if (text.empty() || !is_digit(text.front())) return false;
  while (!text.empty() && is_digit(text.front())) text.remove_prefix(1);
  return true;
}

bool is_date_or_time(std::string_view text) noexcept {
  if (auto time = text; take_time(time)) return time.empty();
  if (!take_shape(text, "dddd-dd-dd")) return false;
  if (text.empty()) return true;
  if (text.front() != 'T' && text.front() != 't' && text.front() != ' ') return false;
  text.remove_prefix(1);
  if (!take_time(text)) return false;
  return text.empty() || text == "Z" || text == "z" ||
         ((take_shape(text, "+dd:dd") || take_shape(text, "-dd:dd")) && text.empty());
}

// The digits without the '_' between them; nothing when one stands elsewhere.
std::optional<std::string> joined_digits(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '_') {
      out.push_back(text[i]);
      continue;
    }
    const auto is_part = [&](std::size_t at) {
      return at < text.size() && (is_digit(text[at]) || (text[at] | 0x20) >= 'a');
    };
    if (i == 0 || text[i - 1] == '_' || !is_part(i - 1) || !is_part(i + 1)) return std::nullopt;
  }
  return out;
}

std::optional<Json> based_number(std::string_view text) {
  const int base = text[1] == 'x' ? 16 : text[1] == 'o' ? 8 : 2;
  const auto digits = joined_digits(text.substr(2));
  if (!digits || digits->empty()) return std::nullopt;
  std::uint64_t value = 0;
  const auto* last = digits->data() + digits->size();
  const auto [end, error] = std::from_chars(digits->data(), last, value, base);
  if (error != std::errc() || end != last || value > std::uint64_t{INT64_MAX}) return std::nullopt;
  return Json(value);
}

// As JSON writes numbers, once the '_' and a leading '+' are gone.
bool is_json_number(std::string_view text) noexcept {
  const auto digits = [&] {
    std::size_t count = 0;
    for (; !text.empty() && is_digit(text.front()); ++count) text.remove_prefix(1);
    return count;
  };
  if (text.starts_with('-')) text.remove_prefix(1);
  const bool zero = text.starts_with('0');
  const auto whole = digits();
  if (whole == 0 || (zero && whole > 1)) return false;
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    if (digits() == 0) return false;
  }
  if (text.starts_with('e') || text.starts_with('E')) {
    text.remove_prefix(1);
    if (text.starts_with('+') || text.starts_with('-')) text.remove_prefix(1);
    if (digits() == 0) return false;
  }
  return text.empty();
}

std::optional<Json> number(std::string_view text) {
  if (text.size() > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'o' || text[1] == 'b')) {
    return based_number(text);
  }
  auto unsigned_text = text;
  if (unsigned_text.starts_with('+') || unsigned_text.starts_with('-')) unsigned_text.remove_prefix(1);
  const double sign = text.starts_with('-') ? -1 : 1;
  if (unsigned_text == "inf") return Json(sign * std::numeric_limits<double>::infinity());
  if (unsigned_text == "nan") return Json(std::numeric_limits<double>::quiet_NaN());
  auto digits = joined_digits(unsigned_text);
  if (!digits) return std::nullopt;
  if (text.starts_with('-')) digits->insert(0, "-");
  if (!is_json_number(*digits)) return std::nullopt;
  return Json::number(std::move(*digits));
}

class TomlReader {
 public:
  TomlReader(std::string_view text, const std::string& file) : text_(text), file_(file) { root_.is_table = true; }

  std::expected<ConfigDocument, ConfigProblem> read() {
    if (text_.starts_with("\xEF\xBB\xBF")) at_ = 3;
    while (!fault_ && at_ < text_.size()) line();
    if (fault_) return std::unexpected(std::move(*fault_));
    ConfigDocument document;
    convert(root_, document.root, document.place);
    document.place.end = text_.size();
    return document;
  }

 private:
  // ---- Moving on ----

  char peek(std::size_t ahead = 0) const noexcept { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  bool ended() const noexcept { return at_ >= text_.size(); }
  bool at_line_end() const noexcept { return ended() || peek() == '\n' || (peek() == '\r' && peek(1) == '\n'); }
  bool take(char c) noexcept {
    if (ended() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void skip_blanks() noexcept {
    while (!ended() && is_blank(text_[at_])) ++at_;
  }
  bool fault(std::size_t offset, std::string_view message) {
    if (!fault_) fault_ = import_fault(text_, file_, offset, fmt::format("{}; {}", message, fix_the_file));
    return false;
  }

  bool skip_comment() {
    if (peek() != '#' || ended()) return true;
    for (; !at_line_end(); ++at_) {
      if (is_control(text_[at_])) return fault(at_, "a control character is not allowed in a comment");
    }
    return true;
  }
  // Blanks, comments and line ends, between the elements of an array.
  bool skip_between() {
    for (;;) {
      skip_blanks();
      if (!skip_comment()) return false;
      if (ended() || !at_line_end()) return true;
      at_ += peek() == '\r' ? 2 : 1;
    }
  }

  // ---- Lines ----

  void line() {
    skip_blanks();
    if (!at_line_end() && peek() != '#') {
      const bool good = peek() == '[' ? header() : pair(*table_);
      if (!good) return;
      skip_blanks();
    }
    if (!skip_comment()) return;
    if (ended()) return;
    if (!at_line_end()) {
      fault(at_, "expected the end of the line");
      return;
    }
    at_ += peek() == '\r' ? 2 : 1;
  }

  bool header() {
    const auto begin = at_++;
    const bool list = take('[');
    Key key;
    skip_blanks();
    if (!read_key(key)) return false;
    if (!take(']') || (list && !take(']'))) return fault(at_, list ? "expected \"]]\"" : "expected \"]\"");
    section_ = ++sections_;
    TomlNode* node = &root_;
    for (std::size_t i = 0; i + 1 < key.size(); ++i) {
      node = step_into(*node, key[i]);
      if (node == nullptr) return false;
    }
    const auto& last = key.back();
    auto* there = node->find(last.name);
    if (list) return open_list(*node, there, last, begin);
    if (there == nullptr) {
      there = &node->add(last.name, last.offset);
      there->is_table = true;
    } else if (!there->is_table || there->made != Made::on_the_way) {
      return twice(last);
    }
    there->made = Made::by_header;
    there->begin = begin;
    table_ = there;
    return true;
  }

  bool open_list(TomlNode& in, TomlNode* there, const KeyPart& last, std::size_t begin) {
    if (there == nullptr) {
      there = &in.add(last.name, last.offset);
      there->is_array = true;
      there->made = Made::list;
      there->begin = begin;
    } else if (!there->is_array || there->made != Made::list) {
      return twice(last);
    }
    table_ = &there->push(begin);
    table_->is_table = true;
    table_->made = Made::by_header;
    return true;
  }

  // From one part of a header to the next; of a list, the newest element is meant.
  TomlNode* step_into(TomlNode& in, const KeyPart& part) {
    auto* there = in.find(part.name);
    if (there == nullptr) {
      there = &in.add(part.name, part.offset);
      there->is_table = true;
      there->made = Made::on_the_way;
      return there;
    }
    if (there->is_array && there->made == Made::list) return there->children.back().get();
    if (there->is_table && there->made != Made::inside) return there;
    twice(part);
    return nullptr;
  }

  bool twice(const KeyPart& part) {
    return fault(part.offset, fmt::format("the key {} occurs twice", to_text(Json(part.name))));
  }

  // key = value
  bool pair(TomlNode& into, std::size_t depth = 0) {
    Key key;
    if (!read_key(key)) return false;
    if (!take('=')) return fault(at_, "expected \"=\"");
    skip_blanks();
    TomlNode* node = &into;
    for (std::size_t i = 0; i + 1 < key.size(); ++i) {
      auto* there = node->find(key[i].name);
      if (there == nullptr) {
        there = &node->add(key[i].name, key[i].offset);
        there->is_table = true;
        there->made = Made::by_dots;
        there->section = section_;
      } else if (there->is_table && there->made == Made::on_the_way) {
        there->made = Made::by_dots;
        there->section = section_;
      } else if (!there->is_table || there->made != Made::by_dots || there->section != section_) {
        return twice(key[i]);
      }
      node = there;
    }
    if (node->find(key.back().name) != nullptr) return twice(key.back());
    return value(node->add(key.back().name, key.back().offset), depth + key.size());
  }

  bool read_key(Key& key) {
    for (;;) {
      KeyPart part{{}, at_};
      if (peek() == '"' || peek() == '\'') {
        if (peek(1) == peek() && peek(2) == peek()) return fault(at_, "a key must be on one line");
        if (!(peek() == '"' ? basic_text(part.name) : literal_text(part.name))) return false;
      } else {
        while (!ended() && is_bare(text_[at_])) ++at_;
        if (at_ == part.offset) return fault(at_, "expected a key");
        part.name = text_.substr(part.offset, at_ - part.offset);
      }
      key.push_back(std::move(part));
      skip_blanks();
      if (!take('.')) return true;
      if (key.size() == most_key_parts) {
        return fault(key.back().offset, fmt::format("a key has more than {} parts", most_key_parts));
      }
      skip_blanks();
    }
  }

  // ---- Values ----

  bool value(TomlNode& out, std::size_t depth) {
    out.begin = at_;
    if (depth >= import_depth_limit)
      return fault(at_, fmt::format("values are nested deeper than {} levels here", import_depth_limit));
    bool good = false;
    switch (peek()) {
      case '"':
      case '\'':
        good = text_value(out);
        break;
      case '[':
        good = array(out, depth);
        break;
      case '{':
        good = inline_table(out, depth);
        break;
      default:
        good = word(out);
    }
    out.end = at_;
    return good;
  }

  bool word(TomlNode& out) {
    const auto begin = at_;
    const auto in_word = [&](char c) { return is_bare(c) || c == '+' || c == '.' || c == ':'; };
    while (!ended() && in_word(text_[at_])) ++at_;
    // A blank may be between a date and its time.
    if (at_ - begin == 10 && peek() == ' ' && is_digit(peek(1)) && text_[begin + 4] == '-') {
      ++at_;
      while (!ended() && in_word(text_[at_])) ++at_;
    }
    const auto text = text_.substr(begin, at_ - begin);
    if (text == "true" || text == "false") {
      out.value = text == "true";
    } else if (is_date_or_time(text)) {
      out.value = text;
    } else if (auto made = number(text)) {
      out.value = std::move(*made);
    } else {
      return fault(begin, text.empty() ? "expected a value" : "expected a value; a text must be in quotes");
    }
    return true;
  }

  bool array(TomlNode& out, std::size_t depth) {
    out.is_array = true;
    ++at_;
    for (;;) {
      if (!skip_between()) return false;
      if (take(']')) return true;
      if (!value(out.push(at_), depth + 1) || !skip_between()) return false;
      if (take(']')) return true;
      if (!take(',')) return fault(at_, "expected \",\" or \"]\"");
    }
  }

  bool inline_table(TomlNode& out, std::size_t depth) {
    out.is_table = true;
    ++at_;
    skip_blanks();
    if (take('}')) return true;
    const auto outer = std::exchange(section_, ++sections_);
    do {
      skip_blanks();
      if (!pair(out, depth)) return false;
      skip_blanks();
    } while (take(','));
    section_ = outer;
    return take('}') || fault(at_, "expected \",\" or \"}\"");
  }

  // ---- Texts ----

  bool text_value(TomlNode& out) {
    std::string text;
    const char quote = peek();
    const bool many_lines = peek(1) == quote && peek(2) == quote;
    const bool good = many_lines ? many_lined_text(text) : quote == '"' ? basic_text(text) : literal_text(text);
    out.value = std::move(text);
    return good;
  }

  bool literal_text(std::string& out) {
    const auto begin = at_++;
    const auto end = text_.find_first_of("'\n", at_);
    if (end == std::string_view::npos || text_[end] == '\n')
      return fault(begin, "the text that begins here is not closed");
    const auto inside = text_.substr(at_, end - at_);
    const auto bad = std::ranges::find_if(inside, is_control);
    if (bad != inside.end()) {
      return fault(at_ + static_cast<std::size_t>(bad - inside.begin()),
                   "a control character is not allowed in a text");
    }
    out = inside;
    at_ = end + 1;
    return true;
  }

  bool basic_text(std::string& out) {
    const auto begin = at_++;
    for (;;) {
      if (at_line_end()) return fault(begin, "the text that begins here is not closed");
      const char c = text_[at_];
      if (take('"')) return true;
      if (c == '\\') {
        if (!escape(out)) return false;
      } else if (is_control(c)) {
        return fault(at_, "a control character is not allowed in a text");
      } else {
        out.push_back(c);
        ++at_;
      }
    }
  }

  bool many_lined_text(std::string& out) {
    const auto begin = at_;
    const char quote = text_[at_];
    at_ += 3;
    if (!ended() && at_line_end()) at_ += peek() == '\r' ? 2 : 1;
    while (!ended()) {
      const char c = text_[at_];
      if (c == quote && peek(1) == quote && peek(2) == quote) {
        // Up to two more belong to the text.
        for (int i = 0; i < 2 && peek(3) == quote; ++i) {
          out.push_back(quote);
          ++at_;
        }
        at_ += 3;
        return true;
      }
      if (at_line_end()) {
        out.push_back('\n');
        at_ += c == '\r' ? 2 : 1;
      } else if (c == '\\' && quote == '"') {
        if (!skip_folded_lines() && !escape(out)) return false;
      } else if (is_control(c)) {
        return fault(at_, "a control character is not allowed in a text");
      } else {
        out.push_back(c);
        ++at_;
      }
    }
    return fault(begin, "the text that begins here is not closed");
  }

  // A '\' at the end of a line takes the line end and all white space behind it away.
  bool skip_folded_lines() {
    const auto start = at_++;
    skip_blanks();
    if (ended() || !at_line_end()) {
      at_ = start;
      return false;
    }
    while (!ended() && (is_blank(peek()) || at_line_end())) at_ += peek() == '\r' ? 2 : 1;
    return true;
  }

  bool escape(std::string& out) {
    const auto begin = at_++;
    const char c = peek();
    constexpr std::string_view names = "btnfr\"\\";
    constexpr std::string_view means = "\b\t\n\f\r\"\\";
    if (const auto known = names.find(c); c != '\0' && known != std::string_view::npos) {
      out.push_back(means[known]);
      ++at_;
      return true;
    }
    const std::size_t length = c == 'u' ? 4 : c == 'U' ? 8 : 0;
    const auto digits = length == 0 ? std::string_view() : text_.substr(at_ + 1, length);
    std::uint32_t point = 0;
    const auto* last = digits.data() + digits.size();
    const auto [end, error] = std::from_chars(digits.data(), last, point, 16);
    const bool valid = length > 0 && digits.size() == length && error == std::errc() && end == last &&
                       point <= 0x10FFFF && (point < 0xD800 || point > 0xDFFF);
    if (!valid) return fault(begin, "this escape sequence is not known; write \\\\ for one backslash");
    append_utf8(out, point);
    at_ += 1 + length;
    return true;
  }

  // ---- The result ----

  static void convert(const TomlNode& node, Json& out, Place& place) {
    place.key = node.key;
    place.value = node.begin;
    place.end = std::max(node.begin, node.end);
    place.children.resize(node.children.size());
    if (node.is_table) {
      Json::Object members;
      for (std::size_t i = 0; i < node.children.size(); ++i) {
        convert(*node.children[i], members.append(node.names[i], Json()), place.children[i]);
      }
      out = std::move(members);
    } else if (node.is_array) {
      Json::Array items(node.children.size());
      for (std::size_t i = 0; i < node.children.size(); ++i) convert(*node.children[i], items[i], place.children[i]);
      out = std::move(items);
    } else {
      out = node.value;
    }
  }

  std::string_view text_;
  const std::string& file_;
  std::size_t at_ = 0;
  TomlNode root_;
  TomlNode* table_ = &root_;
  std::size_t section_ = 0;  // what comes after one header, or inside one inline table
  std::size_t sections_ = 0;
  std::optional<ConfigProblem> fault_;
};

}  // namespace

std::expected<ConfigDocument, ConfigProblem> read_toml(std::string_view text, const std::string& file) {
  if (auto sound = check_import_text(text, file); !sound) return std::unexpected(std::move(sound.error()));
  return TomlReader(text, file).read();
}

}  // namespace patchbay
