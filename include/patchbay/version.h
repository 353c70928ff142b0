// The version of the library in use.
#pragma once

#include <string_view>

#include <patchbay/compiler.h>

namespace patchbay {
std::string_view version() noexcept;  // "0.1.0"
}  // namespace patchbay
