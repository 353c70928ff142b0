// How the configuration looks at the file system: reading a text safely, and finding the directories and
// files one is subject to. Blocking; the texts are small and capped. What they mean is decided elsewhere;
// own_store.h alone writes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <patchbay/config.h>

namespace patchbay {

inline constexpr std::size_t config_file_limit = 10u << 20;

// Follows symbolic links and then insists on a regular file, without ever waiting for one: a pipe planted
// under the name cannot hang the reader. The error is a reason, to be put behind "cannot be read: ".
std::expected<std::string, std::string> read_config_text(const std::string& path);
// The same as an Errc::config that says which file.
Result<std::string> read_config_file(const std::string& path);

// Also a symbolic link that leads nowhere is there: somebody meant it to be. So is what may not be looked at:
// reading it says why, and nothing is taken for absent that may forbid something.
bool config_file_exists(const std::string& path);
// Whether somebody who looks sees it. What may not be looked at is not seen.
bool config_file_seen(const std::string& path);

// A file that only its owner, an administrator, can have written.
struct OwnedText {
  enum class State : std::uint8_t { absent, text, unreadable, foreign, writable };
  State state = State::absent;
  std::string text;  // or why there is none
};
// `refused` are mode bits that must not be set; those for writing are the usual ones.
OwnedText read_owned_text(const std::string& path, unsigned owner, unsigned refused = 0022);

// `cwd` and the directories above it up to the one that holds .git; outside a repository `cwd` alone.
std::vector<std::string> project_directories(const std::string& cwd);

// The directory a repository was cloned into, when `root` is another work tree of it: its real path. What `root` says
// of itself does not count: the repository must know of the work tree, by the real path it has here.
std::optional<std::string> main_checkout(const std::string& root);

// managed-settings.json, then managed-settings.d/*.json by name. `fault` says why that directory cannot be
// listed, when it is there.
std::vector<std::string> managed_settings_files(const std::string& enterprise_dir, std::string* fault = nullptr);

// A path below `directory` as a person in it would type it; any other as it is.
std::string path_seen_from(const std::string& directory, const std::string& path);

// Whether a --mcp-config argument is JSON itself instead of a path.
bool is_inline_config(std::string_view argument) noexcept;

}  // namespace patchbay
