// The servers a person has declared: what one entry says, where it was written, and
// what is wrong with it. Values only. load_servers reads the files that a command line
// in `cwd` would see; nothing here starts a server, asks for approval or writes a file.
// Any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <patchbay/error.h>
#include <patchbay/json.h>

namespace patchbay {

enum class ServerKind : std::uint8_t { stdio, http, sse, websocket };
std::string_view to_string(ServerKind kind) noexcept;  // as spelled in a file: "ws" for websocket

enum class ConfigScope : std::uint8_t { dynamic, project, local, user, enterprise, plugin, connector, embedded };
std::string_view to_string(ConfigScope scope) noexcept;

// Whether the person in front of the machine has chosen this entry. What a repository
// brings along is untrusted until they say so.
enum class ConfigTrust : std::uint8_t { trusted, needs_approval };
ConfigTrust trust_of(ConfigScope scope) noexcept;

struct ConfigOrigin {
  std::string file;      // absolute path, or the flag that carried the text
  std::size_t line = 0;  // of the entry, from 1; 0 when it was not in a text
  ConfigScope scope = ConfigScope::dynamic;
  ConfigTrust trust = ConfigTrust::trusted;
  bool operator==(const ConfigOrigin&) const = default;
};

enum class Severity : std::uint8_t { warning, error };

// One thing wrong with a file or an entry. An error costs that entry (or, when `server`
// is empty, that file); a warning costs nothing.
struct ConfigProblem {
  std::string file;
  std::size_t line = 0;  // 0: the file as a whole
  std::size_t column = 0;
  std::string message;
  std::string server;  // the entry it is about, or empty
  Severity severity = Severity::error;

  // "file:line:column: message".
  std::string text() const;
  bool operator==(const ConfigProblem&) const = default;
};

// Name and value in the order of the file.
using NamedTexts = std::vector<std::pair<std::string, std::string>>;

struct ServerConfig {
  std::string name;
  ServerKind kind = ServerKind::stdio;

  // stdio. Relative paths are relative to the directory the command was started in.
  std::string command;
  std::vector<std::string> args;
  NamedTexts env;  // laid over the parent's environment
  std::optional<std::string> cwd;

  // The others. An empty url means: declared, but not configured.
  std::string url;
  NamedTexts headers;

  std::optional<std::chrono::milliseconds> timeout;  // of one tool call in total
  bool disabled = false;
  std::optional<std::vector<std::string>> enabled_tools;  // absent: all
  std::vector<std::string> disabled_tools;

  ConfigOrigin origin;
  Json extra;  // an object: keys we do not know, as written; null when there are none
  std::vector<std::string> warnings;

  bool operator==(const ServerConfig&) const = default;
};

// What a variable is set to; nullopt when it is not set.
using VariableLookup = std::function<std::optional<std::string>(std::string_view name)>;
VariableLookup process_environment();

// The entry with ${VAR} and ${VAR:-default} replaced in command, args, env values, cwd,
// url and headers. A variable that is not set and has no default stays as written and
// adds a warning. Entries are kept unexpanded until a server is started, so that what is
// shown and compared is what was written.
ServerConfig expand_server(ServerConfig server, const VariableLookup& lookup);

struct LoadRequest {
  std::string cwd;                       // absolute
  std::vector<std::string> mcp_configs;  // each a path, or JSON when it begins with '{'
  bool strict = false;                   // nothing but mcp_configs
};

struct LoadedConfig {
  std::vector<ServerConfig> servers;   // names are unique
  std::vector<ServerConfig> shadowed;  // declared, but another entry has the name
  std::vector<ConfigProblem> problems;
  bool operator==(const LoadedConfig&) const = default;
};

// Never fails as a whole: what cannot be read or understood is a problem, and everything
// else is there.
LoadedConfig load_servers(const LoadRequest& request);

}  // namespace patchbay
