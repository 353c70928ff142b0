// The command line as values: one table of commands and flags makes parsing, help, the manual
// page and the completions. Called by main, before there is a loop; touches nothing.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace patchbay::cli {

enum class Command {
  overview,
  tools,
  call,
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
  serve,
  completion,
  manual,
  version
};

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
  std::string root;  // of the built-in server; empty: the current directory

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
  std::optional<int> callback_port;
  std::optional<std::vector<std::string>> command_words;  // what stood behind --
  bool check = false;                                     // connect, to see whether servers answer
  bool all = false;
  bool as_mcp = false;  // typed as `patchbay mcp ...`

  // What `import` is told.
  std::string from;                // whose file it is; empty: found out
  std::vector<std::string> names;  // only these servers
  bool dry_run = false;
  bool yes = false;

  // What `doctor`, `lint` and `trust` are told.
  bool fix = false;
  bool offline = false;
  bool warnings_fail = false;
  bool take_back = false;

  // How to talk.
  bool json = false;
  bool quiet = false;
  bool no_color = false;
  std::string log_level;  // empty: no log was asked for, and warnings are told in words
  std::string log_file;
  bool trace = false;
  std::optional<double> timeout_seconds;
  bool no_check = false;

  // What the command is about.
  std::vector<std::string> words;
};

// As it is typed; empty for none.
std::string_view command_name(Command command) noexcept;

struct HelpTopic {
  std::string command;  // empty: the program
  bool in_mcp = false;  // asked for as `patchbay mcp COMMAND --help`
};

// What to print and the exit code, instead of a command: help, or a usage error.
struct Stop {
  int code = 0;
  std::optional<HelpTopic> help;
  std::string talk;
  std::string message;  // of a usage error, without advice
};

std::variant<Settings, Stop> parse_command_line(int argc, const char* const* argv);

// The same table as text, for whoever writes about it.
struct FlagText {
  std::string group;
  std::string command;             // the only one that takes it; empty: all do
  std::vector<std::string> names;  // with their dashes, short ones first
  std::string value;               // what its value is called; empty: takes none
  std::vector<std::string> choices;
  std::string help;
  bool repeatable = false;
};

struct CommandText {
  std::string name;
  std::string summary;
  std::string examples;
  std::string words;  // empty: takes none
  std::string words_help;
  bool words_required = false;
  bool words_many = false;
  std::vector<std::string> choices;  // when only these words will do
  bool in_mcp = false;               // also `patchbay mcp NAME`
};

struct CommandLineText {
  std::string summary;
  std::string servers;
  std::string examples;
  std::string exit_codes;
  std::vector<FlagText> flags;
  std::vector<CommandText> commands;
};

CommandLineText describe_command_line();

}  // namespace patchbay::cli
