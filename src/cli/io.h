// Io: what a command may touch of the terminal. stdout is the product, stderr is talk. What goes to either as text
// for people has passed text/terminal_text.
// Tests hand in buffers; main hands in the process's own streams.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <patchbay/error.h>

namespace patchbay::cli {

struct Io {
  std::function<void(std::string_view)> out;              // throws when nobody reads any more; see reader_left
  std::function<void(std::string_view)> talk;             // stderr, in lines that a terminal has room for
  std::function<void(std::string_view)> log;              // stderr, lines as they are: for the log
  std::function<void(std::string_view)> draw;             // stderr, with what moves a cursor: for the waiting line
  std::function<std::string()> read_input;                // all of stdin
  std::function<std::optional<std::string>()> read_line;  // one line of it; nothing when there is none
  bool out_is_terminal = false;
  bool talk_is_terminal = false;
  bool in_is_terminal = false;
  bool color = false;
  // Columns of the terminal now: 80 when it does not say, and what fits a page when there is none.
  std::function<std::size_t()> width = [] { return std::size_t{118}; };
  // Whoever read our output left: not an error of ours, the program ends quietly.
  std::shared_ptr<bool> reader_left = std::make_shared<bool>(false);
};

// Columns that text may use before it is wrapped, on stdout and on stderr; 0: nobody wraps it.
inline std::size_t out_columns(const Io& io) { return io.out_is_terminal ? io.width() : 0; }
// Bytes of a description in a listing: a terminal shows a few lines of it, a program reads it whole.
inline std::size_t description_room(const Io& io) { return io.out_is_terminal ? 200 : 4000; }
inline std::size_t talk_columns(const Io& io) { return io.talk_is_terminal ? io.width() : 0; }

// Text for people on stdout: wrapped with an indent where a terminal shows it, else as it is.
void print_lines(Io& io, std::string_view text);

Io process_io(bool no_color);

// Asks, and reads a line. Whatever is not yes is no.
bool yes_to(Io& io, std::string_view question);

// The content of a file named on the command line, at most 64 MiB.
Result<std::string> read_argument_file(const std::string& path);

}  // namespace patchbay::cli
