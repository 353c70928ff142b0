#include "permission/policy.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "base/strings.h"
#include "entries/expand.h"
#include "http/url.h"
#include "http/url_pattern.h"
#include "text/file_and_line.h"
#include "text/wildcard.h"

namespace patchbay {
namespace {

using By = PolicyEntry::By;

// What the lists compare.
struct Subject {
  explicit Subject(const ServerConfig& server) : name(server.name) {
    if (server.origin.scope == ConfigScope::embedded) return;
    if (server.kind == ServerKind::stdio) {
      if (server.command.empty()) return;
      argv.push_back(server.command);
      argv.insert(argv.end(), server.args.begin(), server.args.end());
    } else if (!server.url.empty()) {
      remote = true;
      if (auto parsed = parse_url(server.url)) url = std::move(*parsed);
    }
  }

  std::string_view name;
  std::vector<std::string> argv;  // empty: not a program
  bool remote = false;
  std::optional<Url> url;  // unset though remote: not a URL
};

VariableLookup policy_variables(std::span<const SettingsLayer> layers, const VariableLookup& startup) {
  return [layers, &startup](std::string_view name) -> std::optional<std::string> {
    const auto* managed = managed_variable(layers, name);
    return managed != nullptr ? std::optional(managed->value) : startup(name);
  };
}

// A word that no value can be confused with and no part of a URL refuses, not even the port.
std::string mark(std::size_t i) { return fmt::format("731904826{:04}260517394", i); }

std::string with_values(std::string text, const std::vector<std::string>& values) {
  for (std::size_t i = values.size(); i-- > 0;) {
    const auto word = mark(i);
    for (auto at = text.find(word); at != std::string::npos; at = text.find(word, at + values[i].size())) {
      text.replace(at, word.size(), values[i]);
    }
  }
  return text;
}

// The pattern with its variables. With `fault` set, they changed which part of it is what, or what it
// can match: "https://${HOST}/" must stay a pattern for one host whatever HOST is.
struct ExpandedPattern {
  std::optional<UrlPattern> pattern;
  std::string fault;
};

ExpandedPattern expand_pattern(const std::string& text, const VariableLookup& lookup) {
  ExpandedPattern out;
  std::vector<std::string> values;
  auto marked = expand(text, [&](std::string_view name) -> std::optional<std::string> {
    auto value = lookup(name);
    if (!value) return std::nullopt;
    values.push_back(std::move(*value));
    return mark(values.size() - 1);
  });
  auto real = UrlPattern::parse(expand(text, lookup).text);
  if (!marked.missing.empty()) {
    out.fault = fmt::format("the variable {} is not set", marked.missing.front());
  } else if (!real) {
    out.fault = fmt::format("after its variables are replaced, {}", real.error().message());
  } else if (!values.empty()) {
    auto shape = UrlPattern::parse_shape(marked.text);
    auto same = [&](const auto& of_shape, const auto& of_real) {
      return of_shape.has_value() == of_real.has_value() &&
             (!of_shape.has_value() || with_values(*of_shape, values) == *of_real);
    };
    const bool plain = std::ranges::none_of(values, [](const std::string& value) {
      return value.find_first_of("*%\\?#") != std::string::npos || value.find("..") != std::string::npos;
    });
    // Hosts are compared in lower case, whatever the variable has.
    std::vector<std::string> lower(values.size());
    std::ranges::transform(values, lower.begin(), [](const auto& value) { return to_lower_ascii(value); });
    if (!shape || !plain || with_values(shape->scheme(), lower) != real->scheme() ||
        UrlPattern::compared_host(with_values(shape->host(), lower)) != real->host() ||
        !same(shape->port(), real->port()) || !same(shape->path(), real->path())) {
      out.fault =
          "the value of a variable contains one of the characters * % \\ ? # or \"..\", or fills more than the part of "
          "the URL it is in (a host with a port, for example); correct the variable, or write that part in the list";
    }
  }
  if (real) out.pattern = std::move(*real);
  return out;
}

enum class Use : std::uint8_t { deny, allow };

// `${NAME}` that could not be filled in stands for anything in a deny entry: unsetting a variable must
// not open a door.
std::string deny_text(const std::string& text, const VariableLookup& lookup) {
  return expand(text, [&](std::string_view name) { return lookup(name).value_or("*"); }).text;
}

bool matches_command(const PolicyEntry& entry, const Subject& subject, Use use, const VariableLookup& lookup) {
  if (subject.argv.size() != entry.argv.size()) return false;
  for (std::size_t i = 0; i < entry.argv.size(); ++i) {
    auto expanded = expand(entry.argv[i], lookup);
    if (expanded.text == subject.argv[i]) continue;
    if (use == Use::allow || expanded.missing.empty()) return false;
    if (!matches_wildcard(deny_text(entry.argv[i], lookup), subject.argv[i])) return false;
  }
  return true;
}

bool matches(const UrlPattern& pattern, const Url& url, Use use) {
  const auto match = pattern.match(url);
  return use == Use::allow ? match == UrlPattern::Match::yes : match != UrlPattern::Match::no;
}

bool matches_url(const PolicyEntry& entry, const Subject& subject, Use use, const VariableLookup& lookup) {
  if (!subject.remote) return false;
  // What cannot be compared with a list is on the one that denies.
  if (!subject.url) return use == Use::deny;
  auto expanded = expand_pattern(entry.text, lookup);
  if (use == Use::allow) {
    return expanded.fault.empty() && expanded.pattern && matches(*expanded.pattern, *subject.url, use);
  }
  if (expanded.pattern && matches(*expanded.pattern, *subject.url, use)) return true;
  if (expanded.fault.empty()) return false;
  // Nor must setting one to nonsense.
  auto widened = UrlPattern::parse(
      expanded.pattern ? deny_text(entry.text, lookup)
                       : expand(entry.text, [](std::string_view) { return std::optional<std::string>("*"); }).text);
  return !widened || matches(*widened, *subject.url, use);
}

bool matches(const PolicyEntry& entry, const Subject& subject, Use use, const VariableLookup& lookup) {
  switch (entry.by) {
    case By::name:
      return entry.text == subject.name;
    case By::command:
      return !subject.argv.empty() && matches_command(entry, subject, use, lookup);
    case By::url:
      return matches_url(entry, subject, use, lookup);
  }
  return false;
}

std::string where(const SettingsLayer& layer, const SettingPlace& place) {
  return file_and_line(layer.file, place.line);
}

PolicyVerdict verdict(PolicyVerdict::Outcome outcome, std::string rule, const SettingsLayer& layer,
                      const SettingPlace& place, std::string reason) {
  return {outcome, std::move(rule), layer.file, place.line, place.column, std::move(reason)};
}

const SettingsLayer* enterprise_with(std::span<const SettingsLayer> layers,
                                     std::optional<BoolSetting> SettingsLayer::* setting) {
  for (const auto& layer : layers) {
    if (layer.source == SettingsSource::enterprise && layer.*setting && (layer.*setting)->value) return &layer;
  }
  return nullptr;
}

// The layers whose lists of allowed servers count.
std::vector<const SettingsLayer*> allowing_layers(std::span<const SettingsLayer> layers) {
  const bool managed_only = enterprise_with(layers, &SettingsLayer::allow_managed_only) != nullptr;
  std::vector<const SettingsLayer*> trusted, repository;
  for (const auto& layer : layers) {
    if (!layer.allowed_servers) continue;
    if (managed_only && layer.source != SettingsSource::enterprise) continue;
    (is_inside_repository(layer.source) ? repository : trusted).push_back(&layer);
  }
  return trusted.empty() ? repository : trusted;
}

}  // namespace

PolicyVerdict judge_policy(const ServerConfig& expanded, std::span<const SettingsLayer> layers,
                           const VariableLookup& startup) {
  using Outcome = PolicyVerdict::Outcome;
  const Subject subject(expanded);
  const auto lookup = policy_variables(layers, startup);

  for (const auto& layer : layers) {
    if (layer.source == SettingsSource::enterprise && layer.unreadable) {
      return verdict(Outcome::denied, "", layer, {},
                     fmt::format("{} cannot be read, so it is not known what your organisation denies", layer.file));
    }
    if (layer.denied_unreadable) {
      return verdict(Outcome::denied, "deniedMcpServers", layer, *layer.denied_unreadable,
                     fmt::format("deniedMcpServers in {} has an entry that cannot be read, so it denies every server",
                                 where(layer, *layer.denied_unreadable)));
    }
    for (const auto& entry : layer.denied_servers) {
      if (!matches(entry, subject, Use::deny, lookup)) continue;
      const bool unclear = entry.by == By::url && (!subject.url || !canonical_host(subject.url->host));
      return verdict(Outcome::denied, to_text(entry), layer, entry.place,
                     fmt::format("denied by {} of deniedMcpServers in {}{}", to_text(entry), where(layer, entry.place),
                                 unclear ? ", because its URL cannot be checked: write the host in ASCII (an "
                                           "international name as xn--...) or as an address"
                                         : ""));
    }
  }

  if (const auto* layer = enterprise_with(layers, &SettingsLayer::only_plugins)) {
    const auto scope = expanded.origin.scope;
    if (scope != ConfigScope::plugin && scope != ConfigScope::enterprise && scope != ConfigScope::embedded) {
      return verdict(Outcome::not_allowed, "strictPluginOnlyCustomization", *layer, layer->only_plugins->place,
                     fmt::format("strictPluginOnlyCustomization in {} allows servers only from plugins",
                                 where(*layer, layer->only_plugins->place)));
    }
  }

  const auto lists = allowing_layers(layers);
  if (lists.empty()) return {};
  const auto wanted = !subject.argv.empty() ? By::command : subject.remote ? By::url : By::name;
  bool by_kind = false;
  for (const auto* layer : lists) {
    by_kind |= std::ranges::any_of(*layer->allowed_servers, [&](const auto& entry) { return entry.by == wanted; });
  }
  const auto by = by_kind ? wanted : By::name;
  for (const auto* layer : lists) {
    for (const auto& entry : *layer->allowed_servers) {
      if (entry.by == by && matches(entry, subject, Use::allow, lookup)) return {};
    }
  }
  const auto& layer = *lists.front();
  const auto what = by == By::command ? "no serverCommand in it is exactly this command line"
                    : by == By::url   ? "no serverUrl in it matches this URL"
                                      : "no serverName in it is this name";
  return verdict(Outcome::not_allowed, "allowedMcpServers", layer, layer.allowed_place,
                 fmt::format("not on the list allowedMcpServers in {}: {}", where(layer, layer.allowed_place), what));
}

PolicyVerdict judge_entry(const ServerConfig& written, const ServerConfig& expanded,
                          std::span<const SettingsLayer> layers, const VariableLookup& startup) {
  auto verdict = judge_policy(expanded, layers, startup);
  const bool own = written.origin.scope == ConfigScope::enterprise && !has_references(written);
  if (own && verdict.outcome == PolicyVerdict::Outcome::not_allowed) return {};
  return verdict;
}

std::vector<ConfigProblem> policy_problems(std::span<const SettingsLayer> layers, const VariableLookup& startup) {
  std::vector<ConfigProblem> out;
  const auto lookup = policy_variables(layers, startup);
  for (const auto& layer : layers) {
    auto check = [&](const PolicyEntry& entry, Use use) {
      if (entry.by != By::url || entry.text.find("${") == std::string::npos) return;
      auto fault = expand_pattern(entry.text, lookup).fault;
      if (fault.empty()) return;
      out.push_back({layer.file,
                     entry.place.line,
                     entry.place.column,
                     use == Use::allow ? fmt::format("{} allows nothing: {}", to_text(entry), fault)
                                       : fmt::format("{} denies more than is written: {}", to_text(entry), fault),
                     {},
                     Severity::warning});
    };
    for (const auto& entry : layer.allowed_servers.value_or(std::vector<PolicyEntry>())) check(entry, Use::allow);
    for (const auto& entry : layer.denied_servers) check(entry, Use::deny);
  }
  return out;
}

std::string policy_refusal(std::string_view name, const PolicyVerdict& verdict) {
  switch (verdict.outcome) {
    case PolicyVerdict::Outcome::allowed:
      return {};
    case PolicyVerdict::Outcome::denied:
      return fmt::format("Cannot add MCP server \"{}\": server is explicitly blocked by enterprise policy", name);
    case PolicyVerdict::Outcome::not_allowed:
      break;
  }
  return fmt::format("Cannot add MCP server \"{}\": not allowed by enterprise policy", name);
}

}  // namespace patchbay
