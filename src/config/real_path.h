// Where a path leads once every symbolic link in it is followed, the way the kernel does it: `..` behind a link
// is the parent of where the link leads. Asked before somebody else's path is compared with a place of ours.
// Blocking, one look per name; any thread. It opens nothing.
#pragma once

#include <expected>
#include <string>
#include <string_view>

namespace patchbay {

// Of an absolute path; without "." and ".." and without a slash at its end. Names that are not there stay as
// they are. The error is an errno: ELOOP for links in a circle, EACCES where one may not look.
std::expected<std::string, int> real_path(std::string_view absolute);

// Whether `path` really is `directory` or below it. Not, when that cannot be found out.
bool really_inside(std::string_view path, std::string_view directory);

}  // namespace patchbay
