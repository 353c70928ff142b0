// The part of the screen that is drawn again and again: status lines, the prompt with what is typed, candidates, a
// hint. It stands below everything else on the main screen; what is above was printed once and is the terminal's. Two
// pure steps: what it looks like (layout), and the bytes that make the screen look so (redraw, print_above). Nothing
// here clears the screen or uses another one: what was printed can be scrolled back to and stays when the program ends.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "terminal/line_editor.h"

namespace patchbay::terminal {

struct PromptState {
  std::vector<std::string> above = {};  // one line each, cut to the width; may have colours
  std::string prompt = "> ";
  std::string text = {};
  std::size_t cursor = 0;
  std::string placeholder = {};            // shown while there is no text
  std::optional<std::string> search = {};  // the words that are searched; shown in place of the prompt
  std::vector<Candidate> candidates = {};
  std::optional<std::size_t> chosen = {};
  std::vector<std::string> below = {};
  bool typing = true;  // false: no prompt now, only the lines above and below
  std::size_t columns = 80;
  std::size_t rows = 24;
  bool color = false;
};

struct PromptFrame {
  std::vector<std::string> lines = {};  // none is wider than the screen
  std::size_t row = 0;                  // of the cursor
  std::size_t column = 0;
  bool cursor_shown = true;
  bool operator==(const PromptFrame&) const = default;
};

// A state of this editor.
PromptState prompt_state(const LineEditor& editor);

// At most rows - 1 lines: what is typed scrolls around the cursor, candidates around the chosen one.
PromptFrame layout(const PromptState& state);

// Whether lines that are on the screen are broken anew when the terminal gets another width. Most do it; xterm, rxvt,
// the console of Linux, GNU screen and the terminals inside of Vim and Neovim do not. What says which one it is may be
// missing, over SSH say: then it is taken for one of most.
using Variable = std::function<std::optional<std::string>(std::string_view)>;
bool breaks_lines_anew(const Variable& variable);

// Where the frame stands after such a terminal has become so many columns wide.
PromptFrame reflowed(const PromptFrame& frame, std::size_t columns);

// From one frame to the other. Only lines that differ are written.
std::string redraw(const PromptFrame& before, const PromptFrame& after);
// The same, with all lines written: after the size changed, and where somebody else wrote.
std::string redraw_all(const PromptFrame& before, const PromptFrame& after);
// Takes the frame away, prints a text where it stood, for good, and draws the other one below it. Line feeds in `text`
// are line feeds; the text ends with one or is empty.
std::string print_above(const PromptFrame& before, std::string_view text, const PromptFrame& after);

// What a terminal is told before and after: pastes are marked.
inline constexpr std::string_view begin_typing = "\033[?2004h";
inline constexpr std::string_view end_typing = "\033[?2004l";

}  // namespace patchbay::terminal
