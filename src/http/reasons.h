// The words that belong to a status of HTTP (RFC 9110, section 15). Pure; the server writes them, the client shows
// them.
#pragma once

#include <string_view>

namespace patchbay {

// Empty for a status that nobody here sends or explains.
std::string_view reason_phrase(int status) noexcept;

}  // namespace patchbay
