// Which of a server's tools an entry lets through. Pure.
#pragma once

#include <string_view>

#include <patchbay/config.h>

namespace patchbay {

// Allowed by enabledTools (when given) and not taken away by disabledTools.
bool lets_through(const ServerConfig& config, std::string_view tool);

}  // namespace patchbay
