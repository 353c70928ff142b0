// A program that runs beside a test: a server of others, nginx, a proxy, our own binary. What
// it prints on stdout and stderr is drained all the time, so that it never waits for us, and
// kept to be asked about. It is ended with the object. Any thread.
#pragma once

#include <sys/types.h>

#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace patchbay::test {

class RunningProgram {
 public:
  struct Options {
    std::string cwd;
    std::map<std::string, std::string> env;  // overlays ours
  };
  // The words are argv; the first is a path. Throws when it cannot be started.
  explicit RunningProgram(std::vector<std::string> words) : RunningProgram(std::move(words), Options()) {}
  RunningProgram(std::vector<std::string> words, const Options& options);
  RunningProgram(const RunningProgram&) = delete;
  RunningProgram& operator=(const RunningProgram&) = delete;
  ~RunningProgram();

  // Waits until the output has `text` in it and returns that line whole. Throws with all of the output
  // when the program ends before, or after a minute.
  std::string wait_for(std::string_view text);
  // Waits until something listens at the port of this machine; throws likewise.
  void wait_for_port(std::uint16_t port);
  std::string output() const;
  // Sends the signal, waits, and returns the exit code or 128 and the signal that ended it.
  int end(int signal);
  pid_t pid() const noexcept { return pid_; }

 private:
  void drain();
  [[noreturn]] void give_up(const std::string& why) const;

  std::string name_;
  pid_t pid_ = -1;
  int out_ = -1;
  int stop_ = -1;
  mutable std::mutex mutex_;
  std::condition_variable more_;
  std::string text_;
  bool ended_ = false;
  std::thread drainer_;
};

// A port nobody listens at now. Whoever is told to listen there should do so soon.
std::uint16_t free_port();
bool listening_at(std::uint16_t port);

// Where `patchbay serve --http 127.0.0.1:0 --json ...` says it serves.
std::string served_url(RunningProgram& program);
std::uint16_t port_of(std::string_view url);

}  // namespace patchbay::test
