// The kind of a JSON value as a sentence names it, for messages to people and models. Pure.
#pragma once

#include <string_view>

#include <patchbay/json.h>

namespace patchbay {

// "null", "a boolean", "a number", "a string", "an array", "an object".
inline std::string_view kind_with_article(const Json& value) noexcept {
  // JSON itself has no integers.
  return value.is_number() ? "a number" : to_string(value.kind());
}

}  // namespace patchbay
