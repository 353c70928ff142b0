#include "cli/io.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include <fmt/format.h>

#include "base/strings.h"
#include "cli/texts/present.h"
#include "text/terminal_text.h"

namespace patchbay::cli {
namespace {

bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    auto written = ::write(fd, text.data(), text.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      return false;
    }
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

constexpr std::size_t input_limit = 64u << 20;

std::string read_all(int fd, std::string_view name) {
  std::string all;
  char buffer[65536];
  for (;;) {
    auto got = ::read(fd, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw Error(Errc::invalid_argument, fmt::format("cannot read {}: {}", name, std::strerror(errno)));
    if (got == 0) return all;
    all.append(buffer, static_cast<std::size_t>(got));
    if (all.size() > input_limit) throw Error(Errc::limit, fmt::format("{} is larger than the limit of 64 MiB", name));
  }
}

// What follows the line stays unread, for whoever reads next.
std::optional<std::string> read_one_line(int fd) {
  std::string line;
  char c = 0;
  while (line.size() < 4096) {
    const auto got = ::read(fd, &c, 1);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return std::nullopt;
    if (c == '\n') break;
    line.push_back(c);
  }
  return line;
}

}  // namespace

Result<std::string> read_argument_file(const std::string& path) {
  int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return fail(Errc::invalid_argument, fmt::format("cannot open {}: {}", path, std::strerror(errno)));
  try {
    auto text = read_all(fd, path);
    ::close(fd);
    return text;
  } catch (const Error& error) {
    ::close(fd);
    return std::unexpected(error);
  }
}

Io process_io(bool no_color) {
  Io io;
  io.out_is_terminal = isatty(STDOUT_FILENO) == 1;
  io.out = [left = io.reader_left, terminal = io.out_is_terminal](std::string_view text) {
    if (terminal ? write_all(STDOUT_FILENO, terminal_text(text)) : write_all(STDOUT_FILENO, text)) return;
    if (errno == EPIPE) *left = true;
    throw Error(Errc::closed, fmt::format("cannot write to standard output: {}", std::strerror(errno)));
  };
  io.log = [](std::string_view text) { (void)write_all(STDERR_FILENO, terminal_text(text)); };
  io.draw = [](std::string_view text) { (void)write_all(STDERR_FILENO, text); };
  io.read_line = [] { return read_one_line(STDIN_FILENO); };
  io.read_input = [] { return read_all(STDIN_FILENO, "standard input"); };
  io.width = [] {
    struct winsize size{};
    bool terminal = false;
    for (int fd : {STDOUT_FILENO, STDERR_FILENO}) {
      if (::isatty(fd) != 1) continue;
      if (::ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return std::size_t{size.ws_col};
      terminal = true;
    }
    return terminal ? std::size_t{80} : std::size_t{118};
  };
  io.talk_is_terminal = isatty(STDERR_FILENO) == 1;
  io.talk = io.log;
  if (io.talk_is_terminal) {
    io.talk = [log = io.log, width = io.width](std::string_view text) {
      log(wrapped_lines(terminal_text(text), width()));
    };
  }
  io.in_is_terminal = isatty(STDIN_FILENO) == 1;
  const char* none = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  io.color = io.out_is_terminal && !no_color && !(none && *none) && !(term && std::string_view(term) == "dumb");
  return io;
}

void print_lines(Io& io, std::string_view text) { io.out(wrapped_lines(text, out_columns(io))); }

bool yes_to(Io& io, std::string_view question) {
  io.talk(question);
  const auto line = io.read_line();
  if (!line) io.talk("\n");
  const auto word = to_lower_ascii(trim(line.value_or("")));
  return word == "y" || word == "yes";
}

}  // namespace patchbay::cli
