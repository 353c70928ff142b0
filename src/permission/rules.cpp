#include "permission/rules.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <numeric>
#include <tuple>

#include <fmt/format.h>

#include "base/strings.h"
#include "catalog/naming.h"
#include "text/ignorable.h"

namespace patchbay {

std::string_view to_string(PermissionMode mode) noexcept {
  static constexpr std::array names{"default", "acceptReads", "bypass", "dontAsk"};
  return names.at(static_cast<std::size_t>(mode));
}

std::optional<PermissionMode> permission_mode(std::string_view text) noexcept {
  // acceptEdits, plan and auto are about tools that are no server's.
  if (text == "default" || text == "acceptEdits" || text == "plan" || text == "auto") return PermissionMode::standard;
  if (text == "acceptReads") return PermissionMode::accept_reads;
  if (text == "bypass" || text == "bypassPermissions") return PermissionMode::bypass;
  if (text == "dontAsk") return PermissionMode::dont_ask;
  return std::nullopt;
}

std::string_view to_string(PermissionOutcome outcome) noexcept {
  static constexpr std::array names{"allow", "ask", "deny"};
  return names.at(static_cast<std::size_t>(outcome));
}

bool PermissionRule::fits(const CallFacts& call) const {
  if (any_arguments) return list != RuleList::allow;
  return std::ranges::all_of(conditions, [&](const ArgumentCondition& condition) {
    return list == RuleList::allow ? condition.surely(call) : condition.possibly(call);
  });
}

std::string PermissionRule::doubt(const CallFacts& call) const {
  if (any_arguments) return "its condition on the arguments cannot be read";
  for (const auto& condition : conditions) {
    if (auto why = condition.doubt(call); !why.empty()) return why;
  }
  return {};
}

namespace {

bool is_blank(char c) noexcept { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

// Whether a pattern without parentheses can be the name of a server's tool.
bool may_name_server_tool(std::string_view pattern) noexcept {
  constexpr auto prefix = full_name_prefix;
  const auto star = pattern.find('*');
  const auto literal = pattern.substr(0, star);
  if (literal.starts_with(prefix) || literal.find('/') != std::string_view::npos) return true;
  return star != std::string_view::npos && prefix.starts_with(literal);
}

// A rule that was meant for a server's tool, and is taken for one about a tool of another program.
bool is_misspelt(std::string_view pattern) {
  const auto lower = to_lower_ascii(pattern);
  return lower.starts_with("mcp_") || lower == "mcptool";
}

// mcp__<server>__ or <server>/ written out in front of the first *.
bool names_server(std::string_view pattern) noexcept {
  constexpr auto prefix = full_name_prefix;
  const auto literal = pattern.substr(0, pattern.find('*'));
  if (literal.starts_with(prefix)) return literal.find("__", prefix.size() + 1) != std::string_view::npos;
  return literal.find('/', 1) != std::string_view::npos;
}

std::string quoted(std::string_view text) { return with_ignorable_escaped(to_text(Json(text))); }

std::string_view consequence(RuleList list) noexcept {
  switch (list) {
    case RuleList::allow:
      return "it allows nothing";
    case RuleList::ask:
      return "until this is fixed it applies to all arguments";
    case RuleList::deny:
      break;
  }
  return "until this is fixed it applies to all arguments";
}

}  // namespace

ReadRule read_rule(std::string_view text, RuleList list, const RulePlaces& places) {
  ReadRule out;
  PermissionRule rule;
  rule.list = list;
  rule.text = text;
  // The part that names tools and their arguments; offsets stay those of `text`.
  std::size_t from = 0, to = text.size();
  auto shrink = [&] {
    while (from < to && is_blank(text[from])) ++from;
    while (to > from && is_blank(text[to - 1])) --to;
  };
  bool wrapped = false;
  auto unreadable = [&](std::size_t offset, std::string reason) {
    out.faults.push_back({offset,
                          fmt::format("the {} rule {} cannot be read: {}", to_string(list), quoted(text), reason),
                          Severity::error, std::string(consequence(list))});
    rule.any_arguments = true;
  };

  shrink();
  if (from == to) {
    out.faults.push_back(
        {0, fmt::format("one of the {} rules is an empty text; it is ignored", to_string(list)), Severity::warning});
    return out;
  }
  if (constexpr std::string_view word = "MCPTool"; text.substr(from, to - from).starts_with(word)) {
    const auto rest = trim(text.substr(from + word.size(), to - from - word.size()));
    if (rest.empty()) {
      wrapped = true;
      rule.pattern = "*";
      from = to;
    } else if (rest.starts_with('(')) {
      wrapped = true;
      from = text.find('(', from) + 1;
      if (text[to - 1] == ')') {
        --to;
      } else {
        unreadable(to, "')' is missing");
      }
      shrink();
    }
  }
  if (rule.pattern.empty()) {
    const auto open = std::min(text.find('(', from), to);
    rule.pattern = trim(text.substr(from, open - from));
    rule.foreign = !wrapped && !rule.pattern.empty() && !may_name_server_tool(rule.pattern);
    if (text.size() > longest_rule) {
      unreadable(0, fmt::format("it is longer than {} bytes", longest_rule));
    } else if (open < to && text[to - 1] != ')') {
      unreadable(to, "')' is missing");
    } else if (open < to && !rule.any_arguments) {
      auto conditions = read_conditions(text, open + 1, to - 1, places);
      if (conditions) {
        rule.conditions = std::move(*conditions);
        for (const auto& condition : rule.conditions) {
          const auto why = condition.never();
          if (why.empty()) continue;
          out.faults.push_back({open + 1,
                                fmt::format("the {} rule {} never matches: {}", to_string(list), quoted(text), why),
                                Severity::warning});
        }
      } else {
        unreadable(conditions.error().offset, conditions.error().reason);
      }
    }
    if (rule.pattern.empty()) {
      // Nothing says which tools are meant.
      rule.pattern = "*";
      unreadable(from, "it does not name a tool");
    }
  }
  // Rules about the tools of other programs are theirs to judge.
  if (rule.foreign) {
    out.faults.clear();
    if (is_misspelt(rule.pattern)) {
      out.faults.push_back({from,
                            fmt::format("the {} rule {} does not name a tool of a server: write mcp__<server>__<tool>, "
                                        "in lower case and with two underscores",
                                        to_string(list), quoted(text)),
                            Severity::warning});
    }
  }
  if (holds_ignorable(rule.pattern)) {
    out.faults.push_back({from,
                          fmt::format("the {} rule {} has an invisible character in its name: it applies only to tools "
                                      "and servers with the same invisible character",
                                      to_string(list), quoted(text)),
                          Severity::warning});
  }
  if (list == RuleList::allow && !rule.foreign && rule.has_wildcard() && !names_server(rule.pattern)) {
    out.faults.push_back(
        {0,
         fmt::format(
             "the allow rule {} is skipped: '*' is allowed only after mcp__<server>__ with the name of a server",
             quoted(text)),
         Severity::warning});
    return out;
  }
  if (list == RuleList::allow && rule.any_arguments) return out;
  out.rule = std::move(rule);
  return out;
}

std::optional<std::string> flag_rule_fault(std::string_view rule, RuleList list, std::string_view flag) {
  for (const auto& fault : read_rule(rule, list, {"/", "/"}).faults) {
    if (fault.severity == Severity::error)
      return fmt::format("{}: {}; correct it and run the command again", flag, fault.reason);
  }
  return std::nullopt;
}

namespace {

// What is wrong with a rule of a settings file, with its place in the file.
std::vector<ConfigProblem> rule_problems(const TextSetting& rule, RuleList list, const std::string& file) {
  std::vector<ConfigProblem> out;
  // Any place will do to find out whether it can be read.
  for (auto& fault : read_rule(rule.value, list, {"/", "/"}).faults) {
    // A column counts characters, the first behind the quote.
    const auto ahead = position_of(rule.value, std::min(fault.offset, rule.value.size()));
    const auto column = rule.verbatim && ahead.line == 1 ? rule.place.column + ahead.column : rule.place.column;
    if (!fault.consequence.empty()) fault.reason += fmt::format("; {}", fault.consequence);
    out.push_back({file, rule.place.line, column, std::move(fault.reason), {}, fault.severity});
  }
  return out;
}

}  // namespace

SettingsLayer checked_settings(std::string_view text, SettingsSource source, const std::string& file) {
  auto layer = parse_settings(text, source, file);
  auto check = [&](const std::vector<TextSetting>& rules, RuleList list) {
    for (const auto& rule : rules) {
      auto found = rule_problems(rule, list, file);
      std::ranges::move(found, std::back_inserter(layer.problems));
    }
  };
  check(layer.allow_rules, RuleList::allow);
  check(layer.ask_rules, RuleList::ask);
  check(layer.deny_rules, RuleList::deny);
  // By place, and what was found first at one place stays first.
  std::vector<std::size_t> order(layer.problems.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {},
                    [&](std::size_t i) { return std::tuple(layer.problems[i].line, layer.problems[i].column, i); });
  std::vector<ConfigProblem> sorted;
  sorted.reserve(order.size());
  for (const auto i : order) sorted.push_back(std::move(layer.problems[i]));
  layer.problems = std::move(sorted);
  return layer;
}

std::vector<std::string> split_rules(std::string_view text) {
  std::vector<std::string> out;
  std::size_t begin = 0, depth = 0;
  auto end_rule = [&](std::size_t end) {
    if (const auto rule = trim(text.substr(begin, end - begin)); !rule.empty()) out.emplace_back(rule);
    begin = end;
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto rest = text.substr(i + 1);
    if (text[i] == '"' && depth > 0) {
      for (++i; i < text.size() && text[i] != '"'; ++i) {
        if (text[i] == '\\') ++i;
      }
    } else if (text[i] == '(') {
      ++depth;
    } else if (text[i] == ')' && depth > 0) {
      --depth;
    } else if (depth == 0 && text[i] == ',') {
      end_rule(i);
      begin = i + 1;
    } else if (depth == 0 && is_blank(text[i]) && (rest.starts_with("mcp__") || rest.starts_with("MCPTool"))) {
      end_rule(i);
    }
  }
  end_rule(text.size());
  return out;
}

namespace {

int strictness(PermissionMode mode) noexcept {
  switch (mode) {
    case PermissionMode::dont_ask:
      return 3;
    case PermissionMode::standard:
      return 2;
    case PermissionMode::accept_reads:
      return 1;
    case PermissionMode::bypass:
      break;
  }
  return 0;
}

// A flag, else the highest file that says something. A file inside the repository counts only where it is stricter
// than what the user chose themselves, trusted or not: trust is about what it brings, not about their wishes.
void choose_mode(const std::vector<const SettingsLayer*>& ranked, const RuleRequest& request, RuleSet& out) {
  if (request.mode) {
    out.mode = *request.mode;
    out.mode_from = request.names.mode;
    return;
  }
  struct Choice {
    PermissionMode mode = PermissionMode::standard;
    const SettingsLayer* layer = nullptr;
    SettingPlace place;
  };
  std::optional<Choice> outside, inside;
  for (const auto* layer : ranked) {
    const bool repository = is_inside_repository(layer->source);
    std::optional<Choice> choice;
    if (layer->default_mode) {
      if (auto mode = permission_mode(layer->default_mode->value)) choice = {*mode, layer, layer->default_mode->place};
    }
    if (layer->skip_permissions && layer->skip_permissions->value && !repository) {
      choice = {PermissionMode::bypass, layer, layer->skip_permissions->place};
    }
    // That a repository cannot choose bypass was reported when its file was read.
    if (!choice || (repository && choice->mode == PermissionMode::bypass)) continue;
    auto& first = repository ? inside : outside;
    if (!first) first = choice;
  }
  auto chosen = outside;
  if (inside) {
    const auto mine = strictness(outside ? outside->mode : PermissionMode::standard);
    if (strictness(inside->mode) > mine) {
      chosen = inside;
    } else if (strictness(inside->mode) < mine) {
      out.problems.push_back({inside->layer->file,
                              inside->place.line,
                              inside->place.column,
                              fmt::format("the mode \"{}\" is ignored: a file inside a repository can only choose a "
                                          "stricter mode than your own settings",
                                          to_string(inside->mode)),
                              {},
                              Severity::note,
                              Remedy{Remedy::Kind::choose_permission_mode}});
    }
  }
  if (!chosen) return;
  out.mode = chosen->mode;
  out.mode_from = fmt::format("{}:{}", chosen->layer->file, chosen->place.line);
}

}  // namespace

RuleSet collect_rules(std::span<const SettingsLayer> layers, const RuleRequest& request) {
  RuleSet out;
  auto add = [&](const TextSetting& text, RuleList list, const std::string& file) {
    auto read = read_rule(text.value, list, request.places);
    if (!read.rule) return;
    read.rule->file = file;
    read.rule->line = text.place.line;
    read.rule->column = text.place.column;
    out.rules.push_back(std::move(*read.rule));
  };
  auto add_flag = [&](const std::vector<std::string>& texts, RuleList list, const std::string& flag) {
    for (const auto& text : texts) {
      const TextSetting setting{text, {}, false};
      for (auto& problem : rule_problems(setting, list, flag)) {
        problem.line = problem.column = 0;
        out.problems.push_back(std::move(problem));
      }
      add(setting, list, flag);
    }
  };
  add_flag(request.disallowed_tools, RuleList::deny, request.names.disallowed_tools);
  add_flag(request.allowed_tools, RuleList::allow, request.names.allowed_tools);

  std::vector<const SettingsLayer*> ranked;
  for (const auto& layer : layers) ranked.push_back(&layer);
  std::ranges::sort(ranked, {}, [](const auto* layer) { return std::pair(settings_rank(layer->source), layer); });

  auto add_problem = [&](Severity severity, const SettingsLayer& layer, const SettingPlace& place,
                         std::string message) {
    out.problems.push_back({layer.file, place.line, place.column, std::move(message), {}, severity});
  };
  for (const auto* layer : ranked) {
    for (const auto& text : layer->deny_rules) add(text, RuleList::deny, layer->file);
    for (const auto& text : layer->ask_rules) add(text, RuleList::ask, layer->file);
    const bool counts = request.trusted || !is_inside_repository(layer->source);
    const auto before = out.rules.size();
    for (const auto& text : layer->allow_rules) add(text, RuleList::allow, layer->file);
    if (!counts) {
      // Only those about servers' tools are worth a note.
      const bool ours = std::any_of(out.rules.begin() + static_cast<std::ptrdiff_t>(before), out.rules.end(),
                                    [](const auto& rule) { return !rule.foreign; });
      out.rules.erase(out.rules.begin() + static_cast<std::ptrdiff_t>(before), out.rules.end());
      if (ours) {
        add_problem(Severity::note, *layer, layer->allow_rules.front().place,
                    "the allow rules of this file are ignored, because it is inside a repository that you do not "
                    "trust; in your own settings they would apply");
        out.problems.back().remedy = Remedy{Remedy::Kind::trust_project};
      }
    }
    if (!out.refuse_all && (layer->unreadable || layer->rules_unreadable)) {
      const auto place = layer->rules_unreadable.value_or(SettingPlace());
      PermissionDecision refusal;
      refusal.outcome = PermissionOutcome::deny;
      refusal.file = layer->file;
      refusal.line = place.line;
      refusal.column = place.column;
      refusal.reason = fmt::format("the rules in {} cannot be read, so it is not known what they deny", layer->file);
      out.refuse_all = std::move(refusal);
    }
  }

  out.rules.insert(out.rules.end(), request.of_entries.begin(), request.of_entries.end());
  choose_mode(ranked, request, out);
  const auto off = std::ranges::find_if(
      ranked, [](const auto* layer) { return layer->bypass_switched_off && layer->bypass_switched_off->value; });
  if (out.mode == PermissionMode::bypass && off != ranked.end()) {
    add_problem(
        Severity::warning, **off, (*off)->bypass_switched_off->place,
        fmt::format(
            "\"permissions.disableBypassPermissionsMode\" is set here, so the mode \"bypass\" from {} is ignored",
            out.mode_from));
    out.mode = PermissionMode::standard;
    out.mode_from.clear();
  }
  return out;
}

}  // namespace patchbay
