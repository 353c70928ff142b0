#include "host/offered_tools.h"

#include <algorithm>

namespace patchbay {
namespace {

bool same_tools(const OfferedTools::Tools& left, const OfferedTools::Tools& right) {
  return std::ranges::equal(left, right, [](const auto& a, const auto& b) { return a == b || *a == *b; });
}

// Tools that are the same are the same object: set() keeps those it has.
bool same_entry(const CatalogEntry& left, const CatalogEntry& right) {
  return left.tool == right.tool && left.prefix == right.prefix && left.name == right.name &&
         left.server == right.server;
}

bool same_catalog(const Catalog& left, const Catalog& right) {
  return left.repeated() == right.repeated() && std::ranges::equal(left.tools(), right.tools(), same_entry);
}

}  // namespace

bool OfferedTools::set(const std::string& server, NamePrefix prefix, const Tools& tools) {
  if (tools.empty()) return remove(server);
  auto [known, is_new] = servers_.try_emplace(server, ServerTools{server, {}, prefix});
  if (!is_new && known->second.prefix == prefix && same_tools(known->second.tools, tools)) return false;
  known->second.prefix = prefix;
  known->second.tools = tools;
  stale_ = true;
  return true;
}

bool OfferedTools::remove(const std::string& server) {
  if (servers_.erase(server) == 0) return false;
  stale_ = true;
  return true;
}

void OfferedTools::set_rules(const Permissions& rules) {
  rules_hide_ = std::ranges::any_of(rules.rules().rules, [](const PermissionRule& rule) {
    return rule.list == RuleList::deny && rule.conditions.empty();
  });
  seen_ = nullptr;
  hidden_.clear();
}

const std::shared_ptr<const Catalog>& OfferedTools::all() {
  if (!stale_) return all_;
  stale_ = false;
  ++built_;
  std::vector<ServerTools> servers;
  servers.reserve(servers_.size());
  for (const auto& [name, tools] : servers_) servers.push_back(tools);
  auto now = Catalog::build(servers);
  if (!same_catalog(*now, *all_)) all_ = std::move(now);
  return all_;
}

const std::shared_ptr<const Catalog>& OfferedTools::shown(const Permissions& rules) {
  const auto now = all();
  if (seen_ == now) return shown_;
  std::vector<bool> hidden(now->size());
  std::vector<std::string> names;
  if (rules_hide_) {
    // Both are sorted by name, so what was judged before is met on the way.
    std::size_t before = 0;
    for (std::size_t i = 0; i < now->size(); ++i) {
      const auto& entry = now->tools()[i];
      while (seen_ && before < seen_->size() && seen_->tools()[before].name < entry.name) ++before;
      const bool known = seen_ && before < seen_->size() && same_entry(seen_->tools()[before], entry);
      if (!known) ++judged_;
      hidden[i] = known ? hidden_[before] : rules.denied_by_name(entry).has_value();
      if (hidden[i]) names.push_back(entry.name);
    }
  }
  auto left = names.empty() ? now : std::make_shared<const Catalog>(now->without(names));
  if (!same_catalog(*left, *shown_)) shown_ = std::move(left);
  seen_ = now;
  hidden_ = std::move(hidden);
  return shown_;
}

}  // namespace patchbay
