// PlainChecks: the keywords that look at one value and at no other part of it: const, enum, and those of numbers and
// strings. The base of the walk in schema_validate.cpp, which calls them for every value; in a header because that is
// the hottest loop. Owns what every check needs: the steps that are left and where violations go.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "json/schema_program.h"
#include "json/schema_run.h"
#include "json/schema_words.h"

namespace patchbay::schema {

class PlainChecks {
 protected:
  explicit PlainChecks(std::uint64_t max_steps) : steps_(max_steps) {}

  void report(const Node& node, std::string_view keyword, const Path* path, std::string message) {
    findings_.add(node, keyword, path, std::move(message));
  }

  // In the quick run the first failure ends an evaluation; when collecting it is written
  // down and the evaluation goes on. `failed` says whether to return.
  struct Verdict {
    bool good = true;
  };
  template <bool collecting, class Message>
  bool failed(Verdict& verdict, const Node& node, std::string_view keyword, const Path* path, Message&& message) {
    verdict.good = false;
    if constexpr (collecting) report(node, keyword, path, message());
    return !collecting;
  }

  template <bool collecting>
  bool check_values(const Node& node, const ValueRules& rules, const Json& value, const Path* path) {
    Verdict verdict;
    if (rules.constant) {
      steps_.charge(rules.constant_weight);
      if (!equal_values(*rules.constant, value) &&
          failed<collecting>(verdict, node, "const", path, [&] { return not_constant(rules); })) {
        return false;
      }
    }
    if (rules.choices_json && !is_choice(rules, value) &&
        failed<collecting>(verdict, node, "enum", path, [&] { return not_a_choice(rules); })) {
      return false;
    }
    return verdict.good;
  }

  bool is_choice(const ValueRules& rules, const Json& value) {
    if (const auto text = value.text()) {
      steps_.charge(text->size() / 256);
      if (rules.index) return rules.index->contains(*text);
      return std::ranges::find(rules.strings, std::string_view(*text)) != rules.strings.end();
    }
    steps_.charge(rules.choices.size() / 4 + rules.choices_weight);
    return std::ranges::any_of(rules.choices, [&](const Json* choice) { return equal_values(*choice, value); });
  }

  template <bool collecting>
  bool check_number(const Node& node, const NumberRules& rules, const Json& value, const Path* path) {
    Verdict verdict;
    if (value.kind() == Json::Kind::big_number) steps_.charge(value.number_text().size() / 32);
    const auto bound = [&](const Json* limit, std::string_view keyword, std::string_view words, auto&& bad) {
      if (!limit || !bad(compare_numbers(value, *limit))) return false;
      return failed<collecting>(verdict, node, keyword, path, [&] { return out_of_bounds(words, *limit); });
    };
    if (bound(rules.minimum, "minimum", "at least", [](auto order) { return order < 0; })) return false;
    if (bound(rules.maximum, "maximum", "at most", [](auto order) { return order > 0; })) return false;
    if (bound(rules.exclusive_minimum, "exclusiveMinimum", "above", [](auto order) { return order <= 0; }))
      return false;
    if (bound(rules.exclusive_maximum, "exclusiveMaximum", "below", [](auto order) { return order >= 0; }))
      return false;
    if (rules.multiple_of && !rules.multiple_of->divides(value) &&
        failed<collecting>(verdict, node, "multipleOf", path, [&] { return not_a_multiple(rules); })) {
      return false;
    }
    return verdict.good;
  }

  template <bool collecting>
  bool check_string(const Node& node, const StringRules& rules, std::string_view text, const Path* path) {
    Verdict verdict;
    const bool count = text.size() > rules.max_length || text.size() / 4 < rules.min_length;
    if (count) {
      steps_.charge(text.size() / 256);
      const std::uint64_t length = code_points(text);
      if (length < rules.min_length &&
          failed<collecting>(
              verdict, node, "minLength", path, [&] { return too_few(rules.min_length, "character", length); })) {
        return false;
      }
      if (length > rules.max_length && failed<collecting>(verdict, node, "maxLength", path, [&] {
            return too_many(rules.max_length, "character", length);
          })) {
        return false;
      }
    }
    if (rules.pattern && !matches(*rules.pattern, text) &&
        failed<collecting>(verdict, node, "pattern", path, [&] { return no_match(rules); })) {
      return false;
    }
    if (rules.format) {
      steps_.charge(text.size() / 32);
      if (!rules.format(text) &&
          failed<collecting>(verdict, node, "format", path, [&] { return wrong_format(rules); })) {
        return false;
      }
    }
    return verdict.good;
  }

  bool matches(const Regex& regex, std::string_view text) {
    const auto outcome = regex.search(text, scratch_, steps_.left());
    if (outcome == Regex::Outcome::limit) throw Exhausted{"matching a pattern takes more steps or memory than allowed"};
    return outcome == Regex::Outcome::match;
  }

  Steps steps_;
  RegexScratch scratch_;
  Findings findings_;
};

}  // namespace patchbay::schema
