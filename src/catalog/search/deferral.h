// Which tools a model gets from the start, and which it has to search for first (ENABLE_TOOL_SEARCH). Schemas of
// hundreds of tools cost a model its context before anybody has said a word, and it chooses worse among them; so where
// they are more than a share of the context, all are deferred but those that ask to be loaded always and those that
// were found already. Pure: the same tools and settings give the same answer.
#pragma once

#include <cstddef>
#include <functional>
#include <set>
#include <string>
#include <string_view>

#include <patchbay/error.h>

#include "catalog/search/tool_index.h"

namespace patchbay {

struct ToolSearchMode {
  enum class When : std::uint8_t { never, automatic, always };
  When when = When::automatic;
  unsigned percent = 10;  // automatic: of the context, beyond which tools are deferred
  bool operator==(const ToolSearchMode&) const = default;
};
// "auto", "auto:N" (0 to 100), "true", "false". Errc::config with what it may be.
Result<ToolSearchMode> parse_tool_search_mode(std::string_view text);

struct DeferralOptions {
  ToolSearchMode mode;
  std::size_t context_tokens = 200'000;
  std::set<std::string, std::less<>> always_load;  // servers whose entries say so
};

struct Deferral {
  bool searching = false;  // tools are deferred
  std::size_t tokens = 0;  // of the tools that could be deferred; about four bytes are one
  std::size_t limit = 0;   // the share of the context; 0 unless automatic
  bool operator==(const Deferral&) const = default;
};

// Whether it is deferred where tools are deferred at all.
bool may_be_deferred(const CatalogEntry& entry, const std::set<std::string, std::less<>>& always_load) noexcept;

Deferral decide_deferral(const ToolIndex& index, const DeferralOptions& options);

}  // namespace patchbay
