// What the commands about declared servers share: what is declared here, where each scope is written,
// and how the answer is given. They start no server and need no loop. One file per command group:
// declare.cpp (add, remove), switches.cpp (enable, approve, ...), list.cpp, import.cpp, doctor.cpp, why.cpp, lint.cpp,
// trust.cpp.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <patchbay/config.h>

#include "cli/io.h"
#include "cli/words/settings.h"
#include "store/own_store.h"

namespace patchbay::cli {

// The servers of the flags and of the files of the current directory.
LoadRequest load_request(const Settings& settings);
// Where the last failure of each server is kept (host/failure_memory); empty: there is no such place.
std::string failure_file();
// Errc::config when something of --settings cannot be read.
void require_flag_settings(const LoadedConfig& config);

struct Declared {
  LoadRequest request;
  LoadedConfig config;
  ConfigStore store;
  // How our own file may name this project: what is written goes under the first, what is there already
  // may be under any.
  std::vector<std::string> project_keys;

  const std::string& project() const { return project_keys.front(); }
};
Declared load_declared(const Settings& settings);

// Everything that is declared under the name, what counts first. Throws Errc::invalid_argument with a
// suggestion when there is nothing.
std::vector<const ServerConfig*> all_named(const LoadedConfig& config, const std::string& name);
// The first of those; with a scope, the first of that scope.
const ServerConfig& entry_named(const Declared& declared, const std::string& name, const std::string& scope);
// All entries: those that count, then the others.
std::vector<const ServerConfig*> all_entries(const LoadedConfig& config);

// "Local config (private to you in this project)".
std::string scope_title(ConfigScope scope);
ConfigScope scope_called(std::string_view name);

// A file of ours: one that commands may write.
bool is_ours(const Declared& declared, const ServerConfig& server);
// file:line of an entry, as a person in this directory would type it.
std::string place_text(const Declared& declared, const ConfigOrigin& origin);

// Changes the servers of one scope. `edits` is given the value of the file and the paths at which servers of
// that scope may be, the first being where a new one goes; it returns what to change, or why not.
using KeyPath = std::vector<std::string>;
using ScopeEdits = std::function<Result<std::vector<ConfigEdit>>(const Json& root, const std::vector<KeyPath>& maps)>;
FileChange change_scope(const Declared& declared, ConfigScope scope, const ScopeEdits& edits);
// The same for the file an entry is in.
FileChange change_entry(const Declared& declared, const ServerConfig& entry, const ScopeEdits& edits);
// The path to a server among those maps; empty when it is in none.
KeyPath find_server(const Json& root, const std::vector<KeyPath>& maps, const std::string& name);

// Null when there is nothing.
const Json& value_at(const Json& root, const KeyPath& path);
KeyPath operator/(KeyPath path, std::string key);

// The line that takes an entry of ours away.
std::string removal_command(const std::string& name, ConfigScope scope);
// "File modified: FILE [project: DIR]".
std::string modified_text(const Declared& declared, ConfigScope scope, const std::string& file);
// The same for what was written under these names of projects.
std::string modified_text(const std::string& file, const std::vector<std::string>& projects);
// Prints `text`, or `json` when that was asked for; warnings of the change to stderr.
void answer(const Settings& settings, Io& io, const Json& json, std::string_view text);
void say_notes(const Settings& settings, Io& io, const std::vector<std::string>& notes);

// Entries of the project that have the name of one that counts and would override it, had the user approved it.
std::vector<const ServerConfig*> unapproved_rivals(const LoadedConfig& config, const ServerConfig& server);

// As JSON: where an entry is, which others of its name do not count because of it, all others of its name with
// what becomes of them, what is wrong.
Json source_json(const ConfigOrigin& origin);
Json shadows_json(const ServerConfig& server);
Json others_json(const LoadedConfig& config, const ServerConfig& server);
Json problem_json(const ConfigProblem& problem);

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
int import_servers(const Settings& settings, Io& io);

int doctor(const Settings& settings, Io& io);
int why(const Settings& settings, Io& io);
int lint(const Settings& settings, Io& io);
int trust(const Settings& settings, Io& io);
int pins(const Settings& settings, Io& io);

// What `approve --from-claude` approves, after the question. Throws when there is nothing, or nobody to ask.
std::vector<const ServerConfig*> taken_from_claude(const Declared& declared, const Settings& settings, Io& io);
// The same question before servers start, once for each entry; true if servers were approved, so that `config` is out
// of date. `only`: the one server that is about to start; empty: any may. For a terminal.
bool offer_approvals_of_claude(const Settings& settings, const LoadedConfig& config, const std::string& only, Io& io);

// Writes one answer about each of these entries of the project. Throws.
FileChange remember_answers(const Declared& declared, const std::vector<const ServerConfig*>& entries, bool yes);
// Remembers what the user answered to the question about a project's server.
Result<FileChange> remember_answer(const Settings& settings, const ServerConfig& server, bool yes);

}  // namespace patchbay::cli
