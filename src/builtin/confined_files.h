// Files beneath one directory and nowhere else. Every path, whoever wrote it, is resolved
// by the kernel with openat2(RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS): "..", absolute
// links and links swapped in at the last moment cannot lead out, because nothing is
// checked first and opened later. The built-in server's tools use it; calls block, so
// they run in offload(). Const calls are safe from several threads.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <patchbay/error.h>

namespace patchbay {

// An open file descriptor, closed by the last owner.
class OpenFile {
 public:
  OpenFile() = default;
  explicit OpenFile(int fd) noexcept : fd_(fd) {}
  OpenFile(OpenFile&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  OpenFile& operator=(OpenFile&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~OpenFile();

  int get() const noexcept { return fd_; }
  explicit operator bool() const noexcept { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

enum class FileKind : std::uint8_t { file, directory, link, other };

struct FileStatus {
  FileKind kind = FileKind::other;
  std::uint64_t size = 0;
  std::int64_t modified_ns = 0;  // since 1970
  std::uint32_t mode = 0;        // permission bits
  bool operator==(const FileStatus&) const = default;
};

struct DirectoryEntry {
  std::string name;   // bytes as the file system has them
  FileStatus status;  // of the entry itself: a link is a link
  bool operator==(const DirectoryEntry&) const = default;
};

struct DirectoryListing {
  std::vector<DirectoryEntry> entries;  // sorted bytewise, without "." and ".."
  bool cut = false;                     // there were more than the limit
};

enum class Existing : std::uint8_t { replace, refuse };
enum class Parents : std::uint8_t { must_exist, create };

struct WriteOptions {
  Existing existing = Existing::replace;
  Parents parents = Parents::must_exist;
  std::size_t limit = 64u << 20;
};

// Errors: Errc::denied for what lies outside or is reached through a link that leads
// out, Errc::limit for sizes, Errc::unsupported where the kernel cannot confine, else
// Errc::invalid_argument.
class ConfinedRoot {
 public:
  static Result<ConfinedRoot> open(const std::string& directory);

  // Absolute, without symbolic links.
  const std::string& path() const noexcept { return path_; }

  // `path` as seen from the root. An absolute path must begin with the root, as given or
  // as resolved. Says nothing about what exists or where links lead.
  Result<std::string> relative(std::string_view path) const;

  // A regular file, whole; Errc::limit when it has more than `limit` bytes.
  Result<std::string> read(std::string_view path, std::size_t limit = 64u << 20) const;
  // A regular file, for reading in pieces. Never waits for a pipe or device.
  Result<OpenFile> open_for_reading(std::string_view path) const;
  // What the path leads to, links followed.
  Result<FileStatus> status(std::string_view path) const;
  // What the path leads to as a path below the root with every link resolved.
  Result<std::string> resolved(std::string_view path) const;
  Result<DirectoryListing> list(std::string_view path, std::size_t limit = 10'000) const;

  // The file has either its old content or all of the new one: written beside it and
  // renamed over it. Keeps the permissions of a file that exists, writes to where a link
  // points, and does not overwrite what its permissions protect.
  Result<> write(std::string_view path, std::string_view content, WriteOptions options = {}) const;
  Result<> make_directories(std::string_view path) const;

 private:
  ConfinedRoot(OpenFile directory, std::string path, std::string given)
      : directory_(std::make_shared<const OpenFile>(std::move(directory))),
        path_(std::move(path)),
        given_(std::move(given)) {}

  Result<OpenFile> open_beneath(std::string_view shown, const std::string& relative, int flags) const;
  Result<OpenFile> open_parent(std::string_view shown, const std::string& parent, Parents parents) const;
  std::unexpected<Error> failure(std::string_view shown, int error) const;
  std::unexpected<Error> outside(std::string_view shown) const;

  std::shared_ptr<const OpenFile> directory_;
  std::string path_;
  std::string given_;  // absolute, as the user wrote it
};

}  // namespace patchbay
