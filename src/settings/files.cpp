#include "settings/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "base/fd.h"
#include "base/strings.h"
#include "text/shell_word.h"

namespace patchbay {
namespace {

namespace fs = std::filesystem;

// A reason, put behind "cannot be read: ".
using Read = std::expected<std::string, std::string>;

std::unexpected<std::string> unreadable(int error) {
  if (error == ENOENT) return std::unexpected(std::string("there is no such file"));
  if (error == ELOOP)
    return std::unexpected(
        std::string("its symbolic links form a circle; make the links point to a file, or remove them"));
  if (error == EACCES) {
    return std::unexpected(std::generic_category().message(error) + "; ask its owner for the right to read it");
  }
  return std::unexpected(std::generic_category().message(error));
}

std::string_view what_is(mode_t mode) noexcept {
  if (S_ISDIR(mode)) return "a directory";
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

std::unexpected<std::string> not_a_file(mode_t mode) {
  return std::unexpected(fmt::format("it is {}, not a file; replace it with a file", what_is(mode)));
}

Read read_text(const std::string& path, struct stat& status) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (file.get() < 0) {
    int error = errno;
    // A socket cannot be opened at all; say what it is and not "No such device".
    if (error == ENXIO && ::stat(path.c_str(), &status) == 0) {
      return not_a_file(status.st_mode);
    }
    return unreadable(error);
  }
  if (::fstat(file.get(), &status) != 0) return unreadable(errno);
  if (!S_ISREG(status.st_mode)) {
    return not_a_file(status.st_mode);
  }
  std::string text;
  for (;;) {
    auto used = text.size();
    if (used > config_file_limit) {
      return std::unexpected(
          fmt::format("it is larger than {} MiB; make it smaller, or move it away", config_file_limit >> 20));
    }
    auto expected = static_cast<std::size_t>(std::max<off_t>(status.st_size, 0));
    auto room = std::min(std::max<std::size_t>(expected + 1 > used ? expected + 1 - used : 0, 4096),
                         config_file_limit + 1 - used);
    text.resize(used + room);
    auto count = ::read(file.get(), text.data() + used, room);
    int error = errno;
    text.resize(used + static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
    if (count == 0) return text;
    if (count < 0 && error != EINTR) return unreadable(error);
  }
}

}  // namespace

VariableLookup process_environment() {
  return [](std::string_view name) -> std::optional<std::string> {
    const char* value = ::getenv(std::string(name).c_str());
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  };
}

std::expected<std::string, std::string> read_config_text(const std::string& path) {
  struct stat status{};
  return read_text(path, status);
}

Result<std::string> read_config_file(const std::string& path) {
  auto text = read_config_text(path);
  if (!text) return fail(Errc::config, fmt::format("{} cannot be read: {}", path, text.error()));
  return std::move(*text);
}

OwnedText read_owned_text(const std::string& path, unsigned owner, unsigned refused) {
  using State = OwnedText::State;
  if (!config_file_exists(path)) return {};
  struct stat status{};
  auto text = read_text(path, status);
  // What was opened is what is judged: nobody can swap the file in between.
  if (status.st_nlink != 0 && status.st_uid != owner) {
    return {State::foreign,
            fmt::format("it belongs to user {} but must belong to {}; run: chown {}{}", status.st_uid,
                        owner == 0 ? "root" : fmt::format("user {}", owner), owner, shell_operands({path}))};
  }
  if ((status.st_mode & refused) != 0) {
    const bool write = (refused & (S_IRGRP | S_IROTH)) == 0;
    return {State::writable, fmt::format("users other than its owner can {} it; run: chmod {}{}",
                                         write ? "write" : "read", write ? "go-w" : "600", shell_operands({path}))};
  }
  if (!text) return {State::unreadable, std::move(text).error()};
  return {State::text, std::move(*text)};
}

bool config_file_exists(const std::string& path) {
  struct stat status{};
  return ::lstat(path.c_str(), &status) == 0 || (errno != ENOENT && errno != ENOTDIR);
}

bool config_file_seen(const std::string& path) {
  struct stat status{};
  return ::lstat(path.c_str(), &status) == 0;
}

std::vector<std::string> project_directories(const std::string& cwd) {
  auto start = fs::path(cwd).lexically_normal();
  if (!start.has_filename() && start.has_relative_path()) start = start.parent_path();  // a slash at the end
  std::vector<std::string> found;
  for (auto directory = start;; directory = directory.parent_path()) {
    found.push_back(directory.string());
    if (config_file_seen(directory.string() + "/.git")) return found;
    if (!directory.has_relative_path()) break;
  }
  return {start.string()};
}

std::optional<std::string> main_checkout(const std::string& root) {
  constexpr std::string_view prefix = "gitdir:";
  auto real = [](const fs::path& path) {
    std::error_code error;
    auto found = fs::canonical(path, error);
    return error ? fs::path() : found;
  };
  const auto file = root + "/.git";
  struct stat status{};
  // A link would let the file of a real work tree speak for this one.
  if (::lstat(file.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  auto link = read_config_text(file);
  if (!link || !link->starts_with(prefix)) return std::nullopt;
  const auto git_dir = real(fs::path(root) / trim(std::string_view(*link).substr(prefix.size())));
  if (git_dir.empty()) return std::nullopt;
  // What came with a download can point anywhere, also with a directory of its own that points on. Only what
  // lies inside the repository's own directory is its word.
  auto common = read_config_text((git_dir / "commondir").string());
  if (!common) return std::nullopt;
  const auto repository = real(git_dir / trim(*common));
  if (repository.empty() || git_dir.parent_path() != repository / "worktrees") return std::nullopt;
  if (repository.filename() != ".git") return std::nullopt;  // a bare repository has no work tree of its own
  auto back = read_config_text((git_dir / "gitdir").string());
  if (!back) return std::nullopt;
  // Only the real path of this place says that the repository was here when it learned of the work tree. A relative
  // one, which git can be told to write (worktree.useRelativePaths), and one through /proc/self/cwd hold wherever an
  // archive with both ends in it is unpacked.
  if (const auto here = real(root); here.empty() || fs::path(trim(*back)) != here / ".git") return std::nullopt;
  return repository.parent_path().string();
}

std::vector<std::string> managed_settings_files(const std::string& enterprise_dir, std::string* fault) {
  const auto directory = fs::path(enterprise_dir) / "managed-settings.d";
  std::vector<std::string> files;
  std::error_code error;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    auto name = it->path().filename().string();
    if (name.ends_with(".json") && !name.starts_with('.')) files.push_back(it->path().string());
  }
  if (fault != nullptr && error && config_file_exists(directory.string())) *fault = error.message();
  std::ranges::sort(files);
  files.insert(files.begin(), (fs::path(enterprise_dir) / "managed-settings.json").string());
  return files;
}

std::string path_seen_from(const std::string& directory, const std::string& path) {
  const auto relative = fs::path(path).lexically_relative(directory);
  return relative.empty() || *relative.begin() == ".." || relative == "." ? path : relative.string();
}

bool is_inline_config(std::string_view argument) noexcept { return trim(argument).starts_with('{'); }

}  // namespace patchbay
