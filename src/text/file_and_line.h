// A place in a file, as messages name it. Pure.
#pragma once

#include <cstddef>
#include <string>

namespace patchbay {

// "/p/.mcp.json:3"; only the file when the line is 0, which means: not in a text.
std::string file_and_line(const std::string& file, std::size_t line);

}  // namespace patchbay
