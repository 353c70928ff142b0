#include "auth/store/key_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "base/fd.h"
#include "base/kept_file.h"
#include "base/secret.h"
#include "base/whole_file.h"

namespace patchbay {
namespace {

constexpr std::size_t most = 64u << 10;
constexpr std::size_t least = 16;
constexpr std::string_view made_by_us = "patchbay-key-1-";
constexpr std::size_t made_size = made_by_us.size() + 43;  // 32 bytes in base64url
constexpr ScryptCost nothing_to_guess{4, 8, 1};

std::unexpected<Error> unusable(const std::string& path, std::string_view why) {
  return fail(Errc::config, fmt::format("the key file {} is not used: {}", path, why));
}

// A file of root in a container is the administrator's, who says which group may read it.
std::string_view fault_of(const struct stat& status) {
  if (!S_ISREG(status.st_mode)) return "it is not a file";
  if (status.st_uid == ::geteuid()) {
    return (status.st_mode & (S_IRWXG | S_IRWXO)) == 0 ? "" : "others can read or write it; make it yours alone (0600)";
  }
  if (status.st_uid != 0) return "it belongs to another user";
  return (status.st_mode & (S_IWGRP | S_IRWXO)) == 0 ? "" : "everybody can read it, or others can write it";
}

}  // namespace

Result<std::optional<KeyMemory>> read_key_file(const std::string& path) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!file && errno == ENOENT) return std::nullopt;
  struct stat status{};
  if (!file || ::fstat(file.get(), &status) != 0) return unusable(path, std::generic_category().message(errno));
  if (const auto fault = fault_of(status); !fault.empty()) return unusable(path, fault);
  KeyMemory room(most);
  std::size_t size = 0;
  while (size < most) {
    const auto count = ::read(file.get(), room.bytes().data() + size, most - size);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return unusable(path, std::generic_category().message(errno));
    if (count == 0) break;
    size += static_cast<std::size_t>(count);
  }
  if (size == most) return unusable(path, fmt::format("it is larger than {} KiB", most >> 10));
  auto text = room.text().substr(0, size);
  while (text.ends_with('\n') || text.ends_with('\r')) text.remove_suffix(1);
  if (text.size() < least) return unusable(path, fmt::format("a key has at least {} bytes", least));
  return KeyMemory(text);
}

Result<KeyMemory> make_key_file(const std::string& path, const Random& random) {
  KeyMemory key(aes_key_size);
  random(key.bytes());
  const Secret encoded(base64url_encode(key.text()));
  const Secret line(fmt::format("{}{}\n", made_by_us, encoded.reveal()));
  make_private_folders(std::filesystem::path(path).parent_path());
  if (::access(path.c_str(), F_OK) == 0) return fail(Errc::config, fmt::format("{} is there already", path));
  if (auto made = replace_file(path, line.reveal(), Survives::loss_of_power); !made) {
    return std::unexpected(std::move(made).error());
  }
  return KeyMemory(line.reveal().substr(0, made_size));
}

ScryptCost cost_for_key_file(std::string_view content, ScryptCost for_people) {
  return content.starts_with(made_by_us) && content.size() == made_size ? nothing_to_guess : for_people;
}

}  // namespace patchbay
