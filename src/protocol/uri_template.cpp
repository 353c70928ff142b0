#include "protocol/uri_template.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/strings.h"

namespace patchbay {

namespace {

// Appendix A of the RFC.
struct Operator {
  char op;
  std::string_view first;
  char separator;
  bool named;
  std::string_view if_empty;
  bool reserved_too;
};

constexpr std::array<Operator, 8> operators{{
    {0, "", ',', false, "", false},
    {'+', "", ',', false, "", true},
    {'#', "#", ',', false, "", true},
    {'.', ".", '.', false, "", false},
    {'/', "/", '/', false, "", false},
    {';', ";", ';', true, "", false},
    {'?', "?", '&', true, "=", false},
    {'&', "&", '&', true, "=", false},
}};

const Operator& operator_of(char op) noexcept {
  return *std::find_if(operators.begin(), operators.end(), [&](const Operator& each) { return each.op == op; });
}

constexpr bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }
constexpr bool is_alpha(char c) noexcept { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
constexpr bool is_unreserved(char c) noexcept {
  return is_alpha(c) || is_digit(c) || c == '-' || c == '.' || c == '_' || c == '~';
}
constexpr bool is_reserved(char c) noexcept {
  return std::string_view(":/?#[]@!$&'()*+,;=").find(c) != std::string_view::npos;
}
constexpr int hex_value(char c) noexcept {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}
constexpr bool is_triplet(std::string_view text, std::size_t at) noexcept {
  return at + 2 < text.size() && text[at] == '%' && hex_value(text[at + 1]) >= 0 && hex_value(text[at + 2]) >= 0;
}

enum class Allow { unreserved, reserved_too };

void append_encoded(std::string& out, std::string_view text, Allow allow) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (is_unreserved(c) || (allow == Allow::reserved_too && (is_reserved(c) || is_triplet(text, i)))) {
      out += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      out += {'%', digits[byte >> 4], digits[byte & 15]};
    }
  }
}

std::string percent_decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (is_triplet(text, i)) {
      out += static_cast<char>(hex_value(text[i + 1]) * 16 + hex_value(text[i + 2]));
      i += 2;
    } else {
      out += text[i];
    }
  }
  // Bytes that are not text stay as they were written.
  return valid_utf8(out) ? out : std::string(text);
}

// The bytes of a URI that stand for one character at `at`, encoded or not: what a variable
// takes or leaves whole. One byte or one triplet where no character can be made out.
std::size_t character_length(std::string_view uri, std::size_t at) noexcept {
  const auto unit = [&](std::size_t i, unsigned char& byte) -> std::size_t {
    if (i >= uri.size()) return 0;
    const bool triplet = is_triplet(uri, i);
    byte = static_cast<unsigned char>(triplet ? hex_value(uri[i + 1]) * 16 + hex_value(uri[i + 2]) : uri[i]);
    return triplet ? 3 : 1;
  };
  unsigned char byte = 0;
  const std::size_t first = unit(at, byte);
  std::size_t more = byte >= 0xF0 ? 3 : byte >= 0xE0 ? 2 : byte >= 0xC0 ? 1 : 0;
  std::size_t length = first;
  for (; more > 0; --more) {
    const std::size_t next = unit(at + length, byte);
    if (next == 0 || (byte & 0xC0) != 0x80) return first;
    length += next;
  }
  return length;
}

// The first `count` characters, not bytes.
std::string_view first_characters(std::string_view text, std::size_t count) noexcept {
  std::size_t at = 0;
  for (; at < text.size(); ++at) {
    const bool starts_character = (static_cast<unsigned char>(text[at]) & 0xC0) != 0x80;
    if (starts_character && count-- == 0) break;
  }
  return text.substr(0, at);
}

std::unexpected<Error> malformed(std::size_t at, std::string_view what) {
  return fail(Errc::invalid_argument, fmt::format("URI template: {} at byte {}", what, at));
}

}  // namespace

Result<UriTemplate> UriTemplate::parse(std::string_view text) {
  if (text.size() > max_template) {
    return fail(Errc::limit, fmt::format("URI template: {} bytes, but the limit is {}", text.size(), max_template));
  }
  UriTemplate out;
  out.text_ = text;
  std::size_t count = 0;
  std::size_t at = 0;
  while (at < text.size()) {
    if (text[at] != '{') {
      const std::size_t end = std::min(text.find('{', at), text.size());
      const std::size_t stray = text.substr(0, end).find('}', at);
      if (stray != std::string_view::npos) return malformed(stray, "'}' without '{'");
      std::string literal;
      append_encoded(literal, text.substr(at, end - at), Allow::reserved_too);
      out.parts_.emplace_back(std::move(literal));
      at = end;
      continue;
    }
    const std::size_t close = text.find('}', at);
    if (close == std::string_view::npos) return malformed(at, "'{' without '}'");
    Expression expression;
    std::size_t i = at + 1;
    if (i < close && std::string_view("+#./;?&").find(text[i]) != std::string_view::npos) expression.op = text[i++];
    for (;; ++i) {  // past a comma
      Variable variable;
      const std::size_t start = i;
      while (i < close) {
        if (is_alpha(text[i]) || is_digit(text[i]) || text[i] == '_') {
          ++i;
        } else if (is_triplet(text.substr(0, close), i)) {
          i += 3;
        } else if (text[i] == '.' && i > start && text[i - 1] != '.') {
          ++i;
        } else {
          break;
        }
      }
      if (i == start || text[i - 1] == '.') return malformed(i, "expected a variable name");
      variable.name = text.substr(start, i - start);
      if (text[i] == '*') {
        variable.explode = true;
        ++i;
      } else if (text[i] == ':') {
        const std::size_t digits = ++i;
        while (i < close && is_digit(text[i]) && i - digits < 4) {
          variable.prefix = variable.prefix * 10 + static_cast<std::size_t>(text[i++] - '0');
        }
        if (i == digits || text[digits] == '0') return malformed(digits, "expected a length from 1 to 9999");
      }
      expression.variables.push_back(std::move(variable));
      if (++count > max_variables) {
        return fail(Errc::limit, fmt::format("URI template: more than {} variables", max_variables));
      }
      if (text[i] != ',') break;
    }
    if (i != close) return malformed(i, fmt::format("unexpected '{}'", text[i]));
    out.parts_.emplace_back(std::move(expression));
    at = close + 1;
  }
  return out;
}

std::vector<std::string> UriTemplate::variables() const {
  std::vector<std::string> out;
  for (const Part& part : parts_) {
    const auto* expression = std::get_if<Expression>(&part);
    if (expression == nullptr) continue;
    for (const Variable& variable : expression->variables) {
      if (std::find(out.begin(), out.end(), variable.name) == out.end()) out.push_back(variable.name);
    }
  }
  return out;
}

namespace {

// One expression being written (section 3.2.1 of the RFC).
class Expander {
 public:
  Expander(std::string& out, const Operator& op) : out_(out), op_(op) {}

  void string(std::string_view name, std::string_view value, std::size_t prefix) {
    begin(op_.separator);
    name_equals(name, value.empty());
    value_text(prefix == 0 ? value : first_characters(value, prefix));
  }

  void list(std::string_view name, const UriTemplate::List& items, bool explode) {
    if (explode) {
      for (const std::string& item : items) string(name, item, 0);
      return;
    }
    begin(op_.separator);
    name_equals(name, false);
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (i != 0) out_ += ',';
      value_text(items[i]);
    }
  }

  void pairs(std::string_view name, const UriTemplate::Pairs& items, bool explode) {
    if (!explode) {
      begin(op_.separator);
      name_equals(name, false);
    }
    for (std::size_t i = 0; i < items.size(); ++i) {
      const auto& [key, value] = items[i];
      if (explode) {
        begin(op_.separator);
      } else if (i != 0) {
        out_ += ',';
      }
      value_text(key);
      if (!explode) {
        out_ += ',';
      } else if (op_.named && value.empty()) {
        out_ += op_.if_empty;
        continue;
      } else {
        out_ += '=';
      }
      value_text(value);
    }
  }

 private:
  void begin(char separator) {
    if (first_) {
      out_ += op_.first;
    } else {
      out_ += separator;
    }
    first_ = false;
  }
  void name_equals(std::string_view name, bool empty) {
    if (!op_.named) return;
    out_ += name;
    if (empty) {
      out_ += op_.if_empty;
    } else {
      out_ += '=';
    }
  }
  void value_text(std::string_view value) {
    append_encoded(out_, value, op_.reserved_too ? Allow::reserved_too : Allow::unreserved);
  }

  std::string& out_;
  const Operator& op_;
  bool first_ = true;
};

std::size_t size_of(const UriTemplate::Value& value) {
  struct Sizes {
    std::size_t operator()(const std::string& text) const { return text.size(); }
    std::size_t operator()(const UriTemplate::List& list) const {
      std::size_t total = 0;
      for (const std::string& item : list) total += item.size() + 1;
      return total;
    }
    std::size_t operator()(const UriTemplate::Pairs& pairs) const {
      std::size_t total = 0;
      for (const auto& [key, text] : pairs) total += key.size() + text.size() + 2;
      return total;
    }
  };
  return std::visit(Sizes{}, value);
}

}  // namespace

Result<std::string> UriTemplate::expand(const Values& values) const {
  const auto too_long = [] {
    return fail(Errc::limit, fmt::format("URI template: the result would be longer than {} bytes", max_expansion));
  };
  std::string out;
  for (const Part& part : parts_) {
    if (const auto* literal = std::get_if<std::string>(&part)) {
      out += *literal;
      continue;
    }
    const auto& expression = std::get<Expression>(part);
    Expander expander(out, operator_of(expression.op));
    for (const Variable& variable : expression.variables) {
      const auto found = values.find(variable.name);
      if (found == values.end()) continue;
      // Before anything is copied: a value written unencoded is already this long.
      if (size_of(found->second) > max_expansion) return too_long();
      if (const auto* text = std::get_if<std::string>(&found->second)) {
        expander.string(variable.name, *text, variable.prefix);
      } else if (const auto* list = std::get_if<List>(&found->second)) {
        if (!list->empty()) expander.list(variable.name, *list, variable.explode);
      } else if (const auto& pairs = std::get<Pairs>(found->second); !pairs.empty()) {
        expander.pairs(variable.name, pairs, variable.explode);
      }
      if (out.size() > max_expansion) return too_long();
    }
  }
  if (out.size() > max_expansion) return too_long();
  return out;
}

// What a URI is matched against, from left to right: a literal; one variable, that is one
// or more characters of which none is in `stops`; or a set of name=value pairs that may
// be missing.
struct UriTemplate::Piece {
  enum class Kind { literal, variable, pairs };
  Kind kind = Kind::literal;
  std::string literal;
  std::string name;
  std::string_view stops;
  char lead = 0;  // of pairs
  char separator = 0;
  std::vector<std::string> names;

  // The end of the pairs that start at `at`, or nullopt.
  template <class F>
  std::optional<std::size_t> read_pairs(std::string_view uri, std::size_t at, F found) const {
    if (at >= uri.size() || uri[at] != lead) return std::nullopt;
    std::vector<bool> seen(names.size());
    do {
      const std::size_t start = ++at;
      // '?' ends a pair so that scanning from each '?' of a URI never overlaps.
      while (at < uri.size() && uri[at] != separator && uri[at] != '#' && uri[at] != '?') ++at;
      const std::string_view pair = uri.substr(start, at - start);
      const std::size_t equals = std::min(pair.find('='), pair.size());
      const auto known = std::find(names.begin(), names.end(), pair.substr(0, equals));
      if (known == names.end()) return std::nullopt;
      const auto index = static_cast<std::size_t>(known - names.begin());
      if (seen[index]) return std::nullopt;
      seen[index] = true;
      found(*known, pair.substr(std::min(equals + 1, pair.size())));
    } while (at < uri.size() && uri[at] == separator);
    return at;
  }
};

std::vector<UriTemplate::Piece> UriTemplate::pieces() const {
  std::vector<Piece> out;
  const auto literal = [&](std::string_view text) {
    if (text.empty()) return;
    if (out.empty() || out.back().kind != Piece::Kind::literal) out.emplace_back();
    out.back().literal += text;
  };
  for (const Part& part : parts_) {
    if (const auto* text = std::get_if<std::string>(&part)) {
      literal(*text);
      continue;
    }
    const auto& expression = std::get<Expression>(part);
    const Operator& op = operator_of(expression.op);
    if (op.named) {
      // {?a}{&b} is one query.
      const bool continues =
          op.op == '&' && !out.empty() && out.back().kind == Piece::Kind::pairs && out.back().separator == op.separator;
      if (!continues) {
        Piece& piece = out.emplace_back();
        piece.kind = Piece::Kind::pairs;
        piece.lead = op.op;
        piece.separator = op.separator;
      }
      for (const Variable& variable : expression.variables) out.back().names.push_back(variable.name);
      continue;
    }
    literal(op.first);
    for (std::size_t i = 0; i < expression.variables.size(); ++i) {
      if (i != 0) literal(std::string_view(&op.separator, 1));
      const Variable& variable = expression.variables[i];
      Piece& piece = out.emplace_back();
      piece.kind = Piece::Kind::variable;
      piece.name = variable.name;
      const bool one_of_many = expression.variables.size() > 1 && !variable.explode;
      if (op.reserved_too) {
        piece.stops = one_of_many ? "," : "";
      } else if (op.op == '.') {
        piece.stops = variable.explode ? "/?#" : "./?#";
      } else if (variable.explode && op.op == '/') {
        piece.stops = "?#";
      } else {
        piece.stops = one_of_many && op.separator == ',' ? ",/?#" : "/?#";
      }
    }
  }
  return out;
}

std::optional<std::map<std::string, std::string>> UriTemplate::match(std::string_view uri) const {
  if (uri.size() > max_uri) return std::nullopt;
  const std::vector<Piece> all = pieces();
  const std::size_t width = uri.size() + 1;
  const auto ignore = [](const std::string&, std::string_view) {};

  // can[i][j]: the pieces from i on can match the URI from j on. Filled from the end, so
  // that finding the longest match needs no backtracking.
  std::vector<bool> can((all.size() + 1) * width);
  const auto at = [&](std::size_t i, std::size_t j) { return i * width + j; };
  can[at(all.size(), uri.size())] = true;
  for (std::size_t i = all.size(); i-- > 0;) {
    const Piece& piece = all[i];
    for (std::size_t j = width; j-- > 0;) {
      bool fits = false;
      switch (piece.kind) {
        case Piece::Kind::literal:
          fits = uri.substr(j).starts_with(piece.literal) && can[at(i + 1, j + piece.literal.size())];
          break;
        case Piece::Kind::variable:
          if (j < uri.size() && piece.stops.find(uri[j]) == std::string_view::npos) {
            const std::size_t next = j + character_length(uri, j);
            fits = can[at(i + 1, next)] || can[at(i, next)];
          }
          break;
        case Piece::Kind::pairs:
          fits = can[at(i + 1, j)];
          if (!fits) {
            const auto end = piece.read_pairs(uri, j, ignore);
            fits = end && can[at(i + 1, *end)];
          }
          break;
      }
      can[at(i, j)] = fits;
    }
  }
  if (!can[at(0, 0)]) return std::nullopt;

  std::map<std::string, std::string> out;
  bool agree = true;
  const auto assign = [&](const std::string& name, std::string_view value) {
    std::string decoded = percent_decoded(value);
    const auto [where, added] = out.try_emplace(name, decoded);
    // A variable used twice must have been the same both times.
    if (!added && where->second != decoded) agree = false;
  };
  std::size_t j = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Piece& piece = all[i];
    switch (piece.kind) {
      case Piece::Kind::literal:
        j += piece.literal.size();
        break;
      case Piece::Kind::variable: {
        const std::size_t start = j;
        do {
          j += character_length(uri, j);
        } while (can[at(i, j)]);
        assign(piece.name, uri.substr(start, j - start));
        break;
      }
      case Piece::Kind::pairs: {
        const auto end = piece.read_pairs(uri, j, ignore);
        if (end && can[at(i + 1, *end)]) {
          piece.read_pairs(uri, j, assign);
          j = *end;
        }
        break;
      }
    }
  }
  if (!agree) return std::nullopt;
  return out;
}

}  // namespace patchbay
