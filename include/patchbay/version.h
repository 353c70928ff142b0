// The version of the library in use.
#pragma once

#include <string_view>

namespace patchbay {
std::string_view version() noexcept;  // "0.1.0"
}  // namespace patchbay
