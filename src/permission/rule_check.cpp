#include "permission/rule_check.h"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>

#include <fmt/format.h>

#include "catalog/naming.h"
#include "text/file_and_line.h"
#include "text/wildcard.h"

namespace patchbay {
namespace {

constexpr auto full_prefix = full_name_prefix;

// One spelling for patterns of one meaning: mcp__server__tool, a whole server as mcp__server__*.
std::string spelled_out(const std::string& pattern) {
  if (pattern.starts_with(full_prefix)) {
    const bool whole = pattern.find("__", full_prefix.size()) == std::string::npos && !pattern.contains('*');
    return whole ? pattern + "__*" : pattern;
  }
  const auto slash = pattern.find('/');
  if (slash == std::string::npos || slash == 0 || pattern.find('*') < slash) return pattern;
  return fmt::format("{}{}__{}", full_prefix, pattern.substr(0, slash), pattern.substr(slash + 1));
}

bool holds_always(const PermissionRule& rule) { return rule.conditions.empty() || rule.any_arguments; }

std::string quoted_rule(const PermissionRule& rule) {
  return rule.line == 0 ? fmt::format("{} of {}", to_text(Json(rule.text)), rule.file)
                        : fmt::format("{} in {}:{}", to_text(Json(rule.text)), rule.file, rule.line);
}

ConfigProblem problem_of(const PermissionRule& rule, Severity severity, std::string message) {
  return {rule.file, rule.line, rule.column, std::move(message), {}, severity};
}

// Rules of one list that hold whatever the arguments are, by the names they cover. A * of a name is only met by one of
// the rule.
class Covering {
 public:
  void add(std::uint32_t rule, const std::string& pattern) {
    const auto star = pattern.find('*');
    if (star == std::string::npos) {
      exact_.emplace(pattern, rule);  // the first of them stays
    } else {
      wild_[pattern.substr(0, star)].push_back({rule, pattern});
      lengths_.insert(star);
    }
  }

  // The first rule that names every tool `name` does. `steps` says what may still be spent on it, and what is left:
  // what comes when it is used up is not looked at.
  std::optional<std::uint32_t> first(const std::string& name, std::uint64_t& steps) const {
    std::optional<std::uint32_t> found;
    if (const auto at = exact_.find(name); at != exact_.end()) found = at->second;
    for (const auto length : lengths_) {
      if (length > name.size()) break;
      if (!spend(steps, length + 1)) return found;
      const auto bucket = wild_.find(name.substr(0, length));
      if (bucket == wild_.end()) continue;
      for (const auto& [rule, pattern] : bucket->second) {
        if (found && *found < rule) break;
        // Most differ behind their last *; comparing the rest costs at most the product.
        const auto tail = std::string_view(pattern).substr(pattern.rfind('*') + 1);
        const bool near = name.ends_with(tail);
        if (!spend(steps, near ? pattern.size() * name.size() : 1)) return found;
        if (near && matches_wildcard(pattern, name)) {
          found = rule;
          break;
        }
      }
    }
    return found;
  }

 private:
  static bool spend(std::uint64_t& steps, std::uint64_t cost) noexcept {
    const bool enough = cost < steps;
    steps = enough ? steps - cost : 0;
    return enough;
  }

  std::unordered_map<std::string, std::uint32_t> exact_;
  std::unordered_map<std::string, std::vector<std::pair<std::uint32_t, std::string>>> wild_;  // by what precedes the *
  std::set<std::size_t> lengths_;                                                             // of the keys of wild_
};

}  // namespace

PointlessRules pointless_rules(const RuleSet& set, std::uint64_t most_steps) {
  PointlessRules out;
  const auto& rules = set.rules;
  Covering denying, asking;
  std::vector<std::string> names(rules.size());
  for (std::uint32_t i = 0; i < rules.size(); ++i) {
    if (rules[i].foreign) continue;
    names[i] = spelled_out(rules[i].pattern);
    if (!holds_always(rules[i])) continue;
    if (rules[i].list == RuleList::deny) denying.add(i, names[i]);
    if (rules[i].list == RuleList::ask) asking.add(i, names[i]);
  }
  std::map<std::pair<RuleList, std::string_view>, std::uint32_t> said;
  auto steps = most_steps;
  for (std::uint32_t i = 0; i < rules.size(); ++i) {
    const auto& rule = rules[i];
    if (rule.foreign) continue;
    const auto text = to_text(Json(rule.text));
    // What comes first is kept.
    const auto [first, fresh] = said.try_emplace({rule.list, rule.text}, i);
    // Of a deny and an ask rule the deny rule decides.
    std::optional<std::uint32_t> stronger;
    if (rule.list != RuleList::deny) stronger = denying.first(names[i], steps);
    if (rule.list == RuleList::allow && !stronger) stronger = asking.first(names[i], steps);
    if (stronger) {
      out.problems.push_back(problem_of(
          rule, Severity::warning,
          fmt::format("the {} rule {} never has an effect, because the {} rule {} overrides it; remove one of them",
                      to_string(rule.list), text, to_string(rules[*stronger].list), quoted_rule(rules[*stronger]))));
    } else if (!fresh) {
      const auto& same = rules[first->second];
      out.problems.push_back(problem_of(rule, Severity::note,
                                        fmt::format("the {} rule {} is the same as the one in {}; remove one of them",
                                                    to_string(rule.list), text, file_and_line(same.file, same.line))));
    }
    if (steps == 0) {
      out.problems.push_back(problem_of(
          rule, Severity::note,
          fmt::format(
              "the rules after this one were not compared with each other: {} rules with many \"*\" are too many",
              rules.size())));
      break;
    }
  }
  out.steps = most_steps - steps;
  return out;
}

}  // namespace patchbay
