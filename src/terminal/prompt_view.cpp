#include "terminal/prompt_view.h"

#include <algorithm>

#include <fmt/format.h>

#include "terminal/width.h"

namespace patchbay::terminal {
namespace {

constexpr std::string_view begin_update = "\033[?2026h";
constexpr std::string_view end_update = "\033[?2026l";
constexpr std::string_view hide_cursor = "\033[?25l";
constexpr std::string_view show_cursor = "\033[?25h";
constexpr std::string_view erase_line = "\033[K";
constexpr std::string_view erase_below = "\033[J";

constexpr std::size_t most_candidates = 8;
constexpr std::size_t tab_columns = 4;

std::string painted(std::string_view text, std::string_view code, bool color) {
  if (!color || text.empty()) return std::string(text);
  return fmt::format("\033[{}m{}\033[0m", code, text);
}

// A line that may have colours, cut; one that is too long loses them.
std::string fitted(const std::string& line, std::size_t columns) {
  if (shown_columns(line) <= columns) return line;
  return cut(without_colours(line), columns);
}

struct Typed {
  std::vector<std::string> lines;
  std::size_t row = 0;
  std::size_t column = 0;
};

// The text behind the prompt, broken where it does not fit.
Typed typed_lines(std::string_view prompt, std::string_view text, std::size_t cursor, std::size_t columns) {
  const auto indent = std::min(columns_of(prompt), columns - std::min<std::size_t>(columns, 5));
  Typed out;
  out.lines.emplace_back(fitting(prompt, indent));
  std::size_t used = indent;
  const auto new_line = [&] {
    out.lines.emplace_back(indent, ' ');
    used = indent;
  };
  const auto here = [&] {
    out.row = out.lines.size() - 1;
    out.column = used;
  };
  for (std::size_t at = 0; at < text.size();) {
    const auto end = next_character(text, at);
    const auto character = text.substr(at, end - at);
    if (character == "\n") {
      if (at == cursor) here();
      new_line();
    } else {
      const bool tab = character == "\t";
      const auto width = tab ? tab_columns : columns_of(character);
      if (used + width > columns && used > indent) new_line();
      if (at == cursor) here();
      out.lines.back() += tab ? std::string(tab_columns, ' ') : std::string(character);
      used += width;
    }
    at = end;
  }
  if (cursor >= text.size()) {
    if (used >= columns) new_line();
    here();
  }
  return out;
}

// Which of `count` lines are shown where there is room for `room`, so that `wanted` is among them.
std::size_t first_shown(std::size_t count, std::size_t room, std::size_t wanted) {
  if (count <= room) return 0;
  const auto half = room / 2;
  return std::min(wanted > half ? wanted - half : 0, count - room);
}

void to_top(std::string& out, const PromptFrame& frame) {
  if (frame.row > 0) out += fmt::format("\033[{}A", frame.row);
  out += '\r';
}

// From the beginning of the last line to where the cursor belongs.
void to_cursor(std::string& out, const PromptFrame& frame) {
  const auto last = frame.lines.empty() ? 0 : frame.lines.size() - 1;
  if (last > frame.row) out += fmt::format("\033[{}A", last - frame.row);
  out += '\r';
  if (frame.column > 0) out += fmt::format("\033[{}C", frame.column);
  if (frame.cursor_shown) out += show_cursor;
}

void draw(std::string& out, const PromptFrame& frame) {
  for (std::size_t i = 0; i < frame.lines.size(); ++i) {
    if (i > 0) out += "\r\n";
    out += frame.lines[i];
    out += erase_line;
  }
  to_cursor(out, frame);
}

}  // namespace

PromptState prompt_state(const LineEditor& editor) {
  PromptState state;
  state.text = editor.text();
  state.cursor = editor.cursor();
  if (editor.search()) state.search = editor.search()->words;
  state.candidates = editor.candidates();
  state.chosen = editor.chosen();
  return state;
}

PromptFrame layout(const PromptState& state) {
  // The last column stays free: what a terminal does behind it differs.
  const auto columns = std::max<std::size_t>(state.columns, 10) - 1;
  auto room = std::max<std::size_t>(state.rows, 3) - 1;
  PromptFrame frame;
  frame.cursor_shown = state.typing;
  Typed typed;
  if (state.typing) {
    const auto prompt = state.search ? fmt::format("search: {}{} ", cut(*state.search, columns / 3),
                                                   state.search->empty() ? "_" : " ->")
                                     : state.prompt;
    typed = typed_lines(prompt, state.text, state.cursor, columns);
    if (state.text.empty() && !state.placeholder.empty() && !state.search) {
      const auto left = columns - std::min(columns, typed.column);
      typed.lines.back() += painted(cut(state.placeholder, left), "2", state.color);
    }
  }
  // What is typed takes precedence, then what is above.
  const auto shown = std::min(typed.lines.size(), std::max<std::size_t>(room * 2 / 3, 1));
  const auto first = first_shown(typed.lines.size(), shown, typed.row);
  room -= std::min(room, shown);
  const auto above = std::min(state.above.size(), room);
  room -= above;
  for (std::size_t i = state.above.size() - above; i < state.above.size(); ++i) {
    frame.lines.push_back(fitted(state.above[i], columns));
  }
  frame.row = frame.lines.size() + typed.row - first;
  frame.column = typed.column;
  for (std::size_t i = first; i < first + shown && i < typed.lines.size(); ++i) frame.lines.push_back(typed.lines[i]);

  const auto candidates = std::min({state.candidates.size(), most_candidates, room});
  const auto from = first_shown(state.candidates.size(), candidates, state.chosen.value_or(0));
  std::size_t widest = 0;
  for (std::size_t i = from; i < from + candidates; ++i) {
    widest = std::max(widest, columns_of(state.candidates[i].text));
  }
  widest = std::min(widest, columns / 2);
  for (std::size_t i = from; i < from + candidates; ++i) {
    const auto& one = state.candidates[i];
    const bool here = state.chosen == i;
    auto line = fmt::format("{} {}", here ? ">" : " ", cut(one.text, columns - 2));
    if (!one.about.empty()) {
      const auto used = columns_of(line);
      line += std::string(widest + 2 > used ? widest + 2 - used : 0, ' ') + "  ";
      line += one.about;
    }
    frame.lines.push_back(painted(cut(line, columns), here ? "1" : "2", state.color));
  }
  room -= candidates;
  if (state.candidates.size() > candidates && room > 0 && candidates > 0) {
    frame.lines.push_back(
        painted(cut(fmt::format("  {} of {}", state.chosen.value_or(0) + 1, state.candidates.size()), columns), "2",
                state.color));
    --room;
  }
  for (std::size_t i = 0; i < state.below.size() && i < room; ++i) {
    frame.lines.push_back(fitted(state.below[i], columns));
  }
  if (!state.typing) {
    // The cursor waits at the end of the region, out of the way.
    frame.row = frame.lines.empty() ? 0 : frame.lines.size() - 1;
    frame.column = 0;
  }
  return frame;
}

bool breaks_lines_anew(const Variable& variable) {
  const auto is_set = [&](std::string_view name) { return !variable(name).value_or("").empty(); };
  const auto term = variable("TERM").value_or("");
  const bool screen = term.starts_with("screen");
  // What tmux was started in does not count inside of it.
  if (is_set("TMUX") && (screen || term.starts_with("tmux"))) return true;
  if (screen && is_set("STY")) return false;
  if (term == "linux" || term.starts_with("rxvt")) return false;
  return !is_set("XTERM_VERSION") && !is_set("VIM_TERMINAL") && !is_set("NVIM");
}

PromptFrame reflowed(const PromptFrame& frame, std::size_t columns) {
  columns = std::max<std::size_t>(columns, 1);
  PromptFrame out = frame;
  out.row = 0;
  for (std::size_t i = 0; i < frame.row && i < frame.lines.size(); ++i) {
    const auto width = shown_columns(frame.lines[i]);
    out.row += width == 0 ? 1 : (width + columns - 1) / columns;
  }
  out.row += frame.column / columns;
  out.column = frame.column % columns;
  return out;
}

std::string redraw(const PromptFrame& before, const PromptFrame& after) {
  if (before == after) return {};
  std::string out(begin_update);
  out += hide_cursor;
  to_top(out, before);
  for (std::size_t i = 0; i < after.lines.size(); ++i) {
    if (i > 0) out += "\r\n";
    if (i < before.lines.size() && before.lines[i] == after.lines[i]) continue;
    out += after.lines[i];
    out += erase_line;
  }
  if (before.lines.size() > after.lines.size()) {
    if (after.lines.empty()) {
      out += erase_below;
    } else {
      // Down one line, which is there, and back.
      out += "\r\n";
      out += erase_below;
      out += "\033[1A";
    }
  }
  to_cursor(out, after);
  out += end_update;
  return out;
}

std::string redraw_all(const PromptFrame& before, const PromptFrame& after) {
  std::string out(begin_update);
  out += hide_cursor;
  to_top(out, before);
  out += erase_below;
  draw(out, after);
  out += end_update;
  return out;
}

std::string print_above(const PromptFrame& before, std::string_view text, const PromptFrame& after) {
  std::string out(begin_update);
  out += hide_cursor;
  to_top(out, before);
  out += erase_below;
  for (const char c : text) {
    if (c == '\n') out += '\r';
    out += c;
  }
  draw(out, after);
  out += end_update;
  return out;
}

}  // namespace patchbay::terminal
