#include "base/kept_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include <fmt/format.h>

#include "base/fd.h"
#include "base/file_lock.h"
#include "base/whole_file.h"

namespace patchbay {
namespace {

using namespace std::chrono_literals;

constexpr auto longest_wait = 200ms;

std::unexpected<Error> failed(std::string_view what, const std::string& path, int error) {
  return fail(Errc::internal, fmt::format("{} {}: {}", what, path, std::generic_category().message(error)));
}

}  // namespace

int make_private_folders(const std::string& folder) {
  int first = 0;
  std::filesystem::path so_far;
  for (const auto& part : std::filesystem::path(folder)) {
    so_far /= part;
    if (::mkdir(so_far.c_str(), 0700) != 0 && errno != EEXIST && first == 0) first = errno;
  }
  // One above may be out of reach, and the folder itself is there.
  struct stat there{};
  return first != 0 && ::stat(folder.c_str(), &there) == 0 ? 0 : first;
}

std::string read_kept_file(const std::string& path, std::size_t limit) {
  auto text = read_whole_file(path, limit);
  return text ? std::move(*text).value_or("") : std::string();
}

Result<void> change_kept_file(const std::string& path, std::size_t limit,
                              const std::function<std::optional<std::string>(std::string_view before)>& change) {
  const auto folder = std::filesystem::path(path).parent_path().string();
  if (const int error = make_private_folders(folder); error != 0) return failed("cannot make", folder, error);
  const auto lock_path = path + ".lock";
  Fd lock(::open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600));
  if (!lock) return failed("cannot open", lock_path, errno);
  switch (wait_for_lock(lock.get(), longest_wait)) {
    case LockOutcome::taken:
      break;
    case LockOutcome::busy:
      return fail(Errc::internal, fmt::format("cannot lock {}: another process holds the lock", lock_path));
    case LockOutcome::unavailable:
      return failed("cannot lock", lock_path, errno);
  }
  const auto text = change(read_kept_file(path, limit));
  return text ? replace_file(path, *text, Survives::end_of_process) : Result<void>();
}

}  // namespace patchbay
