#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "json/regex.h"
#include "json/utf8.h"

namespace patchbay::regex {
namespace {

constexpr char32_t end_of_pattern = 0xFFFFFFFF;
constexpr char32_t last_code_point = 0x10FFFF;
constexpr std::size_t max_nesting = 100;
constexpr std::uint64_t max_repeat = 65'535;  // PCRE2's

using Range = std::pair<char32_t, char32_t>;

struct Bad {
  std::string reason;
};

bool is_digit(char32_t c) { return c >= '0' && c <= '9'; }
bool is_letter(char32_t c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_surrogate(char32_t c) { return c >= 0xD800 && c <= 0xDFFF; }

int hex_value(char32_t c) {
  if (is_digit(c)) return static_cast<int>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<int>(c - 'a') + 10;
  if (c >= 'A' && c <= 'F') return static_cast<int>(c - 'A') + 10;
  return -1;
}

const std::vector<Range> digits{{'0', '9'}};
const std::vector<Range> word{{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
// WhiteSpace and LineTerminator of ECMA-262.
const std::vector<Range> space{{0x9, 0xD},       {0x20, 0x20},     {0xA0, 0xA0},     {0x1680, 0x1680},
                               {0x2000, 0x200A}, {0x2028, 0x2029}, {0x202F, 0x202F}, {0x205F, 0x205F},
                               {0x3000, 0x3000}, {0xFEFF, 0xFEFF}};

// Of sorted ranges.
std::vector<Range> complement(const std::vector<Range>& ranges) {
  std::vector<Range> out;
  char32_t from = 0;
  for (const auto& [low, high] : ranges) {
    if (low > from) out.emplace_back(from, low - 1);
    from = high + 1;
  }
  out.emplace_back(from, last_code_point);
  return out;
}

// The value aliases of General_Category that PCRE2, which knows only the short ones, lacks.
constexpr std::array<std::pair<std::string_view, std::string_view>, 43> categories{{
    {"Cased_Letter", "L&"},
    {"LC", "L&"},
    {"Close_Punctuation", "Pe"},
    {"Combining_Mark", "M"},
    {"Connector_Punctuation", "Pc"},
    {"Control", "Cc"},
    {"Currency_Symbol", "Sc"},
    {"Dash_Punctuation", "Pd"},
    {"Decimal_Number", "Nd"},
    {"Enclosing_Mark", "Me"},
    {"Final_Punctuation", "Pf"},
    {"Format", "Cf"},
    {"Initial_Punctuation", "Pi"},
    {"Letter", "L"},
    {"Letter_Number", "Nl"},
    {"Line_Separator", "Zl"},
    {"Lowercase_Letter", "Ll"},
    {"Mark", "M"},
    {"Math_Symbol", "Sm"},
    {"Modifier_Letter", "Lm"},
    {"Modifier_Symbol", "Sk"},
    {"Nonspacing_Mark", "Mn"},
    {"Number", "N"},
    {"Open_Punctuation", "Ps"},
    {"Other", "C"},
    {"Other_Letter", "Lo"},
    {"Other_Number", "No"},
    {"Other_Punctuation", "Po"},
    {"Other_Symbol", "So"},
    {"Paragraph_Separator", "Zp"},
    {"Private_Use", "Co"},
    {"Punctuation", "P"},
    {"Separator", "Z"},
    {"Space_Separator", "Zs"},
    {"Spacing_Mark", "Mc"},
    {"Surrogate", "Cs"},
    {"Symbol", "S"},
    {"Titlecase_Letter", "Lt"},
    {"Unassigned", "Cn"},
    {"Uppercase_Letter", "Lu"},
    {"cntrl", "Cc"},
    {"digit", "Nd"},
    {"punct", "P"},
}};

class Translator {
 public:
  explicit Translator(std::string_view pattern) : pattern_(pattern) {}

  std::string run() {
    if (first_invalid_utf8(pattern_) != all_utf8) throw Bad{"the pattern is not valid UTF-8"};
    find_groups();
    at_ = 0;
    out_ = "(?C1)";
    while (true) {
      const char32_t c = take();
      if (c == end_of_pattern) break;
      step(c);
    }
    if (!open_.empty()) throw Bad{"a group has no closing ')'"};
    return std::move(out_);
  }

 private:
  struct Quantifier {
    std::string text;
    std::uint64_t least = 0;
  };
  // What stands between brackets or behind a backslash: ranges, and \p{…} as PCRE2 writes it.
  struct Set {
    std::vector<Range> ranges;
    std::string properties;
    bool single = false;  // one code point, which may begin or end a range

    void add(const std::vector<Range>& more) { ranges.insert(ranges.end(), more.begin(), more.end()); }
    // PCRE2 has a bitmap for the first 256 characters and goes through the rest one by one.
    std::uint64_t weight() const {
      const auto beyond = std::ranges::count_if(ranges, [](const Range& range) { return range.second > 0xFF; });
      return 1 + static_cast<std::uint64_t>(beyond) + properties.size() / 4;
    }
  };

  char32_t peek(std::size_t* length = nullptr) const {
    if (at_ >= pattern_.size()) return end_of_pattern;
    const auto* bytes = reinterpret_cast<const unsigned char*>(pattern_.data()) + at_;
    const std::size_t size = utf8_sequence(pattern_, at_);
    if (length) *length = size;
    switch (size) {
      case 1:
        return bytes[0];
      case 2:
        return (bytes[0] & 0x1Fu) << 6 | (bytes[1] & 0x3Fu);
      case 3:
        return (bytes[0] & 0x0Fu) << 12 | (bytes[1] & 0x3Fu) << 6 | (bytes[2] & 0x3Fu);
      default:
        return (bytes[0] & 0x07u) << 18 | (bytes[1] & 0x3Fu) << 12 | (bytes[2] & 0x3Fu) << 6 | (bytes[3] & 0x3Fu);
    }
  }
  char32_t take() {
    std::size_t length = 0;
    const char32_t c = peek(&length);
    at_ += length;
    return c;
  }
  bool take_if(std::string_view text) {
    if (!pattern_.substr(at_).starts_with(text)) return false;
    at_ += text.size();
    return true;
  }

  // Backreferences may point forward, so groups are counted before anything is written.
  void find_groups() {
    bool in_class = false;
    for (std::size_t i = 0; i < pattern_.size(); ++i) {
      const char c = pattern_[i];
      if (c == '\\') {
        ++i;
      } else if (in_class) {
        if (c == ']') in_class = false;
      } else if (c == '[') {
        in_class = true;
      } else if (c == '(') {
        const auto rest = pattern_.substr(i + 1);
        if (!rest.starts_with('?')) {
          ++groups_;
        } else if (rest.starts_with("?<") && !rest.starts_with("?<=") && !rest.starts_with("?<!")) {
          ++groups_;
          const auto name = rest.substr(2, rest.find('>') == std::string_view::npos ? 0 : rest.find('>') - 2);
          if (!names_.emplace(std::string(name), groups_).second) throw Bad{"two groups have the same name"};
        }
      }
    }
  }

  void step(char32_t c) {
    switch (c) {
      case '|':
        out_ += "|(?C1)";
        return;
      case '(':
        open_group();
        return;
      case ')':
        close_group();
        return;
      case '^':
        out_ += "\\A";
        return;
      case '$':
        out_ += "\\z";
        return;
      case '*':
      case '+':
      case '?':
        throw Bad{"there is nothing before a '*', '+', '?' or '{' that could be repeated"};
      case '{':
        --at_;
        if (quantifier()) throw Bad{"there is nothing before a '*', '+', '?' or '{' that could be repeated"};
        ++at_;
        atom(literal('{'));
        return;
      case '.':
        atom("[^\\n\\r\\x{2028}\\x{2029}]", 3);
        return;
      case '[':
        char_class();
        return;
      case '\\':
        escape();
        return;
      default:
        atom(literal(c));
    }
  }

  void open_group() {
    bool repeatable = true;
    if (take_if("?:")) {
      out_ += "(?:";
    } else if (take_if("?=") || take_if("?!") || take_if("?<=") || take_if("?<!")) {
      const std::size_t from = pattern_.rfind('(', at_ - 1);
      out_ += pattern_.substr(from, at_ - from);
      repeatable = false;
    } else if (take_if("?<")) {
      const std::string name = group_name();
      if (name.empty()) throw Bad{"a group has an empty name"};
      out_ += "(";
    } else if (peek() == '?') {
      throw Bad{"'(?' does not begin a group that ECMA-262 knows"};
    } else {
      out_ += "(";
    }
    out_ += "(?C1)";
    open_.push_back(repeatable);
    if (open_.size() > max_nesting) throw Bad{"groups are nested too deeply"};
  }

  void close_group() {
    if (open_.empty()) throw Bad{"a ')' has no '(' before it"};
    const bool repeatable = open_.back();
    open_.pop_back();
    out_ += ')';
    if (const auto repeat = quantifier()) {
      if (!repeatable) throw Bad{"an assertion cannot be repeated"};
      out_ += repeat->text;
    }
  }

  std::string group_name() {
    std::string name;
    while (true) {
      const std::size_t from = at_;
      const char32_t c = take();
      if (c == '>') return name;
      const bool good =
          is_letter(c) || c == '_' || c == '$' || (is_digit(c) && !name.empty()) || (c >= 0x80 && c != end_of_pattern);
      if (!good) throw Bad{"a group name is not an identifier"};
      name += pattern_.substr(from, at_ - from);
    }
  }

  // {2,5} and its kin, moved past; nothing and nowhere when there is none.
  std::optional<Quantifier> quantifier() {
    const std::size_t from = at_;
    Quantifier found;
    if (take_if("*") || take_if("?")) {
    } else if (take_if("+")) {
      found.least = 1;
    } else if (take_if("{")) {
      const auto least = number();
      auto most = least;
      bool open_ended = false;
      if (least && take_if(",")) {
        most = number();
        open_ended = !most;
      }
      if (!least || !take_if("}")) {
        at_ = from;
        return std::nullopt;
      }
      if (!open_ended && *most < *least) throw Bad{"the first number of a repetition is greater than the second"};
      if (*least > max_repeat || (!open_ended && *most > max_repeat)) throw Bad{"a repetition is too large"};
      found.least = *least;
    } else {
      return std::nullopt;
    }
    take_if("?");
    found.text = std::string(pattern_.substr(from, at_ - from));
    return found;
  }

  std::optional<std::uint64_t> number() {
    if (!is_digit(peek())) return std::nullopt;
    std::uint64_t value = 0;
    while (is_digit(peek())) {
      value = std::min<std::uint64_t>(value * 10 + (take() - '0'), 1'000'000);
    }
    return value;
  }

  // A single item, with the callouts that pay for it. `weight` is what looking up one
  // character costs, in plain comparisons.
  void atom(std::string_view text, std::uint64_t weight = 1) {
    const auto repeat = quantifier();
    if (!repeat) {
      out_ += text;
      unpaid_ += weight;
      pay();
      return;
    }
    unsigned after = 1;
    if (weight >= 8) after = plain_callouts + static_cast<unsigned>(std::bit_width(weight / 8));
    if (repeat->least > plain_callouts) {
      if (weight > 16) throw Bad{"a large character class is repeated too often"};
      out_ += fmt::format("(?C{})", whole_text_callout);
    } else {
      unpaid_ += std::max<std::uint64_t>(repeat->least, 1) * weight;
      pay();
    }
    out_ += fmt::format("(?C1){}{}(?C{})", text, repeat->text, after);
  }

  // Runs of literals cost as well.
  void pay() {
    for (; unpaid_ >= 64; unpaid_ -= std::min<std::uint64_t>(unpaid_, plain_callouts)) {
      out_ += fmt::format("(?C{})", std::min<std::uint64_t>(unpaid_, plain_callouts));
    }
  }

  static std::string literal(char32_t c) {
    std::string out;
    append_code_point(out, c);
    return out;
  }

  static void append_code_point(std::string& out, char32_t c) {
    if (is_letter(c) || is_digit(c)) {
      out += static_cast<char>(c);
    } else {
      fmt::format_to(std::back_inserter(out), "\\x{{{:x}}}", static_cast<std::uint32_t>(c));
    }
  }

  static std::string bracketed(const Set& set, bool negated) {
    std::string out = negated ? "[^" : "[";
    bool any = !set.properties.empty();
    for (auto [low, high] : set.ranges) {
      // Text has no lone surrogates, and PCRE2 takes none in a pattern.
      if (is_surrogate(low)) low = 0xE000;
      if (is_surrogate(high)) high = 0xD7FF;
      if (low > high) continue;
      any = true;
      append_code_point(out, low);
      if (high != low) {
        out += '-';
        append_code_point(out, high);
      }
    }
    // [] matches nothing, [^] anything.
    if (!any) return negated ? "[\\x{0}-\\x{10ffff}]" : "[^\\x{0}-\\x{10ffff}]";
    return out + set.properties + "]";
  }

  void char_class() {
    const bool negated = take_if("^");
    Set all;
    while (true) {
      if (take_if("]")) {
        atom(bracketed(all, negated), all.weight());
        return;
      }
      const Set first = class_atom();
      all.properties += first.properties;
      const std::size_t hyphen = at_;
      if (first.single && take_if("-") && peek() != ']') {
        const Set last = class_atom();
        if (last.single) {
          const Range range{first.ranges[0].first, last.ranges[0].first};
          if (range.first > range.second)
            throw Bad{"the first character of a range in a character class is after the last"};
          all.ranges.push_back(range);
          continue;
        }
        at_ = hyphen;  // [a-\d]: the hyphen is one
      } else {
        at_ = hyphen;
      }
      all.add(first.ranges);
    }
  }

  Set class_atom() {
    const char32_t c = take();
    if (c == end_of_pattern) throw Bad{"a character class has no closing ']'"};
    if (c != '\\') return {.ranges = {{c, c}}, .single = true};
    if (take_if("b")) return {.ranges = {{0x8, 0x8}}, .single = true};
    if (take_if("-")) return {.ranges = {{'-', '-'}}, .single = true};
    return escaped_set();
  }

  void escape() {
    if (take_if("b")) {
      out_ += "\\b";
      return;
    }
    if (take_if("B")) {
      out_ += "\\B";
      return;
    }
    if (take_if("k")) {
      if (!take_if("<")) throw Bad{"\\k is not followed by a group name"};
      const auto found = names_.find(group_name());
      if (found == names_.end()) throw Bad{"\\k names a group that does not exist"};
      back_reference(found->second);
      return;
    }
    if (peek() >= '1' && peek() <= '9') {
      back_reference(*number());
      return;
    }
    const Set set = escaped_set();
    if (set.single && !is_surrogate(set.ranges[0].first)) {
      atom(literal(set.ranges[0].first));
    } else {
      atom(bracketed(set, false), set.weight());
    }
  }

  void back_reference(std::uint64_t group) {
    if (group > groups_) throw Bad{fmt::format("there is no group {}", group)};
    // A comparison may fail after any length without leaving a trace.
    out_ += fmt::format("(?:(?C{})\\g{{{}}})", whole_text_callout, group);
    if (const auto repeat = quantifier()) out_ += repeat->text;
  }

  // Behind a backslash, in a class or not.
  Set escaped_set() {
    const auto one = [](char32_t c) { return Set{.ranges = {{c, c}}, .single = true}; };
    const char32_t c = take();
    switch (c) {
      case end_of_pattern:
        throw Bad{"the pattern ends in a backslash"};
      case 'd':
        return {.ranges = digits};
      case 'D':
        return {.ranges = complement(digits)};
      case 'w':
        return {.ranges = word};
      case 'W':
        return {.ranges = complement(word)};
      case 's':
        return {.ranges = space};
      case 'S':
        return {.ranges = complement(space)};
      case 't':
        return one('\t');
      case 'n':
        return one('\n');
      case 'v':
        return one('\v');
      case 'f':
        return one('\f');
      case 'r':
        return one('\r');
      case '0':
        if (is_digit(peek())) throw Bad{"ECMA-262 has no octal escapes"};
        return one(0);
      case 'c': {
        const char32_t letter = take();
        if (!is_letter(letter)) throw Bad{"\\c is not followed by a letter"};
        return one(letter % 32);
      }
      case 'x':
        return one(hex(2));
      case 'u':
        return one(unicode_escape());
      case 'p':
      case 'P':
        return property(c == 'P');
      default:
        break;
    }
    const bool punctuation = c > 0x20 && c < 0x7F && !is_letter(c) && !is_digit(c);
    if (!punctuation) {
      const bool printable = c > 0x20 && c < 0x7F;
      throw Bad{printable ? fmt::format("\\{} means nothing in ECMA-262", static_cast<char>(c))
                          : fmt::format("a backslash before U+{:04X} means nothing", static_cast<std::uint32_t>(c))};
    }
    return one(c);
  }

  char32_t hex(int count) {
    char32_t value = 0;
    for (int i = 0; i < count; ++i) {
      const int digit = hex_value(take());
      if (digit < 0) throw Bad{fmt::format("an escape must be followed by {} hexadecimal digits", count)};
      value = value * 16 + static_cast<char32_t>(digit);
    }
    return value;
  }

  char32_t unicode_escape() {
    if (take_if("{")) {
      char32_t value = 0;
      if (peek() == '}') throw Bad{"\\u{} is empty"};
      while (!take_if("}")) {
        const int digit = hex_value(take());
        if (digit < 0) throw Bad{"\\u{…} contains something other than hexadecimal digits"};
        value = value * 16 + static_cast<char32_t>(digit);
        if (value > last_code_point) throw Bad{"\\u{…} is greater than 10FFFF, the last character of Unicode"};
      }
      return value;
    }
    const char32_t first = hex(4);
    if (first < 0xD800 || first > 0xDBFF) return first;
    const std::size_t behind = at_;
    if (take_if("\\u") && hex_value(peek()) >= 0) {
      const char32_t second = hex(4);
      if (second >= 0xDC00 && second <= 0xDFFF) return 0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00);
    }
    at_ = behind;
    return first;
  }

  Set property(bool negated) {
    const auto close = pattern_.find('}', at_);
    if (peek() != '{' || close == std::string_view::npos) throw Bad{"\\p is not followed by {name}"};
    const std::string_view text = pattern_.substr(at_ + 1, close - at_ - 1);
    at_ = close + 1;
    const auto good = [](char c) {
      const auto u = static_cast<unsigned char>(c);
      return is_letter(u) || is_digit(u) || c == '_' || c == '=';
    };
    if (text.empty() || !std::ranges::all_of(text, good)) throw Bad{"\\p{…} does not contain the name of a property"};
    const auto equals = text.find('=');
    const std::string_view key = equals == std::string_view::npos ? std::string_view() : text.substr(0, equals);
    const std::string_view value = equals == std::string_view::npos ? text : text.substr(equals + 1);
    std::string name(value);
    const bool category = key.empty() || key == "General_Category" || key == "gc";
    if (category) {
      for (const auto& [known, brief] : categories) {
        if (known == value) name = brief;
      }
    } else if (key == "Script" || key == "sc") {
      name = "sc:" + name;
    } else if (key == "Script_Extensions" || key == "scx") {
      name = "scx:" + name;
    } else {
      throw Bad{fmt::format("\"{}\" is not a property that takes a value", key)};
    }
    if (value == "Assigned") {
      name = "Cn";
      negated = !negated;
    }
    return {.properties = fmt::format("\\{}{{{}}}", negated ? 'P' : 'p', name)};
  }

  std::string_view pattern_;
  std::size_t at_ = 0;
  std::string out_;
  std::uint64_t unpaid_ = 0;  // work since the last callout
  std::vector<bool> open_;    // per open group: whether it may be repeated
  std::uint64_t groups_ = 0;
  std::map<std::string, std::uint64_t, std::less<>> names_;
};

}  // namespace

Result<std::string> translate(std::string_view pattern) {
  try {
    return Translator(pattern).run();
  } catch (const Bad& bad) {
    return fail(Errc::invalid_argument, bad.reason);
  }
}

}  // namespace patchbay::regex
