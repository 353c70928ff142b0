// What a person types, of the bytes that a terminal sends: characters, keys with Ctrl, Alt and Shift, and pasted texts
// as one. Knows the sequences of xterm, tmux, screen, rxvt, the Linux console and those that modifyOtherKeys and the
// kitty protocol send; any other is skipped. Called by whoever reads a terminal. Pure; nothing is kept beyond a bound.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace patchbay::terminal {

enum class KeyCode : std::uint8_t {
  character,  // `text`; with ctrl a small letter, a digit or a sign
  paste,      // `text`, as it was sent
  enter,
  tab,
  backspace,
  escape,
  up,
  down,
  left,
  right,
  home,
  end,
  insert,
  erase,  // Delete
  page_up,
  page_down,
  function,  // `number`
};

struct Key {
  KeyCode code = KeyCode::character;
  std::string text = {};
  bool ctrl = false;
  bool alt = false;
  bool shift = false;
  int number = 0;
  bool operator==(const Key&) const = default;
};

class KeyReader {
 public:
  static constexpr std::size_t longest_paste = std::size_t{1} << 20;  // bytes; the rest is dropped

  std::vector<Key> feed(std::string_view bytes);

  // Whether something is held back that more bytes decide, and for how long it is worth waiting for them: a lone
  // escape for a moment, the end of a paste for some seconds.
  enum class Held : std::uint8_t { nothing, sequence, paste };
  Held held() const noexcept;
  // No more bytes came in time: what is held back is what it looks like now.
  std::vector<Key> timed_out();

 private:
  enum class State : std::uint8_t { plain, paste, string };
  // Bytes that were taken; 0: more are needed. With `all` nothing more comes.
  std::size_t take(std::string_view bytes, bool all, std::vector<Key>& out);
  std::size_t take_sequence(std::string_view bytes, bool all, std::vector<Key>& out);
  std::size_t take_paste(std::string_view bytes, bool all, std::vector<Key>& out);
  std::size_t take_string(std::string_view bytes, bool all);
  std::vector<Key> read(bool all);

  State state_ = State::plain;
  std::string pending_;
  std::string pasted_;
};

}  // namespace patchbay::terminal
