// The terminal itself: read without waiting for a line, written without waiting for the terminal, and as it was before
// on every way out: a return, an exception, exit(), a signal that ends the process. It has its own descriptor of
// /dev/tty, so that nobody else's reads and writes become non-blocking. One at a time; loop thread only.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include <boost/asio/posix/stream_descriptor.hpp>

#include <patchbay/task.h>

#include "base/waiting.h"

namespace patchbay::cli {

class Tty {
 public:
  // Errc::unsupported where there is none.
  explicit Tty(const asio::any_io_executor& executor);
  Tty(const Tty&) = delete;
  Tty& operator=(const Tty&) = delete;
  ~Tty();

  // Keys come one by one and are not shown; Ctrl-C is one of them.
  void raw();
  // As it was: lines, and signals.
  void cooked();
  // What was typed and nobody has read.
  void forget_typed();
  // Whether it still is: a shell that had it meanwhile may have changed that.
  bool is_raw() const;
  void raw_again();
  // Stops the process like the terminal does at Ctrl-Z, and goes on where it was.
  void suspend();

  struct Size {
    std::size_t columns = 80;
    std::size_t rows = 24;
    bool operator==(const Size&) const = default;
  };
  Size size() const;

  // Some bytes. Throws Errc::closed when the terminal has gone.
  Task<std::string> read();
  // Ends a read() that waits, which then throws operation_aborted.
  void stop_reading();

  // In order, some time; nothing is lost while the terminal is slow.
  void write(std::string_view bytes);
  std::size_t unwritten() const noexcept { return pending_.size(); }
  // Writes until cancelled; spawned once.
  Task<void> write_out();
  // Now, for a second at most.
  void flush();

 private:
  void write_some();
  void take_typed_before();

  asio::posix::stream_descriptor descriptor_;
  std::string pending_;
  std::string typed_before_;  // and read by nobody yet
  bool wakes_reader_ = false;
  Event more_;
  bool raw_ = false;
};

}  // namespace patchbay::cli
