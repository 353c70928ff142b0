#include "catalog/tool_filter.h"

#include <algorithm>

#include "text/wildcard.h"

namespace patchbay {

bool lets_through(const ServerConfig& config, std::string_view tool) {
  auto named_in = [&](const std::vector<std::string>& patterns) {
    return std::ranges::any_of(patterns, [&](const auto& pattern) { return matches_glob(pattern, tool); });
  };
  if (config.enabled_tools && !named_in(*config.enabled_tools)) return false;
  return !named_in(config.disabled_tools);
}

}  // namespace patchbay
