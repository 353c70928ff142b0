// Where a path leads once every symbolic link in it is followed, the way the kernel does it: `..` behind a link
// is the parent of where the link leads. Asked before somebody else's path is compared with a place of ours.
// Blocking, one look per name; any thread. It opens nothing.
#pragma once

#include <expected>
#include <string>
#include <string_view>

namespace patchbay {

// Of an absolute path; without "." and ".." and without a slash at its end. Names that are not there stay as
// they are. The error is an errno: ELOOP for links in a circle, EACCES where one may not look,
// ENAMETOOLONG for what is longer than any path.
std::expected<std::string, int> real_path(std::string_view absolute);

// Where it leads for whoever opens it. EXDEV when it passes, by itself or by a link, through a name that means another
// place for each process, such as /proc/self/cwd or /dev/fd: what it means here says nothing about where another
// program will find it.
std::expected<std::string, int> shared_path(std::string_view absolute);
// Whether the absolute path is such a name or below one, without looking at links; `..` and `.` must not be in it.
bool is_place_of_process(std::string_view absolute) noexcept;

// Whether `path` really is `directory` or below it. Not, when that cannot be found out.
bool really_inside(std::string_view path, std::string_view directory);

}  // namespace patchbay
