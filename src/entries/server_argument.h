// One server as a person types it: NAME=URL, NAME={"command":...} or NAME=command and arguments. Pure.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "entries/parse.h"

namespace patchbay {

// Words as a shell would split them: blanks separate, quotes and backslashes protect. Nothing is expanded
// and nothing is special but these; a quote that does not end is the error.
std::expected<std::vector<std::string>, std::string> split_command_line(std::string_view text);

// One server of dynamic scope, or one problem; `source` is what the argument belongs to, the file of its origin.
ParsedServers parse_server_argument(std::string_view argument, const std::string& source);

}  // namespace patchbay
