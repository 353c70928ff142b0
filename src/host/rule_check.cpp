#include "host/rule_check.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "base/wildcard.h"

namespace patchbay {
namespace {

constexpr std::string_view full_prefix = "mcp__";

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

// Whether `wide` names every tool that `narrow` does. A * of the narrow one is only met by one of the wide one.
bool covers(const PermissionRule& wide, const PermissionRule& narrow) {
  if (wide.foreign || narrow.foreign) return wide.foreign == narrow.foreign && wide.pattern == narrow.pattern;
  return matches_wildcard(spelled_out(wide.pattern), spelled_out(narrow.pattern));
}

bool holds_always(const PermissionRule& rule) { return rule.conditions.empty() || rule.any_arguments; }

std::string quoted_rule(const PermissionRule& rule) {
  return rule.line == 0 ? fmt::format("{} of {}", to_text(Json(rule.text)), rule.file)
                        : fmt::format("{} in {}:{}", to_text(Json(rule.text)), rule.file, rule.line);
}

ConfigProblem problem_of(const PermissionRule& rule, Severity severity, std::string message) {
  return {rule.file, rule.line, rule.column, std::move(message), {}, severity};
}

}  // namespace

RuleRequest rule_request(const LoadedConfig& config, const PermissionOptions& options, bool trust_project) {
  RuleRequest request;
  request.allowed_tools = options.allowed_tools;
  request.disallowed_tools = options.disallowed_tools;
  request.mode = options.mode;
  request.trusted = config.project_trusted || trust_project;
  std::error_code ignored;
  request.places.cwd = config.cwd.empty() ? std::filesystem::current_path(ignored).string() : config.cwd;
  request.places.home = config.home.empty() ? process_environment()("HOME").value_or("") : config.home;
  return request;
}

std::vector<ConfigProblem> pointless_rules(const RuleSet& rules) {
  std::vector<ConfigProblem> out;
  for (std::size_t i = 0; i < rules.rules.size(); ++i) {
    const auto& rule = rules.rules[i];
    if (rule.foreign) continue;
    const auto text = to_text(Json(rule.text));
    const PermissionRule* stronger = nullptr;
    const PermissionRule* same = nullptr;
    for (std::size_t j = 0; j < rules.rules.size(); ++j) {
      const auto& other = rules.rules[j];
      // What comes first is kept.
      if (other.list == rule.list && other.text == rule.text && j < i && same == nullptr) same = &other;
      const bool goes_before = other.list == RuleList::deny
                                   ? rule.list != RuleList::deny
                                   : other.list == RuleList::ask && rule.list == RuleList::allow;
      if (!goes_before || !holds_always(other) || !covers(other, rule)) continue;
      // Of a deny and an ask rule the deny rule decides.
      if (stronger == nullptr || (stronger->list == RuleList::ask && other.list == RuleList::deny)) stronger = &other;
    }
    if (stronger != nullptr) {
      out.push_back(problem_of(
          rule, Severity::warning,
          fmt::format("the {} rule {} never decides, because the {} rule {} goes before it; remove one of them",
                      to_string(rule.list), text, to_string(stronger->list), quoted_rule(*stronger))));
    } else if (same != nullptr) {
      out.push_back(problem_of(
          rule, Severity::note,
          fmt::format("the {} rule {} says the same as the one in {}; remove one of them", to_string(rule.list), text,
                      same->line == 0 ? same->file : fmt::format("{}:{}", same->file, same->line))));
    }
  }
  return out;
}

}  // namespace patchbay
