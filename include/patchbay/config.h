// The servers that configuration files declare: what one entry says, where it is written, whether it
// is used and why not, and what is wrong with it. Values only. load_servers reads the files
// that a command line in `cwd` would see; nothing here starts a server, asks for approval or
// writes a file. Any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <patchbay/error.h>
#include <patchbay/json.h>
#include <patchbay/problem.h>

namespace patchbay {

enum class ServerKind : std::uint8_t { stdio, http, sse, websocket };
std::string_view to_string(ServerKind kind) noexcept;  // as spelled in a file: "ws" for websocket

enum class ConfigScope : std::uint8_t { dynamic, project, local, user, enterprise, plugin, connector, embedded };
std::string_view to_string(ConfigScope scope) noexcept;

// Whether the user has chosen this entry. What a project file declares is not trusted
// until it is approved.
enum class ConfigTrust : std::uint8_t { trusted, needs_approval };
ConfigTrust trust_of(ConfigScope scope) noexcept;

struct ConfigOrigin {
  std::string file = {};  // absolute path, or what SourceNames calls it
  std::size_t line = 0;   // of the entry, from 1; 0 when it was not in a text
  ConfigScope scope = ConfigScope::dynamic;
  ConfigTrust trust = ConfigTrust::trusted;
  std::size_t column = 0;
  bool operator==(const ConfigOrigin&) const = default;
};

// Name and value in the order of the file.
using NamedTexts = std::vector<std::pair<std::string, std::string>>;

// What became of an entry when everything was put together. `active` alone may be started.
enum class ServerStanding : std::uint8_t {
  active,
  awaiting_approval,  // a project file declares it and it is not approved
  rejected,           // by the user
  disabled,           // switched off, in its entry or by name
  policy,             // an organisation's list forbids it
  duplicate,          // the same server as another entry under another name
  not_configured,     // its url is empty
  broken,             // it could not be read; only name and origin are there
  shadowed,           // another entry has the name
};
std::string_view to_string(ServerStanding standing) noexcept;  // "awaiting approval"

// What decided about an entry, and where that is written.
struct StandingBy {
  enum class Kind : std::uint8_t {
    nothing,
    entry,        // what the entry itself says
    answer,       // approved or rejected as it is now
    flag,         // of this run
    setting,      // of a settings file: by name, or for all servers
    switched,     // on or off by name
    policy,       // the list of an organisation
    other_entry,  // has the name, or is the same server
  };
  Kind kind = Kind::nothing;
  std::string what = {};  // the flag, key or rule: "enabledMcpjsonServers"
  std::string file = {};  // empty: in none
  std::size_t line = 0;
  std::size_t column = 0;
  bool operator==(const StandingBy&) const = default;
};

// How to sign in at a server.
struct OAuthConfig {
  std::optional<std::string> client_id = {};
  std::optional<std::uint16_t> callback_port = {};
  std::optional<std::string> scopes = {};  // separated by blanks
  std::optional<std::string> auth_server_metadata_url = {};
  bool xaa = false;                               // one sign-in at an identity provider for many servers
  std::optional<std::string> callback_host = {};  // of the address that the browser comes back to
  std::optional<std::string> resource = {};       // what the server is called at its authorization server
  std::optional<std::string> issuer = {};         // where client_id is valid, and nowhere else
  std::optional<std::string> grant = {};          // client_credentials or workload_identity; unset: the user signs in
  std::optional<std::string> private_key_file = {};       // PEM: the client proves itself with a signature
  std::optional<std::string> private_key_algorithm = {};  // "ES256"; unset: what fits the key
  std::optional<std::string> token_file = {};             // the statement of the platform, for workload_identity
  bool dpop = false;  // tokens that only we can use, where the authorization server has them
  Json extra = {};    // an object: keys we do not know, as written; null when there are none
  bool operator==(const OAuthConfig&) const = default;
};

// PEM files for a server that is reached by TLS, each empty when the entry does not name it.
struct TlsConfig {
  std::string ca = {};          // all that is trusted for this server
  std::string cert = {};        // our client certificate
  std::string key = {};         // empty: it is in the certificate's file
  std::string passphrase = {};  // of the key
  bool operator==(const TlsConfig&) const = default;
};

struct ServerConfig {
  std::string name;
  ServerKind kind = ServerKind::stdio;

  // stdio. Relative paths are relative to the directory the command was started in.
  std::string command = {};
  std::vector<std::string> args = {};
  NamedTexts env = {};                       // laid over the parent's environment
  std::optional<std::string> env_file = {};  // NAME=value lines, laid under `env`
  std::optional<std::string> cwd = {};

  // The others. An empty url means: declared, but not configured.
  std::string url = {};
  NamedTexts headers = {};
  std::optional<std::string> headers_helper = {};  // a shell command that prints more headers, as a JSON object
  std::optional<OAuthConfig> oauth = {};
  TlsConfig tls = {};

  std::optional<std::chrono::milliseconds> timeout = {};          // of one tool call in total
  std::optional<std::chrono::milliseconds> request_timeout = {};  // of any other request
  bool disabled = false;
  bool required = false;      // a run without it is a failure
  bool always_load = false;   // its tools are always shown to a model
  std::string protocol = {};  // "legacy", or a revision's date; empty: found out by asking
  std::optional<std::vector<std::string>> enabled_tools = {};  // absent: all
  std::vector<std::string> disabled_tools = {};

  ConfigOrigin origin = {};
  // What ${...} means in this entry before any variable of the environment: a plugin's directories
  // and settings.
  NamedTexts variables = {};
  Json extra = {};  // an object: keys we do not know, as written; null when there are none
  std::vector<std::string> warnings = {};

  // Filled in when everything was put together.
  ServerStanding standing = ServerStanding::active;
  bool approved = false;                   // where approval is needed: by an answer, a flag or a setting
  StandingBy decided_by = {};              // of an active one that needs approval: what approves it
  std::string reason = {};                 // why it is not active, for people
  std::optional<Remedy> remedy = {};       // what would make it active, where a program can offer that
  std::vector<ConfigOrigin> shadows = {};  // entries of the same name that do not count because of this one

  bool operator==(const ServerConfig&) const = default;
};

// What a variable is set to; nullopt when it is not set.
using VariableLookup = std::function<std::optional<std::string>(std::string_view name)>;
VariableLookup process_environment();

// The entry with ${VAR} and ${VAR:-default} replaced in command, args, env values, cwd,
// url, headers and tls. A variable that is not set and has no default stays as written and
// adds a warning. Entries are kept unexpanded until a server is started, so that what is
// shown and compared is what was written.
ServerConfig expand_server(ServerConfig server, const VariableLookup& lookup);

// What the parts of a LoadRequest that come from no file are called, in origins and messages. A program that takes
// them from flags says how those are spelled.
struct SourceNames {
  std::string mcp_config = "mcp_configs";
  std::string mcp_server = "mcp_servers";
  std::string settings = "settings";
  std::string plugin_dir = "plugin_dirs";
  std::string trust_project = "trust_project";
};

// Where the files of an organisation are: /etc/claude-code, or the path given. They are used only when root
// owns them.
class OrganisationDir {
 public:
  OrganisationDir() = default;
  OrganisationDir(std::string path) : path_(std::move(path)) {}
  OrganisationDir(const char* path) : path_(path) {}
  const std::string& path() const noexcept { return path_; }

 private:
  friend struct OrganisationAccess;
  std::string path_ = "/etc/claude-code";
  unsigned owner_ = 0;
};

struct LoadRequest {
  std::string cwd;                            // absolute
  std::vector<std::string> mcp_configs = {};  // each a path, or JSON when it begins with '{'
  bool strict = false;                        // nothing but mcp_configs and mcp_servers
  std::vector<std::string> mcp_servers = {};  // each NAME=URL, NAME={"command":...} or NAME=command and arguments
  std::vector<std::string> settings = {};     // more settings: each a path, or JSON when it begins with '{'
  std::vector<std::string> plugin_dirs = {};  // directories of one plugin each, beside the installed ones
  bool trust_project = false;                 // servers of project files count as approved
  SourceNames names = {};

  // Where things are. Unset: as the variables below say, else below `home`.
  std::optional<std::string> home = {};        // HOME
  std::optional<std::string> config_dir = {};  // ours: XDG_CONFIG_HOME/patchbay
  std::optional<std::string> claude_dir = {};  // CLAUDE_CONFIG_DIR
  // Of an organisation. Never taken from a variable: who is bound by it must not be able to move it.
  OrganisationDir enterprise_dir = {};
  // What variables are set to; unset: the environment of this process.
  VariableLookup variables = {};
};

// A variable that a settings file sets ("env"). It holds for servers and for what Patchbay reads from variables, and
// overrides the one this process was started with; the process itself is not changed.
struct SettingsVariable {
  std::string name;
  std::string value;
  std::string file = {};
  std::size_t line = 0;
  std::size_t column = 0;
  bool operator==(const SettingsVariable&) const = default;
};

// Lists more servers for who is signed in there; "connectors" in our own file.
struct ConnectorDirectory {
  std::string url;
  std::string bearer = {};                   // as written, with its references
  std::string proxy = {};                    // where its servers are reached with the bearer; empty: at their own URLs
  std::chrono::milliseconds timeout{5'000};  // of asking it
  bool enabled = true;
  std::string cache_file = {};  // what it said last
  bool operator==(const ConnectorDirectory&) const = default;
};

// What settings files say about servers and tools, for the host to apply. Shared, and compared by
// content; what is in one is not part of the API.
class SettingsLayers {
 public:
  SettingsLayers() = default;
  bool operator==(const SettingsLayers& other) const;

 private:
  friend struct SettingsAccess;
  struct Layers;
  std::shared_ptr<const Layers> layers_;
};

// A server that is declared for another directory only.
struct ServerElsewhere {
  std::string name;
  std::string directory;
};

struct LoadedConfig {
  // One for each name: the entry that counts, or when none does the one that would come first.
  // `standing` says which it is.
  std::vector<ServerConfig> servers = {};
  std::vector<ServerConfig> shadowed = {};  // all others, with their standing
  std::vector<ConfigProblem> problems = {};

  std::vector<ServerElsewhere> elsewhere = {};  // of our own file, for whoever looks for a server that is not here

  SettingsLayers settings = {};                    // of every file that was read, in no particular order
  std::vector<SettingsVariable> environment = {};  // "env" of settings files: of each name the one that counts
  // The file of an organisation that alone says which servers there are, if there is one.
  std::optional<std::string> exclusive = {};
  // Why flags of this request brought no servers or plugins: an organisation says so.
  std::optional<std::string> refused_flags = {};
  // The directory of connectors, when there is one and it is switched on.
  std::optional<ConnectorDirectory> connectors = {};
  // The user trusts what is in this project's directory.
  bool project_trusted = false;
  std::string cwd = {};          // as asked for
  std::string home = {};         // of the user; empty: not known
  std::string project_dir = {};  // the root of the repository, else cwd
  std::string config_dir = {};   // ours
  std::string helper_dir = {};   // where commands of the user's own entries run
  bool operator==(const LoadedConfig&) const = default;
};

// What variables are in the entries of `config`: as settings files set them, else as `start` says.
VariableLookup variables_of(const LoadedConfig& config, VariableLookup start = process_environment());

// Never fails as a whole: what cannot be read or understood is a problem, and everything
// else is there.
LoadedConfig load_servers(const LoadRequest& request);

}  // namespace patchbay
