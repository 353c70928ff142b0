// The only part of the configuration that touches the file system: reading a text
// safely, and finding the files a directory is subject to. Blocking; the texts are small
// and capped. What they mean is decided elsewhere.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <patchbay/config.h>

namespace patchbay {

inline constexpr std::size_t config_file_limit = 10u << 20;

// Follows symbolic links and then insists on a regular file, without ever waiting for
// one: a pipe planted under the name cannot hang the reader. Errors are Errc::config and
// say which file and why.
Result<std::string> read_config_file(const std::string& path);

// Every .mcp.json that applies in `cwd`, nearest first: up to the directory that holds
// .git, or in `cwd` alone outside a repository.
std::vector<std::string> project_config_files(const std::string& cwd);

// Whether a --mcp-config argument is JSON itself instead of a path.
bool is_inline_config(std::string_view argument) noexcept;

}  // namespace patchbay
