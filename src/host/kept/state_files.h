// Writing into a folder of the state directory, and keeping it from growing. Any number of processes may do it at once;
// none of them waits. Blocking, through offload(). host/kept/server_files and host/kept/server_log use it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <patchbay/error.h>

namespace patchbay {

// Replaces a file whole: written beside it first, then renamed. 0600; makes the folders, 0700.
Result<void> write_whole(const std::string& path, std::string_view text);

// Removes the oldest files that are ours by their name, until `most` are left, and what write_whole() could not finish
// an hour ago or longer.
void remove_oldest(const std::string& folder, std::size_t most, bool (*is_ours)(std::string_view name));

bool is_hexadecimal(std::string_view text) noexcept;  // 0-9 and a-f

}  // namespace patchbay
