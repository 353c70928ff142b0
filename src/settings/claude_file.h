// What ~/.claude.json says about servers: those of the user scope, and for the projects asked for the local
// scope, switches and answers. The file belongs to another program: it is read and never written, and what
// else is in it is not looked at. Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <patchbay/config.h>

#include "entries/parse.h"
#include "settings/variables.h"

namespace patchbay {

struct ClaudeProject {
  std::string path;
  ParsedServers local;                        // the problems are in ClaudeFile::problems as well
  std::vector<std::string> disabled_servers;  // disabledMcpServers
  std::vector<std::string> approved;          // enabledMcpjsonServers: by name
  std::vector<std::string> rejected;          // disabledMcpjsonServers: by name
  bool trusted = false;                       // hasTrustDialogAccepted
  bool operator==(const ClaudeProject&) const = default;
};

struct ClaudeFile {
  ParsedServers user;                   // the problems are in `problems` as well
  std::vector<VariableSetting> env;     // at the top of the file
  std::vector<ClaudeProject> projects;  // in the order asked for, without those that are not in the file
  NamedTexts elsewhere;                 // servers of all other projects: name and directory
  std::vector<ConfigProblem> problems;
  bool readable = true;

  const ClaudeProject* project(std::string_view path) const noexcept;
  bool operator==(const ClaudeFile&) const = default;
};

ClaudeFile read_claude_file(std::string_view text, const std::string& file, std::span<const std::string> projects);

}  // namespace patchbay
