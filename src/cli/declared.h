// What the commands about declared servers share: what is declared here, where each scope is written,
// and how the answer is given. They start no server and need no loop. One file per command group:
// declare.cpp (add, remove), switches.cpp (enable, approve, ...), list.cpp.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <patchbay/config.h>

#include "cli/io.h"
#include "cli/settings.h"
#include "config/own_store.h"

namespace patchbay::cli {

// The servers of the flags and of the files of the current directory.
LoadRequest load_request(const Settings& settings);

struct Declared {
  LoadRequest request;
  LoadedConfig config;
  ConfigStore store;
  std::string project;       // the name of this project in our own file
  std::string project_root;  // the directory it ends at
};
Declared load_declared(const Settings& settings);

// Everything that is declared under the name, what counts first. Throws Errc::invalid_argument with a
// suggestion when there is nothing.
std::vector<const ServerConfig*> all_named(const LoadedConfig& config, const std::string& name);
// All entries: those that count, then the others.
std::vector<const ServerConfig*> all_entries(const LoadedConfig& config);

// "Local config (private to you in this project)".
std::string scope_title(ConfigScope scope);
ConfigScope scope_called(std::string_view name);

// A file of ours: one that commands may write.
bool is_ours(const Declared& declared, const ServerConfig& server);
// file:line of an entry, as a person in this directory would type it.
std::string place_text(const Declared& declared, const ConfigOrigin& origin);

// Writes what one scope declares. `edits` is given the servers of that scope (an object) and the path to
// them; it returns what to change, or why not.
using ScopeEdits =
    std::function<Result<std::vector<ConfigEdit>>(const Json& servers, const std::vector<std::string>& path)>;
FileChange change_scope(const Declared& declared, ConfigScope scope, const ScopeEdits& edits);
// Writes what our own file says about this project; `path` leads to it.
FileChange change_project_memory(
    const Declared& declared,
    const std::function<std::vector<ConfigEdit>(const Json& project, const std::vector<std::string>& path)>& edits);

// "File modified: FILE [project: DIR]".
std::string modified_text(const Declared& declared, ConfigScope scope, const std::string& file);
// Prints `text`, or `json` when that was asked for; warnings of the change to stderr.
void answer(const Settings& settings, Io& io, const Json& json, std::string_view text);
void say_notes(const Settings& settings, Io& io, const std::vector<std::string>& notes);

// The commands; each returns its exit code and throws Error.
int add(const Settings& settings, Io& io);
int remove(const Settings& settings, Io& io);
int enable(const Settings& settings, Io& io);
int disable(const Settings& settings, Io& io);
int approve(const Settings& settings, Io& io);
int reject(const Settings& settings, Io& io);
int reset_choices(const Settings& settings, Io& io);
int list(const Settings& settings, Io& io);
int get(const Settings& settings, Io& io);

// Remembers what the person answered to the question about a project's server.
Result<FileChange> remember_answer(const Declared& declared, const ServerConfig& server, bool yes);

}  // namespace patchbay::cli
