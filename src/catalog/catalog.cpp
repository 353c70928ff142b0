#include <algorithm>
#include <set>

#include <fmt/format.h>

#include <patchbay/catalog.h>

#include "base/strings.h"
#include "catalog/naming.h"

namespace patchbay {
namespace {

std::string path_of(const ToolId& id) { return fmt::format("{}/{}", id.server, id.tool); }

}  // namespace

Catalog::Catalog(std::span<const ServerTools> servers) {
  std::set<ToolId> seen;
  std::vector<ToolId> ids;
  for (const auto& server : servers) {
    for (const auto& tool : server.tools) {
      ToolId id{server.server, tool->name, server.prefix};
      if (!seen.insert(id).second) {
        repeated_.push_back(std::move(id));
        continue;
      }
      entries_.push_back({{}, server.server, tool, server.prefix});
      ids.push_back(std::move(id));
    }
  }
  auto names = expose_names(ids);
  for (std::size_t i = 0; i < entries_.size(); ++i) entries_[i].name = std::move(names[i]);
  std::ranges::sort(entries_, {}, &CatalogEntry::name);
  std::ranges::sort(repeated_);
  ids_.reserve(entries_.size());
  names_.reserve(entries_.size());
  for (const auto& entry : entries_) {
    ids_.push_back({entry.server, entry.tool->name, entry.prefix});
    names_.push_back(entry.name);
  }
}

std::shared_ptr<const Catalog> Catalog::build(std::span<const ServerTools> servers) {
  return std::make_shared<const Catalog>(servers);
}

Catalog Catalog::without(const std::vector<std::string>& names) const {
  Catalog out;
  out.repeated_ = repeated_;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    if (std::ranges::find(names, entries_[i].name) != names.end()) continue;
    out.entries_.push_back(entries_[i]);
    out.ids_.push_back(ids_[i]);
    out.names_.push_back(names_[i]);
  }
  return out;
}

const CatalogEntry* Catalog::at(std::string_view name) const noexcept {
  auto it = std::ranges::lower_bound(entries_, name, {}, &CatalogEntry::name);
  return it != entries_.end() && it->name == name ? &*it : nullptr;
}

Catalog::Found Catalog::find(std::string_view text) const {
  if (const auto* entry = at(text)) return entry;
  auto found = find_named(text, ids_, names_);
  if (found.size() == 1) return &entries_[found.front()];
  if (!found.empty()) {
    Ambiguous ambiguous;
    for (auto i : found) ambiguous.candidates.push_back(path_of(ids_[i]));
    std::ranges::sort(ambiguous.candidates);
    return ambiguous;
  }
  std::vector<std::string> spellings;
  for (const auto& id : ids_) spellings.push_back(id.tool);
  for (const auto& id : ids_) spellings.push_back(path_of(id));
  spellings.insert(spellings.end(), names_.begin(), names_.end());
  return Unknown{std::string(nearest(text, spellings))};
}

Result<const CatalogEntry*> Catalog::require(std::string_view text) const {
  auto found = find(text);
  if (auto* entry = std::get_if<const CatalogEntry*>(&found)) return *entry;
  if (auto* ambiguous = std::get_if<Ambiguous>(&found)) {
    return fail(Errc::invalid_argument, fmt::format("several servers have a tool called \"{}\": use one of {}", text,
                                                    join(ambiguous->candidates, ", ")));
  }
  auto& suggestion = std::get<Unknown>(found).suggestion;
  if (suggestion.empty()) {
    const auto whose = std::ranges::find_if(ids_, [&](const ToolId& id) { return addresses_server(text, id.server); });
    return std::unexpected(
        Error(Errc::invalid_argument, fmt::format("there is no tool called \"{}\"", text))
            .with_remedy({Remedy::Kind::list_tools, whose == ids_.end() ? std::string() : whose->server}));
  }
  return fail(Errc::invalid_argument,
              fmt::format("there is no tool called \"{}\"; did you mean \"{}\"?", text, suggestion));
}

}  // namespace patchbay
