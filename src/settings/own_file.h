// Patchbay's own file, config.json in its configuration directory: the servers of the user scope and of
// the local scope of each project, what the user said about project servers, and settings. This reads a
// text; the only writer is own_store.h. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <patchbay/config.h>

#include "entries/parse.h"

namespace patchbay {

// The newest form of the file this program knows. A newer one is read as far as it is understood, and
// must not be written: what this program does not know would be lost.
inline constexpr std::int64_t own_file_version = 1;

struct OwnProject {
  std::string path;     // absolute
  ParsedServers local;  // the problems are in OwnFile::problems as well
  NamedTexts approved;  // name and entry hash
  NamedTexts rejected;
  NamedTexts not_taken_over;  // approved in Claude Code, and the user did not want that here
  bool trusted = false;
  std::vector<std::string> disabled_servers;
  std::vector<std::string> enabled_servers;  // whatever another file says
  bool operator==(const OwnProject&) const = default;
};

struct OwnFile {
  std::int64_t version = own_file_version;
  ParsedServers user;  // the problems are in `problems` as well
  std::vector<std::string> disabled_servers;
  std::vector<std::string> enabled_servers;
  std::vector<OwnProject> projects;
  std::optional<ConnectorDirectory> connectors;
  // The text with everything but the value of "settings" turned into blanks, so that lines and columns
  // in it are those of the file. Empty when there are none.
  std::string settings;
  std::vector<ConfigProblem> problems;  // in the order of the file
  bool readable = true;                 // false: the text is not JSON, or not an object

  bool is_newer() const noexcept { return version > own_file_version; }
  const OwnProject* project(std::string_view path) const noexcept;
  bool operator==(const OwnFile&) const = default;
};

// An empty text is an empty file. A part that has the wrong type is a problem and left out.
OwnFile read_own_file(std::string_view text, const std::string& file);

}  // namespace patchbay
