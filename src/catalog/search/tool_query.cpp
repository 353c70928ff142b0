#include "catalog/search/tool_query.h"

#include <algorithm>

#include <patchbay/model_view.h>

#include "base/strings.h"

namespace patchbay {
namespace {

constexpr std::string_view selection = "select:";
constexpr std::size_t most_names = 50;

}  // namespace

ToolMatches match_tools(const Catalog& catalog, const ToolIndex& index, std::string_view query, std::size_t most,
                        const std::function<bool(const std::string& server)>& sees_server) {
  ToolMatches out;
  query = trim(query);
  most = std::clamp<std::size_t>(most, 1, ToolIndexBounds::results);
  const auto is_there = [&](const CatalogEntry* entry) {
    return is_for_model(*entry->tool) && (!sees_server || sees_server(entry->server));
  };
  const auto add = [&](const CatalogEntry* entry) {
    if (is_there(entry) && std::ranges::find(out.tools, entry) == out.tools.end()) out.tools.push_back(entry);
  };
  if (!query.starts_with(selection)) {
    // A name that is written out is meant, whatever else has its words.
    if (const auto* named = catalog.at(query)) add(named);
    for (const auto& found : index.find(query, ToolIndexBounds::results)) {
      if (out.tools.size() >= most) break;
      add(found.entry);
    }
    return out;
  }
  auto names = split(query.substr(selection.size()), ',');
  if (names.size() > most_names) names.resize(most_names);
  for (const auto part : names) {
    const auto name = trim(part);
    if (name.empty()) continue;
    const auto found = catalog.find(name);
    const auto* entry = std::get_if<const CatalogEntry*>(&found);
    if (entry && is_there(*entry)) {
      add(*entry);
    } else {
      out.unknown.emplace_back(cut_utf8(name, 200));
    }
  }
  return out;
}

}  // namespace patchbay
