// One permission rule: which tools it names and what it asks of their arguments. Reading a rule and
// holding it against arguments happens here; permission/decide.h matches names and decides. Pure.
//
//   mcp__fs                                  every tool of a server
//   mcp__fs__write_file                      one tool
//   mcp__fs__read_*                          an allow rule may have * behind mcp__<server>__ alone
//   MCPTool(mcp__fs__write_file)             the same in another spelling
//   mcp__fs__write_file(path: ./docs/**)     only these arguments; several are joined by commas
//
// What a rule cannot judge (an argument that is absent or of another type, a pattern that takes too
// long, a path that may mean several places) never satisfies an allow rule and always an ask or deny
// rule. A rule of which only the tool can be read holds for any arguments if it asks or denies, and
// never if it allows.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <patchbay/config.h>
#include <patchbay/permission.h>

#include "permission/argument_condition.h"
#include "settings/settings_file.h"

namespace patchbay {

struct PermissionRule {
  RuleList list = RuleList::ask;
  std::string text;  // as written
  std::string file;
  std::size_t line = 0;
  std::size_t column = 0;

  std::string pattern;  // of names; `*` stands for any characters
  // It is about tools that are no server's, unless one is offered under its bare name.
  bool foreign = false;
  std::vector<ArgumentCondition> conditions;
  // What is in parentheses could not be read.
  bool any_arguments = false;

  bool has_wildcard() const noexcept { return pattern.find('*') != std::string::npos; }
  // By arguments alone; the name is the host's part.
  bool fits(const CallFacts& call) const;
  // Why that could not be judged, for people: the call has no argument "path". Empty when it could.
  std::string doubt(const CallFacts& call) const;
};

struct RuleFault {
  std::size_t offset = 0;  // in the text of the rule
  std::string reason;      // what is wrong
  Severity severity = Severity::error;
  std::string consequence = {};  // what that means for calls
};

struct ReadRule {
  std::optional<PermissionRule> rule;  // nothing: it must not be used
  std::vector<RuleFault> faults;
};

ReadRule read_rule(std::string_view text, RuleList list, const RulePlaces& places);

// A settings file whose rules were read as well: what is wrong with one of them is among the problems of the layer,
// in the order of the file.
SettingsLayer checked_settings(std::string_view text, SettingsSource source, const std::string& file);

// The same for one of a command line that does not go on: why it cannot be read.
std::optional<std::string> flag_rule_fault(std::string_view rule, RuleList list, std::string_view flag);

// The rules of one flag: several are separated by commas, or by blanks before the next mcp__ or MCPTool.
// What is in parentheses or quotes is not looked at.
std::vector<std::string> split_rules(std::string_view text);

// --- what a set of settings comes to

struct RuleRequest {
  std::vector<std::string> allowed_tools;
  std::vector<std::string> disallowed_tools;
  std::optional<PermissionMode> mode;
  PermissionNames names;
  // The user trusts this directory: allow rules inside it count.
  bool trusted = false;
  RulePlaces places;
  std::vector<PermissionRule> of_entries;  // permission/entry_rules.h
};

struct RuleSet {
  std::vector<PermissionRule> rules;  // flags first, then by rank of their file, then those of entries
  PermissionMode mode = PermissionMode::standard;
  std::string mode_from;  // names.mode of the request or file:line; empty: nobody chose it
  // Set when something that may deny could not be read: no call passes.
  std::optional<PermissionDecision> refuse_all;
  // What was not applied, and why. What is wrong with the rules of files is in their layers.
  std::vector<ConfigProblem> problems;
};

RuleSet collect_rules(std::span<const SettingsLayer> layers, const RuleRequest& request);

}  // namespace patchbay
