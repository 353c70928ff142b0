// The `format`s of JSON Schema as checks of a text. Pure. Internationalised names are
// checked for their shape only: no IDNA tables.
#pragma once

#include <string_view>

namespace patchbay::schema {

using FormatCheck = bool (*)(std::string_view text);

// Null for names we do not know, which accept anything.
FormatCheck find_format(std::string_view name) noexcept;

}  // namespace patchbay::schema
