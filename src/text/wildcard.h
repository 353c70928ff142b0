// Matching of names against patterns with wildcards, for rules, filters, addresses and paths. Pure.
#pragma once

#include <string_view>

namespace patchbay {

// `*` stands for any characters, everything else for itself.
bool matches_wildcard(std::string_view pattern, std::string_view text) noexcept;

// `*` stands for any characters, `?` for one (a byte), everything else for itself.
bool matches_glob(std::string_view pattern, std::string_view text) noexcept;

}  // namespace patchbay
