#include "host/kept/state_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <vector>

#include <fmt/format.h>

#include "base/fd.h"
#include "base/kept_file.h"

namespace patchbay {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view unfinished = ".new-";
constexpr std::chrono::hours unfinished_lasts{1};  // whoever wrote it was killed

std::unexpected<Error> failed(std::string_view what, const std::string& path, int error) {
  return fail(Errc::internal, fmt::format("{} {}: {}", what, path, std::generic_category().message(error)));
}

}  // namespace

bool is_hexadecimal(std::string_view text) noexcept {
  return std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

Result<void> write_whole(const std::string& path, std::string_view text) {
  const auto folder = fs::path(path).parent_path().string();
  if (const int error = make_private_folders(folder); error != 0) return failed("cannot make", folder, error);
  // A name of its own: another process may be writing the same file.
  std::string fresh = fmt::format("{}{}XXXXXX", path, unfinished);
  Fd file(::mkostemp(fresh.data(), O_CLOEXEC));
  if (!file) return failed("cannot write in", folder, errno);
  auto give_up = [&](std::string_view what) {
    const int error = errno;
    (void)::unlink(fresh.c_str());
    return failed(what, path, error);
  };
  while (!text.empty()) {
    const auto count = ::write(file.get(), text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return give_up("cannot write");
    text.remove_prefix(static_cast<std::size_t>(count));
  }
  if (::rename(fresh.c_str(), path.c_str()) != 0) return give_up("cannot replace");
  return {};
}

// Others may do the same at the same time, so every step may find that its file is gone.
void remove_oldest(const std::string& folder, std::size_t most, bool (*is_ours)(std::string_view name)) {
  struct Kept {
    fs::file_time_type time;
    fs::path path;
  };
  std::vector<Kept> all;
  const auto now = fs::file_time_type::clock::now();
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    const auto name = at->path().filename().string();
    if (!is_ours(name)) continue;
    std::error_code gone;
    const auto time = at->last_write_time(gone);
    if (gone) continue;
    if (!name.contains(unfinished)) {
      all.push_back({time, at->path()});
    } else if (now - time > unfinished_lasts) {
      fs::remove(at->path(), gone);
    }
  }
  if (all.size() <= most) return;
  std::ranges::sort(all, {}, &Kept::time);
  for (std::size_t i = 0; i < all.size() - most; ++i) {
    std::error_code gone;
    fs::remove(all[i].path, gone);
  }
}

}  // namespace patchbay
