#include "json/kind_text.h"

namespace patchbay {

std::string_view kind_with_article(const Json& value) noexcept {
  // JSON itself has no integers.
  return value.is_number() ? "a number" : to_string(value.kind());
}

}  // namespace patchbay
