// JSON as people write it: with // and /* */ comments, a comma behind the last element, and the
// byte order mark some editors put in front. All of that becomes blanks, so that every offset in
// the result is an offset in the text. Pure; everything that reads a configuration file uses it.
// It does not check the JSON itself.
#pragma once

#include <expected>
#include <string>
#include <string_view>

#include <patchbay/json.h>

namespace patchbay {

// Line breaks stay, also inside comments. A comment that does not end is a fault at its beginning.
std::expected<std::string, JsonFault> without_comments(std::string_view text);

}  // namespace patchbay
