#include "catalog/search/tool_hints.h"

#include <algorithm>

#include <patchbay/model_view.h>

namespace patchbay {

std::optional<std::string_view> title_of(const Tool& tool) noexcept {
  if (tool.title) return *tool.title;
  if (tool.annotations && tool.annotations->title) return *tool.annotations->title;
  return std::nullopt;
}

std::optional<std::string_view> search_hint(const Tool& tool) noexcept {
  return tool.meta["anthropic/searchHint"].text();
}

std::optional<bool> always_load(const Tool& tool) noexcept { return tool.meta["anthropic/alwaysLoad"].to_bool(); }

std::size_t bytes_for_model(const CatalogEntry& entry) {
  const auto& tool = *entry.tool;
  const auto description = tool.description ? std::min(tool.description->size(), longest_model_text) : 0;
  return entry.name.size() + description + to_text(tool.input_schema).size();
}

}  // namespace patchbay
