// Which of a server's tools an entry lets through. Pure.
#pragma once

#include <string_view>

#include <patchbay/config.h>

namespace patchbay {

// `*` stands for any characters, `?` for one; everything else for itself.
bool matches_glob(std::string_view pattern, std::string_view text) noexcept;

// Allowed by enabledTools (when given) and not taken away by disabledTools.
bool lets_through(const ServerConfig& config, std::string_view tool);

}  // namespace patchbay
