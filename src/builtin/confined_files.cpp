#include "builtin/confined_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "base/strings.h"

namespace patchbay {
namespace {

constexpr int path_only = O_PATH | O_CLOEXEC;
constexpr int for_reading = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;

// RESOLVE_BENEATH gives EAGAIN when something was renamed during a "..".
constexpr int resolve_tries = 100;

int open_at(int directory, const std::string& path, int flags) noexcept {
  open_how how{};
  how.flags = static_cast<std::uint64_t>(flags);
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  for (int tries = resolve_tries;; --tries) {
    auto fd = ::syscall(SYS_openat2, directory, path.c_str(), &how, sizeof(how));
    if (fd >= 0) return static_cast<int>(fd);
    if ((errno != EAGAIN && errno != EINTR) || tries == 0) return -1;
  }
}

FileStatus status_from(const struct stat& status) noexcept {
  FileStatus out;
  out.kind = S_ISREG(status.st_mode)   ? FileKind::file
             : S_ISDIR(status.st_mode) ? FileKind::directory
             : S_ISLNK(status.st_mode) ? FileKind::link
                                       : FileKind::other;
  out.size = static_cast<std::uint64_t>(std::max<off_t>(status.st_size, 0));
  out.modified_ns = static_cast<std::int64_t>(status.st_mtim.tv_sec) * 1'000'000'000 + status.st_mtim.tv_nsec;
  out.mode = status.st_mode & 07777;
  return out;
}

std::string system_message(int error) { return std::generic_category().message(error); }

std::unexpected<Error> refused(std::string_view shown, std::string_view reason) {
  return fail(Errc::invalid_argument, fmt::format("{}: {}", shown, reason));
}

std::unexpected<Error> not_a_file(std::string_view shown, FileKind kind) {
  return refused(shown, kind == FileKind::directory ? "is a directory" : "is not a regular file");
}

std::unexpected<Error> too_large(std::string_view shown, std::size_t limit) {
  return fail(Errc::limit, fmt::format("{}: is larger than the limit of {} bytes", shown, limit));
}

// The path without empty and "." steps; ".." stays for the kernel to judge.
std::string tidied(std::string_view path) {
  std::string out;
  for (auto step : split(path, '/')) {
    if (step.empty() || step == ".") continue;
    if (!out.empty()) out += '/';
    out += step;
  }
  return out;
}

// What follows `root` in `path`, both absolute; nullopt when path does not begin with it.
std::optional<std::string> below(std::string_view root, std::string_view path) {
  auto base = tidied(root);
  auto rest = tidied(path);
  if (!base.empty()) {
    if (!rest.starts_with(base)) return std::nullopt;
    rest.erase(0, base.size());
    if (!rest.empty() && rest.front() != '/') return std::nullopt;
  }
  if (rest.starts_with('/')) rest.erase(0, 1);
  return rest.empty() ? "." : rest;
}

// The directory and the last step of a relative path.
std::pair<std::string, std::string> split_last(const std::string& relative) {
  auto slash = relative.rfind('/');
  if (slash == std::string::npos) return {".", relative};
  return {relative.substr(0, slash), relative.substr(slash + 1)};
}

std::optional<std::string> path_of_descriptor(int fd) {
  std::string target(4096, '\0');
  auto length = ::readlink(fmt::format("/proc/self/fd/{}", fd).c_str(), target.data(), target.size());
  if (length <= 0 || static_cast<std::size_t>(length) == target.size()) return std::nullopt;
  target.resize(static_cast<std::size_t>(length));
  return target.starts_with('/') ? std::optional(std::move(target)) : std::nullopt;
}

std::string temporary_name() {
  std::uint64_t number = 0;
  if (::getrandom(&number, sizeof(number), 0) != sizeof(number)) number = static_cast<std::uint64_t>(::getpid());
  return fmt::format(".patchbay-{:016x}.tmp", number);
}

// A file under a name of its own until it is renamed; removed unless that happens.
class TemporaryFile {
 public:
  TemporaryFile(int directory, mode_t mode) : directory_(directory) {
    for (int tries = 0; tries < 16 && !file_; ++tries) {
      name_ = temporary_name();
      file_ = OpenFile(::openat(directory, name_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode));
      if (!file_ && errno != EEXIST) break;
    }
    error_ = file_ ? 0 : errno;
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() {
    if (file_ && !renamed_) ::unlinkat(directory_, name_.c_str(), 0);
  }

  int error() const noexcept { return error_; }

  // Errors are errno values; 0 is success.
  int take_attributes(const struct stat& from) const noexcept {
    struct stat own{};
    if (::fstat(file_.get(), &own) != 0) return errno;
    if (own.st_uid != from.st_uid || own.st_gid != from.st_gid) {
      // Only root can give a file away; that an ordinary user cannot is not an error.
      if (::fchown(file_.get(), from.st_uid, from.st_gid) != 0 && errno != EPERM) return errno;
    }
    // New content does not inherit the right to run as somebody else.
    return ::fchmod(file_.get(), from.st_mode & 0777) == 0 ? 0 : errno;
  }

  int fill(std::string_view content) const noexcept {
    while (!content.empty()) {
      auto count = ::write(file_.get(), content.data(), content.size());
      if (count < 0 && errno != EINTR) return errno;
      if (count > 0) content.remove_prefix(static_cast<std::size_t>(count));
    }
    return ::fsync(file_.get()) == 0 ? 0 : errno;
  }

  int rename_to(const std::string& name, Existing existing) noexcept {
    auto flags = existing == Existing::refuse ? RENAME_NOREPLACE : 0u;
    if (::renameat2(directory_, name_.c_str(), directory_, name.c_str(), flags) == 0) {
      renamed_ = true;
      return 0;
    }
    if (flags == 0 || errno != EINVAL) return errno;
    // Some file systems cannot rename without replacing; a link never replaces, and our
    // own name goes with this object.
    return ::linkat(directory_, name_.c_str(), directory_, name.c_str(), 0) == 0 ? 0 : errno;
  }

 private:
  int directory_;
  std::string name_;
  OpenFile file_;
  int error_ = 0;
  bool renamed_ = false;
};

}  // namespace

OpenFile::~OpenFile() {
  if (fd_ >= 0) ::close(fd_);
}

Result<ConfinedRoot> ConfinedRoot::open(const std::string& directory) {
  OpenFile opened(::open(directory.c_str(), path_only | O_DIRECTORY));
  if (!opened) {
    return fail(Errc::invalid_argument,
                fmt::format("{}: cannot be used as a root directory: {}", directory, system_message(errno)));
  }
  std::error_code error;
  auto real = std::filesystem::canonical(directory, error);
  auto given = error ? std::filesystem::path() : std::filesystem::absolute(directory, error);
  if (error) return fail(Errc::invalid_argument, fmt::format("{}: {}", directory, error.message()));
  ConfinedRoot root(std::move(opened), real.string(), given.string());
  // Asked once and here, so that a kernel or sandbox without it is told apart from a file
  // that may not be opened.
  OpenFile probe(open_at(root.directory_->get(), ".", path_only));
  if (!probe && (errno == ENOSYS || errno == EPERM)) {
    return fail(Errc::unsupported,
                fmt::format("files cannot be confined to {}: openat2 is not available here; it needs Linux 5.6 and a "
                            "sandbox that allows it",
                            root.path_));
  }
  if (!probe) return root.failure(directory, errno);
  return root;
}

Result<std::string> ConfinedRoot::relative(std::string_view path) const {
  if (path.empty()) return refused("\"\"", "the path is empty");
  if (path.find('\0') != std::string_view::npos) return refused(path.substr(0, path.find('\0')), "contains a NUL");
  if (!path.starts_with('/')) {
    auto out = tidied(path);
    // A slash at the end insists on a directory.
    if (!out.empty() && path.ends_with('/')) out += '/';
    return out.empty() ? "." : out;
  }
  for (const auto& root : {path_, given_}) {
    if (auto rest = below(root, path)) return std::move(*rest);
  }
  return outside(path);
}

std::unexpected<Error> ConfinedRoot::outside(std::string_view shown) const {
  return fail(Errc::denied,
              fmt::format("{}: is outside {}, and only files beneath that directory can be used", shown, path_));
}

std::unexpected<Error> ConfinedRoot::failure(std::string_view shown, int error) const {
  switch (error) {
    case EXDEV:
      return outside(shown);
    case ELOOP:
      return fail(Errc::denied, fmt::format("{}: leads through links that are not followed beneath {}", shown, path_));
    case ENOENT:
      return refused(shown, "there is no such file or directory");
    default:
      return refused(shown, system_message(error));
  }
}

Result<OpenFile> ConfinedRoot::open_beneath(std::string_view shown, const std::string& relative, int flags) const {
  OpenFile file(open_at(directory_->get(), relative, flags));
  if (!file) return failure(shown, errno);
  return file;
}

Result<OpenFile> ConfinedRoot::open_for_reading(std::string_view path) const {
  auto relative_path = relative(path);
  if (!relative_path) return std::unexpected(relative_path.error());
  // Looked at before it is opened, since opening a device can do something; and again
  // after, since it may be another file by then.
  auto seen = open_beneath(path, *relative_path, path_only);
  if (!seen) return seen;
  struct stat before{}, after{};
  if (::fstat(seen->get(), &before) != 0) return failure(path, errno);
  if (!S_ISREG(before.st_mode)) return not_a_file(path, status_from(before).kind);
  auto file = open_beneath(path, *relative_path, for_reading);
  if (!file) return file;
  if (::fstat(file->get(), &after) != 0) return failure(path, errno);
  if (!S_ISREG(after.st_mode)) return not_a_file(path, status_from(after).kind);
  return file;
}

Result<std::string> ConfinedRoot::read(std::string_view path, std::size_t limit) const {
  auto file = open_for_reading(path);
  if (!file) return std::unexpected(file.error());
  struct stat status{};
  if (::fstat(file->get(), &status) != 0) return failure(path, errno);
  auto expected = status_from(status).size;
  if (expected > limit) return too_large(path, limit);
  // One byte more than expected shows the end without another call; files that do not
  // know their size (/proc) grow by pieces.
  std::string content;
  for (std::size_t piece = expected + 1;; piece = 64u << 10) {
    auto used = content.size();
    content.resize(used + piece);
    auto count = ::read(file->get(), content.data() + used, piece);
    int error = errno;
    content.resize(used + static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
    if (content.size() > limit) return too_large(path, limit);
    if (count == 0) return content;
    if (count < 0 && error != EINTR) return failure(path, error);
  }
}

Result<FileStatus> ConfinedRoot::status(std::string_view path) const {
  auto relative_path = relative(path);
  if (!relative_path) return std::unexpected(relative_path.error());
  auto file = open_beneath(path, *relative_path, path_only);
  if (!file) return std::unexpected(file.error());
  struct stat status{};
  if (::fstat(file->get(), &status) != 0) return failure(path, errno);
  return status_from(status);
}

Result<std::string> ConfinedRoot::resolved(std::string_view path) const {
  auto relative_path = relative(path);
  if (!relative_path) return std::unexpected(relative_path.error());
  auto file = open_beneath(path, *relative_path, path_only);
  if (!file) return std::unexpected(file.error());
  // The root is asked as well: it may have been moved since it was opened.
  auto root = path_of_descriptor(directory_->get());
  auto real = path_of_descriptor(file->get());
  if (!root || !real) return refused(path, "cannot be resolved, since /proc is not mounted");
  auto rest = below(*root, *real);
  if (!rest) return outside(path);
  return std::move(*rest);
}

Result<DirectoryListing> ConfinedRoot::list(std::string_view path, std::size_t limit) const {
  auto relative_path = relative(path);
  if (!relative_path) return std::unexpected(relative_path.error());
  auto file = open_beneath(path, *relative_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (!file) return std::unexpected(file.error());
  std::unique_ptr<DIR, int (*)(DIR*)> stream(::fdopendir(::fcntl(file->get(), F_DUPFD_CLOEXEC, 0)), ::closedir);
  if (!stream) return failure(path, errno);
  DirectoryListing out;
  for (;;) {
    errno = 0;
    const auto* entry = ::readdir(stream.get());
    if (entry == nullptr) {
      if (errno != 0) return failure(path, errno);
      break;
    }
    std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    if (out.entries.size() == limit) {
      out.cut = true;
      break;
    }
    struct stat status{};
    // One that is gone by now was not there.
    if (::fstatat(file->get(), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0) continue;
    out.entries.push_back({std::string(name), status_from(status)});
  }
  std::ranges::sort(out.entries, {}, &DirectoryEntry::name);
  return out;
}

Result<> ConfinedRoot::make_directories(std::string_view path) const {
  auto relative_path = relative(path);
  if (!relative_path) return std::unexpected(relative_path.error());
  auto made = open_parent(path, *relative_path, Parents::create);
  if (!made) return std::unexpected(made.error());
  return {};
}

// Opens a directory, with Parents::create after making what is missing of it. Every step
// is resolved from the root again, so that a ".." or a link is judged by the kernel.
Result<OpenFile> ConfinedRoot::open_parent(std::string_view shown, const std::string& parent, Parents parents) const {
  constexpr int flags = path_only | O_DIRECTORY;
  if (parents == Parents::must_exist) return open_beneath(shown, parent, flags);
  auto directory = open_beneath(shown, ".", flags);
  std::string so_far;
  for (auto step : split(parent, '/')) {
    if (!directory) return directory;
    if (step.empty() || step == ".") continue;
    if (!so_far.empty()) so_far += '/';
    so_far += step;
    OpenFile next(open_at(directory_->get(), so_far, flags));
    if (!next && errno == ENOENT) {
      if (::mkdirat(directory->get(), std::string(step).c_str(), 0777) != 0 && errno != EEXIST) {
        return failure(shown, errno);
      }
      next = OpenFile(open_at(directory_->get(), so_far, flags));
    }
    if (!next) return failure(shown, errno);
    directory = std::move(next);
  }
  return directory;
}

Result<> ConfinedRoot::write(std::string_view path, std::string_view content, WriteOptions options) const {
  if (content.size() > options.limit) return too_large(path, options.limit);
  auto relative_path = relative(path);
  if (!relative_path) return std::unexpected(relative_path.error());

  struct stat existing{};
  OpenFile old(open_at(directory_->get(), *relative_path, path_only));
  if (!old && errno != ENOENT) return failure(path, errno);
  if (old) {
    if (::fstat(old.get(), &existing) != 0) return failure(path, errno);
    if (!S_ISREG(existing.st_mode)) return not_a_file(path, status_from(existing).kind);
    if (options.existing == Existing::refuse) return refused(path, "already exists");
    // Renaming would also replace a file that may not be written.
    OpenFile writable(open_at(directory_->get(), *relative_path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
    if (!writable && errno != ETXTBSY) return failure(path, errno);
    // Behind a link the file that it points to is replaced, not the link.
    auto real = resolved(path);
    if (!real) return std::unexpected(real.error());
    struct stat again{};
    OpenFile same(open_at(directory_->get(), *real, path_only));
    if (!same || ::fstat(same.get(), &again) != 0 || again.st_ino != existing.st_ino ||
        again.st_dev != existing.st_dev) {
      return refused(path, "was replaced by another program at the same time; try again");
    }
    relative_path = std::move(real);
  }

  auto [parent, name] = split_last(*relative_path);
  if (name.empty() || name == "." || name == "..") return refused(path, "is a directory");
  auto directory = open_parent(path, parent, options.parents);
  if (!directory) return std::unexpected(directory.error());
  struct stat link{};
  if (!old && ::fstatat(directory->get(), name.c_str(), &link, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(link.st_mode)) {
    return refused(path, "is a link to a file that does not exist");
  }

  TemporaryFile temporary(directory->get(), old ? 0600 : 0666);
  if (temporary.error() != 0) return failure(path, temporary.error());
  if (old) {
    if (int error = temporary.take_attributes(existing); error != 0) return failure(path, error);
  }
  if (int error = temporary.fill(content); error != 0) return failure(path, error);
  if (int error = temporary.rename_to(name, options.existing); error != 0) {
    return error == EEXIST ? refused(path, "already exists") : failure(path, error);
  }
  return {};
}

}  // namespace patchbay
