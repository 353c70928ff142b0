#include "host/kept/server_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include <fmt/format.h>

#include "base/fd.h"
#include "base/kept_file.h"
#include "host/kept/state_files.h"

namespace patchbay {
namespace {

constexpr std::string_view extension = ".json";
constexpr std::size_t key_length = 64;

std::string folder_of(const std::string& state_directory) { return state_directory + "/servers"; }

// A kept file, or one that was not finished.
bool is_ours(std::string_view name) {
  return name.size() >= key_length + extension.size() && is_hexadecimal(name.substr(0, key_length)) &&
         name.substr(key_length).starts_with(extension);
}

}  // namespace

ReadKept load_kept_server(const std::string& state_directory, const ServerKey& key) {
  const auto path = folder_of(state_directory) + "/" + key.hash + std::string(extension);
  Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!file) return {errno == ENOENT || errno == ENOTDIR ? KeptUse::missing : KeptUse::unreadable, std::nullopt};
  struct stat status{};
  if (::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return {KeptUse::unreadable, std::nullopt};
  return read_kept_server(read_kept_file(path, largest_kept_server));
}

Result<void> keep_server(const std::string& state_directory, const ServerKey& key, KeptServer now) {
  const auto folder = folder_of(state_directory);
  const auto path = folder + "/" + key.hash + std::string(extension);
  auto before = load_kept_server(state_directory, key);
  if (before.use == KeptUse::newer) {
    return fail(Errc::internal, fmt::format("{} was written by a newer version of this program", path));
  }
  if (before.use == KeptUse::unreadable && ::access(path.c_str(), R_OK) != 0) {
    return fail(Errc::internal, fmt::format("cannot read {}: {}", path, std::generic_category().message(errno)));
  }
  const auto text = write_kept_server(merged_kept(std::move(before.server), std::move(now)));
  if (text.empty()) return fail(Errc::internal, fmt::format("what {} would hold is too large", path));
  if (auto written = write_whole(path, text); !written) return written;
  if (before.use == KeptUse::missing) remove_oldest(folder, most_kept_servers, is_ours);
  return {};
}

}  // namespace patchbay
