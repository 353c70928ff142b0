// Which file a command names, and what is wrong when it names none. Looks at the file
// system, starts nothing. Called by Process; any thread.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <patchbay/error.h>

namespace patchbay {

// Where commands are looked for when PATH is not set.
inline constexpr std::string_view default_path = "/usr/local/bin:/usr/bin:/bin";

// The absolute path of the file to execute. A command with a '/' is taken from `directory`,
// any other is looked up along `path` (what PATH says, relative parts taken from `directory`
// as well). Errc::connect says whether it was not found, is not executable, or is a whole
// command line of which only the first word is a command.
Result<std::string> find_command(std::string_view command, std::string_view path, std::string_view directory);

// "NAME=value" for every variable of `base` (as in environ) but those in `unset`, overlaid by `overlay`.
std::vector<std::string> overlay_environment(const char* const* base, const std::map<std::string, std::string>& overlay,
                                             const std::vector<std::string>& unset = {});

// The value of a variable in such a list; `fallback` when absent.
std::string_view variable(const std::vector<std::string>& environment, std::string_view name,
                          std::string_view fallback);

}  // namespace patchbay
