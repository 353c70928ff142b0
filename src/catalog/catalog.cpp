#include <algorithm>
#include <map>
#include <optional>

#include <fmt/format.h>

#include <patchbay/catalog.h>

#include "base/strings.h"
#include "catalog/fragment.h"
#include "catalog/naming.h"

namespace patchbay {
namespace {

std::string path_of(const CatalogEntry& entry) { return fmt::format("{}/{}", entry.server, entry.tool->name); }

// What several spans say about one server is one list.
Catalog::Fragments fragments_of(std::span<const ServerTools> servers) {
  std::map<std::pair<std::string_view, NamePrefix>, ServerTools> by_server;
  for (const auto& server : servers) {
    auto& all = by_server[{server.server, server.prefix}];
    all.server = server.server;
    all.prefix = server.prefix;
    all.tools.insert(all.tools.end(), server.tools.begin(), server.tools.end());
  }
  Catalog::Fragments out;
  out.reserve(by_server.size());
  for (const auto& [key, server] : by_server) out.push_back(name_alone(server));
  return settle_names(std::move(out));
}

}  // namespace

Catalog::Catalog(std::span<const ServerTools> servers) : Catalog(fragments_of(servers)) {}

Catalog::Catalog(Fragments fragments) : fragments_(std::move(fragments)) {
  tools_.entries_ = merge_entries(fragments_);
  for (const auto& fragment : fragments_) {
    repeated_.insert(repeated_.end(), fragment->repeated.begin(), fragment->repeated.end());
  }
  std::ranges::sort(repeated_);
}

std::shared_ptr<const Catalog> Catalog::build(std::span<const ServerTools> servers) {
  return std::make_shared<const Catalog>(servers);
}

const CatalogEntry* Catalog::at(std::string_view name) const noexcept {
  auto it = std::ranges::lower_bound(tools_, name, {}, &CatalogEntry::name);
  return it != tools_.end() && it->name == name ? &*it : nullptr;
}

Catalog::Found Catalog::find(std::string_view text) const {
  if (const auto* entry = at(text)) return entry;
  std::vector<const CatalogEntry*> found;
  std::optional<Spelling> best;
  for (const auto& entry : tools_) {
    const auto spelling = spelling_of(text, {entry.server, entry.tool->name, entry.prefix}, entry.name);
    if (!spelling || (best && *spelling > *best)) continue;
    if (!best || *spelling < *best) found.clear();
    best = spelling;
    found.push_back(&entry);
  }
  if (found.size() == 1) return found.front();
  if (!found.empty()) {
    Ambiguous ambiguous;
    for (const auto* entry : found) ambiguous.candidates.push_back(path_of(*entry));
    std::ranges::sort(ambiguous.candidates);
    return ambiguous;
  }
  std::vector<std::string> spellings;
  for (const auto& entry : tools_) spellings.push_back(entry.tool->name);
  for (const auto& entry : tools_) spellings.push_back(path_of(entry));
  for (const auto& entry : tools_) spellings.push_back(entry.name);
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
  // What a model reads of it (failure_text) has other words.
  const auto unknown = [&](std::string_view hint) {
    return Error(Errc::invalid_argument, fmt::format("there is no tool called \"{}\"{}", text, hint))
        .with_original(Error(Errc::invalid_argument, fmt::format("unknown tool '{}'{}", text, hint)));
  };
  if (suggestion.empty()) {
    const auto whose =
        std::ranges::find_if(tools_, [&](const CatalogEntry& entry) { return addresses_server(text, entry.server); });
    return std::unexpected(
        unknown("").with_remedy({Remedy::Kind::list_tools, whose == tools_.end() ? std::string() : whose->server}));
  }
  return std::unexpected(unknown(fmt::format("; did you mean \"{}\"?", suggestion)));
}

}  // namespace patchbay
