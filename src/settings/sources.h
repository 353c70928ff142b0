// Where servers are declared: one table, from the highest to the lowest, and what it means in one
// directory. Of two sources that declare a name the higher one counts. Pure; load.cpp reads what the table
// names.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <patchbay/config.h>

namespace patchbay {

// Whose file it is, and so which reader takes it.
enum class SourceFormat : std::uint8_t {
  servers,          // about servers alone: "mcpServers", or a bare map
  wrapped_servers,  // about servers alone: "mcpServers"
  settings,         // about other things too; Claude Code does not look for servers there
  mixed,            // about other things too
  claude,           // ~/.claude.json
  own,              // our config.json
  none,             // no file of its own: flags, plugins, connectors
};

enum class SourcePlace : std::uint8_t {
  enterprise_dir,
  claude_dir,
  claude_json,
  own_dir,
  project,  // every directory from the current one up to the root of the repository, nearest first
  elsewhere,
};

struct SourceRow {
  ConfigScope scope;
  SourcePlace place;
  std::string_view file;  // below the place
  SourceFormat format;
  // needs_approval for whatever may have come with a repository, in whichever scope it counts.
  ConfigTrust trust;
};

// Highest first.
std::span<const SourceRow> source_table() noexcept;

// The library's way to who must own the files of an organisation; nobody else may say it.
struct OrganisationAccess {
  static OrganisationDir make(std::string path, unsigned owner) {
    OrganisationDir made(std::move(path));
    made.owner_ = owner;
    return made;
  }
  static unsigned owner(const OrganisationDir& directory) noexcept { return directory.owner_; }
};

// Where things are for one load.
struct ConfigPaths {
  std::vector<std::string> directories;   // the current one first, up to the root of the repository
  std::string project_root;               // what a new entry of the local scope is kept under
  std::vector<std::string> project_keys;  // how files of ours and others may name this project, best first
  std::string home;
  std::string own_dir;
  std::string claude_dir;
  std::string claude_json;
  std::string enterprise_dir;
  std::string cache_dir;

  std::string own_file() const { return own_dir + "/config.json"; }
  bool operator==(const ConfigPaths&) const = default;
};

// A file to read; `project` is the key for the local scope of files that hold many projects.
struct SourceFile {
  ConfigScope scope = ConfigScope::user;
  std::string file;
  SourceFormat format = SourceFormat::servers;
  ConfigTrust trust = ConfigTrust::trusted;
  std::string project;
  bool operator==(const SourceFile&) const = default;
};

// The files of one scope, highest first. A file that is the user's own is never taken for one of the
// project: in the home directory both have the same names.
std::vector<SourceFile> files_of(ConfigScope scope, const ConfigPaths& paths);

// Directories from the variables and `request`; those of the project are not filled in.
ConfigPaths person_paths(const LoadRequest& request, const VariableLookup& variables);

}  // namespace patchbay
