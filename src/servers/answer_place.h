// For which place an answer about a project's server is meant. The same entry in another directory is not the
// same server: a relative path names another file there. So an answer is kept under the directory whose file
// was answered about, and where one starts elsewhere in the repository and finds other files under the
// entry's paths, under that place. load asks with these names, the commands write under the first of them.
// Blocking, a few looks at the file system per entry; any thread.
#pragma once

#include <string>
#include <vector>

#include <patchbay/config.h>

#include "settings/sources.h"

namespace patchbay {

// The directory of the project a file in it speaks for: the one that holds .mcp.json or .claude.
std::string project_directory_of(const std::string& file);

// Whether the entry, started in `here`, takes files or directories of `here` for those that its relative paths name
// in `directory`: in its command, arguments, environment, helper and other fields, also word by word. What a program
// finds by itself (python -m, npm run) is not seen. `expanded` has its variables in place.
bool names_other_files(const ServerConfig& expanded, const std::string& here, const std::string& directory);

struct AnswerPlace {
  std::vector<std::string> keys;  // names of the place in our file, the one to write under first
  bool elsewhere = false;         // it is not the directory of the entry's file
};
AnswerPlace answer_place(const ServerConfig& written, const ConfigPaths& paths, const VariableLookup& variables);

}  // namespace patchbay
