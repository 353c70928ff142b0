// What the words of a command line ask for, as values. words/command_line.h makes them of the words, main and the
// commands read them. Data only.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace patchbay::cli {

// A new one also gets a row in texts/command_table.cpp, and its flags a row each in words/flag_table.cpp.
enum class Command {
  overview,  // none was typed
  chat,
  acp,
  tools,
  call,
  search,
  resources,
  read,
  skills,
  prompts,
  prompt,
  add,
  add_json,
  remove,
  get,
  list,
  status,
  logs,
  reconnect,
  enable,
  disable,
  approve,
  reject,
  reset_choices,
  import_servers,
  add_from_desktop,
  doctor,
  why,
  lint,
  trust,
  login,
  logout,
  auth,
  xaa,
  secret,
  pins,
  lock,
  verify,
  results,
  session,
  record,
  replay,
  serve,
  completion,
  manual,
  mcp,  // only before another command
  version
};

// A model decides there what is called.
constexpr bool is_agent(Command command) { return command == Command::chat || command == Command::acp; }

struct Settings {
  Command command = Command::overview;

  // Which servers.
  std::vector<std::string> mcp_config;
  std::vector<std::string> mcp_servers;
  std::vector<std::string> settings;  // files or JSON
  std::vector<std::string> plugin_dirs;
  bool strict = false;
  bool trust_project = false;
  bool builtin = false;
  bool ide = false;
  bool allow_run = false;
  std::vector<std::string> channels;  // servers that may push messages
  std::string root;                   // of the built-in server; empty: the current directory
  std::string sandbox;                // "auto" or "required"; empty: as entries and settings say

  // Which calls.
  std::vector<std::string> allowed_tools;  // each one rule or several
  std::vector<std::string> disallowed_tools;
  std::string permission_mode;  // empty: as settings say
  bool skip_permissions = false;

  // How `serve` is reached.
  std::string http;  // ADDRESS:PORT; empty: stdin and stdout
  std::string bearer_file;
  std::vector<std::string> allow_hosts;
  std::vector<std::string> allow_origins;

  // What `add`, `list` and their like are told.
  std::string scope;      // empty: as the command sees fit
  std::string transport;  // empty: as the words look
  std::vector<std::string> env;
  std::vector<std::string> headers;
  std::string client_id;
  bool client_secret = false;
  bool xaa = false;         // of `add`: through the identity provider
  std::string issuer;       // of `xaa setup`
  bool no_browser = false;  // of `login`: addresses are copied
  std::optional<int> callback_port;
  std::optional<std::vector<std::string>> command_words;  // what stood behind --
  bool command_without_dashes = false;                    // they were found without it
  bool check = false;                                     // connect, to see whether servers answer
  bool cached = false;                                    // answer from what earlier runs kept, and start nothing
  bool follow = false;
  bool all = false;
  bool from_claude = false;
  bool as_mcp = false;  // typed as `patchbay mcp ...`

  // What `import` is told.
  std::string from;                // whose file it is; empty: found out
  std::vector<std::string> names;  // only these servers
  bool dry_run = false;
  bool yes = false;

  std::string output;   // of `call` and `read`: the file for what is not text
  std::string answers;  // to questions of the server; a file or JSON

  // What `doctor`, `lint` and `trust` are told.
  bool fix = false;
  bool offline = false;
  bool warnings_fail = false;
  bool take_back = false;

  std::optional<std::size_t> last_lines;  // of `logs` and `results`: no more than these

  // Of `call` and `results`: what a model reads of a result.
  bool for_model = false;
  std::string pointer;
  std::string pattern;
  bool count = false;
  std::optional<std::size_t> skip_lines;
  std::optional<std::size_t> limit;  // of `search`: no more tools

  // Of the agent: `chat`, `-p` and `acp`.
  bool print = false;
  std::string model;          // PROVIDER:NAME; empty: as settings and keys say
  std::string output_format;  // of -p: "text", "json" or "stream-json"; empty: text
  std::optional<std::size_t> max_turns;
  std::string json_schema;            // a file or JSON
  std::optional<std::string> resume;  // the ID of a conversation; empty: one that is chosen
  bool resume_newest = false;
  std::string more_instructions;
  bool plan = false;

  // Of `session`, and whether others use it.
  std::optional<double> idle_minutes;  // 0: it never ends by itself
  bool no_session = false;

  // How to talk.
  bool json = false;
  bool quiet = false;
  bool verbose = false;
  bool no_color = false;
  std::string log_level;  // empty: no log was asked for, and warnings are told in words
  bool debug = false;     // of `serve`: a log of everything
  std::string log_file;
  bool trace = false;
  std::optional<double> timeout_seconds;
  bool no_check = false;

  // What is asked for instead of the command.
  bool help = false;
  bool version = false;

  // What the command is about.
  std::vector<std::string> words;

  bool operator==(const Settings&) const = default;
};

}  // namespace patchbay::cli
