// Files that people name and libraries open for us: certificates, keys. A library opens them by itself, in
// the middle of the loop, and waits for ever where the name leads to a pipe or a device. So they are looked at
// before. Blocks no longer than a file system does; any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace patchbay {

inline constexpr std::size_t certificate_file_limit = 16u << 20;

// Why this cannot be read like a file, in words that follow its name and a colon; nothing when it can, and also when it
// is missing or not ours to read: whoever opens it says so better.
std::optional<std::string> why_no_file(const std::string& path, std::size_t limit);

}  // namespace patchbay
