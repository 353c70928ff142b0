#include "base/whole_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "base/fd.h"

namespace patchbay {

Result<std::optional<std::string>> read_whole_file(const std::string& path, std::size_t limit) {
  auto failed = [&](std::string_view why) { return fail(Errc::config, fmt::format("cannot read {}: {}", path, why)); };
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!file && errno == ENOENT) return std::nullopt;
  struct stat status{};
  if (!file || ::fstat(file.get(), &status) != 0) return failed(std::generic_category().message(errno));
  if (!S_ISREG(status.st_mode)) return failed("it is not a file");
  if (static_cast<std::size_t>(status.st_size) > limit) return failed(fmt::format("it has more than {} bytes", limit));
  std::string text(static_cast<std::size_t>(status.st_size), '\0');
  std::size_t used = 0;
  while (used < text.size()) {
    const auto count = ::read(file.get(), text.data() + used, text.size() - used);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return failed(std::generic_category().message(errno));
    if (count == 0) return failed("it became shorter while it was read");
    used += static_cast<std::size_t>(count);
  }
  return text;
}

Result<void> replace_file(const std::string& path, std::string_view text, Survives survives) {
  const auto fresh = path + ".new";
  auto failed = [](std::string_view what, const std::string& where, int error) {
    return fail(Errc::config, fmt::format("cannot {} {}: {}", what, where, std::generic_category().message(error)));
  };
  Fd file(::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600));
  if (!file) return failed("write", fresh, errno);
  (void)::fchmod(file.get(), 0600);
  auto give_up = [&](std::string_view what, const std::string& where) {
    const int error = errno;
    (void)::unlink(fresh.c_str());
    return failed(what, where, error);
  };
  while (!text.empty()) {
    const auto count = ::write(file.get(), text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return give_up("write", fresh);
    text.remove_prefix(static_cast<std::size_t>(count));
  }
  if (survives == Survives::loss_of_power && ::fsync(file.get()) != 0) return give_up("write", fresh);
  if (::rename(fresh.c_str(), path.c_str()) != 0) return give_up("replace", path);
  if (survives == Survives::loss_of_power) {
    const Fd folder(::open(std::filesystem::path(path).parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (folder) (void)::fsync(folder.get());
  }
  return {};
}

}  // namespace patchbay
