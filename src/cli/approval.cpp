#include "cli/approval.h"

#include <fcntl.h>
#include <unistd.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <fmt/format.h>
#include <termios.h>

#include "base/strings.h"
#include "cli/texts/present.h"
#include "entries/consent_text.h"
#include "text/shell_word.h"
#include "text/visible_text.h"

namespace patchbay::cli {
namespace {

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

std::string ask_secret(std::string_view question, std::string_view variable) {
  const int fd = ::open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
  if (fd < 0) {
    throw Error(Errc::invalid_argument,
                fmt::format("it must be typed on a terminal, and there is none{}",
                            variable.empty() ? std::string() : fmt::format("; set {} instead", variable)));
  }
  const QuietTerminal quiet(fd);
  (void)!::write(fd, question.data(), question.size());
  std::string secret;
  for (char c = 0; ::read(fd, &c, 1) == 1 && c != '\n' && c != '\r';) {
    if (c == 3 || c == 4) throw Error(Errc::cancelled, "interrupted; nothing was changed");
    if (c == 8 || c == 127) {
      if (!secret.empty()) secret.pop_back();
    } else if (secret.size() < 4096) {
      secret.push_back(c);
    }
  }
  return secret;
}

namespace {

constexpr int most_questions = 10;
constexpr std::size_t most_held = 64u << 10;

// One line of the terminal; nothing at its end.
Task<std::optional<std::string>> read_typed(asio::posix::stream_descriptor& terminal) {
  std::string answer;
  while (answer.find('\n') == std::string::npos && answer.size() < 4096) {
    char buffer[256];
    boost::system::error_code fault;
    const auto got =
        co_await terminal.async_read_some(asio::buffer(buffer), asio::redirect_error(asio::use_awaitable, fault));
    if (fault == asio::error::eof || (!fault && got == 0)) co_return std::nullopt;
    if (fault) throw boost::system::system_error(fault);
    answer.append(buffer, got);
  }
  co_return std::string(trim(answer));
}

std::string explanation(const ServerConfig& server) {
  return fmt::format(
      "  y      start it, now and later, as long as its entry does not change\n"
      "  n      do not start it, now or later; `patchbay approve{0}` changes that\n"
      "  Enter  not now; the question comes again next time\n"
      "The server runs with your rights: it can read your files and your environment. It is declared in {1}:{2}.\n",
      shell_operands({server.name}), visible_text(server.origin.file), server.origin.line);
}

}  // namespace

HeldTalk::HeldTalk(Io& io) : io_(io), talk_(io.talk), log_(io.log) {
  io_.log = io_.talk = [this](std::string_view text) {
    left_out_ = left_out_ || held_.size() + text.size() > most_held;
    if (!left_out_) held_ += text;
  };
}

HeldTalk::~HeldTalk() {
  io_.talk = std::move(talk_);
  io_.log = std::move(log_);
  // Interrupted: what comes next, if only the prompt of the shell, does not belong behind the question.
  if (asking_ && std::uncaught_exceptions() > exceptions_) io_.talk("\n");
  if (!held_.empty()) io_.talk(held_);
  if (left_out_)
    io_.talk(
        "patchbay: some messages were not shown while you were asked; to keep all messages, add --log-file FILE\n");
}

namespace {

int terminal_users = 0;

}  // namespace

TerminalInUse::TerminalInUse(Waiting& waiting) : waiting_(waiting) {
  ++terminal_users;
  waiting_.suspend();
}

TerminalInUse::~TerminalInUse() {
  --terminal_users;
  waiting_.resume();
}

TypedLines::TypedLines(const asio::any_io_executor& executor) : terminal_(executor) {
  if (terminal_users > 0) return;
  const int fd = ::open("/dev/tty", O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) return;
  // What was typed before the question is not an answer to it.
  ::tcflush(fd, TCIFLUSH);
  terminal_.assign(fd);
}

Task<std::optional<std::string>> TypedLines::next() { return read_typed(terminal_); }

Task<std::optional<bool>> ask_approval(Io& io, Waiting& waiting, const ServerConfig& server) {
  TypedLines terminal(co_await asio::this_coro::executor);
  if (!terminal) co_return std::nullopt;
  waiting.suspend();
  struct Resume {
    Waiting& line;
    ~Resume() { line.resume(); }
  } resume{waiting};
  HeldTalk held(io);
  const auto columns = talk_columns(io);
  const auto why = visible_message(server.reason);
  const auto title = fmt::format("{} declares the server \"{}\"{}:", visible_text(server.origin.file),
                                 visible_text(server.name), why.empty() ? why : fmt::format(" ({})", why));
  held.say(join(wrapped(title, columns, "    | "), "\n") + "\n" + consent_block(server, "  ", columns));
  for (int asked = 0; asked < most_questions; ++asked) {
    held.say("Start it? [y/n/?] (Enter: not now) ");
    const auto typed = co_await terminal.next();
    const auto word = typed ? std::optional(to_lower_ascii(*typed)) : std::nullopt;
    if (!word) {
      held.say("\n");
      break;
    }
    if (*word == "y" || *word == "yes") co_return true;
    if (*word == "n" || *word == "no") co_return false;
    if (word->empty()) break;
    held.say(explanation(server));
  }
  co_return std::nullopt;
}

}  // namespace patchbay::cli
