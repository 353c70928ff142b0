// Compressing with libzstd, which is loaded when something is first compressed or read: a program that keeps no results
// does without it, and starts as fast as before. Blocking; any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include <patchbay/error.h>

namespace patchbay {

// Nothing when the library is not installed, or when it would not become smaller.
std::optional<std::string> zstd_packed(std::string_view bytes);

// Errc::unsupported without the library; Errc::internal when it is damaged or does not have `size` bytes.
Result<std::string> zstd_unpacked(std::string_view packed, std::size_t size);

}  // namespace patchbay
