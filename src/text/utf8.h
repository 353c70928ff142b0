// One character of a text that may be anything, and back. Pure; any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace patchbay {

struct DecodedCharacter {
  char32_t value = 0;
  std::size_t length = 0;  // bytes; of a bad sequence, its longest part that could have begun a good one
  bool valid = true;       // else `value` is U+FFFD, which a text may also hold by itself
};

// `at` is inside the text.
DecodedCharacter decode_utf8(std::string_view text, std::size_t at) noexcept;
void append_utf8(std::string& out, char32_t c);

}  // namespace patchbay
