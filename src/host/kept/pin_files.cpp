#include "host/kept/pin_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "base/crypto.h"
#include "base/fd.h"
#include "base/file_lock.h"
#include "base/kept_file.h"
#include "base/whole_file.h"
#include "entries/expand.h"
#include "host/kept/state_files.h"

namespace patchbay {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view extension = ".json";
constexpr std::size_t key_length = 64;
constexpr std::chrono::milliseconds longest_wait{1000};

std::string folder_of(const std::string& state_directory) { return state_directory + "/pins"; }
std::string path_of(const std::string& state_directory, const std::string& key) {
  return folder_of(state_directory) + "/" + key + std::string(extension);
}

bool is_ours(std::string_view name) {
  return name.size() >= key_length + extension.size() && is_hexadecimal(name.substr(0, key_length)) &&
         name.substr(key_length).starts_with(extension);
}

std::unexpected<Error> failed(std::string_view what, const std::string& path) {
  return fail(Errc::internal, fmt::format("{} {}: {}", what, path, std::generic_category().message(errno)));
}

}  // namespace

std::string pin_key(const ServerConfig& written, const KeyContext& context) {
  const auto expanded = expand_server(written, context.variables);
  Json parts = Json::array();
  if (expanded.kind == ServerKind::stdio) {
    const auto directory = fs::path(context.cwd) / expanded.cwd.value_or("");
    parts.push_back(directory.lexically_normal().string());
    parts.push_back(expanded.command);
    for (const auto& argument : expanded.args) parts.push_back(argument);
  } else {
    parts.push_back(expanded.url);
  }
  return sha256_hex(to_text(parts));
}

ReadPins load_pins(const std::string& state_directory, const std::string& key) {
  const auto path = path_of(state_directory, key);
  Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!file) return {errno == ENOENT || errno == ENOTDIR ? PinUse::missing : PinUse::unreadable, std::nullopt};
  struct stat status{};
  if (::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return {PinUse::unreadable, std::nullopt};
  return read_pinned_server(read_kept_file(path, largest_pinned_server));
}

Result<void> change_pins(const std::string& state_directory, const std::string& key, const ChangePins& change) {
  const auto folder = folder_of(state_directory);
  const auto path = path_of(state_directory, key);
  make_private_folders(folder);
  const auto lock_path = folder + "/lock";
  const Fd lock(::open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600));
  if (!lock) return failed("cannot open", lock_path);
  switch (wait_for_lock(lock.get(), longest_wait)) {
    case LockOutcome::taken:
      break;
    case LockOutcome::busy:
      return fail(Errc::internal, fmt::format("cannot lock {}: another process holds the lock", lock_path));
    case LockOutcome::unavailable:
      return failed("cannot lock", lock_path);
  }
  auto before = load_pins(state_directory, key);
  if (before.use == PinUse::newer) {
    return fail(Errc::config, fmt::format("{} was written by a newer version of this program", path));
  }
  if (before.use == PinUse::unreadable) {
    return fail(Errc::config, fmt::format("{} cannot be read, so nobody knows what was agreed to; without that file, "
                                          "tools are remembered anew",
                                          path));
  }
  const bool fresh = before.use == PinUse::missing;
  const auto now = change(std::move(before.server));
  if (!now) return {};
  const auto text = write_pinned_server(*now);
  if (text.empty()) return fail(Errc::internal, fmt::format("what {} would hold is too large", path));
  if (auto written = write_whole(path, text); !written) return written;
  if (fresh) remove_oldest(folder, most_pinned_servers, is_ours);
  return {};
}

std::string lock_file_of(const ServerConfig& server) {
  if (server.origin.scope != ConfigScope::project || server.origin.file.empty()) return {};
  return (fs::path(server.origin.file).parent_path() / lock_file_name).string();
}

Result<std::optional<LockFile>> load_lock_file(const std::string& path) {
  auto text = read_whole_file(path, largest_lock_file);
  if (!text) return std::unexpected(text.error());
  if (!*text) return std::optional<LockFile>();
  auto lock = read_lock_file(**text);
  if (!lock) return std::unexpected(lock.error().within(path));
  return std::optional(std::move(*lock));
}

}  // namespace patchbay
