// A conversation on libvterm's screen, and the golden file that says how it looks: tests/golden/chat/NAME.txt. A test
// types, waits for what is shown, and takes pictures; each has to become what the file says, with what differs from run
// to run masked. PATCHBAY_UPDATE_GOLDEN=1 writes the file anew, and fails.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "support/household.h"
#include "support/terminal.h"
#include "support/vterm_screen.h"

namespace patchbay::test {

// A household whose path is as long everywhere, so that lines break at the same place.
std::unique_ptr<Household> household_in_tmp();

// Directories, versions, ids, times, and the sign that something goes on. Everything else has to be the same.
std::string masked(std::string line);

class ChatScene {
 public:
  // `golden`: the name of its file; empty: it has none.
  ChatScene(const Household& house, std::string golden, std::vector<std::string> words, int columns, int rows,
            std::map<std::string, std::string> more_env = {});
  ~ChatScene();

  void type(const std::string& text) { terminal_->type(text); }
  void enter(const std::string& text) { type(text + "\r"); }
  // Until it reads keys.
  [[nodiscard]] bool begins();
  // Until this is on the screen, or gone from it, and nothing is being drawn.
  [[nodiscard]] bool shows(const std::string& text);
  [[nodiscard]] bool lacks(const std::string& text);
  [[nodiscard]] bool becomes(const std::function<bool()>& condition);
  // And until it has been drawn for that size.
  [[nodiscard]] bool resize(int columns, int rows);
  // The screen as it is now, or comes to be within a minute, is what the file has under this name.
  void picture(const std::string& name);
  // Leaves, and looks at all lines there ever were. Nothing but what a conversation may write was written.
  void leave();
  // All lines, masked.
  std::string everything() const;
  const VtermScreen& screen() const { return screen_; }

 private:
  std::string seen() const;
  void compare(const std::string& name, const std::function<std::string()>& now);

  std::string file_;
  std::vector<std::pair<std::string, std::string>> wanted_;
  std::vector<std::pair<std::string, std::string>> taken_;
  VtermScreen screen_;
  std::unique_ptr<Terminal> terminal_;
};

}  // namespace patchbay::test
