#include "support/vterm_screen.h"

#ifdef PATCHBAY_TEST_VTERM

#include <algorithm>
#include <deque>
#include <utility>

#include <fmt/format.h>
#include <vterm.h>

namespace patchbay::test {
namespace {

using Cells = std::vector<VTermScreenCell>;

void add_utf8(std::string& out, std::uint32_t code) {
  if (code < 0x80) {
    out += static_cast<char>(code);
    return;
  }
  const int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
  constexpr unsigned lead[] = {0, 0xC0, 0xE0, 0xF0};
  out += static_cast<char>(lead[more] | code >> (6 * more));
  for (int i = more - 1; i >= 0; --i) out += static_cast<char>(0x80 | (code >> (6 * i) & 0x3F));
}

char mark_of(const VTermScreenCell& cell) {
  char colour = ' ';
  if (!VTERM_COLOR_IS_DEFAULT_FG(&cell.fg) && VTERM_COLOR_IS_INDEXED(&cell.fg)) {
    constexpr std::string_view letters = "krgybmcw";
    colour = cell.fg.indexed.idx < letters.size() ? letters[cell.fg.indexed.idx] : '?';
  }
  if (cell.attrs.bold != 0) return colour == ' ' ? 'b' : '+';
  return colour;
}

VtermScreen::Line line_of(const Cells& cells) {
  VtermScreen::Line out;
  for (const auto& cell : cells) {
    // The second half of a wide character.
    if (cell.chars[0] == static_cast<std::uint32_t>(-1)) {
      out.marks += mark_of(cell);
      continue;
    }
    if (cell.chars[0] == 0) out.text += ' ';
    for (int i = 0; i < VTERM_MAX_CHARS_PER_CELL && cell.chars[i] != 0; ++i) add_utf8(out.text, cell.chars[i]);
    out.marks += cell.chars[0] == 0 || cell.chars[0] == ' ' ? ' ' : mark_of(cell);
  }
  while (out.text.ends_with(' ')) out.text.pop_back();
  while (out.marks.ends_with(' ')) out.marks.pop_back();
  return out;
}

}  // namespace

struct VtermScreen::Impl {
  Impl(int columns, int rows) : vterm(vterm_new(rows, columns)), parser(vterm_new(rows, columns)) {
    vterm_set_utf8(vterm, 1);
    screen = vterm_obtain_screen(vterm);
    vterm_screen_enable_altscreen(screen, 1);
    callbacks.settermprop = [](VTermProp prop, VTermValue* value, void* self) {
      if (prop == VTERM_PROP_ALTSCREEN && value->boolean != 0) static_cast<Impl*>(self)->other_screen = true;
      return 1;
    };
    callbacks.sb_pushline = [](int count, const VTermScreenCell* cells, void* self) {
      static_cast<Impl*>(self)->away.emplace_back(cells, cells + count);
      return 1;
    };
    callbacks.sb_popline = [](int count, VTermScreenCell* cells, void* self) {
      auto& away = static_cast<Impl*>(self)->away;
      if (away.empty()) return 0;
      VTermScreenCell blank{};
      blank.width = 1;
      away.back().resize(static_cast<std::size_t>(count), blank);
      std::ranges::copy(away.back(), cells);
      away.pop_back();
      return 1;
    };
    vterm_screen_set_callbacks(screen, &callbacks, this);
    vterm_screen_reset(screen, 1);

    vterm_set_utf8(parser, 1);
    // All that is left is offered; it takes what comes before the next control character.
    sequence_callbacks.text = [](const char* bytes, std::size_t length, void*) {
      const std::string_view text(bytes, length);
      return static_cast<int>(std::ranges::find_if(text, [](unsigned char c) { return c < 0x20 || c == 0x7F; }) -
                              text.begin());
    };
    sequence_callbacks.control = [](unsigned char control, void* self) {
      if (control != '\r' && control != '\n') {
        static_cast<Impl*>(self)->sequences.insert(fmt::format("control {:#x}", control));
      }
      return 1;
    };
    sequence_callbacks.escape = [](const char* bytes, std::size_t length, void* self) {
      static_cast<Impl*>(self)->sequences.insert("escape " + std::string(bytes, length));
      return 1;
    };
    sequence_callbacks.csi = [](const char* leader, const long* args, int count, const char* between, char command,
                                void* self) {
      static_cast<Impl*>(self)->csi(leader != nullptr ? leader : "", {args, args + count},
                                    between != nullptr ? between : "", command);
      return 1;
    };
    vterm_parser_set_callbacks(parser, &sequence_callbacks, this);
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl() {
    vterm_free(vterm);
    vterm_free(parser);
  }

  void csi(const std::string& leader, const std::vector<long>& args, const std::string& between, char command) {
    std::string name = leader;
    const bool number_matters = !leader.empty() || command == 'J' || command == 'K';
    for (const auto arg : args) {
      if (number_matters && !CSI_ARG_IS_MISSING(arg)) name += fmt::format("{}", CSI_ARG(arg));
    }
    name += between + command;
    if (name == "?2026h") updating = true;
    if (name == "?2026l" && std::exchange(updating, false)) ++updates;
    sequences.insert(std::move(name));
  }

  Cells row(int at) const {
    int rows = 0;
    int columns = 0;
    vterm_get_size(vterm, &rows, &columns);
    Cells out(static_cast<std::size_t>(columns));
    for (int column = 0; column < columns; ++column) {
      vterm_screen_get_cell(screen, {at, column}, &out[static_cast<std::size_t>(column)]);
    }
    return out;
  }

  VTerm* vterm;
  VTerm* parser;  // has no screen: it says which sequences there are
  VTermScreen* screen = nullptr;
  VTermScreenCallbacks callbacks{};
  VTermParserCallbacks sequence_callbacks{};
  std::deque<Cells> away;
  std::set<std::string> sequences;
  char before = 0;
  bool updating = false;
  std::size_t updates = 0;
  bool other_screen = false;
};

bool VtermScreen::is_there() { return true; }

VtermScreen::VtermScreen(int columns, int rows) : impl_(std::make_unique<Impl>(columns, rows)) {}
VtermScreen::~VtermScreen() = default;

void VtermScreen::write(std::string_view bytes) {
  vterm_input_write(impl_->vterm, bytes.data(), bytes.size());
  vterm_input_write(impl_->parser, bytes.data(), bytes.size());
  // Strings for the terminal (titles, clipboards): how libvterm tells them differs between its versions.
  for (const char c : bytes) {
    if (std::exchange(impl_->before, c) == '\033' && std::string_view("]PX^_").contains(c)) {
      impl_->sequences.insert(std::string("string ") + c);
    }
  }
}

void VtermScreen::resize(int columns, int rows) {
  vterm_set_size(impl_->vterm, rows, columns);
  vterm_screen_flush_damage(impl_->screen);
}

int VtermScreen::columns() const {
  int rows = 0;
  int columns = 0;
  vterm_get_size(impl_->vterm, &rows, &columns);
  return columns;
}

int VtermScreen::rows() const {
  int rows = 0;
  int columns = 0;
  vterm_get_size(impl_->vterm, &rows, &columns);
  return rows;
}

namespace {

VTermPos cursor_of(VTerm* vterm) {
  VTermPos position{};
  vterm_state_get_cursorpos(vterm_obtain_state(vterm), &position);
  return position;
}

}  // namespace

int VtermScreen::cursor_row() const { return cursor_of(impl_->vterm).row; }
int VtermScreen::cursor_column() const { return cursor_of(impl_->vterm).col; }

std::vector<VtermScreen::Line> VtermScreen::screen() const {
  std::vector<Line> out;
  for (int row = 0; row < rows(); ++row) out.push_back(line_of(impl_->row(row)));
  return out;
}

std::vector<VtermScreen::Line> VtermScreen::scrolled_away() const {
  std::vector<Line> out;
  for (const auto& cells : impl_->away) out.push_back(line_of(cells));
  return out;
}

std::vector<VtermScreen::Line> VtermScreen::everything() const {
  auto out = scrolled_away();
  for (auto& line : screen()) out.push_back(std::move(line));
  while (!out.empty() && out.back().text.empty()) out.pop_back();
  return out;
}

bool VtermScreen::shows(std::string_view text) const {
  return std::ranges::any_of(screen(), [&](const Line& line) { return line.text.contains(text); });
}

bool VtermScreen::is_updating() const { return impl_->updating; }
std::size_t VtermScreen::updates() const { return impl_->updates; }
bool VtermScreen::was_on_the_other_screen() const { return impl_->other_screen; }
const std::set<std::string>& VtermScreen::sequences() const { return impl_->sequences; }

}  // namespace patchbay::test

#else

namespace patchbay::test {

struct VtermScreen::Impl {
  std::set<std::string> sequences;
};

bool VtermScreen::is_there() { return false; }
VtermScreen::VtermScreen(int, int) : impl_(std::make_unique<Impl>()) {}
VtermScreen::~VtermScreen() = default;
void VtermScreen::write(std::string_view) {}
void VtermScreen::resize(int, int) {}
int VtermScreen::columns() const { return 0; }
int VtermScreen::rows() const { return 0; }
int VtermScreen::cursor_row() const { return 0; }
int VtermScreen::cursor_column() const { return 0; }
std::vector<VtermScreen::Line> VtermScreen::screen() const { return {}; }
std::vector<VtermScreen::Line> VtermScreen::scrolled_away() const { return {}; }
std::vector<VtermScreen::Line> VtermScreen::everything() const { return {}; }
bool VtermScreen::shows(std::string_view) const { return false; }
bool VtermScreen::is_updating() const { return false; }
std::size_t VtermScreen::updates() const { return 0; }
bool VtermScreen::was_on_the_other_screen() const { return false; }
const std::set<std::string>& VtermScreen::sequences() const { return impl_->sequences; }

}  // namespace patchbay::test

#endif
