#include "cli/approval.h"

#include <fcntl.h>
#include <unistd.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <fmt/format.h>
#include <termios.h>

#include "base/strings.h"
#include "protocol/clean_text.h"

namespace patchbay::cli {
namespace {

constexpr std::string_view plain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_./:=@%+,";

std::string quoted(std::string_view word) {
  if (!word.empty() && word.find_first_not_of(plain) == std::string_view::npos) return std::string(word);
  std::string out = "'";
  for (char c : word) {
    if (c == '\'') {
      out += "'\\''";
    } else {
      out.push_back(c);
    }
  }
  return out + "'";
}

// The terminal as it was, whatever happens in between.
class QuietTerminal {
 public:
  explicit QuietTerminal(int fd) : fd_(fd) {
    ::tcgetattr(fd_, &before_);
    auto quiet = before_;
    // An interrupt arrives as a character, so that it cannot leave the terminal mute.
    quiet.c_lflag &= ~static_cast<tcflag_t>(ECHO | ICANON | ISIG);
    ::tcsetattr(fd_, TCSAFLUSH, &quiet);
  }
  QuietTerminal(const QuietTerminal&) = delete;
  QuietTerminal& operator=(const QuietTerminal&) = delete;
  ~QuietTerminal() {
    ::tcsetattr(fd_, TCSAFLUSH, &before_);
    (void)!::write(fd_, "\n", 1);
    ::close(fd_);
  }

 private:
  int fd_;
  termios before_{};
};

}  // namespace

std::string ask_secret(std::string_view question) {
  const int fd = ::open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
  if (fd < 0) {
    throw Error(Errc::invalid_argument, "there is no terminal to ask for the client secret on; set MCP_CLIENT_SECRET");
  }
  const QuietTerminal quiet(fd);
  (void)!::write(fd, question.data(), question.size());
  std::string secret;
  for (char c = 0; ::read(fd, &c, 1) == 1 && c != '\n' && c != '\r';) {
    if (c == 3 || c == 4) throw Error(Errc::cancelled, "interrupted; nothing was added");
    if (c == 8 || c == 127) {
      if (!secret.empty()) secret.pop_back();
    } else if (secret.size() < 4096) {
      secret.push_back(c);
    }
  }
  return secret;
}

std::string command_line_of(const ServerConfig& server) {
  if (server.kind != ServerKind::stdio) return clean_line(server.url);
  std::string line = quoted(server.command);
  for (const auto& arg : server.args) line += " " + quoted(arg);
  return clean_line(line);
}

Task<std::optional<bool>> ask_approval(Io& io, Waiting& waiting, const ServerConfig& server) {
  int fd = ::open("/dev/tty", O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) co_return std::nullopt;
  // What was typed before the question is no answer to it.
  ::tcflush(fd, TCIFLUSH);
  waiting.suspend();
  struct Resume {
    Waiting& line;
    ~Resume() { line.resume(); }
  } resume{waiting};
  io.talk(fmt::format("{} wants to start the server '{}':\n  {}\nStart it? [y]es, [n]o, or Enter: not now ",
                      clean_line(server.origin.file), clean_line(server.name), command_line_of(server)));
  asio::posix::stream_descriptor terminal(co_await asio::this_coro::executor, fd);
  std::string answer;
  while (answer.find('\n') == std::string::npos && answer.size() < 4096) {
    char buffer[256];
    auto got = co_await terminal.async_read_some(asio::buffer(buffer), asio::use_awaitable);
    if (got == 0) break;
    answer.append(buffer, got);
  }
  auto word = to_lower_ascii(trim(answer));
  if (word == "y" || word == "yes") co_return true;
  if (word == "n" || word == "no") co_return false;
  co_return std::nullopt;
}

}  // namespace patchbay::cli
