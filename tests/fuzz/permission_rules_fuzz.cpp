// Permission rules of any content, and settings around them: every fault has a place in the rule, what
// cannot be read never allows and always denies, and a rule that allows surely is one that denies possibly.
// Input: the rule on a line of its own, then the arguments as JSON, or a settings file.
#include "fuzz/fuzz.h"
#include "permission/policy.h"
#include "permission/rules.h"

using namespace patchbay;
using fuzz::require;

namespace {

const RulePlaces places{"/home/me/project", "/home/me"};

void check_rule(std::string_view text, const CallFacts& call) {
  const auto allow = read_rule(text, RuleList::allow, places);
  const auto ask = read_rule(text, RuleList::ask, places);
  const auto deny = read_rule(text, RuleList::deny, places);
  for (const auto* read : {&allow, &ask, &deny}) {
    for (const auto& fault : read->faults) {
      require(fault.offset <= text.size(), "a fault outside the rule");
      require(!fault.reason.empty(), "a fault that says nothing");
    }
  }
  require(deny.rule.has_value() == ask.rule.has_value(), "asking and denying read differently");
  if (!deny.rule) {
    require(!allow.rule, "allows by a rule that cannot deny");
    return;
  }
  require(!deny.rule->pattern.empty(), "a rule about nothing");
  if (deny.rule->any_arguments) {
    require(!allow.rule, "allows by a rule that cannot be read");
    require(deny.rule->fits(call), "a rule that cannot be read denies nothing");
  }
  if (allow.rule && allow.rule->fits(call)) require(deny.rule->fits(call), "surely and not possibly");
  if (allow.rule && !allow.rule->conditions.empty()) require(!allow.rule->fits({}), "allows without arguments");
  require(deny.rule->fits({}), "does not deny without arguments");

  // The rule in its other spelling says the same.
  const auto wrapped = read_rule("MCPTool(" + std::string(text) + ")", RuleList::deny, places);
  require(wrapped.rule.has_value(), "lost in parentheses");
}

void check_settings(std::string_view text) {
  for (auto source : {SettingsSource::enterprise, SettingsSource::user, SettingsSource::project}) {
    const std::vector layers{parse_settings(text, source, "/f")};
    for (const auto& problem : layers[0].problems)
      require(!problem.text().empty() && problem.line > 0, "a problem nowhere");
    const auto set = collect_rules(layers, {});
    if (source == SettingsSource::project) {
      require(set.mode != PermissionMode::bypass && set.mode != PermissionMode::accept_reads,
              "a repository opens doors");
      for (const auto& rule : set.rules) require(rule.list != RuleList::allow, "a repository allows");
    }
    ServerConfig server;
    server.name = "s";
    server.kind = ServerKind::http;
    server.url = "https://h.example/x";
    (void)judge_policy(server, layers, [](std::string_view) { return std::optional<std::string>("v"); });
  }
}

}  // namespace

FUZZ_TARGET(permission_rules) {
  check_settings(input);
  const auto text = fuzz::take_line(input);
  const auto arguments = parse_json(input).value_or(Json());
  ToolAnnotations hints;
  hints.read_only_hint = true;
  check_rule(text, {&arguments, &hints, "/home/me/project"});
}
