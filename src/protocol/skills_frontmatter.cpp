#include "protocol/skills_frontmatter.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/strings.h"

namespace patchbay {
namespace {

constexpr std::string_view blanks = " \t";

bool is_blank(char c) noexcept { return c == ' ' || c == '\t'; }
bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }

std::string_view without_trailing_blanks(std::string_view text) noexcept {
  const auto last = text.find_last_not_of(blanks);
  return last == text.npos ? std::string_view() : text.substr(0, last + 1);
}

// Scalars ------------------------------------------------------------------------------

struct Digits {
  std::string_view rest;
  std::string_view take() {
    std::size_t count = 0;
    while (count < rest.size() && is_digit(rest[count])) ++count;
    const auto taken = rest.substr(0, count);
    rest.remove_prefix(count);
    return taken;
  }
};

// A number as JSON writes it, when the text is one by the core schema.
std::optional<std::string> decimal(std::string_view text) {
  std::string out;
  if (text.starts_with('-')) out = "-";
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  Digits digits{text};
  auto whole = digits.take();
  std::string_view fraction;
  if (digits.rest.starts_with('.')) {
    digits.rest.remove_prefix(1);
    fraction = digits.take();
  }
  if (whole.empty() && fraction.empty()) return std::nullopt;
  whole.remove_prefix(std::min(whole.find_first_not_of('0'), whole.size()));
  out += whole.empty() ? "0" : whole;
  if (!fraction.empty()) out.append(".").append(fraction);
  if (digits.rest.empty()) return out;
  if (digits.rest.front() != 'e' && digits.rest.front() != 'E') return std::nullopt;
  digits.rest.remove_prefix(1);
  out += 'e';
  if (digits.rest.starts_with('-') || digits.rest.starts_with('+')) {
    out += digits.rest.front();
    digits.rest.remove_prefix(1);
  }
  const auto exponent = digits.take();
  if (exponent.empty() || !digits.rest.empty()) return std::nullopt;
  return out.append(exponent);
}

// 0o17 and 0xff.
std::optional<std::uint64_t> with_base(std::string_view text) {
  const unsigned base = text.starts_with("0o") ? 8 : text.starts_with("0x") ? 16 : 0;
  if (base == 0 || text.size() == 2 || text.size() > 2 + 15) return std::nullopt;
  std::uint64_t value = 0;
  for (char c : text.substr(2)) {
    unsigned digit = 16;
    if (is_digit(c)) digit = static_cast<unsigned>(c - '0');
    if (c >= 'a' && c <= 'f') digit = static_cast<unsigned>(c - 'a') + 10;
    if (c >= 'A' && c <= 'F') digit = static_cast<unsigned>(c - 'A') + 10;
    if (digit >= base) return std::nullopt;
    value = value * base + digit;
  }
  return value;
}

bool is_no_number(std::string_view text) {
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  return text == ".inf" || text == ".Inf" || text == ".INF" || text == ".nan" || text == ".NaN" || text == ".NAN";
}

// The value of a plain scalar.
Json plain_value(std::string text) {
  if (text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL") return {};
  if (text == "true" || text == "True" || text == "TRUE") return true;
  if (text == "false" || text == "False" || text == "FALSE") return false;
  if (auto number = decimal(text)) return Json::number(std::move(*number));
  if (auto number = with_base(text)) return *number;
  return text;
}

void append_utf8(std::string& out, std::uint32_t code) {
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xc0 | code >> 6);
    out += static_cast<char>(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    out += static_cast<char>(0xe0 | code >> 12);
    out += static_cast<char>(0x80 | (code >> 6 & 0x3f));
    out += static_cast<char>(0x80 | (code & 0x3f));
  } else {
    out += static_cast<char>(0xf0 | code >> 18);
    out += static_cast<char>(0x80 | (code >> 12 & 0x3f));
    out += static_cast<char>(0x80 | (code >> 6 & 0x3f));
    out += static_cast<char>(0x80 | (code & 0x3f));
  }
}

// The reader ---------------------------------------------------------------------------

// Recursive descent over lines. Failures are thrown as Bad inside and leave as a Result.
class HeaderReader {
 public:
  HeaderReader(std::vector<std::string_view> lines, std::size_t first_line, std::size_t depth)
      : lines_(std::move(lines)), first_line_(first_line), depth_(depth) {}

  Result<Json> read() {
    try {
      if (!next_content()) return fail(Errc::protocol, "the header holds nothing");
      Json value = from(column_).starts_with('{') ? scalar_or_brackets(column_, -1, 0) : mapping(column_, 0);
      if (next_content()) bad("this belongs to nothing above it");
      return value;
    } catch (Bad& failed) {
      return std::unexpected(std::move(failed.error));
    }
  }

 private:
  struct Bad {
    Error error;
  };
  // Where a node stands: what it contains must be indented by more than `parent`.
  using Column = std::ptrdiff_t;

  [[noreturn]] void bad(std::string_view what) const { bad_at(line_, what); }
  [[noreturn]] void bad_at(std::size_t line, std::string_view what) const {
    throw Bad{Error(Errc::protocol, fmt::format("line {}: {}", std::min(line, lines_.size()) + first_line_, what))};
  }
  void check_depth(std::size_t depth) const {
    if (depth >= depth_) throw Bad{Error(Errc::limit, fmt::format("the header is nested deeper than {}", depth_))};
  }

  bool at_end() const noexcept { return line_ >= lines_.size(); }
  std::string_view text() const noexcept { return lines_[line_]; }
  // What stands at a column and behind it.
  std::string_view from(Column column) const noexcept {
    return text().substr(std::min(static_cast<std::size_t>(column), text().size()));
  }

  static Column indent_of(std::string_view line) noexcept {
    return static_cast<Column>(std::min(line.find_first_not_of(' '), line.size()));
  }
  static bool holds_nothing(std::string_view line) noexcept {
    const auto first = line.find_first_not_of(blanks);
    return first == line.npos || line[first] == '#';
  }

  // Goes to the next line, this one included, that holds something; column_ is where.
  bool next_content() {
    while (!at_end() && holds_nothing(text())) ++line_;
    if (at_end()) return false;
    column_ = indent_of(text());
    if (from(column_).starts_with('\t')) bad("a tab cannot indent");
    if (column_ == 0 && (text().starts_with("---") || text().starts_with("...") || text().starts_with('%'))) {
      bad("a second document or a directive");
    }
    return true;
  }

  // The next line is read from its beginning.
  void end_line() { ++line_; }

  // Nothing may follow a value on its line but a comment.
  void expect_line_end(std::string_view rest) {
    const auto first = rest.find_first_not_of(blanks);
    if (first == rest.npos || (rest[first] == '#' && first > 0)) return end_line();
    bad("something follows a value on its line");
  }

  bool dash_here(Column column) const noexcept {
    const auto rest = from(column);
    return rest.starts_with('-') && (rest.size() == 1 || is_blank(rest[1]));
  }

  // Where a plain text ends: at a comment, or at the ':' of a key. In brackets also at ,[]{}.
  static std::size_t plain_end(std::string_view text, bool in_brackets) noexcept {
    for (std::size_t i = 0; i < text.size(); ++i) {
      const char c = text[i];
      if (c == '#' && (i == 0 || is_blank(text[i - 1]))) return i;
      if (in_brackets && std::string_view(",[]{}").find(c) != std::string_view::npos) return i;
      if (c != ':') continue;
      if (i + 1 == text.size() || is_blank(text[i + 1])) return i;
      if (in_brackets && std::string_view(",[]{}").find(text[i + 1]) != std::string_view::npos) return i;
    }
    return text.size();
  }

  // What a plain text cannot begin with.
  void check_plain_begin(std::string_view text, bool in_brackets) const {
    const char c = text.front();
    if (c == '&' || c == '*') bad("anchors and aliases are not read");
    if (c == '!') bad("tags are not read");
    if (std::string_view(",[]{}#|>@`%\"'").find(c) != std::string_view::npos) {
      bad(fmt::format("a text that begins with '{}' must be quoted", c));
    }
    if (c == '?' || c == ':' || c == '-') {
      const bool alone = text.size() == 1 || is_blank(text[1]) ||
                         (in_brackets && std::string_view(",[]{}").find(text[1]) != std::string_view::npos);
      if (alone) bad(fmt::format("'{}' is not expected here", c));
    }
  }

  // A quoted text on one line, from its quote; its length with both quotes, 0 when it does not end.
  static std::size_t quoted_length(std::string_view text) noexcept {
    const char quote = text.front();
    for (std::size_t i = 1; i < text.size(); ++i) {
      if (quote == '"' && text[i] == '\\') {
        ++i;
      } else if (text[i] == quote) {
        if (quote == '\'' && i + 1 < text.size() && text[i + 1] == quote) {
          ++i;
          continue;
        }
        return i + 1;
      }
    }
    return 0;
  }

  // The length of the key at a column, up to its ':'; none when no key stands there.
  std::optional<std::size_t> key_here(Column column) const {
    const auto rest = from(column);
    if (rest.empty() || std::string_view("[{|>").find(rest.front()) != std::string_view::npos) return std::nullopt;
    if (rest.front() == '?' && (rest.size() == 1 || is_blank(rest[1]))) bad("keys that are no texts are not read");
    std::size_t end = 0;
    if (rest.front() == '"' || rest.front() == '\'') {
      end = quoted_length(rest);
      if (end == 0) return std::nullopt;
      end = std::min(rest.find_first_not_of(blanks, end), rest.size());
    } else {
      end = plain_end(rest, false);
    }
    if (end >= rest.size() || rest[end] != ':') return std::nullopt;
    if (end + 1 < rest.size() && !is_blank(rest[end + 1])) return std::nullopt;
    return end;
  }

  std::string key_text(std::string_view written, bool in_brackets) {
    if (written.empty()) bad("a key is missing");
    if (written.front() == '"' || written.front() == '\'') {
      return unquoted(written.substr(1, quoted_length(written) - 2), written.front());
    }
    check_plain_begin(written, in_brackets);
    return plain_key(std::string(written));
  }

  // Programs do not agree on what 1e3, ~ or << are as keys.
  std::string plain_key(std::string key) const {
    if (key == "<<") bad("merge keys are not read");
    if (!plain_value(key).is_string() || is_no_number(key)) bad("keys that are no texts are not read");
    return key;
  }

  void add_member(Json::Object& object, std::string key, Json value, std::size_t line) {
    if (object.contains(key)) bad_at(line, fmt::format("the key \"{}\" occurs twice", cut_utf8(key, 80)));
    object.append(std::move(key), std::move(value));
  }

  // Blocks -----------------------------------------------------------------------------

  Json mapping(Column column, std::size_t depth) {
    check_depth(depth);
    Json::Object object;
    for (;;) {
      const auto length = key_here(column);
      if (!length) bad("expected `key: value`");
      const auto line = line_;
      auto key = key_text(without_trailing_blanks(from(column).substr(0, *length)), false);
      Json value = value_after(column + static_cast<Column>(*length) + 1, column, true, depth + 1);
      add_member(object, std::move(key), std::move(value), line);
      if (!next_content() || column_ < column) return object;
      if (column_ > column) bad("this is indented more than what it belongs to");
    }
  }

  Json sequence(Column column, std::size_t depth) {
    check_depth(depth);
    Json::Array items;
    for (;;) {
      const auto rest = from(column + 1);
      const auto first = rest.find_first_not_of(blanks);
      const auto inside = column + 1 + static_cast<Column>(std::min(first, rest.size()));
      if (first != rest.npos && rest[first] != '#' && (dash_here(inside) || key_here(inside))) {
        if (rest.substr(0, first).find('\t') != rest.npos) bad("a tab cannot indent");
        items.push_back(block(inside, depth + 1));
      } else {
        items.push_back(value_after(column + 1, column, false, depth + 1));
      }
      if (!next_content() || column_ < column) return items;
      if (column_ > column) bad("this is indented more than what it belongs to");
      if (!dash_here(column)) return items;
    }
  }

  Json block(Column column, std::size_t depth) {
    return dash_here(column) ? sequence(column, depth) : mapping(column, depth);
  }

  // The value behind "key:" or "-", on the same line or on those below. A list may stand right
  // under its key, without indentation.
  Json value_after(Column column, Column parent, bool of_key, std::size_t depth) {
    const auto rest = from(column);
    const auto first = rest.find_first_not_of(blanks);
    if (first != rest.npos && rest[first] != '#') {
      return scalar_or_brackets(column + static_cast<Column>(first), parent, depth);
    }
    end_line();
    if (!next_content()) return {};
    if (of_key && column_ == parent && dash_here(column_)) return sequence(column_, depth);
    if (column_ <= parent) return {};
    if (dash_here(column_) || key_here(column_)) return block(column_, depth);
    return scalar_or_brackets(column_, parent, depth);
  }

  Json scalar_or_brackets(Column column, Column parent, std::size_t depth) {
    const auto rest = from(column);
    switch (rest.front()) {
      case '|':
      case '>':
        return block_text(column, parent);
      case '"':
      case '\'': {
        position_ = static_cast<std::size_t>(column);
        auto value = quoted(parent);
        expect_line_end(text().substr(position_));
        return value;
      }
      case '[':
      case '{': {
        position_ = static_cast<std::size_t>(column);
        auto value = brackets(parent, depth);
        expect_line_end(text().substr(position_));
        return value;
      }
      default:
        return plain(column, parent);
    }
  }

  // A plain text, on as many lines as are indented by more than the parent.
  Json plain(Column column, Column parent) {
    check_plain_begin(from(column), false);
    std::string out;
    auto part = from(column);
    for (;;) {
      const auto end = plain_end(part, false);
      if (end < part.size() && part[end] == ':') bad("a text with `: ` in it must be quoted");
      out += without_trailing_blanks(part.substr(0, end));
      const bool comment = end < part.size();
      end_line();
      if (comment) break;
      auto next = line_;
      while (next < lines_.size() && lines_[next].find_first_not_of(blanks) == std::string_view::npos) ++next;
      if (next == lines_.size() || indent_of(lines_[next]) <= parent) break;
      const auto first = lines_[next].find_first_not_of(blanks);
      if (lines_[next][first] == '#') break;
      fold(out, next - line_);
      line_ = next;
      part = text().substr(first);
    }
    if (is_no_number(out)) bad_at(line_ - 1, "infinity and not-a-number have no place in JSON");
    return plain_value(std::move(out));
  }

  // Between two lines of a text: a blank, or as many line breaks as lines were empty.
  static void fold(std::string& out, std::size_t empty_lines) {
    if (empty_lines == 0) {
      out += ' ';
    } else {
      out.append(empty_lines, '\n');
    }
  }

  // The indentation of a block of text is that of its first line.
  Column first_indent(Column parent) const {
    Column widest = 0;
    for (auto next = line_; next < lines_.size(); ++next) {
      const auto spaces = indent_of(lines_[next]);
      if (static_cast<std::size_t>(spaces) == lines_[next].size()) {
        widest = std::max(widest, spaces);
        continue;
      }
      if (spaces <= parent) break;
      if (widest > spaces) bad_at(next, "an empty line above is indented further");
      return spaces;
    }
    return std::numeric_limits<Column>::max();  // there are only empty lines
  }

  // "|" keeps lines, ">" joins them; then a digit for the indentation and + or - for the end.
  Json block_text(Column column, Column parent) {
    auto header = from(column);
    const bool folds = header.front() == '>';
    header.remove_prefix(1);
    char chomp = 0;
    Column indent = 0;
    while (!header.empty() && !is_blank(header.front())) {
      const char c = header.front();
      if ((c == '+' || c == '-') && chomp == 0) {
        chomp = c;
      } else if (c >= '1' && c <= '9' && indent == 0) {
        indent = std::max<Column>(parent, 0) + (c - '0');
      } else {
        bad("what follows | or > is not understood");
      }
      header.remove_prefix(1);
    }
    expect_line_end(header);
    if (indent == 0) indent = first_indent(parent);

    std::string out;
    std::size_t empty = 0;
    bool any = false;
    bool spaced = false;  // the line before was indented further, which keeps its line breaks
    bool hollow = false;  // or held nothing else
    for (; !at_end(); end_line()) {
      const auto spaces = indent_of(text());
      const bool nothing = static_cast<std::size_t>(spaces) == text().size();
      if (!nothing && spaces < indent) break;
      if (nothing && spaces <= indent) {
        ++empty;
        continue;
      }
      const auto line = from(indent);
      const bool further = is_blank(line.front());
      if (!any) {
        out.append(empty, '\n');
      } else if (!folds || further || spaced) {
        out.append(empty + 1, '\n');
      } else {
        fold(out, empty);
      }
      out += line;
      any = true;
      spaced = further;
      hollow = nothing;
      empty = 0;
    }
    // Where such a text ends is not the same for every program.
    if (hollow || (chomp == '+' && empty > 0 && at_end()))
      bad_at(line_ - 1, "blanks or empty lines end a block of text");
    if (chomp == '+') {
      out.append(empty + (any ? 1 : 0), '\n');
    } else if (chomp == 0 && any) {
      out += '\n';
    }
    return out;
  }

  // Quotes -----------------------------------------------------------------------------

  // A quoted text from its quote at position_, on as many lines as it takes; position_ is behind it
  // then.
  std::string quoted(Column parent) {
    const char quote = text()[position_];
    const auto begun = line_;
    // Put together as if on one line, so that escapes are read in one place; "\n" is a line break
    // that folding has kept, which none of the escapes contains.
    std::string inside;
    std::size_t begin = position_ + 1;
    for (;;) {
      auto part = text().substr(begin);
      const auto length = quoted_length(quote == '"' ? fmt::format("\"{}", part) : fmt::format("'{}", part));
      if (length != 0) {
        inside += part.substr(0, length - 2);
        position_ = begin + length - 1;
        return unquoted(inside, quote);
      }
      // A backslash at the end of a line takes the line break away.
      const bool joined = quote == '"' && ends_in_backslash(part);
      if (joined) {
        part.remove_suffix(1);
      } else {
        part = trimmed_end(part, quote);
      }
      inside += part;
      auto next = line_ + 1;
      while (next < lines_.size() && lines_[next].find_first_not_of(blanks) == std::string_view::npos) ++next;
      if (next == lines_.size()) bad_at(begun, "a quoted text does not end");
      if (indent_of(lines_[next]) <= parent) bad_at(next, "a quoted text goes on without indentation");
      const auto empty = next - line_ - 1;
      if (joined && empty > 0) bad("an escaped line break before an empty line");
      if (!joined) fold(inside, empty);
      line_ = next;
      begin = text().find_first_not_of(blanks);
    }
  }

  static bool ends_in_backslash(std::string_view part) noexcept {
    std::size_t count = 0;
    while (count < part.size() && part[part.size() - 1 - count] == '\\') ++count;
    return count % 2 == 1;
  }
  // Blanks before a line break do not count, but for one that is escaped.
  static std::string_view trimmed_end(std::string_view part, char quote) noexcept {
    const auto kept = without_trailing_blanks(part);
    const bool escaped = quote == '"' && kept.size() < part.size() && ends_in_backslash(kept);
    return part.substr(0, kept.size() + (escaped ? 1 : 0));
  }

  std::string unquoted(std::string_view inside, char quote) const {
    std::string out;
    for (std::size_t i = 0; i < inside.size(); ++i) {
      const char c = inside[i];
      if (quote == '\'' && c == '\'') ++i;  // '' is one
      if (quote == '"' && c == '\\') {
        ++i;
        append_escape(out, inside, i);
      } else {
        out += c;
      }
    }
    return out;
  }

  // `at` stands on what follows the backslash, and afterwards on its last character.
  void append_escape(std::string& out, std::string_view inside, std::size_t& at) const {
    static constexpr std::string_view names = "0abtnvfre \"/\\N_LP";
    static constexpr std::array<std::uint32_t, 17> codes{0,   7,   8,   9,    10,   11,   12,     13,    27,
                                                         ' ', '"', '/', '\\', 0x85, 0xa0, 0x2028, 0x2029};
    if (at >= inside.size()) bad("an escape is cut off");
    const char name = inside[at];
    if (const auto found = names.find(name); found != names.npos) return append_utf8(out, codes[found]);
    if (name == '\t') return append_utf8(out, '\t');
    const std::size_t digits = name == 'x' ? 2 : name == 'u' ? 4 : name == 'U' ? 8 : 0;
    if (digits == 0) bad("an escape is not known");
    auto code = hex(inside, at + 1, digits);
    at += digits;
    if (code >= 0xd800 && code < 0xdc00 && inside.substr(at + 1).starts_with("\\u")) {
      const auto low = hex(inside, at + 3, 4);
      if (low >= 0xdc00 && low < 0xe000) {
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
        at += 6;
      }
    }
    if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) bad("an escape names no character");
    append_utf8(out, code);
  }

  std::uint32_t hex(std::string_view inside, std::size_t at, std::size_t digits) const {
    if (at + digits > inside.size()) bad("an escape is cut off");
    std::uint32_t value = 0;
    for (char c : inside.substr(at, digits)) {
      std::uint32_t digit = 16;
      if (is_digit(c)) digit = static_cast<std::uint32_t>(c - '0');
      if (c >= 'a' && c <= 'f') digit = static_cast<std::uint32_t>(c - 'a') + 10;
      if (c >= 'A' && c <= 'F') digit = static_cast<std::uint32_t>(c - 'A') + 10;
      if (digit == 16) bad("an escape is not known");
      value = value << 4 | digit;
    }
    return value;
  }

  // Brackets ---------------------------------------------------------------------------

  // To the next character that counts inside brackets, over line ends and comments.
  char next_inside(Column parent) {
    for (;;) {
      const auto line = text();
      position_ = std::min(line.find_first_not_of(blanks, position_), line.size());
      const bool comment =
          position_ < line.size() && line[position_] == '#' && (position_ == 0 || is_blank(line[position_ - 1]));
      if (position_ < line.size() && !comment) return line[position_];
      do {
        end_line();
      } while (!at_end() && holds_nothing(text()));
      if (at_end()) bad("a bracket is not closed");
      if (indent_of(text()) <= parent) bad("what is in brackets goes on without indentation");
      position_ = 0;
    }
  }

  Json brackets(Column parent, std::size_t depth) {
    check_depth(depth);
    const bool list = text()[position_] == '[';
    const char close = list ? ']' : '}';
    ++position_;
    Json::Array items;
    Json::Object members;
    for (;;) {
      char c = next_inside(parent);
      if (c != close) {
        const auto line = line_;
        if (list) {
          items.push_back(inside_value(parent, depth));
        } else {
          auto key = inside_key(parent);
          Json value;
          if (next_inside(parent) == ':') {
            ++position_;
            c = next_inside(parent);
            if (c != ',' && c != close) value = inside_value(parent, depth);
          }
          add_member(members, std::move(key), std::move(value), line);
        }
        c = next_inside(parent);
      }
      if (c == close) {
        ++position_;
        return list ? Json(std::move(items)) : Json(std::move(members));
      }
      if (c == ':') bad("a key inside a list is not read");
      if (c != ',') bad(fmt::format("expected ',' or '{}'", close));
      ++position_;
    }
  }

  Json inside_value(Column parent, std::size_t depth) {
    const char c = text()[position_];
    if (c == '[' || c == '{') return brackets(parent, depth + 1);
    if (c == '"' || c == '\'') return quoted(parent);
    auto value = inside_plain(parent);
    if (is_no_number(value)) bad("infinity and not-a-number have no place in JSON");
    return plain_value(std::move(value));
  }

  std::string inside_key(Column parent) {
    const char c = text()[position_];
    if (c == '"' || c == '\'') return quoted(parent);
    if (c == '[' || c == '{') bad("keys that are no texts are not read");
    return plain_key(inside_plain(parent));
  }

  std::string inside_plain(Column parent) {
    check_plain_begin(text().substr(position_), true);
    std::string out;
    for (;;) {
      const auto rest = text().substr(position_);
      const auto end = plain_end(rest, true);
      out += without_trailing_blanks(rest.substr(0, end));
      position_ += end;
      if (end < rest.size()) return out;
      const auto before = line_;
      const char c = next_inside(parent);
      if (std::string_view(",[]{}:#").find(c) != std::string_view::npos) return out;
      for (auto line = before + 1; line < line_; ++line) {
        if (lines_[line].find_first_not_of(blanks) != std::string_view::npos) bad_at(line, "a comment inside a text");
      }
      fold(out, line_ - before - 1);
    }
  }

  std::vector<std::string_view> lines_;
  std::size_t first_line_;  // the number of lines_[0] in the file
  std::size_t depth_;
  std::size_t line_ = 0;
  Column column_ = 0;         // of the content of the line, set by next_content()
  std::size_t position_ = 0;  // inside quotes and brackets
};

bool is_mark(std::string_view line) noexcept {
  return line.starts_with("---") && line.find_first_not_of(blanks, 3) == std::string_view::npos;
}

}  // namespace

Result<Json> read_frontmatter(std::string_view skill_md, FrontmatterBounds bounds) {
  if (skill_md.starts_with("\xef\xbb\xbf")) skill_md.remove_prefix(3);
  std::vector<std::string_view> lines;
  bool ended = false;
  bool begun = false;
  std::size_t at = 0;
  while (at < skill_md.size() && !ended) {
    const auto end = std::min(skill_md.find('\n', at), skill_md.size());
    auto line = skill_md.substr(at, end - at);
    if (line.ends_with('\r')) line.remove_suffix(1);
    at = end + 1;
    if (!begun) {
      if (!is_mark(line)) break;
      begun = true;
    } else if (at > bounds.bytes) {
      return fail(Errc::limit, fmt::format("the header is longer than {} bytes", bounds.bytes));
    } else if (is_mark(line)) {
      ended = true;
    } else {
      for (const char c : line) {
        const auto byte = static_cast<unsigned char>(c);
        if ((byte < 0x20 && c != '\t') || byte == 0x7f) {
          return fail(Errc::protocol, fmt::format("line {}: a control character", lines.size() + 2));
        }
      }
      if (!valid_utf8(line)) return fail(Errc::protocol, fmt::format("line {}: not UTF-8", lines.size() + 2));
      lines.push_back(line);
    }
  }
  if (!begun) return fail(Errc::protocol, "it does not begin with a header between two lines ---");
  if (!ended) return fail(Errc::protocol, "the header does not end in a line ---");
  return HeaderReader(std::move(lines), 2, bounds.depth).read();
}

}  // namespace patchbay
