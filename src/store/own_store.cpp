#include "store/own_store.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <ranges>
#include <system_error>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <time.h>

#include "base/crypto.h"
#include "base/file_lock.h"
#include "base/strings.h"
#include "settings/files.h"
#include "settings/own_file.h"
#include "settings/real_path.h"
#include "text/jsonc.h"

namespace patchbay {
namespace {

namespace fs = std::filesystem;

std::string reason_of(int error) { return std::generic_category().message(error); }

std::unexpected<Error> cannot_write(const std::string& path, std::string_view reason) {
  return fail(Errc::config, fmt::format("{} cannot be written: {}; the file is unchanged", path, reason));
}

class OwnedDescriptor {
 public:
  explicit OwnedDescriptor(int fd = -1) noexcept : fd_(fd) {}
  OwnedDescriptor(OwnedDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  OwnedDescriptor& operator=(OwnedDescriptor&&) = delete;
  ~OwnedDescriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const noexcept { return fd_; }

 private:
  int fd_;
};

// Removes the file again unless it was renamed.
class Unfinished {
 public:
  explicit Unfinished(std::string path) : path_(std::move(path)) {}
  Unfinished(const Unfinished&) = delete;
  Unfinished& operator=(const Unfinished&) = delete;
  ~Unfinished() {
    if (!path_.empty()) ::unlink(path_.c_str());
  }
  void keep() noexcept { path_.clear(); }

 private:
  std::string path_;
};

// Missing directories are made for the user alone.
Result<void> make_directories(const fs::path& directory) {
  std::vector<fs::path> missing;
  for (auto at = directory; !at.empty(); at = at.parent_path()) {
    struct stat status{};
    if (::stat(at.c_str(), &status) == 0) {
      if (S_ISDIR(status.st_mode)) break;
      return fail(Errc::config,
                  fmt::format("{} is not a directory, but a directory is needed there; move it away", at.string()));
    }
    if (errno != ENOENT)
      return fail(Errc::config, fmt::format("{} cannot be created: {}", at.string(), reason_of(errno)));
    missing.push_back(at);
    if (!at.has_relative_path()) break;
  }
  for (const auto& each : std::views::reverse(missing)) {
    if (::mkdir(each.c_str(), 0700) != 0 && errno != EEXIST) {
      return fail(Errc::config, fmt::format("{} cannot be created: {}", each.string(), reason_of(errno)));
    }
  }
  return {};
}

// Where the file really is; it need not exist.
Result<std::string> follow_links(const std::string& path) {
  char target[1];
  if (::readlink(path.c_str(), target, sizeof target) < 0 && errno != ELOOP)
    return fs::path(path).lexically_normal().string();
  auto real = real_path(path);
  if (real) return std::move(*real);
  if (real.error() != ELOOP)
    return fail(Errc::config, fmt::format("{} cannot be read: {}", path, reason_of(real.error())));
  return fail(
      Errc::config,
      fmt::format("{} cannot be read: its symbolic links form a circle; remove it, or make it point to a file", path));
}

// ---- the lock

class FileLock {
 public:
  // The directory of the file is locked, so that no lock file lies around in a repository; where a
  // directory cannot be locked (NFS), a file in our own state directory.
  static Result<FileLock> take(const std::string& path, const StorePlaces& places, const StoreOptions& options) {
    if (options.directory_locks) {
      const auto directory = fs::path(path).parent_path().string();
      OwnedDescriptor fd(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
      // One that may be written and not listed is not a reason to give up.
      if (fd.get() < 0 && errno != EACCES) {
        return cannot_write(path, fmt::format("{} cannot be opened: {}", directory, reason_of(errno)));
      }
      auto taken = fd.get() < 0 ? Result<bool>(false) : wait(fd.get(), path, options.lock_wait);
      if (!taken) return std::unexpected(std::move(taken).error());
      if (*taken) return FileLock(std::move(fd));
    }
    const auto directory = places.state_dir + "/locks";
    if (auto made = make_directories(directory); !made) return std::unexpected(std::move(made).error());
    const auto file = fmt::format("{}/{}", directory, sha256_hex(path).substr(0, 16));
    OwnedDescriptor fd(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (fd.get() < 0) return cannot_write(path, fmt::format("{} cannot be opened: {}", file, reason_of(errno)));
    auto taken = wait(fd.get(), path, options.lock_wait);
    if (!taken) return std::unexpected(std::move(taken).error());
    if (!*taken) return cannot_write(path, fmt::format("{} cannot be locked", file));
    return FileLock(std::move(fd));
  }

 private:
  explicit FileLock(OwnedDescriptor fd) noexcept : fd_(std::move(fd)) {}

  // False when this file system has no such lock.
  static Result<bool> wait(int fd, const std::string& path, std::chrono::milliseconds limit) {
    const auto outcome = wait_for_lock(fd, limit);
    if (outcome != LockOutcome::busy) return outcome == LockOutcome::taken;
    return fail(Errc::config, fmt::format("another program has been changing {} for {} s; nothing was written. Try "
                                          "again when the other program has finished",
                                          path, std::chrono::duration_cast<std::chrono::seconds>(limit).count()));
  }

  OwnedDescriptor fd_;
};

// ---- writing

// The error is only the reason.
Result<void> write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const auto written = ::write(fd, text.data(), text.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      return fail(Errc::config, reason_of(errno));
    }
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

Error at_fault(const std::string& path, std::string_view text, const JsonFault& fault) {
  const auto place = position_of(text, std::min(fault.offset, text.size()));
  return Error(Errc::config, fmt::format("{}:{}:{}: {}; fix the file and run the command again", path, place.line,
                                         place.column, fault.reason));
}

// What the text says; Errc::config with its place when that is nothing we could change.
Result<Json> value_of(const std::string& path, std::string_view text) {
  if (!valid_utf8(text)) {
    return fail(Errc::config,
                fmt::format("{}: the file is not valid UTF-8; save it as UTF-8 and run the command again", path));
  }
  auto plain = without_comments(text);
  if (!plain) return std::unexpected(at_fault(path, text, plain.error()));
  if (trim(*plain).empty()) return Json::object();
  auto root = parse_json_located(*plain);
  if (!root) return std::unexpected(at_fault(path, text, root.error()));
  if (!root->is_object()) {
    return std::unexpected(
        at_fault(path, text, {plain->find_first_not_of(" \t\r\n"), "the top of the file must be an object"}));
  }
  return std::move(*root);
}

}  // namespace

Result<StorePlaces> store_places(const std::string& config_dir, const std::string& home,
                                 const VariableLookup& variables) {
  const auto state = variables("XDG_STATE_HOME");
  const bool set = state && state->starts_with('/');
  if (!config_dir.starts_with('/') || (!set && !home.starts_with('/'))) {
    return fail(Errc::config,
                "the home directory is not known, so there is no place for the configuration file; set HOME");
  }
  return StorePlaces{config_dir + "/config.json", set ? *state + "/patchbay" : home + "/.local/state/patchbay"};
}

struct ConfigStore::Rules {
  bool own = false;  // a file of our own: versioned, for the user alone
  bool backups = true;
  std::string inside;      // links may not lead out of here; empty: they may lead anywhere
  mode_t new_mode = 0600;  // of a file that was not there
};

Result<FileChange> ConfigStore::change_own_file(const Decide& decide) const {
  return change(places_.config_file, Rules{.own = true, .backups = true, .inside = {}, .new_mode = 0600}, decide);
}

Result<FileChange> ConfigStore::change_project_file(const std::string& directory, const std::string& root,
                                                    const Decide& decide) const {
  return change(directory + "/.mcp.json", Rules{.own = false, .backups = true, .inside = root, .new_mode = 0666},
                decide);
}

Result<FileChange> ConfigStore::change_secrets_file(const Decide& decide) const {
  const auto path = (fs::path(places_.config_file).parent_path() / "secrets.json").string();
  return change(path, Rules{.own = true, .backups = false, .inside = {}, .new_mode = 0600}, decide);
}

Result<FileChange> ConfigStore::change(const std::string& path, const Rules& rules, const Decide& decide) const {
  auto real = follow_links(path);
  if (!real) return std::unexpected(std::move(real).error());
  if (!rules.inside.empty() && !really_inside(*real, rules.inside)) {
    return fail(Errc::config,
                fmt::format("{} is a symbolic link to {}, outside the project, and patchbay does not write through it; "
                            "change that file yourself, or replace the link with a file",
                            path, *real));
  }
  if (rules.own) {
    if (auto made = make_directories(fs::path(*real).parent_path()); !made) {
      return std::unexpected(std::move(made).error());
    }
  }
  step("lock");
  auto lock = FileLock::take(*real, places_, options_);
  if (!lock) return std::unexpected(std::move(lock).error());
  return change_locked(*real, rules, decide);
}

Result<FileChange> ConfigStore::change_locked(const std::string& path, const Rules& rules, const Decide& decide) const {
  FileChange out{path, false, {}};
  std::string text;
  struct stat status{};
  const bool exists = ::stat(path.c_str(), &status) == 0;
  if (!exists && errno != ENOENT) return cannot_write(path, reason_of(errno));
  if (exists) {
    auto read = read_config_file(path);
    if (!read) return std::unexpected(std::move(read).error());
    text = std::move(*read);
  }
  auto root = value_of(path, text);
  if (!root) return std::unexpected(std::move(root).error());
  const Json* version = rules.own ? root->find("version") : nullptr;
  if (version != nullptr && version->to_int().value_or(own_file_version + 1) > own_file_version) {
    return fail(
        Errc::config,
        fmt::format(
            "{} has version {}, but this patchbay knows only version {}, so it is not changed; use a newer patchbay",
            path, to_text(*version), own_file_version));
  }
  auto edits = decide(*root);
  if (!edits) return std::unexpected(std::move(edits).error());
  if (edits->empty()) return out;
  if (rules.own && version == nullptr) edits->insert(edits->begin(), set_member({"version"}, own_file_version));
  auto edited = edit_text(text, *edits);
  if (!edited) return std::unexpected(at_fault(path, text, edited.error()));
  if (exists && *edited == text) return out;
  if (edited->size() > config_file_limit) {
    return cannot_write(path, fmt::format("it would be larger than {} MiB", config_file_limit >> 20));
  }
  if (exists && rules.backups && options_.backups > 0) {
    if (auto kept = keep_backup(path, text); !kept) out.warnings.push_back(kept.error().message());
  }
  if (auto written = replace(path, *edited, rules); !written) return std::unexpected(std::move(written).error());
  out.changed = true;
  return out;
}

Result<void> ConfigStore::replace(const std::string& path, const std::string& text, const Rules& rules) const {
  struct stat old{};
  const bool exists = ::stat(path.c_str(), &old) == 0;
  // Renaming asks nobody; a file that says it is not to be written is not written.
  if (exists && ::access(path.c_str(), W_OK) != 0) return cannot_write(path, reason_of(errno));
  const auto beside = path + std::string(unfinished_suffix);
  step("create");
  ::unlink(beside.c_str());
  OwnedDescriptor file(
      ::open(beside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, exists ? 0600 : rules.new_mode));
  if (file.get() < 0) return cannot_write(path, reason_of(errno));
  Unfinished unfinished(beside);
  if (exists) {
    struct stat made{};
    if (::fstat(file.get(), &made) != 0) return cannot_write(path, reason_of(errno));
    if (made.st_uid != old.st_uid && ::fchown(file.get(), old.st_uid, static_cast<gid_t>(-1)) != 0) {
      return cannot_write(path,
                          fmt::format("it belongs to another user (id {}), and its owner would change", old.st_uid));
    }
    auto mode = old.st_mode & 07777;
    // Rights of a group that cannot be kept are not given to another.
    if (made.st_gid != old.st_gid && ::fchown(file.get(), static_cast<uid_t>(-1), old.st_gid) != 0) mode &= ~070U;
    if (::fchmod(file.get(), mode) != 0) return cannot_write(path, reason_of(errno));
  }
  step("write");
  if (auto written = write_all(file.get(), text); !written) return cannot_write(path, written.error().message());
  step("sync");
  if (::fsync(file.get()) != 0) return cannot_write(path, reason_of(errno));
  step("rename");
  if (::rename(beside.c_str(), path.c_str()) != 0) return cannot_write(path, reason_of(errno));
  unfinished.keep();
  step("sync directory");
  const OwnedDescriptor directory(::open(fs::path(path).parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory.get() >= 0) (void)::fsync(directory.get());
  step("unlock");
  return {};
}

Result<void> ConfigStore::keep_backup(const std::string& path, const std::string& text) const {
  const auto directory = places_.state_dir + "/backups";
  auto failed = [&](std::string_view reason) {
    return fail(Errc::config, fmt::format("{} was changed, but it could not be backed up before: {}", path, reason));
  };
  if (auto made = make_directories(directory); !made) return failed(made.error().message());
  // Many projects have a file of this name.
  std::string stem = fs::path(path).filename().string();
  if (path != places_.config_file) stem = fmt::format("{}-{}", stem, sha256_hex(path).substr(0, 12));
  struct timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  const auto name = fmt::format("{}.{:%Y%m%dT%H%M%S}.{:09}Z", stem, fmt::gmtime(now.tv_sec), now.tv_nsec);
  const auto final_path = fmt::format("{}/{}", directory, name);
  const auto beside = fmt::format("{}/new-{}", directory, stem);
  step("backup");
  {
    ::unlink(beside.c_str());
    OwnedDescriptor file(::open(beside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (file.get() < 0) return failed(reason_of(errno));
    Unfinished unfinished(beside);
    if (auto written = write_all(file.get(), text); !written) {
      return failed(fmt::format("{}: {}", final_path, written.error().message()));
    }
    if (::rename(beside.c_str(), final_path.c_str()) != 0) return failed(reason_of(errno));
    unfinished.keep();
  }
  step("prune");
  std::vector<std::string> kept;
  std::error_code error;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    auto file = it->path().filename().string();
    if (file.size() == name.size() && file.starts_with(stem + ".")) kept.push_back(std::move(file));
  }
  std::ranges::sort(kept, std::greater());
  for (std::size_t i = options_.backups; i < kept.size(); ++i) {
    ::unlink(fmt::format("{}/{}", directory, kept[i]).c_str());
  }
  return {};
}

}  // namespace patchbay
