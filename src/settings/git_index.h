// Whether git tracks a file: read from the index of the repository, without running git, whose configuration may be
// the repository's own. When in doubt, it may be.
#pragma once

#include <string>
#include <string_view>

namespace patchbay {

// `index` is the content of .git/index. Pure. False only if the index was understood and has no path that ends in
// `path`.
bool may_be_in_index(std::string_view index, std::string_view path);

// Whether the repository at `root` may track `path`, which is relative to it. Without a repository nobody knows where
// the file came from: true. Blocking.
bool git_may_track(const std::string& root, std::string_view path);

}  // namespace patchbay
