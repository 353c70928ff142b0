// Characters that a reader is told to show nothing for (Unicode's Default_Ignorable_Code_Point: soft hyphen, zero-width
// characters, fillers, variation selectors, tags): with them, two different names look the same. Pure; asked of names
// that people choose by. What servers say is cleaned instead (text/clean_text.h).
#pragma once

#include <string>
#include <string_view>

namespace patchbay {

// Whether the text holds one.
bool holds_ignorable(std::string_view text) noexcept;

// JSON with each of them as a \u escape: the same value, and all of it can be seen.
std::string with_ignorable_escaped(std::string_view json);

}  // namespace patchbay
