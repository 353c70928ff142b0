// Stands between a client and a stdio server and lets lines go wrong, in both directions, under a
// seed: dropped, delayed, truncated, duplicated, out of order, with junk between them, or cut into
// pieces; now and then it ends without a word. While CALM_FILE exists, nothing goes wrong.
//
//   chaos-pipe SEED CALM_FILE PROGRAM
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <map>
#include <string>
#include <thread>

#include <patchbay/json.h>

#include "support/dice.h"

extern char** environ;  // NOLINT

namespace {

using patchbay::test::Dice;

void write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const auto count = ::write(fd, bytes.data(), bytes.size());
    if (count <= 0) return;
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
}

class Direction {
 public:
  Direction(std::string name, const Dice& dice, std::string calm_file, int from, int to)
      : name_(std::move(name)), dice_(dice), calm_file_(std::move(calm_file)), from_(from), to_(to) {}

  void run() {
    std::string read;
    char buffer[65536];
    for (;;) {
      const auto count = ::read(from_, buffer, sizeof buffer);
      if (count <= 0) break;
      read.append(buffer, static_cast<std::size_t>(count));
      for (std::size_t end; (end = read.find('\n')) != std::string::npos;) {
        pass(read.substr(0, end + 1));
        read.erase(0, end + 1);
      }
    }
    write_all(to_, held_);
    ::close(to_);
  }

 private:
  // What a line is, with how often such a one came before.
  std::string label_of(const std::string& line, bool& handshake) {
    const auto message = patchbay::parse_json(line).value_or(patchbay::Json());
    const auto method = message["method"].text();
    handshake = method && (*method == "initialize" || *method == "server/discover");
    auto name = name_ + " " + std::string(method.value_or("answer")) + " " + patchbay::to_text(message["id"]);
    // Answers to either way to begin are the first of their id.
    handshake = handshake || (!method && message["id"].to_int().value_or(9) <= 2);
    return name + " #" + std::to_string(++seen_[name]);
  }

  void pass(std::string line) {
    bool handshake = false;
    const auto label = label_of(line, handshake);
    if (::access(calm_file_.c_str(), F_OK) == 0) {
      write_all(to_, std::exchange(held_, {}) + line);
      return;
    }
    const auto roll = dice_.number(label, "mishap", handshake ? 400 : 150);
    if (roll < 2) std::_Exit(3);
    if (roll < 8) return;
    if (roll < 16) {
      std::this_thread::sleep_for(std::chrono::milliseconds(dice_.number(label, "delay", 60)));
    } else if (roll < 20) {
      line.resize(1 + dice_.number(label, "cut", line.size()));
      if (dice_.chance(label, "with its end", 60)) line += '\n';
    } else if (roll < 27) {
      line += line;
    } else if (roll < 34 && held_.empty()) {
      held_ = std::move(line);
      return;
    } else if (roll < 40) {
      line = "Listening on port 3000 \xff\xfe {\"a\":1}\n{\"jsonrpc\":\"2.0\"}\n" + line;
    } else if (roll < 50) {
      for (std::size_t at = 0; at < line.size(); at += 7) write_all(to_, std::string_view(line).substr(at, 7));
      return;
    }
    write_all(to_, line);
    write_all(to_, std::exchange(held_, {}));
  }

  std::string name_;
  Dice dice_;
  std::string calm_file_;
  int from_;
  int to_;
  std::map<std::string, int> seen_;
  std::string held_;
};

}  // namespace

int main(int count, char** words) {
  if (count < 4) return 2;
  ::signal(SIGPIPE, SIG_IGN);
  const Dice dice(std::strtoull(words[1], nullptr, 10));
  int down[2], up[2];
  if (::pipe2(down, O_CLOEXEC) != 0 || ::pipe2(up, O_CLOEXEC) != 0) return 1;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, down[0], 0);
  posix_spawn_file_actions_adddup2(&actions, up[1], 1);
  char* argv[] = {words[3], nullptr};
  pid_t child = -1;
  if (::posix_spawn(&child, words[3], &actions, nullptr, argv, environ) != 0) return 1;
  ::close(down[0]);
  ::close(up[1]);
  std::thread to_server([&] { Direction("down", dice, words[2], 0, down[1]).run(); });
  Direction("up", dice, words[2], up[0], 1).run();
  ::waitpid(child, nullptr, 0);
  std::_Exit(0);
}
