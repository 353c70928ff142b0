#include "settings/real_path.h"

#include <errno.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include <limits.h>

#include "base/strings.h"

namespace patchbay {
namespace {

constexpr int most_links = 40;

// The last one first: names are taken from the end.
void put_names(std::vector<std::string>& names, std::string_view path) {
  const auto parts = split(path, '/');
  for (auto it = parts.rbegin(); it != parts.rend(); ++it) {
    if (!it->empty() && *it != ".") names.emplace_back(*it);
  }
}

enum class Opener : std::uint8_t { ourselves, anybody };

std::expected<std::string, int> follow(std::string_view absolute, Opener opener) {
  // No kernel takes a longer one, and each name costs a look.
  if (absolute.size() >= PATH_MAX) return std::unexpected(ENAMETOOLONG);
  std::string at;  // empty: the root
  std::vector<std::string> names;
  put_names(names, absolute);
  int links = 0;
  while (!names.empty()) {
    const auto name = std::move(names.back());
    names.pop_back();
    if (name == "..") {
      at.resize(at.empty() ? 0 : at.rfind('/'));
      continue;
    }
    const auto next = at + "/" + name;
    if (opener == Opener::anybody && is_place_of_process(next)) return std::unexpected(EXDEV);
    char target[PATH_MAX];
    const auto length = ::readlink(next.c_str(), target, sizeof target);
    if (length < 0) {
      // No link; or not there, and then nothing behind it is one either.
      if (errno != EINVAL && errno != ENOENT && errno != ENOTDIR) return std::unexpected(errno);
      at = next;
      continue;
    }
    if (++links > most_links) return std::unexpected(ELOOP);
    if (length == PATH_MAX) return std::unexpected(ENAMETOOLONG);
    const std::string_view leads(target, static_cast<std::size_t>(length));
    if (leads.starts_with('/')) at.clear();
    put_names(names, leads);
  }
  return at.empty() ? std::string("/") : at;
}

}  // namespace

std::expected<std::string, int> real_path(std::string_view absolute) { return follow(absolute, Opener::ourselves); }

std::expected<std::string, int> shared_path(std::string_view absolute) { return follow(absolute, Opener::anybody); }

bool is_place_of_process(std::string_view absolute) noexcept {
  std::string_view first, second;
  for (std::size_t at = 0; at < absolute.size() && second.empty();) {
    const auto end = std::min(absolute.find('/', at), absolute.size());
    (first.empty() ? first : second) = absolute.substr(at, end - at);
    at = end + 1;
  }
  if (first == "dev") return second == "fd" || second.starts_with("std");
  if (first != "proc" || second.empty()) return false;
  return second == "self" || second == "thread-self" ||
         second.find_first_not_of("0123456789") == std::string_view::npos;
}

bool really_inside(std::string_view path, std::string_view directory) {
  const auto inner = real_path(path);
  const auto outer = real_path(directory);
  if (!inner || !outer) return false;
  if (*outer == "/" || *inner == *outer) return true;
  return inner->starts_with(*outer) && (*inner)[outer->size()] == '/';
}

}  // namespace patchbay
