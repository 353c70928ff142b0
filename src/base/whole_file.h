// A small file, read and written whole. It is written beside its name first and then renamed, so that whoever reads
// sees the old text or the new one, and the old one stays when anything fails. Only its owner can read it. Whoever
// writes holds the lock of the file: there is one name for what is not finished. Blocking; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <patchbay/error.h>

namespace patchbay {

// Nothing when there is no such file. Errc::config: it cannot be read, is not a file, or is larger than `limit`. Never
// waits, whatever has that name.
Result<std::optional<std::string>> read_whole_file(const std::string& path, std::size_t limit);

// What the new text is safe from when this returns.
enum class Survives : std::uint8_t {
  end_of_process,
  loss_of_power,  // the disk has it: fsync() of file and folder
};

// Errc::config with the reason. The folder of `path` is there already.
Result<void> replace_file(const std::string& path, std::string_view text, Survives survives);

}  // namespace patchbay
