#include "servers/settle.h"

#include <algorithm>
#include <unordered_map>

#include <fmt/format.h>

#include "entries/expand.h"
#include "entries/signature.h"
#include "permission/policy.h"

namespace patchbay {
namespace {

using About = EntryAnswers::About;
using Kind = StandingBy::Kind;

const TextSetting* named_in(const std::vector<TextSetting>& names, const std::string& name) {
  const auto found = std::ranges::find(names, name, &TextSetting::value);
  return found == names.end() ? nullptr : &*found;
}

StandingBy by_setting(std::string key, const SettingsLayer& layer, const SettingPlace& place) {
  return {Kind::setting, std::move(key), layer.file, place.line, place.column};
}

// Wherever it is written.
std::optional<StandingBy> rejected_by(const std::string& name, const EntryAnswers& answers,
                                      std::span<const SettingsLayer> layers) {
  for (const auto& layer : layers) {
    if (const auto* setting = named_in(layer.disabled_project_servers, name)) {
      return by_setting("disabledMcpjsonServers", layer, setting->place);
    }
  }
  if (!answers.rejected_in.empty()) {
    return StandingBy{Kind::setting, "disabledMcpjsonServers", answers.rejected_in, 0, 0};
  }
  if (answers.rejected == About::this_entry) return StandingBy{Kind::answer, {}, {}, 0, 0};
  return std::nullopt;
}

// What approves however the entry changes comes first.
std::optional<StandingBy> approved_by(const std::string& name, const EntryAnswers& answers,
                                      const SettlePolicy& policy) {
  if (policy.trust_project) return StandingBy{Kind::flag, policy.trust_name, {}, 0, 0};
  const SettingsLayer* all = nullptr;
  for (const auto& layer : policy.layers) {
    if (is_inside_repository(layer.source)) continue;
    if (const auto* setting = named_in(layer.enabled_project_servers, name)) {
      return by_setting("enabledMcpjsonServers", layer, setting->place);
    }
    if (!layer.enable_all_project_servers) continue;
    if (all == nullptr || settings_rank(layer.source) < settings_rank(all->source)) all = &layer;
  }
  if (all != nullptr && all->enable_all_project_servers->value) {
    return by_setting("enableAllProjectMcpServers", *all, all->enable_all_project_servers->place);
  }
  if (!answers.approved_in.empty() && !answers.elsewhere) {
    return StandingBy{Kind::setting, "enabledMcpjsonServers", answers.approved_in, 0, 0};
  }
  if (answers.approved == About::this_entry) return StandingBy{Kind::answer, {}, {}, 0, 0};
  return std::nullopt;
}

Standing settle_approval(const DeclaredEntry& entry, const EntryAnswers& answers, const SettlePolicy& policy) {
  Standing out;
  if (entry.broken) {
    out.why = ServerStanding::broken;
    out.by.kind = Kind::entry;
  } else if (entry.server.origin.trust == ConfigTrust::trusted) {
    return out;
  } else if (auto no = rejected_by(entry.server.name, answers, policy.layers)) {
    out.why = ServerStanding::rejected;
    out.by = std::move(*no);
  } else if (auto yes = approved_by(entry.server.name, answers, policy)) {
    out.approved = true;
    out.by = std::move(*yes);
  } else {
    out.why = ServerStanding::awaiting_approval;
  }
  return out;
}

bool takes_part(const DeclaredEntry& entry, const Standing& standing, const SettlePolicy& policy) {
  if (!entry.broken) return standing.why == ServerStanding::active;
  return entry.server.origin.trust == ConfigTrust::trusted ? entry.holds_name : policy.trust_project;
}

// `rivals`: all entries of one name.
void settle_name(std::span<const DeclaredEntry> entries, const std::vector<std::size_t>& rivals,
                 const SettlePolicy& policy, std::vector<Standing>& out) {
  const auto winner =
      std::ranges::find_if(rivals, [&](std::size_t one) { return takes_part(entries[one], out[one], policy); });
  const bool decided = winner != rivals.end();
  const auto shown = decided ? *winner : rivals.front();
  for (const auto one : rivals) {
    out[one].shown = one == shown;
    if (!decided || one <= shown) continue;
    out[one].other = shown;
    // Broken stays broken: that has to be known about it.
    if (out[one].why == ServerStanding::broken) continue;
    out[one].why = ServerStanding::shadowed;
    out[one].by = {Kind::other_entry,
                   {},
                   entries[shown].server.origin.file,
                   entries[shown].server.origin.line,
                   entries[shown].server.origin.column};
  }
}

void set(Standing& standing, ServerStanding why, StandingBy by) {
  standing.why = why;
  standing.by = std::move(by);
}

StandingBy by_entry(const ServerConfig& server, std::string key) {
  return {Kind::entry, std::move(key), server.origin.file, server.origin.line, server.origin.column};
}

bool forbid(Standing& standing, const ServerConfig& written, const ServerConfig& expanded,
            std::span<const SettingsLayer> layers, const VariableLookup& startup) {
  auto verdict = judge_entry(written, expanded, layers, startup);
  if (verdict.allowed()) return false;
  set(standing, ServerStanding::policy,
      {Kind::policy, std::move(verdict.rule), std::move(verdict.file), verdict.line, verdict.column});
  standing.policy_text = std::move(verdict.reason);
  return true;
}

// Lists, switches and what the entry says of itself, for one that is used or waits for approval.
void settle_use(const ServerConfig& server, const EntryAnswers& answers, const SettlePolicy& policy,
                Standing& standing) {
  const bool waits = standing.why == ServerStanding::awaiting_approval;
  if (standing.why != ServerStanding::active && !waits) return;
  // Before it is asked about: an approval would not start it.
  if (forbid(standing, server, expand_server(server, policy.variables), policy.layers, policy.startup)) return;
  if (answers.switched && !answers.switched->on) {
    return set(standing, ServerStanding::disabled,
               {Kind::switched, answers.switched->key, answers.switched->file, 0, 0});
  }
  standing.switched_on = server.disabled && answers.switched;
  if (server.disabled && !standing.switched_on) {
    return set(standing, ServerStanding::disabled, by_entry(server, "disabled"));
  }
  if (!waits && server.kind != ServerKind::stdio && server.url.empty()) {
    set(standing, ServerStanding::not_configured, by_entry(server, "url"));
  }
}

bool is_copy_scope(ConfigScope scope) noexcept {
  return scope == ConfigScope::plugin || scope == ConfigScope::connector;
}

// What a server learns of who asks.
std::string sent_with(const ServerConfig& expanded) {
  const auto entry = canonical_entry(expanded);
  return to_text(Json::array({entry["headers"], entry["headersHelper"], entry["oauth"]}));
}

void settle_copies(std::span<const DeclaredEntry> entries, const std::vector<std::size_t>& shown,
                   const VariableLookup& variables, std::vector<Standing>& out) {
  std::unordered_map<std::string, std::size_t> known;
  // With what is sent to it: two accounts at one URL are two servers.
  std::unordered_map<std::string, std::size_t> known_whole;
  // Written by hand first: the order of the list says nothing about which one is the copy.
  for (const bool copies : {false, true}) {
    for (const auto one : shown) {
      const auto& server = entries[one].server;
      if (out[one].why != ServerStanding::active || is_copy_scope(server.origin.scope) != copies) continue;
      const auto expanded = expand_server(server, variables);
      auto signature = content_signature(expanded);
      if (signature.empty()) continue;
      if (!copies) {
        const auto [same, first_of_its_kind] = known_whole.emplace(signature + sent_with(expanded), one);
        if (!first_of_its_kind) out[one].other = same->second;
      }
      const auto [found, fresh] = known.emplace(std::move(signature), one);
      if (fresh || !copies) continue;
      out[one].other = found->second;
      const auto& first = entries[found->second].server;
      set(out[one], ServerStanding::duplicate,
          {Kind::other_entry, first.name, first.origin.file, first.origin.line, first.origin.column});
    }
  }
}

}  // namespace

std::vector<Standing> settle(std::span<const DeclaredEntry> entries, std::span<const EntryAnswers> answers,
                             const SettlePolicy& policy) {
  std::vector<Standing> out;
  std::vector<std::string_view> order;
  std::unordered_map<std::string_view, std::vector<std::size_t>> by_name;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    out.push_back(settle_approval(entries[i], answers[i], policy));
    auto [rivals, fresh] = by_name.try_emplace(entries[i].server.name);
    if (fresh) order.push_back(entries[i].server.name);
    rivals->second.push_back(i);
  }
  std::vector<std::size_t> shown;
  for (const auto name : order) {
    const auto& rivals = by_name.at(name);
    settle_name(entries, rivals, policy, out);
    shown.push_back(*std::ranges::find_if(rivals, [&](std::size_t one) { return out[one].shown; }));
  }
  for (std::size_t i = 0; i < entries.size(); ++i) {
    // Of those behind the shown one, only what waits for approval can change any more.
    if (out[i].shown || out[i].why == ServerStanding::awaiting_approval) {
      settle_use(entries[i].server, answers[i], policy, out[i]);
    }
  }
  settle_copies(entries, shown, policy.variables, out);
  return out;
}

Standing settle_alone(const ServerConfig& expanded, std::span<const SettingsLayer> layers,
                      const VariableLookup& startup) {
  Standing out;
  if (!forbid(out, expanded, expanded, layers, startup) && expanded.disabled) {
    set(out, ServerStanding::disabled, by_entry(expanded, "disabled"));
  }
  return out;
}

std::vector<ConfigProblem> ignored_approvals(std::span<const SettingsLayer> layers) {
  std::vector<ConfigProblem> out;
  for (const auto& layer : layers) {
    if (!is_inside_repository(layer.source)) continue;
    auto note = [&](std::string_view key, const SettingPlace& place) {
      out.push_back({layer.file,
                     place.line,
                     place.column,
                     fmt::format("\"{}\" is ignored: a file inside the repository cannot approve servers", key),
                     {},
                     // Claude Code writes this file itself; whoever uses both has it for good.
                     layer.source == SettingsSource::project_local ? Severity::note : Severity::warning});
    };
    if (layer.enable_all_project_servers && layer.enable_all_project_servers->value) {
      note("enableAllProjectMcpServers", layer.enable_all_project_servers->place);
    }
    if (!layer.enabled_project_servers.empty()) {
      note("enabledMcpjsonServers", layer.enabled_project_servers.front().place);
    }
  }
  return out;
}

}  // namespace patchbay
