// The command line as values: one table of flags makes parsing and help.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace patchbay::cli {

enum class Command { overview, tools, call, resources, read, prompts, prompt, serve, version };

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

}  // namespace patchbay::cli
