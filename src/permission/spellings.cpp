#include "permission/spellings.h"

#include <errno.h>

#include <algorithm>

#include <fmt/format.h>
#include <limits.h>

#include "base/strings.h"
#include "settings/real_path.h"

namespace patchbay {
namespace {

void add_below(std::vector<std::string>& out, std::string_view path, std::string_view directory) {
  if (path == directory) {
    path = ".";
  } else {
    if (directory != "/") {
      if (!path.starts_with(directory)) return;
      path.remove_prefix(directory.size());
    }
    if (!path.starts_with('/')) return;
    path.remove_prefix(1);
  }
  if (std::ranges::find(out, path) == out.end()) out.emplace_back(path);
}

}  // namespace

std::string normal_spelling(std::string_view text) {
  if (!text.contains('/')) return std::string(text);
  const bool absolute = text.starts_with('/');
  std::vector<std::string_view> names;
  for (const auto part : split(text, '/')) {
    if (part.empty() || part == ".") continue;
    if (part != "..") {
      names.push_back(part);
    } else if (!names.empty() && names.back() != "..") {
      names.pop_back();
    } else if (!absolute) {
      names.push_back(part);  // nothing is left in front of it to take away
    }
  }
  return fmt::format("{}{}", absolute ? "/" : "", fmt::join(names, "/"));
}

std::optional<std::vector<std::string>> spellings_inside(std::string_view text,
                                                         std::span<const std::string_view> directories) {
  std::vector<std::string> out;
  if (text.contains('\0')) return std::nullopt;
  if (text.empty()) return out;
  const bool absolute = text.starts_with('/');
  if (absolute) {
    if (const auto there = shared_path(text); !there && there.error() == EXDEV) return std::nullopt;
  }
  for (const auto directory : directories) {
    if (!directory.starts_with('/')) continue;
    const auto whole = absolute ? std::string(text) : fmt::format("{}/{}", directory, text);
    const auto normal = normal_spelling(whole);
    // One that is too long for the kernel is opened by nobody but who shortens it first.
    const auto there = shared_path(whole.size() < PATH_MAX ? whole : normal);
    if (!there && there.error() == EXDEV) return std::nullopt;
    add_below(out, normal, normal_spelling(directory));
    if (const auto here = shared_path(directory); there && here) add_below(out, *there, *here);
  }
  return out;
}

}  // namespace patchbay
