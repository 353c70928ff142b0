// One question to tool search and its answer, as values: a query of words, or "select:a,b" for tools whose names are
// known. Pure. Called by the tool for models (host/model) and by `patchbay search`.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "catalog/search/tool_index.h"

namespace patchbay {

inline constexpr std::size_t usual_results = 5;

struct ToolMatches {
  std::vector<const CatalogEntry*> tools;  // of the catalog, the best first
  std::vector<std::string> unknown;        // names after "select:" that are not there, or mean several tools
};

// `most` is at least 1 and at most ToolIndexBounds::results; the names of a selection are not counted by it. Tools
// that are not for models are left out, and those of servers that whoever asks does not see.
ToolMatches match_tools(const Catalog& catalog, const ToolIndex& index, std::string_view query, std::size_t most,
                        const std::function<bool(const std::string& server)>& sees_server = {});

}  // namespace patchbay
