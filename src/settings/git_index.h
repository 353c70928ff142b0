// Whether git tracks a file: read from the index of the repository, without running git, whose configuration may be
// the repository's own. When in doubt, it may be.
#pragma once

#include <string>
#include <string_view>

namespace patchbay {

// `index` is the content of .git/index, `path` a file in the repository. Pure. False only if the whole index was
// understood and has neither the path nor one it is below, as a link or another repository would be.
bool may_be_in_index(std::string_view index, std::string_view path);

// Whether the repository at `root` may track `file`, or what leads to it. Without a repository nobody knows where the
// file came from: true. Blocking.
bool git_may_track(const std::string& root, const std::string& file);

}  // namespace patchbay
