// A program on a real terminal, for tests of what a person sees and types.
#pragma once

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <pty.h>

namespace patchbay::test {

// A program with a terminal for stdin, stdout and stderr.
class Terminal {
 public:
  Terminal(std::vector<std::string> words, const std::string& cwd,
           const std::map<std::string, std::string>& environment = {}, unsigned short columns = 200) {
    struct winsize size{40, columns, 0, 0};
    child_ = ::forkpty(&fd_, nullptr, nullptr, &size);
    if (child_ == 0) {
      if (::chdir(cwd.c_str()) != 0) ::_exit(126);
      ::setenv("TERM", "xterm", 1);
      for (const auto& [name, value] : environment) ::setenv(name.c_str(), value.c_str(), 1);
      std::vector<char*> argv;
      for (auto& word : words) argv.push_back(word.data());
      argv.push_back(nullptr);
      ::execv(argv[0], argv.data());
      ::_exit(127);
    }
  }
  ~Terminal() {
    ::close(fd_);
    if (!ended_) {
      ::kill(child_, SIGKILL);
      ::waitpid(child_, nullptr, 0);
    }
  }

  // Reads until the text has been shown; false when the program ended, or after a minute.
  bool wait_for(const std::string& text) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    while (seen_.find(text) == std::string::npos) {
      if (std::chrono::steady_clock::now() > until || !read_more()) return seen_.find(text) != std::string::npos;
    }
    return true;
  }
  void type(const std::string& text) {
    EXPECT_EQ(::write(fd_, text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  int wait_for_end() {
    while (read_more()) {
    }
    int status = 0;
    ::waitpid(child_, &status, 0);
    ended_ = true;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  const std::string& seen() const { return seen_; }
  // From here on only what is shown later counts.
  void forget() { seen_.clear(); }

 private:
  bool read_more() {
    pollfd descriptor{fd_, POLLIN, 0};
    if (::poll(&descriptor, 1, 60'000) <= 0) return false;
    char buffer[4096];
    const auto got = ::read(fd_, buffer, sizeof buffer);
    if (got <= 0) return false;
    seen_.append(buffer, static_cast<std::size_t>(got));
    return true;
  }

  int fd_ = -1;
  pid_t child_ = -1;
  bool ended_ = false;
  std::string seen_;
};

}  // namespace patchbay::test
