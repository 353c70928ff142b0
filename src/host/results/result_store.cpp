#include "host/results/result_store.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/crypto.h"
#include "base/fd.h"
#include "base/limit_text.h"
#include "host/kept/state_files.h"
#include "host/results/zstd.h"
#include "results/handle.h"
#include "text/clean_text.h"

namespace patchbay {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t conversation_letters = 32;
constexpr std::string_view unfinished = ".new-";
constexpr std::chrono::hours unfinished_lasts{1};
constexpr int id_tries = 20;

std::uint64_t random_number() {
  std::uint64_t number = 0;
  std::array<std::uint8_t, sizeof number> bytes{};
  system_random()(bytes);
  std::memcpy(&number, bytes.data(), sizeof number);
  return number;
}

std::unexpected<Error> not_here(std::string_view id) {
  return fail(Errc::invalid_argument,
              fmt::format("{}: this conversation has no such result", handle_of(clean_excerpt(id, 40))));
}

struct File {
  fs::path path;
  fs::file_time_type time;
  std::uint64_t size = 0;
  bool finished = true;
};

// What is in the folders of all conversations, as far as it is ours by its name. Others may remove files meanwhile.
std::vector<File> files_in(const std::string& folder, const ResultStoreLimits& limits, std::vector<fs::path>* empty) {
  std::vector<File> files;
  std::error_code error;
  std::size_t folders = 0;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    const auto name = at->path().filename().string();
    if (name.size() != conversation_letters || !is_hexadecimal(name) || ++folders > limits.conversations) continue;
    std::error_code inner;
    bool any = false;
    for (fs::directory_iterator file(at->path(), inner), last; !inner && file != last; file.increment(inner)) {
      any = true;
      const auto own = file->path().filename().string();
      const bool finished = is_result_id(own);
      if (!finished && !(own.contains(unfinished) && is_result_id(std::string_view(own).substr(0, own.find('.')))))
        continue;
      std::error_code gone;
      const auto time = file->last_write_time(gone);
      const auto size = gone ? 0 : file->file_size(gone);
      if (!gone) files.push_back({file->path(), time, size, finished});
    }
    if (!any && empty != nullptr) empty->push_back(at->path());
  }
  return files;
}

// At most `most` bytes; an Error says why not.
Result<std::string> bytes_of(const std::string& path, std::uint64_t most) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW));
  struct stat status{};
  if (!file || ::fstat(file.get(), &status) != 0) {
    const int why = errno;
    return fail(why == ENOENT || why == ENOTDIR ? Errc::invalid_argument : Errc::internal,
                std::generic_category().message(why));
  }
  if (!S_ISREG(status.st_mode)) return fail(Errc::internal, "it is not a file");
  std::string out;
  int why = 0;
  out.resize_and_overwrite(std::min<std::uint64_t>(most, static_cast<std::uint64_t>(status.st_size)),
                           [&](char* room, std::size_t size) {
                             std::size_t got = 0;
                             while (got < size) {
                               const auto count = ::read(file.get(), room + got, size - got);
                               if (count < 0 && errno == EINTR) continue;
                               if (count < 0) why = errno;
                               if (count <= 0) break;
                               got += static_cast<std::size_t>(count);
                             }
                             return got;
                           });
  if (why != 0) return fail(Errc::internal, std::generic_category().message(why));
  return out;
}

}  // namespace

ResultStore::ResultStore(std::string state_directory, ResultStoreLimits limits)
    : folder_(state_directory.empty() ? std::string() : std::move(state_directory) + "/results"), limits_(limits) {}

std::string ResultStore::folder_of(std::string_view conversation) const {
  return folder_ + "/" + sha256_hex(conversation).substr(0, conversation_letters);
}

Result<std::string> ResultStore::keep(std::string_view conversation, std::string_view tool,
                                      std::string_view result) const {
  if (folder_.empty()) return fail(Errc::config, "there is no state directory");
  if (result.size() > std::min(limits_.one, limits_.bytes)) {
    return fail(Errc::limit, fmt::format("it has more than {}",
                                         limit_text(static_cast<std::size_t>(std::min(limits_.one, limits_.bytes)))));
  }
  StoredHead head;
  head.tool = tool;
  head.time = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  head.size = result.size();
  const auto packed = limits_.compress ? zstd_packed(result) : std::nullopt;
  head.packing = packed ? ResultPacking::zstd : ResultPacking::none;
  const auto folder = folder_of(conversation);
  std::string path;
  for (int i = 0;; ++i) {
    head.id = result_id(random_number());
    path = folder + "/" + head.id;
    if (::access(path.c_str(), F_OK) != 0) break;
    if (i == id_tries) return fail(Errc::internal, "no name was free for it");
  }
  auto text = write_stored_head(head);
  text += packed ? std::string_view(*packed) : result;
  auto written = write_whole(path, text);
  // Another process may have taken the folder away while it was empty.
  if (!written && ::access(folder.c_str(), F_OK) != 0) written = write_whole(path, text);
  if (!written) return std::unexpected(std::move(written).error());
  make_room(path);
  return head.id;
}

void ResultStore::make_room(const std::string& kept) const {
  std::vector<fs::path> empty;
  auto files = files_in(folder_, limits_, &empty);
  const auto now = fs::file_time_type::clock::now();
  std::uint64_t bytes = 0;
  std::size_t count = 0;
  std::ranges::sort(files, std::greater<>(), &File::time);
  for (const auto& file : files) {
    const auto age = now - file.time;
    bool keeps = file.finished ? age <= limits_.lasts : age <= unfinished_lasts;
    // The newest first, so the oldest are those for which there is no room.
    if (keeps && file.finished) keeps = bytes + file.size <= limits_.bytes && count < limits_.files;
    std::error_code gone;
    if (keeps || file.path == kept) {
      bytes += file.size;
      ++count;
    } else {
      fs::remove(file.path, gone);
    }
  }
  // Fails for one that another process has just put something into, as it should.
  std::error_code used;
  for (const auto& folder : empty) fs::remove(folder, used);
}

Result<std::string> ResultStore::read(const std::string& path, std::string_view id) const {
  auto why_not = [&](const Error& why) {
    return std::unexpected(Error(Errc::internal, fmt::format("{} cannot be read: {}", handle_of(id), why.message())));
  };
  std::error_code gone;
  const auto time = fs::last_write_time(path, gone);
  if (gone || fs::file_time_type::clock::now() - time > limits_.lasts) return not_here(id);
  auto text = bytes_of(path, limits_.bytes + longest_stored_head);
  if (!text) {
    if (text.error().code() == Errc::invalid_argument) return not_here(id);
    return why_not(text.error());
  }
  const auto stored = read_stored_result(*text);
  if (!stored) return why_not(stored.error());
  if (stored->head.id != id) return why_not(Error(Errc::internal, "its file is that of another one"));
  if (stored->head.size > limits_.one) return why_not(Error(Errc::limit, "it is too large"));
  if (stored->head.packing == ResultPacking::zstd) {
    auto body = zstd_unpacked(stored->body, static_cast<std::size_t>(stored->head.size));
    if (!body) return why_not(body.error());
    return body;
  }
  if (stored->body.size() != stored->head.size) return why_not(Error(Errc::internal, "it is damaged"));
  return std::string(stored->body);
}

Result<std::string> ResultStore::load(std::string_view conversation, std::string_view id) const {
  if (folder_.empty() || !is_result_id(id)) return not_here(id);
  return read(folder_of(conversation) + "/" + std::string(id), id);
}

std::vector<std::string> ResultStore::places_of(std::string_view id) const {
  std::vector<std::string> places;
  if (folder_.empty() || !is_result_id(id)) return places;
  for (const auto& file : files_in(folder_, limits_, nullptr)) {
    if (file.finished && file.path.filename() == id) places.push_back(file.path.string());
  }
  return places;
}

std::vector<ResultStore::Kept> ResultStore::list() const {
  std::vector<Kept> kept;
  if (folder_.empty()) return kept;
  const auto now = fs::file_time_type::clock::now();
  for (const auto& file : files_in(folder_, limits_, nullptr)) {
    if (!file.finished || now - file.time > limits_.lasts) continue;
    const auto text = bytes_of(file.path.string(), longest_stored_head);
    if (!text) continue;
    if (const auto stored = read_stored_result(*text)) kept.push_back({stored->head, file.size});
  }
  std::ranges::sort(kept, std::greater<>(), [](const Kept& one) { return std::pair(one.head.time, one.head.id); });
  return kept;
}

Result<std::string> ResultStore::load_any(std::string_view id) const {
  const auto places = places_of(id);
  if (places.empty()) {
    return fail(Errc::invalid_argument, fmt::format("{}: there is no such result", handle_of(clean_excerpt(id, 40))));
  }
  return read(places.front(), id);
}

bool ResultStore::remove(std::string_view id) const {
  bool any = false;
  for (const auto& place : places_of(id)) {
    std::error_code gone;
    any |= fs::remove(place, gone);
  }
  return any;
}

std::size_t ResultStore::remove_all() const {
  std::size_t count = 0;
  if (folder_.empty()) return count;
  for (const auto& file : files_in(folder_, limits_, nullptr)) {
    std::error_code gone;
    if (fs::remove(file.path, gone) && file.finished) ++count;
  }
  return count;
}

}  // namespace patchbay
