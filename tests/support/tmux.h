// A program in a real terminal of tmux: what a person types, what stands on the screen, and the very bytes that were
// written. Each has a tmux of its own, which ends with it. Waiting is for bytes of the program, never for time.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "support/command.h"

namespace patchbay::test {

class Tmux {
 public:
  struct Options {
    std::string cwd;
    std::map<std::string, std::string> env = {};
    int columns = 80;
    int rows = 24;
  };

  // False where tmux is not installed.
  static bool is_there() { return ::access("/usr/bin/tmux", X_OK) == 0; }

  // The words are run by a shell, which then says how the program ended and how the terminal is: left().
  Tmux(const std::vector<std::string>& words, const Options& options) {
    EXPECT_EQ(::mkfifo(bytes_path().c_str(), 0600), 0);
    EXPECT_EQ(::mkfifo((directory_.path() + "/gate").c_str(), 0600), 0);
    std::string script = "read gate < " + directory_.path() + "/gate\n";
    for (const auto& [name, value] : options.env) script += "export " + name + "='" + value + "'\n";
    script += "cd '" + options.cwd + "'\n";
    for (const auto& word : words) script += "'" + word + "' ";
    // The last word comes behind everything that the program wrote.
    script += "\necho \"left with $?\"\nstty -a\necho the-end\nread more\n";
    const auto file = directory_.write("script", script);
    run({"-f", "/dev/null", "new-session", "-d", "-x", std::to_string(options.columns), "-y",
         std::to_string(options.rows), "sh", file});
    // Both ends are ours, so that opening it does not wait and it never ends.
    bytes_ = ::open(bytes_path().c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK);
    run({"set", "-g", "history-limit", "10000"});
    run({"set", "-g", "escape-time", "0"});
    run({"pipe-pane", "-O", "exec cat > " + bytes_path()});
    const int gate = ::open((directory_.path() + "/gate").c_str(), O_WRONLY | O_CLOEXEC);
    EXPECT_EQ(::write(gate, "\n", 1), 1);
    ::close(gate);
  }
  Tmux(const Tmux&) = delete;
  Tmux& operator=(const Tmux&) = delete;
  ~Tmux() {
    run({"kill-server"});
    ::close(bytes_);
  }

  // Keys as tmux calls them: "Enter", "C-c", "M-Enter", "Tab", "Up"; other words are typed letter by letter.
  void keys(std::vector<std::string> words) {
    words.insert(words.begin(), "send-keys");
    run(words);
  }
  void type(const std::string& text) { run({"send-keys", "-l", "--", text}); }
  void enter(const std::string& text) {
    type(text);
    keys({"Enter"});
  }
  void resize(int columns, int rows) {
    run({"resize-window", "-x", std::to_string(columns), "-y", std::to_string(rows)});
  }
  // A paste, marked as one if the program asked for that.
  void paste(const std::string& text) {
    run({"set-buffer", "--", text});
    run({"paste-buffer", "-p"});
  }

  // What stands on the screen.
  std::string screen() const { return run({"capture-pane", "-p"}); }
  // And what has scrolled away.
  std::string all() const { return run({"capture-pane", "-p", "-S", "-"}); }
  std::string cursor() const { return run({"display-message", "-p", "#{cursor_x},#{cursor_y}"}); }

  // Until the screen has this text, or lacks it; false after a minute without it.
  bool wait_for(const std::string& text) {
    return wait_until([&] { return screen().find(text) != std::string::npos; });
  }
  bool wait_until_gone(const std::string& text) {
    return wait_until([&] { return screen().find(text) == std::string::npos; });
  }
  template <class Condition>
  bool wait_until(Condition condition) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    for (;;) {
      if (condition()) return true;
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
      if (left.count() <= 0) return false;
      (void)read_some(static_cast<int>(left.count()));
    }
  }
  // Until the program has ended; what the shell says then: its exit code and the modes of the terminal.
  std::string left() {
    EXPECT_TRUE(wait_until([&] { return all().find("\nthe-end") != std::string::npos; })) << all();
    const auto text = all();
    return text.substr(std::min(text.rfind("left with "), text.size()));
  }
  // The process that the shell runs now.
  pid_t program() const {
    const auto shell = run({"display-message", "-p", "#{pane_pid}"});
    const auto found = run_program({"/usr/bin/pgrep", "-P", shell.substr(0, shell.find('\n'))});
    return static_cast<pid_t>(std::atoi(found.out.c_str()));
  }

  // Everything that was written, with all escape sequences.
  const std::string& bytes() {
    read_some(0);
    return seen_;
  }

 private:
  std::string bytes_path() const { return directory_.path() + "/bytes"; }

  std::string run(std::vector<std::string> words) const {
    words.insert(words.begin(), {"/usr/bin/tmux", "-S", directory_.path() + "/socket"});
    CommandOptions options;
    options.env = {{"TERM", "xterm-256color"}, {"TMUX", ""}, {"LC_ALL", "C.UTF-8"}};
    return run_program(words, options).out;
  }

  bool read_some(int milliseconds) {
    pollfd ready{bytes_, POLLIN, 0};
    if (::poll(&ready, 1, milliseconds) <= 0) return false;
    char buffer[65536];
    bool any = false;
    for (ssize_t got = 0; (got = ::read(bytes_, buffer, sizeof buffer)) > 0; any = true) {
      seen_.append(buffer, static_cast<std::size_t>(got));
    }
    return any;
  }

  TemporaryDirectory directory_;
  int bytes_ = -1;
  std::string seen_;
};

}  // namespace patchbay::test
