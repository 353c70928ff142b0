// The pieces of writing JSON that callers splice into texts of their own. Pure.
#pragma once

#include <string>
#include <string_view>

namespace patchbay {

// `text` in quotes, escaping only what JSON demands. What is not UTF-8 becomes U+FFFD.
void append_json_string(std::string& out, std::string_view text);

}  // namespace patchbay
