// A program on a real terminal, for tests of what a person sees and types.
#pragma once

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>
#include <pty.h>

namespace patchbay::test {

// A program with a terminal for stdin, stdout and stderr.
class Terminal {
 public:
  Terminal(std::vector<std::string> words, const std::string& cwd,
           const std::map<std::string, std::string>& environment = {}, unsigned short columns = 200,
           unsigned short rows = 40) {
    struct winsize size{rows, columns, 0, 0};
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

  // What is told of everything that the program writes, as it is read.
  std::function<void(std::string_view)> on_bytes;

  // Reads until the text has been shown; false when the program ended, or after a minute.
  bool wait_for(const std::string& text) {
    return wait_until([&] { return seen_.find(text) != std::string::npos; });
  }
  bool wait_until(const std::function<bool()>& condition) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    while (!condition()) {
      if (std::chrono::steady_clock::now() > until || !read_more()) return condition();
    }
    return true;
  }
  // Reads for as long as something comes within this time, ten times as long at most.
  void read_while_it_writes(std::chrono::milliseconds quiet) {
    const auto until = std::chrono::steady_clock::now() + 10 * quiet;
    while (std::chrono::steady_clock::now() < until && read_more(quiet)) {
    }
  }
  void resize(unsigned short columns, unsigned short rows) {
    struct winsize size{rows, columns, 0, 0};
    EXPECT_EQ(::ioctl(fd_, TIOCSWINSZ, &size), 0);
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
  bool read_more(std::chrono::milliseconds time = std::chrono::minutes(1)) {
    pollfd descriptor{fd_, POLLIN, 0};
    if (::poll(&descriptor, 1, static_cast<int>(time.count())) <= 0) return false;
    char buffer[4096];
    const auto got = ::read(fd_, buffer, sizeof buffer);
    if (got <= 0) return false;
    seen_.append(buffer, static_cast<std::size_t>(got));
    if (on_bytes) on_bytes({buffer, static_cast<std::size_t>(got)});
    return true;
  }

  int fd_ = -1;
  pid_t child_ = -1;
  bool ended_ = false;
  std::string seen_;
};

}  // namespace patchbay::test
