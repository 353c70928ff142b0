#include "permission/decide.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "base/strings.h"
#include "catalog/naming.h"
#include "entries/expand.h"
#include "text/wildcard.h"

namespace patchbay {
namespace {

constexpr auto full_prefix = full_name_prefix;
constexpr auto separator = full_name_separator;
constexpr std::string_view interaction_key = "anthropic/requiresUserInteraction";

std::string where(const PermissionRule& rule) {
  const auto text = to_text(Json(rule.text));
  return rule.line == 0 ? fmt::format("{} {}", rule.file, text)
                        : fmt::format("the rule {} in {}:{}", text, rule.file, rule.line);
}

PermissionDecision by_rule(PermissionOutcome outcome, std::string reason, const PermissionRule& rule) {
  return {outcome, std::move(reason), rule.text, rule.file, rule.line, rule.column};
}

PermissionDecision simply(PermissionOutcome outcome, std::string reason) {
  PermissionDecision decision;
  decision.outcome = outcome;
  decision.reason = std::move(reason);
  return decision;
}

// mcp__server of mcp__server__tool, server of server/tool.
std::string_view server_part(std::string_view pattern) {
  if (!pattern.starts_with(full_prefix)) return pattern.substr(0, pattern.find('/'));
  return pattern.substr(0, pattern.find(separator, full_prefix.size()));
}

// Why something may not be `called` or `used`, and what would help.
Error denied(std::string why, const PermissionDecision& decision, std::string_view verb) {
  if (decision.file.empty()) {
    if (decision.outcome == PermissionOutcome::deny) {
      return Error(Errc::denied, std::move(why)).with_remedy({Remedy::Kind::choose_permission_mode});
    }
    why += "; add a rule to permissions.allow in your settings";
  } else if (decision.line != 0) {
    why += fmt::format("; to {} it, change {}:{}", verb, decision.file, decision.line);
  } else {
    why += decision.rule.empty() ? fmt::format("; correct {}", decision.file)
                                 : fmt::format("; leave {} out to {} it", decision.file, verb);
  }
  return {Errc::denied, std::move(why)};
}

bool says(const std::optional<ToolAnnotations>& hints, std::optional<bool> ToolAnnotations::* hint) {
  return hints && (*hints).*hint == true;
}

}  // namespace

// Anything but a clear no wants the user.
bool requires_question(const Tool& tool) {
  const auto* flag = tool.meta.find(interaction_key);
  return flag != nullptr && !flag->is_null() && *flag != Json(false);
}

// Every way to spell one tool.
struct Permissions::Names {
  explicit Names(const CatalogEntry& entry)
      : exposed(entry.name), server(entry.server), tool(entry.tool->name), bare(entry.prefix == NamePrefix::none) {
    plain_server = normalise_name(server);
    plain_tool = normalise_name(tool);
    original = full(server, tool);
    normalised = full(plain_server, plain_tool);
    path = fmt::format("{}/{}", server, tool);
    // A short name that is not exposed as it is belongs to another tool as well.
    shared = !bare && normalised != exposed && normalised.size() <= exposed_name_limit;
  }

  static std::string full(std::string_view server, std::string_view tool) {
    std::string out;
    out.reserve(full_prefix.size() + server.size() + separator.size() + tool.size());
    return out.append(full_prefix).append(server).append(separator).append(tool);
  }

  std::string_view exposed, server, tool;
  bool bare;
  std::string plain_server, plain_tool;
  std::string original, normalised, path;
  bool shared = false;

  template <class Function>
  void each(Function function) const {
    function(exposed);
    if (original != exposed) function(std::string_view(original));
    if (normalised != exposed && normalised != original) function(std::string_view(normalised));
    function(std::string_view(path));
  }
};

Permissions::Permissions(RuleSet rules) : rules_(std::move(rules)) {
  for (std::uint32_t i = 0; i < rules_.rules.size(); ++i) {
    const auto& pattern = rules_.rules[i].pattern;
    look_at_arguments_ = look_at_arguments_ || !rules_.rules[i].conditions.empty();
    const auto star = pattern.find('*');
    if (star == std::string::npos) {
      exact_[pattern].push_back(i);
    } else {
      prefixed_[pattern.substr(0, star)].push_back({i, pattern.substr(pattern.rfind('*') + 1)});
      lengths_.push_back(star);
    }
  }
  std::ranges::sort(lengths_);
  lengths_.erase(std::ranges::unique(lengths_).begin(), lengths_.end());
}

void Permissions::know_servers(std::span<const std::string> names) {
  servers_.clear();
  for (const auto& name : names) servers_.push_back({name, normalise_name(name)});
}

std::vector<std::uint32_t> Permissions::candidates(const Names& names) const {
  std::vector<std::uint32_t> found;
  auto take_exact = [&](std::string_view key) {
    if (auto at = exact_.find(key); at != exact_.end()) found.insert(found.end(), at->second.begin(), at->second.end());
  };
  names.each([&](std::string_view name) {
    take_exact(name);
    for (auto length : lengths_) {
      if (length > name.size()) break;
      auto at = prefixed_.find(name.substr(0, length));
      if (at == prefixed_.end()) continue;
      for (const auto& wild : at->second) {
        if (name.ends_with(wild.tail)) found.push_back(wild.rule);
      }
    }
  });
  // A server as a whole.
  std::string whole(full_prefix);
  take_exact(whole.append(names.server));
  if (names.plain_server != names.server) {
    take_exact(whole.replace(full_prefix.size(), whole.npos, names.plain_server));
  }
  std::ranges::sort(found);
  found.erase(std::ranges::unique(found).begin(), found.end());
  return found;
}

namespace {

// Whether the text begins by naming this server: mcp__server, mcp__server__…, server/….
bool begins_with_server(std::string_view pattern, std::string_view server) noexcept {
  if (behind_server(pattern, server)) return true;
  // mcp__a__b as a whole is a tool of "a" and never the server "a__b".
  return pattern.starts_with(full_prefix) && pattern.substr(full_prefix.size()) == server &&
         server.find(separator) == std::string_view::npos;
}

}  // namespace

// Its name as configured is preferred to the spelling of another that merely looks like it to a model.
bool Permissions::means_server(const PermissionRule& rule, const Names& names) const {
  const bool own = begins_with_server(rule.pattern, names.server);
  return std::ranges::none_of(servers_, [&](const KnownServer& other) {
    if (other.name == names.server) return false;
    return begins_with_server(rule.pattern, other.name) || (!own && begins_with_server(rule.pattern, other.plain));
  });
}

// A rule that asks or denies counts in every spelling that could be meant. One that allows must not
// reach beyond what it says: mcp__github__* is about the server "github" and not about one that calls
// itself "github__x", and a name that two tools or servers share is nobody's.
Permissions::Naming Permissions::naming(const PermissionRule& rule, const Names& names) const {
  const std::string_view pattern = rule.pattern;
  const bool allow = rule.list == RuleList::allow;
  const bool wild = rule.has_wildcard();
  if (rule.foreign) {
    if (!names.bare || !(wild ? matches_wildcard(pattern, names.exposed) : pattern == names.exposed))
      return Naming::none;
    return wild ? Naming::wide : Naming::precise;
  }
  if (allow && !means_server(rule, names)) return Naming::none;
  if (!wild) {
    if (pattern == names.exposed || pattern == names.original || pattern == names.path ||
        (pattern == names.normalised && !(allow && names.shared))) {
      return Naming::precise;
    }
    if (!pattern.starts_with(full_prefix)) return Naming::none;
    const auto server = pattern.substr(full_prefix.size());
    if (server != names.server && server != names.plain_server) return Naming::none;
    return allow && server.find(separator) != std::string_view::npos ? Naming::none : Naming::wide;
  }
  if (!allow) {
    bool named = false;
    names.each([&](std::string_view name) { named = named || matches_wildcard(pattern, name); });
    return named ? Naming::wide : Naming::none;
  }
  auto below = [&](std::string_view server, std::string_view end) {
    if (!pattern.starts_with(server) || !pattern.substr(server.size()).starts_with(end)) return false;
    const auto rest = pattern.substr(server.size() + end.size());
    return matches_wildcard(rest, names.tool) || matches_wildcard(rest, names.plain_tool);
  };
  const bool named = pattern.starts_with(full_prefix)
                         ? below(fmt::format("{}{}", full_prefix, names.server), separator) ||
                               below(fmt::format("{}{}", full_prefix, names.plain_server), separator)
                         : below(names.server, "/");
  return named ? Naming::wide : Naming::none;
}

PermissionDecision Permissions::decide(const CatalogEntry& entry, const Json& arguments, std::string_view cwd,
                                       std::span<const std::string> also) const {
  using Outcome = PermissionOutcome;
  const auto& tool = *entry.tool;
  const Names names(entry);
  const CallFacts call{&arguments, tool.annotations ? &*tool.annotations : nullptr, cwd, also};
  // The first of each list; of allow rules, one that names the tool in full if there is one.
  const PermissionRule* deny = nullptr;
  const PermissionRule* ask = nullptr;
  const PermissionRule* allow = nullptr;
  const PermissionRule* allow_precisely = nullptr;
  for (auto i : candidates(names)) {
    const auto& rule = rules_.rules[i];
    const auto how = naming(rule, names);
    if (how == Naming::none || !rule.fits(call)) continue;
    if (rule.list == RuleList::deny) {
      deny = &rule;
      break;
    }
    if (rule.list == RuleList::ask && ask == nullptr) ask = &rule;
    if (rule.list == RuleList::allow && allow == nullptr) allow = &rule;
    if (rule.list == RuleList::allow && allow_precisely == nullptr && how == Naming::precise) allow_precisely = &rule;
  }
  // What it could not judge is the user's to correct, in the rule or in the call.
  auto because = [&](const PermissionRule& rule) {
    const auto doubt = rule.doubt(call);
    return doubt.empty() ? std::string() : fmt::format(", because {}", doubt);
  };
  if (deny != nullptr) {
    return by_rule(Outcome::deny, fmt::format("denied by {}{}", where(*deny), because(*deny)), *deny);
  }
  if (rules_.refuse_all) return *rules_.refuse_all;

  auto asking = [&](PermissionDecision decision) {
    if (rules_.mode != PermissionMode::dont_ask) return decision;
    decision.outcome = Outcome::deny;
    decision.reason += fmt::format("; the mode \"dontAsk\"{} refuses calls that need a question",
                                   rules_.mode_from.empty() ? "" : " from " + rules_.mode_from);
    return decision;
  };
  if (ask != nullptr) {
    return asking(by_rule(Outcome::ask, fmt::format("{} requires a question{}", where(*ask), because(*ask)), *ask));
  }
  if (requires_question(tool)) return asking(simply(Outcome::ask, "the tool requires a question for every call"));

  const bool destructive = says(tool.annotations, &ToolAnnotations::destructive_hint);
  const auto* allowed = destructive ? allow_precisely : allow_precisely != nullptr ? allow_precisely : allow;
  if (allowed != nullptr) return by_rule(Outcome::allow, fmt::format("allowed by {}", where(*allowed)), *allowed);
  if (rules_.mode == PermissionMode::bypass) {
    return simply(Outcome::allow, fmt::format("the mode \"bypass\"{} allows every call that no rule denies",
                                              rules_.mode_from.empty() ? "" : " from " + rules_.mode_from));
  }
  if (destructive) {
    return asking(simply(
        Outcome::ask, allow == nullptr ? "the tool is marked as destructive, and no rule allows it"
                                       : "the tool is marked as destructive, and no rule allows it by its full name"));
  }
  if (rules_.mode == PermissionMode::accept_reads && only_reads(tool)) {
    return simply(Outcome::allow, "the tool is marked as read-only, and the mode is \"acceptReads\"");
  }
  return asking(simply(Outcome::ask, "no rule allows it"));
}

std::optional<PermissionDecision> Permissions::denied_by_name(const CatalogEntry& entry) const {
  const Names names(entry);
  for (auto i : candidates(names)) {
    const auto& rule = rules_.rules[i];
    if (rule.list != RuleList::deny || naming(rule, names) == Naming::none) continue;
    if (rule.conditions.empty()) {
      return by_rule(PermissionOutcome::deny, fmt::format("denied by {}", where(rule)), rule);
    }
  }
  return std::nullopt;
}

std::optional<PermissionDecision> Permissions::denied_server(std::string_view server) const {
  const auto plain = normalise_name(server);
  auto names_all = [&](const PermissionRule& rule) {
    if (rule.list != RuleList::deny || rule.foreign || !rule.conditions.empty()) return false;
    for (const std::string_view name : {server, std::string_view(plain)}) {
      const auto whole = fmt::format("{}{}", full_prefix, name);
      if (rule.pattern == whole) return true;
      // A * in the name of a tool is met by one of the rule alone: what matches it matches every name.
      if (rule.has_wildcard() && (matches_wildcard(rule.pattern, fmt::format("{}{}*", whole, separator)) ||
                                  matches_wildcard(rule.pattern, fmt::format("{}/*", name)))) {
        return true;
      }
    }
    return false;
  };
  if (const auto rule = std::ranges::find_if(rules_.rules, names_all); rule != rules_.rules.end()) {
    return by_rule(PermissionOutcome::deny, fmt::format("denied by {}", where(*rule)), *rule);
  }
  return rules_.refuse_all;
}

void Permissions::require_server(std::string_view server) const {
  const auto decision = denied_server(server);
  if (!decision) return;
  throw denied(fmt::format("the server \"{}\" may not be used: {}", server, decision->reason), *decision, "use");
}

std::vector<PermissionRule> Permissions::about(const CatalogEntry& entry) const {
  const Names names(entry);
  std::vector<PermissionRule> out;
  for (auto i : candidates(names)) {
    if (naming(rules_.rules[i], names) != Naming::none) out.push_back(rules_.rules[i]);
  }
  return out;
}

namespace {

// What a rule in the spelling of other programs' tools would be if it meant one that is there: `write_file`, `docs`,
// `docs__write_file`, `docs:write_file`, `write*`.
class ServerToolLike {
 public:
  explicit ServerToolLike(const Catalog& catalog) : catalog_(catalog) {
    for (const auto& entry : catalog.tools()) {
      names_.try_emplace(entry.server, fmt::format("{}{}", full_prefix, normalise_name(entry.server)));
      names_.try_emplace(entry.tool->name, entry.name);
      for (std::string_view between : {"__", ":", "."}) {
        names_.try_emplace(fmt::format("{}{}{}", entry.server, between, entry.tool->name), entry.name);
      }
    }
  }

  // Empty: it does not look so, or more patterns were asked about than is worth it.
  std::string find(std::string_view pattern) {
    if (!pattern.contains('*')) {
      const auto at = names_.find(std::string(pattern));
      return at == names_.end() ? std::string() : at->second;
    }
    constexpr std::size_t most_patterns = 1000;
    if (pattern == "*" || patterns_++ >= most_patterns) return {};
    const auto tool = std::ranges::find_if(
        catalog_.tools(), [&](const CatalogEntry& entry) { return matches_wildcard(pattern, entry.tool->name); });
    return tool == catalog_.tools().end() ? std::string() : tool->name;
  }

 private:
  const Catalog& catalog_;
  std::unordered_map<std::string, std::string> names_;
  std::size_t patterns_ = 0;
};

}  // namespace

std::vector<ConfigProblem> Permissions::unknown_names(std::span<const std::string> servers,
                                                      const Catalog& catalog) const {
  std::vector<bool> known(rules_.rules.size());
  for (const auto& entry : catalog.tools()) {
    const Names names(entry);
    for (auto i : candidates(names)) {
      if (naming(rules_.rules[i], names) != Naming::none) known[i] = true;
    }
  }
  // A server that has not told its tools may have the one a rule names.
  std::vector<std::string> spellings, untold;
  for (const auto& server : servers) {
    const bool told = std::ranges::find(catalog.tools(), server, &CatalogEntry::server) != catalog.tools().end();
    for (auto spelling :
         {fmt::format("{}{}", full_prefix, server), fmt::format("{}{}", full_prefix, normalise_name(server)), server}) {
      if (!told) untold.push_back(spelling);
      spellings.push_back(std::move(spelling));
    }
  }
  ServerToolLike like(catalog);
  std::vector<std::string> tools;
  for (const auto& entry : catalog.tools()) {
    tools.push_back(entry.name);
    tools.push_back(fmt::format("{}/{}", entry.server, entry.tool->name));
  }
  std::vector<ConfigProblem> out;
  // Guessing what was meant costs a comparison with every name; who has this many wrong needs no guesses.
  constexpr std::size_t most_guesses = 200;
  std::size_t guesses = 0;
  // The user's own rules are for all their projects; a flag is for this one.
  const auto severity = [](const PermissionRule& rule) { return rule.line == 0 ? Severity::warning : Severity::note; };
  for (std::size_t i = 0; i < rules_.rules.size(); ++i) {
    const auto& rule = rules_.rules[i];
    if (rule.list != RuleList::deny || known[i]) continue;
    if (rule.foreign) {
      const auto meant = like.find(rule.pattern);
      if (meant.empty()) continue;
      out.push_back(
          {rule.file,
           rule.line,
           rule.column,
           fmt::format("the deny rule {} does not name a tool of a server, so it denies nothing; did you mean {}?",
                       to_text(Json(rule.text)), meant),
           {},
           severity(rule)});
      continue;
    }
    const auto literal = std::string_view(rule.pattern).substr(0, rule.pattern.find('*'));
    auto possible = [&](const std::string& spelling) {
      const auto all = spelling + (spelling.starts_with(full_prefix) ? "__" : "/");
      return literal == spelling || literal.starts_with(all) || (rule.has_wildcard() && all.starts_with(literal));
    };
    if (std::ranges::any_of(untold, possible)) continue;
    const bool server = std::ranges::any_of(spellings, possible);
    std::string meant;
    if (guesses++ < most_guesses) {
      meant = server ? nearest(rule.pattern, tools) : nearest(server_part(rule.pattern), spellings);
    }
    out.push_back({rule.file,
                   rule.line,
                   rule.column,
                   fmt::format("the deny rule {} does not name a {}{}", to_text(Json(rule.text)),
                               server ? "tool that exists" : "server that is configured",
                               meant.empty() ? "" : fmt::format("; did you mean {}?", meant)),
                   {},
                   severity(rule)});
  }
  return out;
}

Json argument_value(const Payload& arguments) {
  try {
    return arguments.value();
  } catch (const Error& error) {
    throw Error(Errc::invalid_argument, fmt::format("the arguments cannot be read: {}", error.message()));
  }
}

std::string argument_directory(const ServerConfig& server, const std::string& cwd, const VariableLookup& variables) {
  if (server.kind != ServerKind::stdio) return {};
  if (!server.cwd) return cwd;
  const auto directory = expand(*server.cwd, variables);
  if (!directory.missing.empty()) return {};
  if (directory.text.starts_with('/')) return directory.text;
  return cwd.empty() ? std::string() : fmt::format("{}/{}", cwd, directory.text);
}

std::vector<std::string> argument_roots(const ServerConfig& server, const std::string& cwd,
                                        const VariableLookup& variables) {
  constexpr std::size_t most = 32;
  std::vector<std::string> out;
  if (server.kind != ServerKind::stdio) return out;
  const auto base = argument_directory(server, cwd, variables);
  auto add = [&](std::string_view text) {
    if (text.empty() || out.size() > most || (!text.starts_with('/') && base.empty())) return;
    auto directory = text.starts_with('/') ? std::string(text) : fmt::format("{}/{}", base, text);
    std::error_code ignored;
    if (directory == base || !std::filesystem::is_directory(directory, ignored)) return;
    if (std::ranges::find(out, directory) != out.end()) return;
    out.push_back(out.size() < most ? std::move(directory) : std::string());
  };
  const auto expanded = expand_server(server, variables);
  for (const auto& arg : expanded.args) {
    add(arg);
    if (const auto sign = arg.find('='); sign != std::string::npos) add(std::string_view(arg).substr(sign + 1));
  }
  for (const auto& [name, value] : expanded.env) {
    if (value.starts_with('/')) add(value);
  }
  return out;
}

Error denial(std::string_view tool, const PermissionDecision& decision) {
  return denied(fmt::format("\"{}\" may not be called: {}", tool, decision.reason), decision, "call");
}

}  // namespace patchbay
