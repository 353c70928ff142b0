#include "support/command.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <stdexcept>

#include <gtest/gtest.h>

#include "support/places.h"
#include "support/planted.h"

extern char** environ;  // NOLINT

namespace patchbay::test {

CommandResult run_program(const std::vector<std::string>& words, const CommandOptions& options) {
  int in[2], out[2], err[2];
  if (::pipe2(in, O_CLOEXEC) != 0 || ::pipe2(out, O_CLOEXEC) != 0 || ::pipe2(err, O_CLOEXEC) != 0) {
    throw std::runtime_error("no pipes");
  }
  // What one run learns of a server must not change the next.
  std::optional<TemporaryDirectory> state;
  if (!options.env.contains("XDG_STATE_HOME") && !options.env.contains("HOME")) state.emplace();
  std::vector<std::string> variables;
  for (char** variable = environ; *variable; ++variable) {
    std::string text = *variable;
    const auto name = text.substr(0, text.find('='));
    if (!options.env.contains(name) && name != "XDG_CACHE_HOME" && (name != "XDG_STATE_HOME" || !state)) {
      variables.push_back(text);
    }
  }
  for (const auto& [name, value] : options.env) variables.push_back(name + "=" + value);
  if (state) variables.push_back("XDG_STATE_HOME=" + state->path());
  // A place where nothing can be.
  if (!options.env.contains("XDG_CACHE_HOME")) variables.emplace_back("XDG_CACHE_HOME=/dev/null/cache");
  std::vector<char*> argv, envp;
  for (const auto& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  for (const auto& variable : variables) envp.push_back(const_cast<char*>(variable.c_str()));
  argv.push_back(nullptr);
  envp.push_back(nullptr);

  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(in[0], 0);
    ::dup2(out[1], 1);
    ::dup2(err[1], 2);
    if (!options.cwd.empty() && ::chdir(options.cwd.c_str()) != 0) ::_exit(126);
    ::execve(argv[0], argv.data(), envp.data());
    ::_exit(127);
  }
  ::close(in[0]);
  ::close(out[1]);
  ::close(err[1]);

  CommandResult result;
  std::string input = options.input;
  // A program that answers while it reads would wait for us, and a blocking write for it.
  ::fcntl(in[1], F_SETFL, O_NONBLOCK);
  ::signal(SIGPIPE, SIG_IGN);
  bool writing = true, reading_out = true, reading_err = true;
  while (reading_out || reading_err) {
    if (writing && input.empty()) {
      ::close(in[1]);
      writing = false;
    }
    pollfd descriptors[3] = {{reading_out ? out[0] : -1, POLLIN, 0},
                             {reading_err ? err[0] : -1, POLLIN, 0},
                             {writing ? in[1] : -1, POLLOUT, 0}};
    ::poll(descriptors, 3, -1);
    auto take = [](int fd, std::string& into) {
      char buffer[65536];
      const auto got = ::read(fd, buffer, sizeof buffer);
      if (got > 0) into.append(buffer, static_cast<std::size_t>(got));
      return got > 0;
    };
    if (descriptors[0].revents) reading_out = take(out[0], result.out);
    if (descriptors[1].revents) reading_err = take(err[0], result.err);
    if (descriptors[2].revents) {
      const auto put = ::write(in[1], input.data(), input.size());
      if (put > 0) {
        input.erase(0, static_cast<std::size_t>(put));
      } else if (errno != EAGAIN) {
        input.clear();
      }
    }
  }
  if (writing) ::close(in[1]);
  ::close(out[0]);
  ::close(err[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  result.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  keep_output(words, result.out + result.err);
  return result;
}

Json json_of(const CommandResult& result) {
  auto value = parse_json(result.out);
  EXPECT_TRUE(value) << result.out << "\n" << result.err;
  return value.value_or(Json());
}

std::string server_file(const Json& servers) { return to_text(Json{{"mcpServers", servers}}); }

std::string mode_server_file(const std::string& mode, const std::string& argument) {
  Json args = Json::array({mode});
  if (!argument.empty()) args.push_back(argument);
  return server_file({{"fake", {{"command", built("mode-server")}, {"args", std::move(args)}}}});
}

TemporaryDirectory::TemporaryDirectory() {
  auto pattern = (std::filesystem::temp_directory_path() / "patchbay-XXXXXX").string();
  if (!::mkdtemp(pattern.data())) throw std::runtime_error("no temporary directory");
  path_ = pattern;
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string TemporaryDirectory::write(const std::string& name, const std::string& content) const {
  const auto path = std::filesystem::path(path_) / name;
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << content;
  return path.string();
}

}  // namespace patchbay::test
