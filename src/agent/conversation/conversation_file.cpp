#include "agent/conversation/conversation_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "base/crypto.h"
#include "base/file_lock.h"
#include "base/kept_file.h"
#include "base/strings.h"
#include "settings/real_path.h"

namespace patchbay {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr std::string_view ending = ConversationFile::ending;
constexpr std::size_t hash_letters = 16;
constexpr std::size_t longest_name = 40;
constexpr std::size_t most_folders = 10'000;
constexpr std::size_t most_files = 10'000;  // that are looked at for a list
constexpr std::size_t listed_bytes = 512u << 10;
// A process that has just been ended lets go a moment later.
constexpr auto lock_wait = 300ms;

std::unexpected<Error> failed(std::string_view what, const std::string& path, int error) {
  return fail(Errc::config, fmt::format("cannot {} {}: {}", what, path, std::generic_category().message(error)));
}

bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const auto count = ::write(fd, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

// A file system that has no disk says so, and that is no failure.
bool reaches_disk(int fd) { return ::fdatasync(fd) == 0 || errno == EINVAL || errno == ENOSYS; }

// At most so many bytes; nothing when it cannot be read.
std::optional<std::string> read_some(int fd, std::size_t most) {
  std::string text(most, '\0');
  std::size_t used = 0;
  while (used < most) {
    const auto count = ::pread(fd, text.data() + used, most - used, static_cast<off_t>(used));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return std::nullopt;
    if (count == 0) break;
    used += static_cast<std::size_t>(count);
  }
  text.resize(used);
  return text;
}

// Letters that every shell and file system leaves alone.
std::string plain_name(const std::string& path) {
  std::string name;
  for (const char c : fs::path(path).filename().string()) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
    name += plain ? c : '_';
  }
  return name.substr(0, longest_name);
}

}  // namespace

std::string conversation_folder(const std::string& state_directory, const std::string& directory) {
  const auto real = real_path(directory).value_or(directory);
  return fmt::format("{}/conversations/{}-{}", state_directory, plain_name(real),
                     sha256_hex(real).substr(0, hash_letters));
}

Result<std::shared_ptr<ConversationFile>> ConversationFile::make(const std::string& folder, const std::string& id,
                                                                 std::string_view lines) {
  make_private_folders(folder);
  const auto path = fmt::format("{}/{}{}", folder, id, ending);
  const auto fresh = fmt::format("{}/.{}.new", folder, id);
  Fd fd(::open(fresh.c_str(), O_RDWR | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd) return failed("write", fresh, errno);
  auto give_up = [&](std::string_view what, const std::string& where) {
    const int error = errno;
    (void)::unlink(fresh.c_str());
    return failed(what, where, error);
  };
  (void)wait_for_lock(fd.get(), lock_wait);  // nobody else knows the file yet
  if (!write_all(fd.get(), lines) || !reaches_disk(fd.get())) return give_up("write", fresh);
  if (::rename(fresh.c_str(), path.c_str()) != 0) return give_up("make", path);
  if (const Fd dir(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)); dir) (void)::fsync(dir.get());
  return std::shared_ptr<ConversationFile>(new ConversationFile(path, std::move(fd), lines.size()));
}

std::string_view ConversationFile::folder() const noexcept {
  return std::string_view(path_).substr(0, path_.rfind('/'));
}

std::optional<std::string> ConversationFile::find(const std::string& folder, const std::string& id, Where where) {
  if (!is_conversation_id(id)) return std::nullopt;
  const auto name = id + std::string(ending);
  std::error_code error;
  if (auto here = fs::path(folder) / name; fs::is_regular_file(here, error)) return here.string();
  if (where == Where::here) return std::nullopt;
  std::size_t seen = 0;
  for (fs::directory_iterator at(fs::path(folder).parent_path(), error), end; !error && at != end;
       at.increment(error)) {
    if (++seen > most_folders) break;
    std::error_code gone;
    if (auto there = at->path() / name; fs::is_regular_file(there, gone)) return there.string();
  }
  return std::nullopt;
}

Result<ConversationFile::Opened> ConversationFile::open(const std::string& path, const ConversationLimits& limits) {
  constexpr int how = O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  Opened opened;
  Fd fd(::open(path.c_str(), O_RDWR | how));
  const bool writable = static_cast<bool>(fd);
  if (!writable && (errno == EROFS || errno == EACCES || errno == EPERM)) {
    opened.trouble = failed("write", path, errno).error().message();
    fd.reset(::open(path.c_str(), O_RDONLY | how));
  }
  struct stat status{};
  if (!fd || ::fstat(fd.get(), &status) != 0) return failed("read", path, errno);
  if (!S_ISREG(status.st_mode)) return fail(Errc::config, fmt::format("{} is not a file", path));
  const bool busy = wait_for_lock(fd.get(), lock_wait) == LockOutcome::busy;
  // What the one who has the lock is writing does not matter here.
  if (::fstat(fd.get(), &status) != 0) return failed("read", path, errno);
  if (static_cast<std::uint64_t>(status.st_size) > limits.file) {
    return fail(Errc::config, fmt::format("{} has more than {} bytes", path, limits.file));
  }
  const auto text = read_some(fd.get(), static_cast<std::size_t>(status.st_size));
  if (!text) return failed("read", path, errno);
  auto read = read_conversation(*text, limits.records);
  if (busy) {
    return fail(
        Errc::config,
        read && read->pid > 0
            ? fmt::format("process {} has this conversation ({}); it can go on here when that one has ended", read->pid,
                          path)
            : fmt::format("another process has this conversation ({}); it can go on here when that one has ended",
                          path));
  }
  if (!read) return fail(Errc::config, fmt::format("{}: {}", path, read.error().message()));
  opened.read = std::move(*read);
  if (!writable) return opened;
  if (opened.read.whole < text->size() && ::ftruncate(fd.get(), static_cast<off_t>(opened.read.whole)) != 0) {
    opened.trouble = failed("write", path, errno).error().message();
    return opened;
  }
  opened.file.reset(new ConversationFile(path, std::move(fd), opened.read.whole));
  return opened;
}

Result<void> ConversationFile::add(std::string_view lines) {
  if (write_all(fd_.get(), lines) && reaches_disk(fd_.get())) {
    size_ += lines.size();
    return {};
  }
  const int error = errno;
  (void)::ftruncate(fd_.get(), static_cast<off_t>(size_));
  return failed("write", path_, error);
}

std::vector<KeptConversation> list_conversations(const std::string& folder, std::size_t most) {
  struct Found {
    fs::path path;
    fs::file_time_type time;
  };
  std::vector<Found> found;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    if (at->path().extension() != ending || !is_conversation_id(at->path().stem().string())) continue;
    std::error_code gone;
    const auto time = at->last_write_time(gone);
    if (!gone) found.push_back({at->path(), time});
    if (found.size() >= most_files) break;
  }
  std::ranges::sort(
      found, [](const Found& a, const Found& b) { return a.time != b.time ? a.time > b.time : a.path < b.path; });
  std::vector<KeptConversation> out;
  for (const auto& one : found) {
    if (out.size() >= most) break;
    const Fd fd(::open(one.path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    struct stat status{};
    if (!fd || ::fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode)) continue;
    const auto text = read_some(fd.get(), std::min(listed_bytes, static_cast<std::size_t>(status.st_size)));
    auto read = text ? read_conversation_start(*text) : fail(Errc::config, "");
    if (!read || read->head.id != one.path.stem()) continue;
    out.push_back({.id = read->head.id,
                   .directory = read->head.directory,
                   .model = read->head.model,
                   .words = read->state.words,
                   .begun = read->head.begun,
                   .newest = std::chrono::sys_seconds(std::chrono::seconds(status.st_mtim.tv_sec)),
                   .turns = read->state.turns,
                   .bytes = static_cast<std::uint64_t>(status.st_size)});
  }
  return out;
}

}  // namespace patchbay
