#include "cli/chat/tty.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <utility>

#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <termios.h>

#include "terminal/prompt_view.h"

namespace patchbay::cli {
namespace {

// What a signal handler needs to put the terminal back.
struct Restore {
  std::atomic<int> fd{-1};
  termios before{};
};
Restore restore;

// No pastes marked, the cursor shown, no update begun, no colour.
constexpr std::string_view leave = "\033[?2004l\033[?2026l\033[?25h\033[0m";

// Safe in a signal handler.
void put_back() noexcept {
  const int fd = restore.fd.exchange(-1);
  if (fd < 0) return;
  (void)!::write(fd, leave.data(), leave.size());
  ::tcsetattr(fd, TCSANOW, &restore.before);
}

// More than this a terminal keeps for nobody.
constexpr std::size_t most_typed_before = 64u << 10;

constexpr auto fatal_signals = std::to_array<int>({SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL});

void on_fatal_signal(int number) {
  put_back();
  // SA_RESETHAND: this time it does what it always did.
  ::raise(number);
}

// Once; whoever handles them already, a sanitizer, say, is left alone.
void watch_fatal_signals() {
  static const bool watched = [] {
    for (const int number : fatal_signals) {
      struct sigaction now{};
      if (::sigaction(number, nullptr, &now) != 0 || now.sa_handler != SIG_DFL) continue;
      struct sigaction ours{};
      ours.sa_handler = on_fatal_signal;
      ours.sa_flags = static_cast<int>(SA_RESETHAND | SA_NODEFER);
      ::sigaction(number, &ours, nullptr);
    }
    ::atexit([] { put_back(); });
    return true;
  }();
  (void)watched;
}

}  // namespace

Tty::Tty(const asio::any_io_executor& executor) : descriptor_(executor) {
  const int fd = ::open("/dev/tty", O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  termios now{};
  if (fd < 0 || ::tcgetattr(fd, &now) != 0) {
    if (fd >= 0) ::close(fd);
    throw Error(Errc::unsupported, "there is no terminal");
  }
  descriptor_.assign(fd);
  restore.before = now;
}

Tty::~Tty() {
  flush();
  put_back();
}

void Tty::raw() {
  if (raw_) return;
  raw_ = true;
  watch_fatal_signals();
  const int fd = descriptor_.native_handle();
  auto modes = restore.before;
  modes.c_iflag &= ~static_cast<tcflag_t>(BRKINT | ICRNL | INLCR | IGNCR | INPCK | ISTRIP | IXON);
  modes.c_lflag &= ~static_cast<tcflag_t>(ECHO | ICANON | IEXTEN | ISIG);
  modes.c_cc[VMIN] = 1;
  modes.c_cc[VTIME] = 0;
  restore.fd = fd;
  ::tcsetattr(fd, TCSADRAIN, &modes);
  take_typed_before();
  write(terminal::begin_typing);
}

// What was typed while the terminal still made lines of it: there its Enter became a line feed, which is another key.
void Tty::take_typed_before() {
  std::array<char, 4096> buffer{};
  while (typed_before_.size() < most_typed_before) {
    const auto got = ::read(descriptor_.native_handle(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return;
    typed_before_.append(buffer.data(), static_cast<std::size_t>(got));
    std::ranges::replace(typed_before_, '\n', '\r');
  }
}

void Tty::cooked() {
  if (!raw_) return;
  raw_ = false;
  write(leave);
  flush();
  restore.fd = -1;
  ::tcsetattr(descriptor_.native_handle(), TCSADRAIN, &restore.before);
}

void Tty::forget_typed() { ::tcflush(descriptor_.native_handle(), TCIFLUSH); }

bool Tty::is_raw() const {
  termios now{};
  auto& descriptor = const_cast<asio::posix::stream_descriptor&>(descriptor_);
  return ::tcgetattr(descriptor.native_handle(), &now) == 0 && (now.c_lflag & ICANON) == 0;
}

void Tty::raw_again() {
  raw_ = false;
  raw();
  if (typed_before_.empty()) return;
  // Whoever waits for keys gets these first.
  wakes_reader_ = true;
  stop_reading();
}

void Tty::suspend() {
  const bool was_raw = raw_;
  cooked();
  ::kill(0, SIGTSTP);
  if (was_raw) raw();
}

Tty::Size Tty::size() const {
  struct winsize now{};
  Size out;
  auto& descriptor = const_cast<asio::posix::stream_descriptor&>(descriptor_);
  if (::ioctl(descriptor.native_handle(), TIOCGWINSZ, &now) != 0) return out;
  if (now.ws_col > 0) out.columns = now.ws_col;
  if (now.ws_row > 0) out.rows = now.ws_row;
  return out;
}

Task<std::string> Tty::read() {
  wakes_reader_ = false;
  if (!typed_before_.empty()) co_return std::exchange(typed_before_, {});
  std::array<char, 4096> buffer{};
  boost::system::error_code fault;
  const auto got =
      co_await descriptor_.async_read_some(asio::buffer(buffer), asio::redirect_error(asio::use_awaitable, fault));
  if (fault == asio::error::operation_aborted && std::exchange(wakes_reader_, false)) {
    co_return std::exchange(typed_before_, {});
  }
  if (fault == asio::error::operation_aborted) throw boost::system::system_error(fault);
  if (fault || got == 0) throw Error(Errc::closed, "the terminal has gone");
  // What was read was typed before that.
  co_return std::string(buffer.data(), got) + std::exchange(typed_before_, {});
}

void Tty::stop_reading() {
  boost::system::error_code ignored;
  descriptor_.cancel(ignored);
}

void Tty::write_some() {
  while (!pending_.empty()) {
    const auto written = ::write(descriptor_.native_handle(), pending_.data(), pending_.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && errno != EAGAIN) pending_.clear();  // nobody looks any more
    if (written <= 0) return;
    pending_.erase(0, static_cast<std::size_t>(written));
  }
}

void Tty::write(std::string_view bytes) {
  if (bytes.empty()) return;
  const bool first = pending_.empty();
  pending_ += bytes;
  if (first) write_some();
  if (!pending_.empty()) more_.notify_all();
}

Task<void> Tty::write_out() {
  for (;;) {
    while (pending_.empty()) co_await more_.wait();
    boost::system::error_code fault;
    co_await descriptor_.async_wait(asio::posix::stream_descriptor::wait_write,
                                    asio::redirect_error(asio::use_awaitable, fault));
    if (!fault) write_some();
    // A read that is stopped stops this as well, for a moment.
    if (fault && fault != asio::error::operation_aborted) co_return;
  }
}

void Tty::flush() {
  write_some();
  for (int tries = 0; tries < 10 && !pending_.empty(); ++tries) {
    pollfd ready{descriptor_.native_handle(), POLLOUT, 0};
    (void)::poll(&ready, 1, 100);
    write_some();
  }
}

}  // namespace patchbay::cli
