#include "host/tool_filter.h"

#include <algorithm>

namespace patchbay {

// Greedy with one point to return to, so the time is at most the product of the lengths.
bool matches_glob(std::string_view pattern, std::string_view text) noexcept {
  std::size_t p = 0, t = 0;
  std::size_t star = std::string_view::npos, resume = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

bool lets_through(const ServerConfig& config, std::string_view tool) {
  auto named_in = [&](const std::vector<std::string>& patterns) {
    return std::ranges::any_of(patterns, [&](const auto& pattern) { return matches_glob(pattern, tool); });
  };
  if (config.enabled_tools && !named_in(*config.enabled_tools)) return false;
  return !named_in(config.disabled_tools);
}

}  // namespace patchbay
