#include "base/kept_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <thread>

#include <fmt/format.h>

#include "base/fd.h"

namespace patchbay {
namespace {

using namespace std::chrono_literals;

constexpr auto lock_pause = 5ms;
constexpr int lock_tries = 40;

std::unexpected<Error> failed(std::string_view what, const std::string& path, int error) {
  return fail(Errc::internal, fmt::format("{} {}: {}", what, path, std::generic_category().message(error)));
}

Result<void> replace(const std::string& path, std::string_view text) {
  // One name is enough: only the holder of the lock writes it.
  const auto fresh = path + ".new";
  Fd file(::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600));
  if (!file) return failed("cannot write", fresh, errno);
  (void)::fchmod(file.get(), 0600);
  auto give_up = [&](std::string_view what, const std::string& where) {
    const int error = errno;
    (void)::unlink(fresh.c_str());
    return failed(what, where, error);
  };
  while (!text.empty()) {
    const auto count = ::write(file.get(), text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return give_up("cannot write", fresh);
    text.remove_prefix(static_cast<std::size_t>(count));
  }
  if (::rename(fresh.c_str(), path.c_str()) != 0) return give_up("cannot replace", path);
  return {};
}

}  // namespace

void make_private_folders(const std::string& folder) {
  std::filesystem::path so_far;
  for (const auto& part : std::filesystem::path(folder)) {
    so_far /= part;
    (void)::mkdir(so_far.c_str(), 0700);
  }
}

std::string read_kept_file(const std::string& path, std::size_t limit) {
  Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat status{};
  if (!file || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return {};
  if (status.st_size <= 0 || static_cast<std::size_t>(status.st_size) > limit) return {};
  std::string text(static_cast<std::size_t>(status.st_size), '\0');
  std::size_t used = 0;
  while (used < text.size()) {
    const auto count = ::read(file.get(), text.data() + used, text.size() - used);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return {};
    used += static_cast<std::size_t>(count);
  }
  return text;
}

Result<void> change_kept_file(const std::string& path, std::size_t limit,
                              const std::function<std::optional<std::string>(std::string_view before)>& change) {
  make_private_folders(std::filesystem::path(path).parent_path());
  const auto lock_path = path + ".lock";
  Fd lock(::open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600));
  if (!lock) return failed("cannot open", lock_path, errno);
  for (int tried = 1; ::flock(lock.get(), LOCK_EX | LOCK_NB) != 0; ++tried) {
    if (errno != EWOULDBLOCK && errno != EINTR) return failed("cannot lock", lock_path, errno);
    if (tried >= lock_tries)
      return fail(Errc::internal, fmt::format("cannot lock {}: another process holds the lock", lock_path));
    std::this_thread::sleep_for(lock_pause);
  }
  const auto text = change(read_kept_file(path, limit));
  return text ? replace(path, *text) : Result<void>();
}

}  // namespace patchbay
