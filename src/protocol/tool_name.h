// What a tool may be called: the rule of the specification. Pure.
#pragma once

#include <string_view>

#include <patchbay/error.h>

namespace patchbay {

// 1 to 128 letters, digits, '_', '-' and '.', all of ASCII. Errc::invalid_argument says what is wrong.
Result<void> check_tool_name(std::string_view name);

}  // namespace patchbay
