#include "settings/git_index.h"

#include <filesystem>

#include "base/strings.h"
#include "settings/files.h"

namespace patchbay {

bool may_be_in_index(std::string_view index, std::string_view path) {
  constexpr std::string_view signature = "DIRC";
  if (index.size() < 12 || !index.starts_with(signature)) return true;
  const auto version = index.substr(4, 4);
  // From version 4 on a path is written without what it shares with the one before it.
  if (version != std::string_view("\0\0\0\2", 4) && version != std::string_view("\0\0\0\3", 4)) return true;
  // Entries that are in another file, or whole directories as one entry.
  if (index.contains("link") || index.contains("sdir")) return true;
  return index.contains(path);
}

bool git_may_track(const std::string& root, std::string_view path) {
  constexpr std::string_view prefix = "gitdir:";
  namespace fs = std::filesystem;
  fs::path git = fs::path(root) / ".git";
  std::error_code error;
  if (fs::is_regular_file(git, error)) {
    const auto link = read_config_text(git.string());
    if (!link || !link->starts_with(prefix)) return true;
    git = fs::path(root) / trim(std::string_view(*link).substr(prefix.size()));
  }
  if (!fs::is_directory(git, error)) return true;
  // A repository without an index tracks nothing yet.
  if (!config_file_exists((git / "index").string())) return false;
  const auto index = read_config_text((git / "index").string());
  return !index || may_be_in_index(*index, path);
}

}  // namespace patchbay
