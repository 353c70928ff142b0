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
  serve,
  completion,
  manual,
  version
};

struct Settings {
  Command command = Command::overview;

  // Which servers.
  std::vector<std::string> mcp_config;
  bool strict = false;
  bool trust_project = false;
  bool builtin = false;
  bool allow_run = false;
  std::string root;  // of the built-in server; empty: the current directory

  // How `serve` is reached.
  std::string http;  // ADDRESS:PORT; empty: stdin and stdout
  std::string bearer_file;
  std::vector<std::string> allow_hosts;
  std::vector<std::string> allow_origins;

  // How to talk.
  bool json = false;
  bool quiet = false;
  bool no_color = false;
  std::string log_level = "warning";
  std::string log_file;
  bool trace = false;
  std::optional<double> timeout_seconds;
  bool no_check = false;

  // What the command is about.
  std::vector<std::string> words;
};

// Text to print and the exit code, instead of a command: help, or a usage error.
struct Stop {
  int code = 0;
  std::string out;
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
