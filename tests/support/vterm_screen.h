// A terminal that is not ours: libvterm reads the bytes that a program writes, and says what stands on the screen, in
// which colours, what has scrolled away, and which control sequences there were. It breaks no lines anew when it gets
// another width, as xterm does not either. Without libvterm's headers at build time there is none: is_there().
#pragma once

#include <cstddef>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace patchbay::test {

class VtermScreen {
 public:
  static bool is_there();

  struct Line {
    std::string text;   // without blanks at its end
    std::string marks;  // a letter under each column: b bold, r red, g green, y yellow, c cyan, + bold and coloured
  };

  VtermScreen(int columns, int rows);
  VtermScreen(const VtermScreen&) = delete;
  VtermScreen& operator=(const VtermScreen&) = delete;
  ~VtermScreen();

  void write(std::string_view bytes);
  void resize(int columns, int rows);

  int columns() const;
  int rows() const;
  int cursor_row() const;
  int cursor_column() const;
  // All rows.
  std::vector<Line> screen() const;
  std::vector<Line> scrolled_away() const;
  // Both, without empty lines at the end.
  std::vector<Line> everything() const;
  bool shows(std::string_view text) const;
  // Between the beginning and the end of a synchronised update.
  bool is_updating() const;
  std::size_t updates() const;  // that have ended
  bool was_on_the_other_screen() const;
  // Of all that was written: "A" moves up, whatever the number; those that erase and set modes with their numbers.
  const std::set<std::string>& sequences() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace patchbay::test
