#include "text/wildcard.h"

#include <cstddef>

namespace patchbay {
namespace {

// Greedy with one point to return to, so the time is at most the product of the lengths.
template <bool any_one>
bool matches(std::string_view pattern, std::string_view text) noexcept {
  std::size_t p = 0, t = 0;
  std::size_t star = std::string_view::npos, resume = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
    } else if (p < pattern.size() && ((any_one && pattern[p] == '?') || pattern[p] == text[t])) {
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

}  // namespace

bool matches_wildcard(std::string_view pattern, std::string_view text) noexcept {
  return matches<false>(pattern, text);
}

bool matches_glob(std::string_view pattern, std::string_view text) noexcept { return matches<true>(pattern, text); }

}  // namespace patchbay
