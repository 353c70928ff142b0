// Runs a program to its end and keeps what it printed, for tests of the binary.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <patchbay/json.h>

namespace patchbay::test {

struct CommandResult {
  int code = -1;  // exit code, or 128 + signal
  std::string out;
  std::string err;
};

struct CommandOptions {
  std::string cwd;
  std::string input;
  std::map<std::string, std::string> env;
};

// The words are argv; the first is looked up as a path. Unless `env` says where, the program
// has no place to cache anything, and a new one for what it keeps.
CommandResult run_program(const std::vector<std::string>& words, const CommandOptions& options = {});

// What it printed, read as JSON; a failed test and null when it is none.
Json json_of(const CommandResult& result);
// A file of servers: {"mcpServers": …}.
std::string server_file(const Json& servers);
// The same with the one server "fake": tests/fakes/mode_server.cpp, misbehaving as `mode` says.
std::string mode_server_file(const std::string& mode, const std::string& argument = {});

// A directory of its own, removed with everything in it.
class TemporaryDirectory {
 public:
  TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  ~TemporaryDirectory();
  const std::string& path() const noexcept { return path_; }
  // Writes a file below it and returns its path.
  std::string write(const std::string& name, const std::string& content) const;

 private:
  std::string path_;
};

}  // namespace patchbay::test
