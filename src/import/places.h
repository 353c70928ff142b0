// Where other clients keep their servers, on this machine and in this project. Pure: paths that may or
// may not be there; whoever asks looks. `registry` has no place of its own but server.json in the
// project, which is looked at only when it is asked for by name.
#pragma once

#include <string>
#include <vector>

#include "import/import.h"

namespace patchbay {

struct ImportPlace {
  ImportClient client = ImportClient::mcp_json;
  std::string path;
  // Where its entries go unless the user says otherwise: the user's file to the user scope, a
  // project's to the local one, which is private to the project.
  ConfigScope scope = ConfigScope::user;
  bool operator==(const ImportPlace&) const = default;
};

struct ImportSurroundings {
  std::string home;
  std::string config_home;            // XDG_CONFIG_HOME, or home/.config
  std::vector<std::string> projects;  // directories whose files count, nearest first
  VariableLookup variables;           // CODEX_HOME, OPENCODE_CONFIG, ...
};

// In the order of import_clients(), the user's file before the project's. `registry` and `mcp_json` are
// left out.
std::vector<ImportPlace> import_places(const ImportSurroundings& surroundings);
std::vector<ImportPlace> import_places(ImportClient client, const ImportSurroundings& surroundings);

}  // namespace patchbay
