#include "host/offered_tools.h"

#include <algorithm>
#include <utility>

namespace patchbay {
namespace {

bool same_tools(const OfferedTools::Tools& left, const OfferedTools::Tools& right) {
  return std::ranges::equal(left, right, [](const auto& a, const auto& b) { return a == b || *a == *b; });
}

// What this server contributes to a catalog of ours, whose fragments are sorted by their servers.
Fragment contributed(const Catalog& catalog, const std::string& server) {
  const auto name = [](const Fragment& fragment) -> const std::string& { return fragment->server; };
  const auto found = std::ranges::lower_bound(catalog.fragments(), server, {}, name);
  return found != catalog.fragments().end() && (*found)->server == server ? *found : nullptr;
}

}  // namespace

bool OfferedTools::set(const std::string& server, NamePrefix prefix, const Tools& tools) {
  const auto known = servers_.find(server);
  if (tools.empty()) {
    if (known == servers_.end() || !std::exchange(known->second.now, false)) return false;
    return stale_ = true;
  }
  auto& offer = known != servers_.end() ? known->second : servers_[server];
  const bool same = offer.last.prefix == prefix && same_tools(offer.last.tools, tools);
  if (same && std::exchange(offer.now, true)) return false;
  if (!same) offer = {.last = {server, tools, prefix}, .now = true, .alone = nullptr, .published = offer.published};
  return stale_ = true;
}

bool OfferedTools::remove(const std::string& server) {
  if (servers_.erase(server) == 0) return false;
  return stale_ = true;
}

void OfferedTools::set_rules(const Permissions& rules) {
  rules_hide_ = std::ranges::any_of(rules.rules().rules, [](const PermissionRule& rule) {
    return rule.list == RuleList::deny && rule.conditions.empty();
  });
  seen_ = nullptr;
  judgements_.clear();
}

const std::shared_ptr<const Catalog>& OfferedTools::all() {
  if (!stale_) return all_;
  stale_ = false;
  ++built_;
  std::vector<Fragment> alone;
  alone.reserve(servers_.size());
  for (auto& [name, offer] : servers_) {
    if (!offer.alone) {
      ++named_;
      offer.alone = name_alone(offer.last);
      // The same tools in another order, or something else and back again before anybody looked.
      if (!offer.published) offer.published = contributed(*all_, name);
      if (offer.published && same_entries(*offer.alone, *offer.published)) offer.alone = offer.published;
    }
    alone.push_back(offer.alone);
  }
  const auto settled = settle_names(std::move(alone));
  Catalog::Fragments now;
  now.reserve(settled.size());
  auto fragment = settled.begin();
  for (auto& [name, offer] : servers_) {
    const auto& next = *fragment++;
    if (!offer.published || (next != offer.published && !same_entries(*next, *offer.published))) offer.published = next;
    if (offer.now) now.push_back(offer.published);
  }
  if (now != all_->fragments()) all_ = std::make_shared<const Catalog>(std::move(now));
  return all_;
}

Fragment OfferedTools::judge(const Fragment& fragment, const Permissions& rules) {
  judged_ += fragment->entries.size();
  std::vector<bool> hidden;
  hidden.reserve(fragment->entries.size());
  for (const auto& entry : fragment->entries) hidden.push_back(rules.denied_by_name(entry).has_value());
  if (std::ranges::find(hidden, true) == hidden.end()) return fragment;
  auto left = std::make_shared<CatalogFragment>();
  left->server = fragment->server;
  left->prefix = fragment->prefix;
  left->repeated = fragment->repeated;
  for (std::size_t i = 0; i < hidden.size(); ++i) {
    if (!hidden[i]) left->entries.push_back(fragment->entries[i]);
  }
  return left;
}

const std::shared_ptr<const Catalog>& OfferedTools::shown(const Permissions& rules) {
  const auto now = all();
  if (seen_ == now) return shown_;
  seen_ = now;
  if (!rules_hide_) {
    if (now->fragments() != shown_->fragments()) shown_ = now;
    return shown_;
  }
  std::map<std::string, Judged> judgements;
  Catalog::Fragments left;
  for (const auto& fragment : now->fragments()) {
    const auto before = judgements_.find(fragment->server);
    Judged judged{fragment, nullptr};
    if (before != judgements_.end() && before->second.whole == fragment) {
      judged = before->second;
    } else {
      judged.left = judge(fragment, rules);
      // What is hidden may have changed alone.
      if (before != judgements_.end() && same_entries(*judged.left, *before->second.left)) {
        judged.left = before->second.left;
      }
    }
    if (!judged.left->entries.empty() || !judged.left->repeated.empty()) left.push_back(judged.left);
    judgements.emplace_hint(judgements.end(), fragment->server, std::move(judged));
  }
  judgements_ = std::move(judgements);
  if (left != shown_->fragments()) {
    shown_ = left == now->fragments() ? now : std::make_shared<const Catalog>(std::move(left));
  }
  return shown_;
}

}  // namespace patchbay
