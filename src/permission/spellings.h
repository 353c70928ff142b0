// Other spellings of a text that may be a path, for rules that compare a text without a slash: `(path: .env)` must not
// miss "./.env". Looks at links and opens nothing; any thread.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace patchbay {

// Without ".", "..", doubled slashes and one at its end; a text without a slash is itself.
std::string normal_spelling(std::string_view text);

// What it is called as seen from the directories it may be relative to, where it lies in one: by its text, and by where
// its links lead; the directory itself is ".". A directory that is not absolute is not known, and left out. Nothing
// when it may be called anything, because it passes through a name that means another place for each process, or holds
// a NUL at which some readers stop.
std::optional<std::vector<std::string>> spellings_inside(std::string_view text,
                                                         std::span<const std::string_view> directories);

}  // namespace patchbay
