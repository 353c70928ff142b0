// What content blocks weigh and how they read as text. text_of() itself is public, in
// types.h. Used where results are shown or stored; pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <patchbay/types.h>

namespace patchbay {

// Bytes that base64 text stands for, without decoding it.
std::size_t base64_decoded_size(std::string_view base64) noexcept;

// Bytes a reader would get: text as it is, data decoded, JSON as compact text.
std::size_t approximate_size(const Content& content);
std::size_t approximate_size(const CallToolResult& result);

// "817 bytes", "12 KB", "3.4 MB".
std::string size_text(std::size_t bytes);

}  // namespace patchbay
