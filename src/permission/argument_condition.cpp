#include "permission/argument_condition.h"

#include <algorithm>
#include <variant>

#include <fmt/format.h>

#include "base/strings.h"
#include "http/url_pattern.h"
#include "json/number.h"
#include "json/regex.h"
#include "permission/path_pattern.h"
#include "permission/spellings.h"
#include "text/wildcard.h"

namespace patchbay {
namespace {

constexpr std::size_t most_conditions = 32;
// Enough for any sensible pattern on a text of a megabyte; some milliseconds at most.
constexpr std::uint64_t regex_steps = 100'000;

enum class Fit : std::uint8_t { no, unclear, yes };

Fit fit_if(bool holds) noexcept { return holds ? Fit::yes : Fit::no; }

// Exact for every integer of 64 bits, where double is not.
using Wide = long double;

std::optional<Wide> wide(const Json& value) noexcept {
  switch (value.kind()) {
    case Json::Kind::integer:
    case Json::Kind::unsigned_integer:
      if (auto number = value.to_int()) return static_cast<Wide>(*number);
      if (auto number = value.to_uint()) return static_cast<Wide>(*number);
      return std::nullopt;
    case Json::Kind::real:
      return static_cast<Wide>(*value.to_double());
    default:
      return std::nullopt;
  }
}

struct NumberRange {
  std::optional<Wide> low, high;
  bool low_open = false, high_open = false;  // the bound itself is outside

  bool empty() const noexcept { return low && high && (*low > *high || (*low == *high && (low_open || high_open))); }

  bool holds(Wide value) const noexcept {
    if (low && (value < *low || (low_open && value == *low))) return false;
    return !high || value < *high || (!high_open && value == *high);
  }
};

// Has no slash, but may name a file all the same: whether it does is not known, so a text that is this
// one only by another spelling is unclear.
struct TextPattern {
  std::string pattern;

  Fit fit(std::string_view text, const CallFacts& call) const {
    const auto normal = normal_spelling(text);
    // The dots of "../x" are not part of a name: `.*` is not about it.
    auto below = std::string_view(normal);
    while (below.starts_with("../")) below.remove_prefix(3);
    const int matching =
        matches_wildcard(pattern, text) + matches_wildcard(pattern, normal) + matches_wildcard(pattern, below);
    if (matching > 0) return matching == 3 ? Fit::yes : Fit::unclear;
    std::vector<std::string_view> directories{call.cwd};
    directories.insert(directories.end(), call.also.begin(), call.also.end());
    const auto inside = spellings_inside(text, directories);
    const bool may_be = !inside || std::ranges::any_of(*inside, [&](const std::string& spelling) {
      return matches_wildcard(pattern, spelling);
    });
    return may_be ? Fit::unclear : Fit::no;
  }
};

}  // namespace

struct ArgumentCondition::Test {
  std::variant<Json, NumberRange, Regex, PathPattern, UrlPattern, TextPattern> what;

  Fit fit(const Json& value, const CallFacts& call) const {
    if (const auto* exact = std::get_if<Json>(&what)) {
      return exact->kind() == value.kind() || (exact->is_number() && value.is_number()) ? fit_if(*exact == value)
                                                                                        : Fit::unclear;
    }
    if (const auto* range = std::get_if<NumberRange>(&what)) {
      const auto number = wide(value);
      return number ? fit_if(range->holds(*number)) : Fit::unclear;
    }
    const auto text = value.text();
    if (!text) return Fit::unclear;
    if (const auto* regex = std::get_if<Regex>(&what)) {
      RegexScratch scratch;
      std::uint64_t steps = regex_steps;
      const auto outcome = regex->search(*text, scratch, steps);
      return outcome == Regex::Outcome::limit ? Fit::unclear : fit_if(outcome == Regex::Outcome::match);
    }
    if (const auto* path = std::get_if<PathPattern>(&what)) {
      const auto match = path->match(*text, call.cwd);
      const bool agreed =
          std::ranges::all_of(call.also, [&](const auto& other) { return path->match(*text, other) == match; });
      return agreed && match != PathPattern::Match::unclear ? fit_if(match == PathPattern::Match::yes) : Fit::unclear;
    }
    if (const auto* pattern = std::get_if<UrlPattern>(&what)) {
      const auto url = parse_url(*text);
      const auto match = url ? pattern->match(*url) : UrlPattern::Match::unclear;
      return match == UrlPattern::Match::unclear ? Fit::unclear : fit_if(match == UrlPattern::Match::yes);
    }
    return std::get<TextPattern>(what).fit(*text, call);
  }
};

ArgumentCondition::ArgumentCondition(std::vector<std::string> name, std::shared_ptr<const Test> test)
    : name_(std::move(name)), test_(std::move(test)) {}

const Json* ArgumentCondition::value_in(const CallFacts& call, Json& hint) const {
  if (name_.size() == 2 && name_.front() == "@") {
    if (call.hints == nullptr) return nullptr;
    const auto& name = name_.back();
    const auto& said = name == "readOnly"      ? call.hints->read_only_hint
                       : name == "destructive" ? call.hints->destructive_hint
                       : name == "idempotent"  ? call.hints->idempotent_hint
                                               : call.hints->open_world_hint;
    if (!said) return nullptr;
    hint = Json(*said);
    return &hint;
  }
  const Json* at = call.arguments;
  for (const auto& key : name_) {
    if (at == nullptr) return nullptr;
    at = at->find(key);
  }
  return at;
}

// Of a list, every element must be what the condition says, and there must be one.
bool ArgumentCondition::surely(const CallFacts& call) const {
  Json hint;
  const auto* value = value_in(call, hint);
  if (value == nullptr) return false;
  const auto* items = value->if_array();
  if (items == nullptr) return test_->fit(*value, call) == Fit::yes;
  return !items->empty() &&
         std::ranges::all_of(*items, [&](const Json& item) { return test_->fit(item, call) == Fit::yes; });
}

// Of a list, one is enough.
bool ArgumentCondition::possibly(const CallFacts& call) const {
  Json hint;
  const auto* value = value_in(call, hint);
  if (value == nullptr) return true;
  const auto* items = value->if_array();
  if (items == nullptr) return test_->fit(*value, call) != Fit::no;
  return items->empty() ||
         std::ranges::any_of(*items, [&](const Json& item) { return test_->fit(item, call) != Fit::no; });
}

std::string ArgumentCondition::never() const {
  const auto& what = test_->what;
  if (const auto* range = std::get_if<NumberRange>(&what)) return range->empty() ? "no number is in this range" : "";
  if (const auto* path = std::get_if<PathPattern>(&what)) return path->never();
  if (const auto* url = std::get_if<UrlPattern>(&what)) return url->never();
  return {};
}

std::string ArgumentCondition::doubt(const CallFacts& call) const {
  if (surely(call) || !possibly(call)) return {};
  Json hint;
  if (name_.size() == 2 && name_.front() == "@")
    return fmt::format("the server does not report @{} for the tool", name_.back());
  const auto name = to_text(Json(join(name_, ".")));
  const auto* value = value_in(call, hint);
  if (value == nullptr) return fmt::format("the call has no argument {}", name);
  const bool of_text = std::holds_alternative<Regex>(test_->what) || std::holds_alternative<TextPattern>(test_->what);
  if (value->is_number() && of_text) {
    return fmt::format("the argument {} is a number and the condition is about texts (write a range such as 1..10)",
                       name);
  }
  return fmt::format("the argument {} cannot be compared with the condition", name);
}

namespace {

using Test = ArgumentCondition::Test;

bool is_blank(char c) noexcept { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

// Reads what is in the parentheses of a rule. `text` is the whole rule, so that offsets are its.
class ConditionReader {
 public:
  ConditionReader(std::string_view text, std::size_t from, std::size_t to, const RulePlaces& places)
      : text_(text.substr(0, to)), at_(from), places_(places) {}

  std::expected<std::vector<ArgumentCondition>, ConditionFault> read() {
    std::vector<ArgumentCondition> out;
    if (trim(text_.substr(at_)) == "*") return out;
    do {
      blanks();
      if (out.size() == most_conditions)
        return fault(fmt::format("there are more than {} conditions", most_conditions));
      auto name = read_name();
      if (!name) return std::unexpected(name.error());
      auto test = read_value();
      if (!test) return std::unexpected(test.error());
      out.emplace_back(std::move(*name), std::make_shared<const Test>(std::move(*test)));
      blanks();
    } while (accept(','));
    if (at_ != text_.size()) return fault("expected ',' or ')' after a value");
    return out;
  }

 private:
  using Value = std::expected<Test, ConditionFault>;

  std::unexpected<ConditionFault> fault(std::string reason) const { return fault_at(at_, std::move(reason)); }
  static std::unexpected<ConditionFault> fault_at(std::size_t offset, std::string reason) {
    return std::unexpected(ConditionFault{offset, std::move(reason)});
  }

  void blanks() noexcept {
    while (at_ < text_.size() && is_blank(text_[at_])) ++at_;
  }
  bool accept(char c) noexcept {
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  // A JSON string, from its quote.
  std::expected<std::string, ConditionFault> read_quoted() {
    const auto begin = at_;
    for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_) {
      if (text_[at_] == '\\') ++at_;
    }
    if (!accept('"')) return fault_at(begin, "the quote is not closed");
    auto value = parse_json(text_.substr(begin, at_ - begin));
    if (!value) return fault_at(begin, "the text in quotes is not a JSON string");
    return std::string(value->as_text());
  }

  std::expected<std::vector<std::string>, ConditionFault> read_name() {
    std::vector<std::string> way;
    if (at_ < text_.size() && text_[at_] == '"') {
      auto name = read_quoted();
      if (!name) return std::unexpected(name.error());
      way.push_back(std::move(*name));
      blanks();
    } else {
      const auto begin = at_;
      at_ = std::min(text_.find_first_of(":,\"/()", at_), text_.size());
      const auto name = trim(text_.substr(begin, at_ - begin));
      if (name.empty()) return fault_at(begin, "expected the name of an argument, as in (path: ./docs/**)");
      if (name.starts_with('@')) {
        if (name != "@readOnly" && name != "@destructive" && name != "@idempotent" && name != "@openWorld") {
          return fault_at(begin, "the hints of a tool are @readOnly, @destructive, @idempotent and @openWorld");
        }
        way = {"@", std::string(name.substr(1))};
      } else {
        for (const auto part : split(name, '.')) {
          if (part.empty()) return fault_at(begin, "a part of the name of the argument is empty");
          way.emplace_back(part);
        }
      }
    }
    if (!accept(':')) return fault("expected ':' after the name of the argument");
    return way;
  }

  Value read_value() {
    blanks();
    if (at_ < text_.size() && text_[at_] == '"') {
      auto text = read_quoted();
      if (!text) return std::unexpected(text.error());
      return Test{Json(std::move(*text))};
    }
    if (at_ < text_.size() && text_[at_] == '/') {
      if (auto regex = read_regex()) return std::move(*regex);
    }
    const auto begin = at_;
    at_ = std::min(text_.find(',', at_), text_.size());
    const auto word = trim(text_.substr(begin, at_ - begin));
    if (word.empty()) return fault_at(begin, "expected a value after ':'");
    if (word == "true" || word == "false") return Test{Json(word == "true")};
    if (word == "null") return Test{Json()};
    if (auto range = read_range(word)) return Test{*range};
    if (word.find("://") != std::string_view::npos) {
      auto pattern = UrlPattern::parse(word);
      if (!pattern) return fault_at(begin, pattern.error().message());
      return Test{std::move(*pattern)};
    }
    // A pattern that is not closed must not become a path nobody has.
    if (word.starts_with('/') && !word.starts_with("//") &&
        word.find_first_of("^$()[]{}|+\\") != std::string_view::npos) {
      return fault_at(begin, fmt::format("this is not a /pattern/{}; if it is a path, begin it with two slashes",
                                         pattern_fault(word)));
    }
    if (PathPattern::looks_like_one(word)) {
      auto pattern = PathPattern::parse(word, places_.cwd, places_.home);
      if (!pattern) return fault_at(begin, pattern.error().message());
      return Test{std::move(*pattern)};
    }
    return Test{TextPattern{std::string(word)}};
  }

  // /body/flags, or nothing when it is a path.
  std::optional<Value> read_regex() {
    const auto begin = at_;
    bool in_class = false;
    auto end = begin + 1;
    for (; end < text_.size() && (in_class || text_[end] != '/'); ++end) {
      if (text_[end] == '\\')
        ++end;
      else if (text_[end] == '[')
        in_class = true;
      else if (text_[end] == ']')
        in_class = false;
    }
    if (end >= text_.size()) return std::nullopt;
    const auto body = text_.substr(begin + 1, end - begin - 1);
    const auto next = std::min(text_.find(',', end), text_.size());
    const auto flags = trim(text_.substr(end + 1, next - end - 1));
    if (flags.find_first_not_of("dgimsuvxy") != std::string_view::npos || ends_in_name(body)) return std::nullopt;
    at_ = next;
    if (body.empty()) return Value(fault_at(begin, "the pattern is empty; write //dir/** for a path"));
    if (const auto bad = flags.find_first_not_of("iu"); bad != std::string_view::npos) {
      return Value(fault_at(
          end + 1,
          fmt::format("a pattern can have the flag i but not '{}'; if this is a path, begin it with two slashes: /{}",
                      flags[bad], text_.substr(begin, next - begin))));
    }
    // A literal writes \/ for a slash; in the expression it is one.
    auto regex = Regex::compile(body, longest_rule,
                                flags.find('i') == std::string_view::npos ? RegexCase::counts : RegexCase::ignored);
    if (!regex) return Value(fault_at(begin, fmt::format("the pattern cannot be used: {}", regex.error().message())));
    return Value(Test{std::move(*regex)});
  }

  // What keeps a text that begins like a pattern from being one.
  static std::string_view pattern_fault(std::string_view word) noexcept {
    bool in_class = false;
    for (std::size_t i = 1; i < word.size(); ++i) {
      if (word[i] == '\\') {
        ++i;
      } else if (word[i] == '[') {
        in_class = true;
      } else if (word[i] == ']') {
        in_class = false;
      } else if (word[i] == '/' && !in_class) {
        return ", because of the text after its last slash";
      }
    }
    return in_class ? ", because its '[' is not closed" : ", because the slash at its end is missing";
  }

  // "etc, dir: " is what lies between the slashes of two paths.
  static bool ends_in_name(std::string_view body) noexcept {
    body = trim(body);
    if (!body.ends_with(':')) return false;
    const auto comma = body.rfind(',');
    if (comma == std::string_view::npos) return false;
    const auto name = trim(body.substr(comma + 1, body.size() - comma - 2));
    return !name.empty() && name.find_first_of(" \\[](){}*+?^$|") == std::string_view::npos;
  }

  static std::optional<Wide> number_in(std::string_view text) noexcept {
    const auto number = read_number(text);
    if (!number) return std::nullopt;
    if (const auto* integer = std::get_if<std::int64_t>(&*number)) return static_cast<Wide>(*integer);
    if (const auto* natural = std::get_if<std::uint64_t>(&*number)) return static_cast<Wide>(*natural);
    if (const auto* real = std::get_if<double>(&*number)) return static_cast<Wide>(*real);
    return std::nullopt;
  }

  // 5, 1..10, 1.., ..10, <5, <=5, >5, >=5.
  static std::optional<NumberRange> read_range(std::string_view word) noexcept {
    NumberRange range;
    if (word.front() == '<' || word.front() == '>') {
      const bool below = word.front() == '<';
      const bool open = !word.substr(1).starts_with('=');
      const auto bound = number_in(trim(word.substr(open ? 1 : 2)));
      if (!bound) return std::nullopt;
      (below ? range.high : range.low) = bound;
      (below ? range.high_open : range.low_open) = open;
      return range;
    }
    if (const auto dots = word.find(".."); dots != std::string_view::npos) {
      const auto low = trim(word.substr(0, dots));
      const auto high = trim(word.substr(dots + 2));
      if (low.empty() && high.empty()) return std::nullopt;
      range.low = number_in(low);
      range.high = number_in(high);
      if ((!low.empty() && !range.low) || (!high.empty() && !range.high)) return std::nullopt;
      return range;
    }
    range.low = range.high = number_in(word);
    if (!range.low) return std::nullopt;
    return range;
  }

  std::string_view text_;
  std::size_t at_;
  const RulePlaces& places_;
};

}  // namespace

std::expected<std::vector<ArgumentCondition>, ConditionFault> read_conditions(std::string_view rule, std::size_t from,
                                                                              std::size_t to,
                                                                              const RulePlaces& places) {
  return ConditionReader(rule, from, to, places).read();
}

}  // namespace patchbay
