// Asking the user: whether a server that a repository declares may be started, and for a secret.
#pragma once

#include <exception>
#include <optional>
#include <string>
#include <string_view>

#include <boost/asio/posix/stream_descriptor.hpp>

#include <patchbay/config.h>
#include <patchbay/task.h>

#include "cli/io.h"
#include "cli/waiting.h"

namespace patchbay::cli {

// Shows the entry (entries/consent_text) and reads the answer from the terminal. Neither yes nor no, or the end of
// input: not now, ask again.
Task<std::optional<bool>> ask_approval(Io& io, Waiting& waiting, const ServerConfig& server);

// While one lives, what others say on stderr is kept back, up to a bound, and said when it goes: nothing a server or
// its failure says may be inside a question. Loop thread only.
class HeldTalk {
 public:
  explicit HeldTalk(Io& io);
  HeldTalk(const HeldTalk&) = delete;
  HeldTalk& operator=(const HeldTalk&) = delete;
  ~HeldTalk();
  // For who asks.
  void say(std::string_view text) const {
    talk_(text);
    asking_ = !text.ends_with('\n');
  }
  // The same without breaking lines: for what is copied.
  void write(std::string_view text) const { log_(text); }

 private:
  Io& io_;
  std::function<void(std::string_view)> talk_;
  std::function<void(std::string_view)> log_;
  std::string held_;
  bool left_out_ = false;
  mutable bool asking_ = false;  // the cursor may be behind a question
  int exceptions_ = std::uncaught_exceptions();
};

// For as long as there is one, what is typed is for somebody else: nobody is asked, and nothing is drawn over it. Loop
// thread only.
class TerminalInUse {
 public:
  explicit TerminalInUse(Waiting& waiting);
  TerminalInUse(const TerminalInUse&) = delete;
  TerminalInUse& operator=(const TerminalInUse&) = delete;
  ~TerminalInUse();

 private:
  Waiting& waiting_;
};

// What the user types, from the terminal itself, whatever stdin is. Loop thread only.
class TypedLines {
 public:
  explicit TypedLines(const asio::any_io_executor& executor);
  // Whether there is a terminal to ask at.
  explicit operator bool() const noexcept { return terminal_.is_open(); }
  // The next line without the blanks around it; nothing at the end of input.
  Task<std::optional<std::string>> next();

 private:
  asio::posix::stream_descriptor terminal_;
};

// Reads a line from the terminal without showing it. Throws Errc::invalid_argument when there is none, and
// Errc::cancelled at an interrupt. Blocking; before there is a loop.
std::string ask_secret(std::string_view question, std::string_view variable = {});

}  // namespace patchbay::cli
