#include "settings/git_index.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>

#include "base/strings.h"
#include "settings/files.h"

namespace patchbay {
namespace {

namespace fs = std::filesystem;

std::uint32_t number_at(std::string_view bytes, std::size_t at) {
  std::uint32_t out = 0;
  for (std::size_t i = 0; i < 4; ++i) out = out << 8 | static_cast<unsigned char>(bytes[at + i]);
  return out;
}

// Files, programs, links and other repositories.
bool is_mode(std::uint32_t mode) { return mode == 0100644 || mode == 0100755 || mode == 0120000 || mode == 0160000; }

bool leads_to(std::string_view entry, std::string_view path) {
  return path == entry || (path.starts_with(entry) && path[entry.size()] == '/');
}

}  // namespace

// gitformat-index: a header of 12 bytes; entries of 62 bytes, the path and at least one NUL up to a multiple of 8; then
// extensions, each a name of 4 bytes and a size; at the end a hash of 20 bytes.
bool may_be_in_index(std::string_view index, std::string_view path) {
  constexpr std::size_t header = 12, fixed = 62, mode_at = 24, flags_at = 60, hash = 20;
  constexpr std::uint16_t extended = 0x4000;
  if (index.size() < header + hash || !index.starts_with("DIRC")) return true;
  const auto version = number_at(index, 4);
  // From version 4 on a path is written without what it shares with the one before it.
  if (version != 2 && version != 3) return true;
  std::size_t at = header;
  for (auto count = number_at(index, 8); count > 0; --count) {
    if (at + fixed >= index.size() || !is_mode(number_at(index, at + mode_at))) return true;
    const auto flags = number_at(index, at + flags_at - 2) & 0xffff;
    const auto name_at = at + fixed + ((flags & extended) != 0 ? 2 : 0);
    const auto end = index.find('\0', name_at);
    if (end == std::string_view::npos || end == name_at) return true;
    if (leads_to(index.substr(name_at, end - name_at), path)) return true;
    at += (end - at) / 8 * 8 + 8;
  }
  while (at + hash < index.size()) {
    if (at + 8 > index.size()) return true;
    const auto name = index.substr(at, 4);
    // Entries that are in another file, or whole directories as one entry.
    if (name == "link" || name == "sdir") return true;
    at += 8 + number_at(index, at + 4);
  }
  return at + hash != index.size();
}

bool git_may_track(const std::string& root, const std::string& file) {
  constexpr std::string_view prefix = "gitdir:";
  std::error_code error;
  const auto path = fs::path(file).lexically_relative(root);
  if (path.empty() || *path.begin() == "..") return true;
  // A link may lead to a file of another name, and a directory may be a repository of its own.
  fs::path part = root;
  for (const auto& name : path) {
    part /= name;
    if (fs::is_symlink(part, error) || config_file_exists((part / ".git").string())) return true;
  }
  fs::path git = fs::path(root) / ".git";
  if (fs::is_regular_file(git, error)) {
    const auto link = read_config_text(git.string());
    if (!link || !link->starts_with(prefix)) return true;
    git = fs::path(root) / trim(std::string_view(*link).substr(prefix.size()));
  }
  const auto index = read_config_text((git / "index").string());
  return !index || may_be_in_index(*index, path.string());
}

}  // namespace patchbay
